#!/usr/bin/env bash
# Start a Dask cluster on this machine, a scheduler and workers as processes of their own, and learn a grammar, tune and
# translate on it; then stop the cluster, whatever happens.
#
#   recipes/cluster-local.sh [DATA_DIR SOURCE TARGET] [options]
#
# The data are those of recipes/alignments-to-bleu.sh; default: the bundled corpus, data/novish-en novish en. This is how
# larger clusters are used as well: only the lines that start the scheduler and the workers are others there.
#
# Options
#   --output DIR      where the results go; default: runs/cluster
#   --workers N       default: the number of processors
#   --shards P        parts of the corpus that are swept at a time; default: twice as many as workers
#   --iterations N    sweeps of the sampler; default: 60
#   --rounds N        rounds of tuning; default: 4
#   --beam N          beam of the decoder; default: 50
#   --nbest N         translations of a sentence that a round of tuning adds; default: 50
#   --baseline WHICH  of Hiero, as alignments-to-bleu.sh has it; default: none
#   --seed N          default: 1
#   --overwrite       do everything again; without it, steps that were done with the same settings are left out
#
# The logs of the cluster are in DIR/cluster, those of the steps in DIR/logs.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

{ # Read as a whole before anything runs: edits meanwhile do no harm.

WORKERS="" SHARDS="" ITERATIONS=60 ROUNDS=4 BEAM=50 NBEST=50 BASELINE=none SEED=1
parse_options --overwrite --output= --workers= --shards= --iterations= --rounds= --beam= --nbest= --baseline= --seed= -- "$@"
case ${#positional[@]} in
    0) positional=("$(short "$ROOT/data/novish-en")" novish en) ;;
    3) ;;
    *) die "expected DATA_DIR SOURCE TARGET, or nothing for the bundled corpus; see --help" ;;
esac
: "${WORKERS:=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)}"
need_numbers --workers
[ "$WORKERS" -ge 1 ] || die "--workers is $WORKERS; at least 1 is needed"
: "${SHARDS:=$((2 * WORKERS))}"
need_numbers --shards
: "${OUT:=$(short "$ROOT/runs/cluster")}"

prepare_python cluster
"$PYTHON" -c 'import distributed' 2>/dev/null || die "$PYTHON has no Dask; install it with pip install 'scfg-sampler[cluster]'"
mkdir -p "$OUT/cluster"
place=$OUT/cluster/scheduler.json
rm -f "$place"

# ------------------------------------------------------------------ the cluster

started=() # processes, each the leader of a group of its own, which Ctrl-C does not reach: it comes to us

begin() { # LOG COMMAND…: in the background; what goes to the log - is for the screen
    local log=$1
    shift
    set -m
    if [ "$log" = - ]; then "$@" & else "$@" >"$log" 2>&1 & fi
    started+=($!)
    set +m
}

stop() { # ends what runs, the last first; asked first, then at once
    local index patience
    trap - EXIT
    for ((index = ${#started[@]} - 1; index >= 0; index--)); do
        kill -- "-${started[index]}" 2>/dev/null || continue
        for ((patience = 50; patience > 0; patience--)); do
            kill -0 -- "-${started[index]}" 2>/dev/null || break
            sleep 0.2
        done
        kill -9 -- "-${started[index]}" 2>/dev/null || true
    done
    rm -rf "$place" "$OUT/cluster/dask-scratch-space"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Should this recipe be killed outright, nobody asks the scheduler for anything any more: it ends then, and they with it.
say "starting a scheduler and $WORKERS workers"
begin "$OUT/cluster/scheduler.log" "$PYTHON" -m distributed.cli.dask_scheduler --host 127.0.0.1 --port 0 --no-dashboard \
    --idle-timeout 3600 --scheduler-file "$place"
for ((seconds = 0; seconds < 300; seconds++)); do
    [ ! -s "$place" ] || break
    kill -0 "${started[0]}" 2>/dev/null || break
    sleep 0.2
done
[ -s "$place" ] || die "the scheduler has not started; see $OUT/cluster/scheduler.log"
for ((worker = 1; worker <= WORKERS; worker++)); do
    begin "$OUT/cluster/worker-$worker.log" "$PYTHON" -m distributed.cli.dask_worker --scheduler-file "$place" \
        --no-dashboard --nthreads 1 --memory-limit 0 --death-timeout 60 --local-directory "$OUT/cluster"
done

# ------------------------------------------------------------------ the work

overwrite=""
[ "$OVERWRITE" = 0 ] || overwrite=--overwrite
# In the background, as signals are answered while bash waits, but not while it runs something.
begin - "$RECIPES/alignments-to-bleu.sh" "${positional[@]}" --output "$OUT" --scheduler "$place" \
    --sampling "--shards $SHARDS" --iterations "$ITERATIONS" --rounds "$ROUNDS" --beam "$BEAM" --nbest "$NBEST" \
    --baseline "$BASELINE" --seed "$SEED" ${overwrite:+"$overwrite"}
status=0
wait $! || status=$?
exit "$status"
}
