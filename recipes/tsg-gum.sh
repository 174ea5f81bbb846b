#!/usr/bin/env bash
# A tree substitution grammar from a treebank, against the treebank's own PCFG (Cohn, Goldwater and Blunsom 2009, section 5).
#
#   recipes/tsg-gum.sh TREEBANK_DIR [--out DIR] [--sweeps N] [--burn-in N] [--base uniform|pcfg] [--samples N]
#                      [--max-length N] [--sets NAME,NAME] [--threads N] [--seed N] [--force]
#
# TREEBANK_DIR has train, dev and test as Penn-style brackets, named like train.clean.mrg.gz (as those of GUM are) or train.mrg. The
# grammar is learnt from train; the sentences of the other sets up to --max-length words are parsed with the PCFG (Viterbi) and with
# the grammar by mpd, mpp and mer, from words alone and with gold tags. Prints tables with the grammars' sizes and times, and with F1,
# exact match and speed; the histograms of the elementary trees, and draws them.
#
#   --out DIR         results (runs/tsg)
#   --sweeps N        sweeps of the chain (1000)
#   --burn-in N       of these annealed from temperature 5 to 1 (700)
#   --base NAME       base distribution (pcfg)
#   --samples N       derivations sampled of each sentence for mpp and mer (100; the paper: 1000)
#   --max-length N    words in a sentence at the most (40)
#   --sets NAMES      what to parse (dev,test)
#   --threads N       sentences parsed at a time (1)
#   --seed N          seed (1)
#   --no-plots        draw nothing (the pictures need matplotlib)
#   --force           repeat what was done before
#
# A sweep over GUM's ten thousand trees takes half a second of processor time, type-based moves included.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

main() {
    local sweeps=1000 burn_in=700 base=pcfg samples=100 max_length=40 sets=dev,test threads=1 seed=1 data="" name tags plots=1 plot=()
    OUT=$ROOT/runs/tsg
    while [ $# -gt 0 ]; do
        case $1 in
            -h | --help) usage; exit 0 ;;
            --out) need_value "$1" $#; OUT=$2; shift 2 ;;
            --sweeps) need_value "$1" $#; need_number "$1" "$2"; sweeps=$2; shift 2 ;;
            --burn-in) need_value "$1" $#; need_number "$1" "$2"; burn_in=$2; shift 2 ;;
            --base) need_value "$1" $#; base=$2; shift 2 ;;
            --samples) need_value "$1" $#; need_number "$1" "$2"; samples=$2; shift 2 ;;
            --max-length) need_value "$1" $#; need_number "$1" "$2"; max_length=$2; shift 2 ;;
            --sets) need_value "$1" $#; sets=$2; shift 2 ;;
            --threads) need_value "$1" $#; need_number "$1" "$2"; threads=$2; shift 2 ;;
            --seed) need_value "$1" $#; need_number "$1" "$2"; seed=$2; shift 2 ;;
            --no-plots) plots=0; shift ;;
            --force) FORCE=1; shift ;;
            -*) die "unknown option $1; see --help" ;;
            *) [ -z "$data" ] || die "one TREEBANK_DIR is enough; see --help"; data=$1; shift ;;
        esac
    done
    [ -n "$data" ] || die "expected TREEBANK_DIR; see --help"
    [ -d "$data" ] || die "$data is not a directory"
    sets=${sets//,/ }
    for name in train $sets; do
        trees_of "$data" "$name" >/dev/null
    done
    if [ "$plots" = 1 ]; then prepare_python report; else prepare_python; fi
    mkdir -p "$OUT"
    step learn "$(trees_of "$data" train)" -- tsg train "$(trees_of "$data" train)" --output "$OUT/learn" --overwrite \
        --base "$base" --iterations "$sweeps" --burn-in "$burn_in" --seed "$seed"
    for name in $sets; do
        for tags in words gold-tags; do
            parse_set "$(trees_of "$data" "$name")" "$name" "$tags" "$samples" "$max_length" "$threads" "$seed"
        done
    done
    { sizes; echo; report "$sets"; } | tee "$OUT/table.txt"
    [ "$plots" = 0 ] || plot=(--plot "$OUT/histograms.svg")
    tsg statistics "$OUT/learn" --label NP --label VP --top 15 ${plot[@]+"${plot[@]}"} | tee "$OUT/statistics.txt"
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

parse_set() { # TREES NAME words|gold-tags SAMPLES MAX-LENGTH THREADS SEED
    local grammar method out tagged=()
    [ "$3" = words ] || tagged=(--gold-tags)
    for method in pcfg mpd mpp mer; do
        out=$2.$3.$method grammar=tsg
        [ "$method" != pcfg ] || grammar=pcfg
        step "$out" learn -- parse_and_score "$1" "$OUT/$out" "$5" --grammar "$grammar" --method "${method/pcfg/mpd}" \
            --samples "$4" --threads "$6" --seed "$7" ${tagged[@]+"${tagged[@]}"}
    done
}

parse_and_score() { # TREES OUTPUT MAX-LENGTH OPTION…
    local trees=$1 out=$2 longest=$3
    shift 3
    tsg parse "$OUT/learn" --input "$trees" --format trees --max-length "$longest" --output "$out.mrg" "$@" 2>"$out.log" || { cat "$out.log" >&2; return 1; }
    tsg score "$trees" "$out.mrg" --max-length "$longest" --mismatch gold --json >"$out.json"
}

sizes() { # rules of both grammars, and what learning took
    "$PYTHON" - "$OUT" <<'EOF' | table
import gzip, json, sys
out = sys.argv[1]
def trees(name):
    with gzip.open(f"{out}/learn/{name}.tsg.gz", "rt", encoding="utf-8") as stream:
        return {line.partition("\t")[2] for line in stream}
with open(f"{out}/learn/run.json", encoding="utf-8") as stream:
    run = json.load(stream)
learnt, productions = trees("grammar"), trees("pcfg")
print("grammar", "rules", "of the PCFG's", "CPU s to learn", sep="\t")
print("treebank PCFG", len(productions), "1.00", "-", sep="\t")
for name, rules in (("elementary trees", learnt), ("with unused productions", learnt | productions)):
    print(name, len(rules), f"{len(rules) / len(productions):.2f}", f"{run['cpu_seconds']:.0f}", sep="\t")
EOF
}

report() { # SETS
    "$PYTHON" - "$OUT" "$1" <<'EOF' | table
import json, re, sys
out, sets = sys.argv[1], sys.argv[2].split()
print("set", "method", "F1 words", "exact", "F1 gold tags", "exact", "sentences", "CPU s", "a CPU s", sep="\t")
for name in sets:
    for method in ("pcfg", "mpd", "mpp", "mer"):
        cells = []
        for tags in ("words", "gold-tags"):
            with open(f"{out}/{name}.{tags}.{method}.json", encoding="utf-8") as stream:
                figures = json.load(stream)
            cells += [f"{figures['f1']:.2f}", f"{figures['exact']:.2f}"]
        with open(f"{out}/{name}.words.{method}.log", encoding="utf-8") as stream:
            said = re.search(r"sentences in ([\d.]+) CPU", stream.read())
        # Sentences that are too long take no time, so only the others count.
        seconds = float(said[1]) if said else 0.0
        speed = f"{figures['sentences'] / seconds:.1f}" if seconds else "-"
        print(name, method, *cells, figures["sentences"], f"{seconds:.1f}", speed, sep="\t")
EOF
}

main "$@"
