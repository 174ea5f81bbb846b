#!/usr/bin/env bash
# Run the tests, in a virtual environment that is made when there is none.
#
#   recipes/test.sh            everything but the slow tier, a few minutes
#   recipes/test.sh --slow     statistical suites and full recipes too
#   recipes/test.sh ARGUMENTS  anything else goes to pytest, e.g. tests/decoder -k kbest
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
    -h | --help) usage; exit 0 ;;
esac

prepare_python dev
cd "$ROOT"
# A job in the background ignores Ctrl-C, and its children would too; tests that press it need the usual answer.
exec "$PYTHON" -c '
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main(sys.argv[1:]))' "$@"
