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
# random starts and a Gibbs sampler over some seeds). The covariances of the families' model are drawn for some heads, and
# a page that tells of that model is DIR/report.html.
#
# Options
#   --output DIR         where the results go; default: runs/dmv-NAME, after the treebank
#   --tags COLUMN        xpos or upos; default: xpos
#   --punctuation TAGS   tags of words to be removed; default: the tag set is recognised
#   --heads TAGS         heads whose covariances are drawn, separated by commas; default: those of VBD,NN,VERB,NOUN
#                        that the model has
#   --rounds N           at the most, and sweeps of the Gibbs sampler; at least 2; default: 200
#   --seeds N            of random starts and the Gibbs sampler; default: 3
#   --no-plots           draw nothing (the pictures need matplotlib)
#   --overwrite          do everything again; without it, steps that were done with the same settings are left out
#
# A treebank of twelve thousand sentences takes some ten minutes of processor time, most of it for the logistic normal.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
conclusions=(table.txt)

dmv() { "$PYTHON" -m monolingual dmv "$@"; }

# A model and its scores on the test set.
model() { # NAME OPTION…
    local name=$1 length=--rounds made=("$1.model.txt")
    shift
    case $name in
        gibbs-*) length=--iterations ;;
        ln-families) made+=(ln-families.npz ln-families.rounds.tsv) ;;
    esac
    step "train-$name" "$TRAIN" "$DEV" "$OUT/settings" --makes "${made[@]}" -- \
        train "$OUT/$name.model.txt" "$TRAIN" --heldout "$DEV" --tags "$TAGS" --punctuation "$PUNCTUATION" "$length" "$ROUNDS" "$@"
    step "score-$name" "train-$name" "$TEST" --makes "$name.scores.json" -- score "$name"
}

train() { # MODEL ARGUMENT…: training that was stopped goes on
    local model=$1
    shift
    if [ "$RESUMING" = 1 ] && [ -f "$model.checkpoint.npz" ]; then
        dmv resume "$model"
    else
        rm -f "$model.checkpoint.npz" # Of other settings; should `train` be stopped at once, it is nothing to go on with.
        dmv train "$@" --output "$model" --overwrite
    fi
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

find_heads() { # sets `parts` to past verbs and nouns, as far as the tag set has them
    local tag
    for tag in VBD NN VERB NOUN; do
        ! grep -q "^root $tag " "$OUT/ln-families.model.txt" || parts+=("$tag")
    done
}

# One row for each TITLE=NAME; a NAME with commas is averaged over.
report() { # TITLE=NAME…
    tables dmv "$OUT" "$@"
}

main() {
    local positional=() parts=() directory name seed gibbs="" random="" rows=()
    TAGS=xpos PUNCTUATION=auto ROUNDS=200 HEADS="" SEEDS=3 NO_PLOTS=0
    parse_options --overwrite --no-plots --output= --tags= --punctuation= --heads= --rounds= --seeds= -- "$@"
    [ ${#positional[@]} = 1 ] || die "expected one TREEBANK_DIR; see --help"
    directory=${positional[0]}
    need_numbers --rounds --seeds
    [ "$ROUNDS" -ge 2 ] || die "--rounds is at least 2, not $ROUNDS"
    split_list --heads "$HEADS"
    TRAIN=$(existing "$directory/train.conllu") || die "there is no train.conllu in $directory"
    DEV=$(existing "$directory/dev.conllu") || die "there is no dev.conllu in $directory"
    TEST=$(existing "$directory/test.conllu") || die "there is no test.conllu in $directory"
    : "${OUT:=$ROOT/runs/dmv-$(basename "$directory")}"

    prepare_python_to_draw
    hold_output
    printf '%s\n' "$TAGS" "$PUNCTUATION" "$ROUNDS" >"$OUT/settings"

    model em
    model em-map --method em-map --prior 1.1
    model vb-dirichlet --method vb-dirichlet --prior 0.01,0.1,0.25,1,10
    model vb-em-dirichlet --method vb-em-dirichlet
    model ln-identity --method vb-em-logistic-normal
    model ln-families --method vb-em-logistic-normal --covariance families --covariances "$OUT/ln-families.npz" \
        --trace "$OUT/ln-families.rounds.tsv"
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
    model annealed --anneal "1:$((ROUNDS > 25 ? 25 : ROUNDS - 1))"
    for ((seed = 1; seed <= SEEDS; seed++)); do
        model "random-$seed" --start random --restarts 10 --seed "$seed"
        random+=${random:+,}random-$seed
        model "gibbs-$seed" --method gibbs --seed "$seed"
        gibbs+=${gibbs:+,}gibbs-$seed
    done
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
    conclusions=() # It is this run's, whatever is taken again below.
    [ ${#parts[@]} -gt 0 ] || find_heads
    if [ "$NO_PLOTS" = 0 ] && [ ${#parts[@]} -gt 0 ]; then
        step covariances train-ln-families "$OUT/settings" --makes covariances.svg -- draw "${parts[@]}"
    fi
    step report train-ln-families "$TEST" --makes report.html -- \
        dmv report "$OUT/ln-families.model.txt" --output "$OUT/report.html" --covariances "$OUT/ln-families.npz" \
        --trace "$OUT/ln-families.rounds.tsv" --treebank "$TEST" --tags "$TAGS" --punctuation "$PUNCTUATION"
    say "report: $(short "$OUT/report.html")"
    say "results: $(short "$OUT")"
}

main "$@"
