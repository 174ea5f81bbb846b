#!/usr/bin/env bash
# From word-aligned text to translations and their BLEU in a minute, on the bundled Novish–English corpus.
#
#   recipes/quickstart.sh [--output DIR] [--seed N] [--threads N] [--overwrite]
#
# The first run makes a virtual environment, installs the project into it and compiles; that takes a few minutes more.
# Results go to DIR (runs/quickstart by default): the learned grammar is sampled.gz, the translations sampled.test.txt.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
    -h | --help) usage; exit 0 ;;
esac

# In this shell's place: whoever ends it ends the recipe.
exec "$RECIPES/alignments-to-bleu.sh" "$(short "$ROOT/data/novish-en")" novish en --output "$(short "$ROOT/runs/quickstart")" \
    --rounds 4 --beam 50 --nbest 50 "$@"
