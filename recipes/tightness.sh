#!/usr/bin/env bash
# What is a grammar whose trees do not sum to 1? Sections 8 and 9 of Cohen and Johnson (2013), measured.
#
#   recipes/tightness.sh [TREEBANK…] [--output DIR] [--iterations N] [--burn-in N] [--chains N] [--draws N]
#                        [--max-length N] [--prior A] [--threads N] [--seed N] [--overwrite]
#
# First the posterior probability of the flat tree of "a a a" under S -> S S S | S S | 'a', by each of the three
# approaches and by one reweighted run, beside the exact values. Then, for each TREEBANK (three columns: tags, heads,
# words; gzipped or not), the dependency model with valence as a PCFG: --chains chains of each approach over the tag
# sequences of at most --max-length words, the F1 of their trees against the treebank's, a picture of its densities (of three chains or more),
# rejections, Kolmogorov-Smirnov tests, running times. Of the reweighted run, and of all runs of a TREEBANK, there is a page
# that tells of it, DIR/RUN.html.
#
#   --output DIR      results (runs/tightness)
#   --draws N         sweeps for section 8 (1000000)
#   --chains N        chains of each approach (10; the paper: 100)
#   --iterations N    sweeps of each chain (200; the paper: 1000)
#   --burn-in N       of these not scored (half of the sweeps; the paper: 900)
#   --max-length N    words in a sentence at the most (10)
#   --prior A         Dirichlet concentration (0.1)
#   --threads N       threads over sentences (1)
#   --seed N          seed (1)
#   --overwrite       repeat what was done before
#
# A sweep over five thousand sentences takes a tenth of a second of processor time: the paper's numbers take ten hours.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

main() {
    local positional=() treebank names=$'\n'
    DRAWS=1000000 CHAINS=10 ITERATIONS=200 BURN_IN= MAX_LENGTH=10 PRIOR=0.1 THREADS=1 SEED=1
    parse_options --overwrite --output= --draws= --chains= --iterations= --burn-in= --max-length= --prior= --threads= --seed= -- "$@"
    need_numbers --draws --chains --max-length --seed
    need_sweeps 1/2
    need_threads
    : "${OUT:=$ROOT/runs/tightness}"
    for treebank in ${positional[@]+"${positional[@]}"}; do
        [ -f "$treebank" ] || die "there is no file $treebank"
        [[ $names != *$'\n'"$(name_of "$treebank")"$'\n'* ]] || die "results of two treebanks would be called $(name_of "$treebank")"
        names+=$(name_of "$treebank")$'\n'
    done
    prepare_python report
    hold_output
    section_8
    for treebank in ${positional[@]+"${positional[@]}"}; do
        section_9 "$treebank"
    done
    say "results: $(short "$OUT")"
}

sample_or_resume() { # RUN OPTION…: the draws are the same whatever THREADS is
    local run=$1
    shift
    resume_or_begin "$run" pcfg resume "$run" --threads "$THREADS" -- \
        pcfg sample "$@" --threads "$THREADS" --overwrite --output "$run"
}

pcfg() { "$PYTHON" -m monolingual pcfg "$@"; }

proposal_of() { # APPROACH: others than renormalise have no proposals; this is that of the paper
    [[ $1 != renormalise ]] || printf '%s' --proposal=dirichlet
}

section_8() {
    local approach proposal
    conclusions=(section8.txt)
    printf "S -> S S S | S S | 'a'\n" >"$OUT/section8.grammar"
    printf 'a a a\n' >"$OUT/section8.sentences"
    for approach in sink only-tight renormalise; do
        proposal=$(proposal_of "$approach")
        step "section8.$approach" "$OUT/section8.grammar" "$OUT/section8.sentences" --makes "section8.$approach" -- \
            sample_or_resume "$OUT/section8.$approach" "$OUT/section8.grammar" --sentences "$OUT/section8.sentences" \
            --approach "$approach" ${proposal:+"$proposal"} --prior 1 --iterations "$DRAWS" --seed "$SEED"
    done
    step section8.reweighted "$OUT/section8.grammar" "$OUT/section8.sentences" --makes section8.reweighted -- \
        sample_or_resume "$OUT/section8.reweighted" "$OUT/section8.grammar" --sentences "$OUT/section8.sentences" \
        --approach sink --reweight --prior 1 --iterations "$DRAWS" --seed "$SEED"
    tables section-8 "$OUT" | table | tee "$OUT/section8.txt"
    conclusions=() # It is this run's, whatever is taken again below.
    tell section8.reweighted
}

tell() { # RUN: a page that tells of it
    step "report.$1" "$1" --makes "$1.html" -- pcfg report "$OUT/$1" --output "$OUT/$1.html"
    say "report: $(short "$OUT/$1.html")"
}

name_of() { # TREEBANK: what its results are called
    local name
    name=$(basename "$(dirname "$1")").$(basename "$1")
    printf '%s' "${name%.gz}"
}

section_9() { # TREEBANK
    local name approach proposal all=() plot=()
    name=$(name_of "$1")
    conclusions=("$name.txt")
    step "$name.data" "$1" --makes "$name."{grammar,sentences,gold} -- pcfg dependencies "$1" --max-length "$MAX_LENGTH" --output "$OUT/$name"
    for approach in only-tight renormalise sink; do
        proposal=$(proposal_of "$approach")
        step "$name.$approach" "$name.data" --makes "$name.$approach" -- \
            sample_or_resume "$OUT/$name.$approach" "$OUT/$name.grammar" --sentences "$OUT/$name.sentences" --gold "$OUT/$name.gold" \
            --bracket-labels 'N_.*' --approach "$approach" ${proposal:+"$proposal"} --prior "$PRIOR" --chains "$CHAINS" --iterations "$ITERATIONS" --burn-in "$BURN_IN" \
            --thin 10 --score-every 1 --seed "$SEED"
        all+=("$OUT/$name.$approach")
    done
    printf '\n%s\n' "$name"
    [ "$CHAINS" -lt 3 ] || plot=(--plot "$OUT/$name.svg")
    pcfg compare "${all[@]}" ${plot[@]+"${plot[@]}"} | PREFIX=$OUT/$name. awk '
        { while (at = index($0, ENVIRON["PREFIX"])) $0 = substr($0, 1, at - 1) substr($0, at + length(ENVIRON["PREFIX"])) } 1
    ' | tee "$OUT/$name.txt"
    conclusions=()
    for approach in only-tight renormalise sink; do
        tell "$name.$approach"
    done
}

main "$@"
