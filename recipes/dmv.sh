#!/usr/bin/env bash
# Table 1 of Cohen, Gimpel and Smith (2008) on a treebank, and what came after.
#
#   recipes/dmv.sh TREEBANK_DIR [options]
#
# TREEBANK_DIR holds train, dev and test.conllu (.gz or not). Dependency models are learnt from the tags of the training
# sentences of at most ten words, stopping by the likelihood of such development sentences, and parse the test set.
#
# Prints the share of words with the right head, in percent, for sentences of at most 10, at most 20 and all words, by
# Viterbi and minimum-Bayes-risk decoding: the two baselines, the paper's estimators, then the extensions (children that
# depend on adjacency, smoothed or not, logistic normals that tags share, Viterbi and lateen EM, unambiguity regularisation,
# random starts and a Gibbs sampler over some seeds). The covariances of the families' model are drawn for some heads.
#
# Options
#   --out DIR            where the results go; default: runs/dmv-NAME, after the treebank
#   --tags COLUMN        xpos or upos; default: xpos
#   --punctuation TAGS   tags of words to be removed; default: PUNCT
#   --heads TAGS         heads whose covariances are drawn, separated by commas; default: VBD,NN
#   --rounds N           at the most; default: 200
#   --seeds N            of random starts and the Gibbs sampler; default: 3
#   --no-plots           draw nothing (the pictures need matplotlib)
#   --force              do everything again; without it, steps that were done with the same settings are left out
#
# A treebank of twelve thousand sentences takes some ten minutes of processor time, most of it for the logistic normal.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

dmv() { "$PYTHON" -m monolingual dmv "$@"; }

# A model and its scores on the test set.
model() { # NAME OPTION…
    local name=$1
    shift
    step "train-$name" "$TRAIN" "$DEV" "$OUT/settings" -- \
        dmv train "$TRAIN" --heldout "$DEV" --tags "$TAGS" --punctuation "$PUNCTUATION" --rounds "$ROUNDS" \
        --output "$OUT/$name.model.txt" "$@"
    step "score-$name" "train-$name" "$TEST" -- score "$name"
}

score() { # NAME
    dmv evaluate "$OUT/$1.model.txt" "$TEST" --tags "$TAGS" --punctuation "$PUNCTUATION" --json >"$OUT/$1.scores.json"
}

draw() { # HEAD…
    local head heads=()
    for head in "$@"; do
        heads+=(--head "$head")
    done
    dmv covariances "$OUT/ln-families.npz" "${heads[@]}" --plot "$OUT/covariances.svg"
}

# One row for each TITLE=NAME; a NAME with commas is averaged over.
report() { # TITLE=NAME…
    "$PYTHON" - "$OUT" "$@" <<'PYTHON'
import json, pathlib, statistics, sys
out, *rows = sys.argv[1:]
read = lambda name: json.loads((pathlib.Path(out) / f"{name}.scores.json").read_text(encoding="utf-8"))
lengths = {"10": "≤ 10", "20": "≤ 20", "all": "all"}
decoders = ("viterbi", "mbr")
print("\t".join(["estimator", *(f"{d} {t}" for d in decoders for t in lengths.values()), "undirected ≤ 10", "rounds"]))
first = read(rows[0].rpartition("=")[2].split(",")[0])
for title, name in (("attach right", "attach_right"), ("attach left", "attach_left")):
    scores = [f"{first[name][n]['directed']:.1f}" for n in lengths]
    print("\t".join([title, *scores, *scores, f"{first[name]['10']['undirected']:.1f}", ""]))
for row in rows:
    title, _, names = row.rpartition("=")
    found = [read(name) for name in names.split(",")]
    def mean(*keys):
        values = []
        for value in found:
            for key in keys:
                value = value[key]
            values.append(value)
        spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
        return f"{statistics.mean(values):.1f}{spread}"
    rounds = []
    for name in names.split(","):
        with open(pathlib.Path(out) / f"{name}.model.txt", encoding="utf-8") as model:
            rounds.append(model.readline().split(",")[-1].split()[0])
    cells = [mean(d, n, "directed") for d in decoders for n in lengths]
    print("\t".join([title, *cells, mean("mbr", "10", "undirected"), "/".join(rounds)]))
PYTHON
}

main() {
    local directory="" name seed gibbs="" random="" rows=() heads=VBD,NN seeds=3 plots=1
    OUT="" TAGS=xpos PUNCTUATION=PUNCT ROUNDS=200
    while [ $# -gt 0 ]; do
        case $1 in
            -h | --help) usage; exit 0 ;;
            --force) FORCE=1; shift ;;
            --no-plots) plots=0; shift ;;
            --out | --tags | --punctuation | --heads | --rounds | --seeds)
                need_value "$1" $#
                case $1 in
                    --out) OUT=$2 ;;
                    --tags) TAGS=$2 ;;
                    --punctuation) PUNCTUATION=$2 ;;
                    --heads) heads=$2 ;;
                    --rounds) ROUNDS=$2 ;;
                    --seeds) seeds=$2 ;;
                esac
                shift 2
                ;;
            -*) die "unknown option $1; see --help" ;;
            *) [ -z "$directory" ] || die "expected one TREEBANK_DIR; see --help"; directory=$1; shift ;;
        esac
    done
    [ -n "$directory" ] || die "expected TREEBANK_DIR; see --help"
    need_number --rounds "$ROUNDS"
    need_number --seeds "$seeds"
    TRAIN=$(existing "$directory/train.conllu") || die "there is no train.conllu in $directory"
    DEV=$(existing "$directory/dev.conllu") || die "there is no dev.conllu in $directory"
    TEST=$(existing "$directory/test.conllu") || die "there is no test.conllu in $directory"
    [ -n "$OUT" ] || OUT=$ROOT/runs/dmv-$(basename "$directory")

    if [ "$plots" = 1 ]; then prepare_python report; else prepare_python; fi
    mkdir -p "$OUT"
    printf '%s\n' "$TAGS" "$PUNCTUATION" "$ROUNDS" >"$OUT/settings"

    model em
    model em-map --method em-map --prior 1.1
    model vb-dirichlet --method vb-dirichlet --prior 0.01,0.1,0.25,1,10
    model vb-em-dirichlet --method vb-em-dirichlet
    model ln-identity --method vb-em-logistic-normal
    model ln-families --method vb-em-logistic-normal --covariance families --covariances "$OUT/ln-families.npz"
    model ln-integrated --method vb-em-logistic-normal --unused integrated
    model ln-corpus --method vb-em-logistic-normal --level corpus
    for name in verb noun,verb all one; do
        model "ln-share-${name//,/-}" --method vb-em-logistic-normal --share "$name"
    done
    model valence --valence 2
    model ln-valence --method vb-em-logistic-normal --valence 2
    model ln-families-valence --method vb-em-logistic-normal --covariance families --valence 2
    model ln-share-valence --method vb-em-logistic-normal --share noun,verb --valence 2
    model smoothed --method vb-dirichlet --prior 0.25 --valence 2 --smooth 100
    model ln-smoothed --method vb-em-logistic-normal --valence 2 --smooth 0
    model viterbi-em --e-step viterbi
    model lateen-em --e-step lateen
    model unambiguity --unambiguity 0.75
    model annealed --anneal 1:25
    for ((seed = 1; seed <= seeds; seed++)); do
        model "random-$seed" --init random --restarts 10 --seed "$seed"
        random+=${random:+,}random-$seed
        model "gibbs-$seed" --method gibbs --seed "$seed"
        gibbs+=${gibbs:+,}gibbs-$seed
    done
    if [ "$plots" = 1 ]; then
        IFS=, read -r -a rows <<<"$heads"
        step covariances train-ln-families "$OUT/settings" -- draw "${rows[@]}"
    fi
    rows=("EM=em" "EM-MAP, α = 1.1=em-map" "VB-Dirichlet, α by dev=vb-dirichlet" "VB-EM-Dirichlet=vb-em-dirichlet"
        "VB-EM-logistic-normal, identity=ln-identity" "VB-EM-logistic-normal, families=ln-families"
        "… identity, unused integrated=ln-integrated" "… identity, one draw for the corpus=ln-corpus"
        "… identity, verbs share=ln-share-verb" "… identity, nouns share, verbs share=ln-share-noun-verb"
        "… identity, every family shares=ln-share-all" "… identity, all tags share=ln-share-one"
        "EM, valence 2=valence" "… identity, valence 2=ln-valence" "… families, valence 2=ln-families-valence"
        "… identity, nouns share, verbs share, valence 2=ln-share-valence"
        "VB-Dirichlet, valence 2, smoothed=smoothed" "VB-EM-logistic-normal, identity, valence 2, smoothed=ln-smoothed"
        "Viterbi EM=viterbi-em" "lateen EM=lateen-em" "EM, unambiguity 0.75=unambiguity"
        "EM, unambiguity from 1 to 0=annealed")
    if [ -n "$gibbs" ]; then rows+=("EM, best of 10 random starts=$random" "Gibbs=$gibbs"); fi
    report "${rows[@]}" | table | tee "$OUT/table.txt"
    say "results: $(short "$OUT")"
}

main "$@"
