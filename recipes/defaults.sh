#!/usr/bin/env bash
# Which settings of the sampler make the best grammars: each is sampled, tuned and tested in the same way.
#
#   recipes/defaults.sh DATA_DIR SOURCE TARGET [options]
#
# DATA_DIR as for recipes/alignments-to-bleu.sh, which does the work. Prints one table, a row for each of
#   default           expected counts over 60 full sweeps, 20 of them burn-in
#   longer            … over 100 sweeps
#   exact             … with tracked seating
#   paper             the paper's 100 stratified sweeps, eight states averaged
#   paper-expected    the same sweeps, expected counts over the last 40
#   lexical           the lexical base, tracked seating, annealed from 3 to 1 over the first 40 of 100 sweeps
#   types             type-based moves after every second sweep
#   divided           rules divided by their internal trees
# of the paper's base unless it says otherwise. Choose by the development set; the test set is for the report.
#
# Options
#   --output DIR      where the results go; default: runs/defaults- and the names of the data and languages
#   --alignment FILE  default: as recipes/alignments-to-bleu.sh chooses
#   --test NAME       which test set, e.g. test2016
#   --variants LIST   only these rows, with commas between them
#   --rounds N        rounds of tuning; default: 6
#   --beam N          beam of the decoder; default: 100
#   --seed N          default: 1
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
conclusions=(table.txt)

{ # Read as a whole before anything runs: edits meanwhile do no harm.

ALIGNMENT="" TEST="" ROUNDS=6 BEAM=100 SEED=1
VARIANTS=default,longer,exact,paper,paper-expected,lexical,types,divided
parse_options --output= --alignment= --test= --variants= --rounds= --beam= --seed= -- "$@"
[ ${#positional[@]} = 3 ] || die "expected DATA_DIR SOURCE TARGET, e.g. data/novish-en novish en; see --help"
: "${OUT:=runs/defaults-$(basename "${positional[0]}")-${positional[1]}-${positional[2]}}"

options() { # VARIANT: sweeps, burn-in, which counts, further options of sample
    case $1 in
        default) echo 60 20 marginal ;;
        longer) echo 100 20 marginal ;;
        exact) echo 60 20 marginal --tables exact ;;
        paper) echo 100 60 average --paper ;;
        paper-expected) echo 100 60 marginal --paper ;;
        lexical) echo 100 40 marginal --base lexical --tables exact --anneal 3:1:40 ;;
        types) echo 60 20 marginal --type-moves 2 ;;
        divided) echo 60 20 marginal --divide-by-trees ;;
        *) die "no variant is called $1; see --help" ;;
    esac
}

IFS=, read -ra variants <<<"$VARIANTS"
for variant in "${variants[@]}"; do
    options "$variant" >/dev/null
done
forget_conclusions # The steps are those of other recipes.
done_before=0
for variant in "${variants[@]}"; do
    read -r sweeps burn_in from sampling <<<"$(options "$variant")"
    told="$((done_before + 1)) of ${#variants[@]}"
    if [ "$done_before" != 0 ]; then # All take about as long as those so far.
        left=$((SECONDS * (${#variants[@]} - done_before) / done_before))
        told+=", about $((left / 60 + 1)) min left for all"
    fi
    say "$variant ($told)"
    done_before=$((done_before + 1))
    within "$variant" "$RECIPES/alignments-to-bleu.sh" "${positional[@]}" --output "$OUT/$variant" --no-baseline --iterations "$sweeps" \
        --burn-in "$burn_in" --from "$from" --sampling "$sampling" --rounds "$ROUNDS" --beam "$BEAM" --seed "$SEED" \
        ${ALIGNMENT:+--alignment "$ALIGNMENT"} ${TEST:+--test "$TEST"} >/dev/null
done
for variant in "${variants[@]}"; do
    awk -v variant="$variant" '
        NR == 1 { gsub(/  +/, "\t"); if (!shown) print; shown = 1 }
        $1 == "sampled" { $1 = variant; gsub(/ +/, "\t"); print }' "$OUT/$variant/table.txt"
done | awk 'NR == 1 || $1 != "grammar"' | table | tee "$OUT/table.txt"
exit
}
