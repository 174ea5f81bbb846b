#!/usr/bin/env bash
# Run the tests, in a virtual environment that is made when there is none.
#
#   recipes/test.sh            the exact tier, then all others but the slow one: half an hour on one core, of which the
#                              first run takes some minutes to compile
#   recipes/test.sh --slow     statistical suites and full recipes too, two to three hours: before a release
#   recipes/test.sh ARGUMENTS  anything else goes to pytest, e.g. tests/decoder -k kbest
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
    -h | --help) usage; exit 0 ;;
esac

run() { "$PYTHON" -m pytest "$@"; }

prepare_python dev
cd "$ROOT"
case $* in
    "" | --slow)
        say "the exact tier: kernels as plain Python"
        NUMBA_DISABLE_JIT=1 run tests/exact
        if [ -n "$*" ]; then
            say "its slow tests, with compiled kernels where they can follow these"
            NUMBA_DISABLE_JIT=1 run tests/exact -m slow --exact plain "$@"
            run tests/exact --exact compiled "$@"
        fi
        say "all other tests"
        run --without-exact "$@"
        ;;
    *) run "$@" ;;
esac
