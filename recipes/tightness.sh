#!/usr/bin/env bash
# What is a grammar whose trees do not sum to 1? Sections 8 and 9 of Cohen and Johnson (2013), measured.
#
#   recipes/tightness.sh [TREEBANK…] [--out DIR] [--iterations N] [--burn-in N] [--runs N] [--draws N]
#                        [--max-length N] [--prior A] [--threads N] [--seed N] [--force]
#
# First the posterior probability of the flat tree of "a a a" under S -> S S S | S S | 'a', by each of the three
# approaches and by one reweighted run, beside the exact values. Then, for each TREEBANK (three columns: tags, heads,
# words; gzipped or not), the dependency model with valence as a PCFG: --runs chains of each approach over the tag
# sequences of at most --max-length words, the F1 of their trees against the treebank's, a picture of its densities,
# rejections, Kolmogorov-Smirnov tests, running times.
#
#   --out DIR         results (runs/tightness)
#   --draws N         sweeps for section 8 (1000000)
#   --runs N          chains of each approach (10; the paper: 100)
#   --iterations N    sweeps of each chain (200; the paper: 1000)
#   --burn-in N       of these not scored (100; the paper: 900)
#   --max-length N    words in a sentence at the most (10)
#   --prior A         Dirichlet concentration (0.1)
#   --threads N       threads over sentences (1)
#   --seed N          seed (1)
#   --force           repeat what was done before
#
# A sweep over five thousand sentences takes a tenth of a second of processor time: the paper's numbers take ten hours.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

main() {
    local draws=1000000 runs=10 iterations=200 burn_in=100 max_length=10 prior=0.1 threads=1 seed=1
    local treebanks=() treebank
    OUT=$ROOT/runs/tightness
    while [ $# -gt 0 ]; do
        case $1 in
            -h | --help) usage; exit 0 ;;
            --out) need_value "$1" $#; OUT=$2; shift 2 ;;
            --draws) need_value "$1" $#; need_number "$1" "$2"; draws=$2; shift 2 ;;
            --runs) need_value "$1" $#; need_number "$1" "$2"; runs=$2; shift 2 ;;
            --iterations) need_value "$1" $#; need_number "$1" "$2"; iterations=$2; shift 2 ;;
            --burn-in) need_value "$1" $#; need_number "$1" "$2"; burn_in=$2; shift 2 ;;
            --max-length) need_value "$1" $#; need_number "$1" "$2"; max_length=$2; shift 2 ;;
            --prior) need_value "$1" $#; prior=$2; shift 2 ;;
            --threads) need_value "$1" $#; need_number "$1" "$2"; threads=$2; shift 2 ;;
            --seed) need_value "$1" $#; need_number "$1" "$2"; seed=$2; shift 2 ;;
            --force) FORCE=1; shift ;;
            -*) die "unknown option $1; see --help" ;;
            *) treebanks+=("$1"); shift ;;
        esac
    done
    for treebank in ${treebanks[@]+"${treebanks[@]}"}; do
        [ -f "$treebank" ] || die "there is no file $treebank"
    done
    prepare_python report
    mkdir -p "$OUT"
    section_8 "$draws" "$seed"
    for treebank in ${treebanks[@]+"${treebanks[@]}"}; do
        section_9 "$treebank" "$runs" "$iterations" "$burn_in" "$max_length" "$prior" "$threads" "$seed"
    done
    say "results: $(short "$OUT")"
}

pcfg() { "$PYTHON" -m monolingual pcfg "$@"; }

section_8() { # DRAWS SEED
    local approach
    printf "S -> S S S | S S | 'a'\n" >"$OUT/section8.grammar"
    printf 'a a a\n' >"$OUT/section8.sentences"
    for approach in sink only-tight renormalise; do
        step "section8.$approach" "$OUT/section8.grammar" "$OUT/section8.sentences" -- \
            pcfg sample "$OUT/section8.grammar" --sentences "$OUT/section8.sentences" --approach "$approach" \
            --prior 1 --iterations "$1" --seed "$2" --overwrite --output "$OUT/section8.$approach"
    done
    step section8.reweighted "$OUT/section8.grammar" "$OUT/section8.sentences" -- \
        pcfg sample "$OUT/section8.grammar" --sentences "$OUT/section8.sentences" --approach sink --reweight \
        --prior 1 --iterations "$1" --seed "$2" --overwrite --output "$OUT/section8.reweighted"
    "$PYTHON" - "$OUT" <<'EOF' | table | tee "$OUT/section8.txt"
import json, math, sys
tree = "(S (S a) (S a) (S a))"
exact = {"sink": 7 / 11, "only-tight": 11179 / 17221, "renormalise": 0.61989256}
print("approach", "exact", "sampled", "error", "deviations", "reweighted", "error", "CPU s", sep="\t")
def load(name):
    with open(f"{sys.argv[1]}/section8.{name}/summary.json", encoding="utf-8") as stream:
        return json.load(stream)
again = load("reweighted")["reweighted"]
for approach, value in exact.items():
    run = load(approach)
    share, error = run["tree_frequencies"][tree], run["tree_frequency_errors"].get(tree, math.nan)
    # A tree of the reweighted run counts as one of so many independent draws.
    other = again[approach].get("tree_frequencies", run["tree_frequencies"])[tree]
    other_error = math.sqrt(other * (1 - other) / again[approach]["effective_draws"])
    print(approach, f"{value:.6f}", f"{share:.6f}", f"{error:.6f}", f"{(share - value) / error:+.2f}", f"{other:.6f}",
          f"{other_error:.6f}", f"{run['cpu_seconds']:.1f}", sep="\t")
EOF
}

section_9() { # TREEBANK RUNS ITERATIONS BURN-IN MAX-LENGTH PRIOR THREADS SEED
    local name approach all=()
    name=$(basename "$(dirname "$1")").$(basename "$1")
    name=${name%.gz}
    step "$name.data" "$1" -- pcfg dependencies "$1" --max-length "$5" --output "$OUT/$name"
    for approach in only-tight renormalise sink; do
        step "$name.$approach" "$name.data" -- \
            pcfg sample "$OUT/$name.grammar" --sentences "$OUT/$name.sentences" --gold "$OUT/$name.gold" \
            --brackets 'N_.*' --approach "$approach" --prior "$6" --chains "$2" --iterations "$3" --burn-in "$4" \
            --thin 10 --score-every 1 --threads "$7" --seed "$8" --overwrite --output "$OUT/$name.$approach"
        all+=("$OUT/$name.$approach")
    done
    printf '\n%s\n' "$name"
    pcfg compare "${all[@]}" --plot "$OUT/$name.svg" | sed "s,$OUT/$name\\.,,g" | tee "$OUT/$name.txt"
}

main "$@"
