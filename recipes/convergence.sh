#!/usr/bin/env bash
# How fast the samplers converge: figures 5 and 6 of Chung et al. (2014), and five comparisons of our own.
#
#   recipes/convergence.sh DATA_DIR SOURCE TARGET [options]
#
# DATA_DIR holds train.SOURCE, train.TARGET and their word alignment train.SOURCE-TARGET.NAME, plain or gzipped.
# Draws, each by sweep and by processor seconds, and writes the numbers beside each picture:
#   figure5      top-down against rejection, the paper's schedule
#   figure6      with and without the density factor, without the first ten sweeps
#   schedules    full sweeps against the paper's
#   annealing    plain against annealed (temperature 3 to 1 over 50 sweeps), lexical base
#   types        single sites against type-based moves after every second sweep, lexical base
#   bases        types and sweeps by base: the tables of both, for their likelihoods are not comparable
#
# Options
#   --output DIR      where the results go; default: runs/convergence- and the names of the data and languages
#   --alignment FILE  default: train.SOURCE-TARGET.*-gdfa in DATA_DIR
#   --seeds N         runs of each kind for the paper's figures; default: 5
#   --own-seeds N     runs of each kind for the other pictures; default: 2
#   --iterations N    sweeps; default: 100
#   --overwrite       do everything again; without it, runs that were made with the same settings are left out
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
conclusions=(summary.txt)

main() {
    local positional=() megabytes ALIGNMENT="" SEEDS=5 OWN_SEEDS=2 ITERATIONS=100
    parse_options --overwrite --output= --alignment= --seeds= --own-seeds= --iterations= -- "$@"
    need_numbers --seeds --own-seeds --iterations
    [ ${#positional[@]} = 3 ] || die "expected DATA_DIR SOURCE TARGET, e.g. data/novish-en novish en; see --help"
    [ "$SEEDS" -ge 1 ] || die "--seeds is 0; at least 1 is needed"
    [ "$OWN_SEEDS" -ge 1 ] || die "--own-seeds is 0; at least 1 is needed"
    [ "$ITERATIONS" -gt 11 ] || die "--iterations is $ITERATIONS; figure 6 begins after the tenth sweep"
    local data=${positional[0]} source=${positional[1]} target=${positional[2]} found
    : "${OUT:=runs/convergence-$(basename "$data")-$source-$target}"
    source=$(existing "$data/train.$source") || die "no train.$source in $data"
    target=$(existing "$data/train.$target") || die "no train.$target in $data"
    if [ -z "$ALIGNMENT" ]; then
        for found in "$data/train.${positional[1]}-${positional[2]}".{gold,*-gdfa}{,.gz}; do
            if [ -f "$found" ]; then
                ALIGNMENT=$found
                break
            fi
        done
        [ -n "$ALIGNMENT" ] || die "no train.${positional[1]}-${positional[2]}.*-gdfa in $data; give --alignment"
    fi
    mkdir -p "$OUT"
    prepare_python report

    megabytes=$(text "$source" "$target" | wc -c | awk '{ printf "%.3f", $1 / 1000000 }')
    plan compile 60
    plan_steps take_steps
    say "$(this_takes)"
    take_steps

    picture figure5 0 "top-down=$(runs paper)" "rejection=$(runs rejection)"
    picture figure6 10 "with density factor=$(runs paper)" "without density factor=$(runs no-density)"
    picture schedules 0 "full sweeps=$(runs full)" "stratified=$(runs paper)"
    picture annealing 0 "plain=$(runs lexical)" "annealed=$(runs annealed)"
    picture types 0 "single sites=$(runs lexical)" "with type-based moves=$(runs types)"
    picture base-poisson 0 "poisson=$(runs full)"
    picture base-lexical 0 "lexical=$(runs lexical)"
    summary | tee "$OUT/summary.txt"
    say "pictures and numbers: $OUT"
}

# Compile every kernel, so that no run's processor seconds count that.
compile() {
    local bundled=$ROOT/data/novish-en options
    for options in "--paper" "--operator rejection" "--tables exact --type-moves 1"; do
        # shellcheck disable=SC2086 # several options
        sampler sample --source "$bundled/train.novish.gz" --target "$bundled/train.en.gz" --quiet \
            --alignment "$bundled/train.novish-en.gold.gz" --output "$OUT/logs/compile" --overwrite --iterations 2 $options || return
    done
    rm -rf "$OUT/logs/compile"
}

take_steps() {
    planned_step compile -- compile
    chain "$SEEDS" paper --paper
    chain "$SEEDS" rejection --paper --operator rejection
    chain "$SEEDS" no-density --paper --no-density-factor
    chain "$OWN_SEEDS" full
    chain "$OWN_SEEDS" lexical --base lexical --tables exact
    chain "$OWN_SEEDS" annealed --base lexical --tables exact --anneal "3:1:$((ITERATIONS / 2))"
    chain "$OWN_SEEDS" types --base lexical --tables exact --type-moves 2
}

guesses() { # seconds, as of two cores of 2020
    awk -v M="$megabytes" -v sweeps="$ITERATIONS" '{ printf "%s %.2f\n", $1, 5 + 0.5 * sweeps * M }'
}

# chain NUMBER NAME OPTION…: so many runs.
chain() {
    local number=$1 name=$2 seed
    shift 2
    for ((seed = 1; seed <= number; seed++)); do
        planned_step "$name-$seed" "$source" "$target" "$ALIGNMENT" --makes "$name-$seed" -- sampler sample --source "$source" \
            --target "$target" --alignment "$ALIGNMENT" --output "$OUT/$name-$seed" --overwrite --quiet \
            --iterations "$ITERATIONS" --burn-in "$((ITERATIONS - 1))" --checkpoint-every 0 --seed "$seed" "$@"
    done
}

runs_of() { # NAME: sets `list` to its run directories, and no others that earlier calls have left
    local number=$OWN_SEEDS seed
    case $1 in paper | rejection | no-density) number=$SEEDS ;; esac
    list=()
    for ((seed = 1; seed <= number; seed++)); do list+=("$OUT/$1-$seed"); done
}

runs() { # NAME: its run directories, with commas between them
    local list
    runs_of "$1"
    local IFS=,
    printf '%s' "${list[*]}"
}

picture() { # NAME FIRST LABEL=RUNS…
    local name=$1 first=$2
    shift 2
    sampler curves "$@" --first "$first" --title "$name: $(basename "$data")" --output "$OUT/$name.svg" --quiet
}

# The means over the seeds after a tenth, and all, of the sweeps.
summary() {
    local name list
    {
        printf 'runs\tseconds\tlog joint, a tenth\tseconds\tlog joint\ttypes\trules\n'
        for name in paper rejection no-density full lexical annealed types; do
            runs_of "$name"
            cat "${list[@]/%//trace.tsv}" | awk -F '\t' -v name="$name" -v iterations="$ITERATIONS" '
                $1 == "sweep" { for (c = 1; c <= NF; c++) column[$c] = c; number++; next }
                $1 + 1 == int(iterations / 10) { early += $column["log_joint"]; soon += $column["cpu_seconds"] }
                $1 + 1 == iterations {
                    late += $column["log_joint"]; all += $column["cpu_seconds"]
                    types += $column["types"]; rules += $column["rules"]
                }
                END {
                    printf "%s\t%.1f\t%.0f\t%.1f\t%.0f\t%.0f\t%.0f\n", name, soon / number, early / number,
                        all / number, late / number, types / number, rules / number
                }'
        done
    } | table
}

main "$@"
