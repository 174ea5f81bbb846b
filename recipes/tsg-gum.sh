#!/usr/bin/env bash
# A tree substitution grammar from a treebank, against the treebank's own PCFG (Cohn, Goldwater and Blunsom 2009, section 5).
#
#   recipes/tsg-gum.sh TREEBANK_DIR [--output DIR] [--iterations N] [--burn-in N] [--base uniform|pcfg] [--samples N]
#                      [--max-length N] [--sets NAME,NAME] [--threads N] [--seed N] [--overwrite]
#
# TREEBANK_DIR has train, dev and test as Penn-style brackets, named like train.clean.mrg.gz (as those of GUM are) or train.mrg. The
# grammar is learnt from train; the sentences of the other sets up to --max-length words are parsed with the PCFG (Viterbi) and with
# the grammar by mpd, mpp and mer, from words alone and with gold tags. Prints tables with the grammars' sizes and times, and with F1,
# exact match and speed; the histograms of the elementary trees, and draws them. A page that tells of the run is
# DIR/report.html.
#
#   --output DIR      results (runs/tsg)
#   --iterations N    sweeps of the chain (1000)
#   --burn-in N       of these annealed from temperature 5 to 1 (seven tenths of the sweeps)
#   --base NAME       base distribution (pcfg)
#   --samples N       derivations sampled of each sentence for mpp and mer (100; the paper: 1000)
#   --max-length N    words in a sentence at the most (40)
#   --sets NAMES      what to parse (dev,test)
#   --threads N       sentences parsed at a time (1)
#   --seed N          seed (1)
#   --no-plots        draw nothing (the pictures need matplotlib)
#   --overwrite       repeat what was done before
#
# A sweep over GUM's ten thousand trees takes half a second of processor time, type-based moves included.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
conclusions=(table.txt statistics.txt)

main() {
    local positional=() parts=() sets=() data name tags plot=()
    ITERATIONS=1000 BURN_IN= BASE=pcfg SAMPLES=100 MAX_LENGTH=40 SETS=dev,test THREADS=1 SEED=1 NO_PLOTS=0
    parse_options --overwrite --no-plots --output= --iterations= --burn-in= --base= --samples= --max-length= --sets= --threads= \
        --seed= -- "$@"
    [ ${#positional[@]} = 1 ] || die "expected one TREEBANK_DIR; see --help"
    data=${positional[0]}
    need_numbers --samples --max-length --seed
    need_sweeps 7/10
    need_threads
    : "${OUT:=$ROOT/runs/tsg}"
    [ -d "$data" ] || die "$data is not a directory"
    split_list --sets "$SETS"
    sets=("${parts[@]}")
    for name in train "${sets[@]}"; do
        trees_of "$data" "$name" >/dev/null
    done
    prepare_python_to_draw
    mkdir -p "$OUT"
    step learn "$(trees_of "$data" train)" --makes learn -- \
        resume_or_begin "$OUT/learn" tsg resume "$OUT/learn" -- \
        tsg train "$(trees_of "$data" train)" --output "$OUT/learn" --overwrite \
        --base "$BASE" --iterations "$ITERATIONS" --burn-in "$BURN_IN" --seed "$SEED"
    for name in "${sets[@]}"; do
        for tags in words gold-tags; do
            parse_set "$(trees_of "$data" "$name")" "$name" "$tags"
        done
    done
    { sizes; echo; report "${sets[@]}"; } | tee "$OUT/table.txt"
    [ "$NO_PLOTS" = 1 ] || plot=(--plot "$OUT/histograms.svg")
    tsg statistics "$OUT/learn" --label NP --label VP --top 15 ${plot[@]+"${plot[@]}"} | tee "$OUT/statistics.txt"
    conclusions=() # They are this run's, whatever is taken again below.
    step report learn --makes report.html -- tsg report "$OUT/learn" --output "$OUT/report.html"
    say "report: $(short "$OUT/report.html")"
    say "results: $(short "$OUT")"
}

tsg() { "$PYTHON" -m monolingual tsg "$@"; }

trees_of() { # DIR NAME: the file with the trees of a set
    local end
    for end in clean.mrg.gz clean.mrg mrg.gz mrg; do
        [ ! -f "$1/$2.$end" ] || { printf '%s\n' "$1/$2.$end"; return; }
    done
    die "$1 has neither $2.clean.mrg.gz nor $2.mrg"
}

parse_set() { # TREES NAME words|gold-tags
    local grammar method out tagged=()
    [ "$3" = words ] || tagged=(--gold-tags)
    for method in pcfg mpd mpp mer; do
        out=$2.$3.$method grammar=tsg
        [ "$method" != pcfg ] || grammar=pcfg
        step "$out" learn "$1" --makes "$out."{json,mrg,log} -- parse_and_score "$1" "$OUT/$out" "$MAX_LENGTH" --model "$grammar" --method "${method/pcfg/mpd}" \
            --samples "$SAMPLES" --seed "$SEED" ${tagged[@]+"${tagged[@]}"}
    done
}

parse_and_score() { # TREES OUTPUT MAX-LENGTH OPTION…: trees are the same whatever THREADS is
    local trees=$1 out=$2 longest=$3
    shift 3
    tsg parse "$OUT/learn" --input "$trees" --format trees --max-length "$longest" --output "$out.mrg" --threads "$THREADS" "$@" 2>"$out.log" || { cat "$out.log" >&2; return 1; }
    tsg score "$trees" "$out.mrg" --max-length "$longest" --mismatch gold --json >"$out.json"
}

sizes() { # rules of both grammars, and what learning took
    tables tsg-sizes "$OUT" | table
}

report() { # SET…
    tables tsg-scores "$OUT" "$@" | table
}

main "$@"
