#!/usr/bin/env bash
# From word-aligned text to a directory that cdec, Moses, Joshua or Travatar runs as it is.
#
#   recipes/plug-in.sh DATA_DIR SOURCE TARGET DECODER [options]
#   recipes/plug-in.sh DECODER --source FILE --target FILE --alignment FILE --dev FILE… --text FILE [options]
#
# DATA_DIR as for recipes/alignments-to-bleu.sh; DECODER is cdec, moses, joshua or travatar, which is not needed here.
# A grammar and a language model are learnt, weights tuned with our decoder, and all of it written to DIR/for-DECODER,
# with the same scores there as here. The commands that translate the text with it are printed at the end.
#
# Options
#   --output DIR      where the results go; default: runs/plug-in- and the names of the data and languages
#   --text FILE       what is to be translated, in the source language: the rules that it can use are plugged in;
#                     default: the first test set
#   --all             plug in all rules, for any text; large tables load slowly
#   --alignment FILE  default: as recipes/alignments-to-bleu.sh chooses
#   --more-alignments LIST  of the same text, with commas between them
#   --source FILE     the training text, where there is no DATA_DIR
#   --target FILE     its translation
#   --dev NAME        development set; default: dev; with --source, its files: the source, and its references
#   --kind WHICH      of grammar, sampled or hiero; default: sampled
#   --lm FILE         a language model in ARPA format; default: one of the training text
#   --iterations N    sweeps of the sampler; default: 60
#   --burn-in N       sweeps before its rule counts are collected; default: a third of the sweeps
#   --sampling TEXT   more options of scfg-sampler sample, as in "--base lexical --tables exact"
#   --order N         order of the language model; default: 3
#   --classes N       for cdec: classes of words, for a second language model, of their n-grams up to five; 0 for none;
#                     default: 0
#   --method METHOD   of tuning, mira or pro; default: mira
#   --rounds N        rounds of tuning; default: 10
#   --beam N          beam of our decoder in tuning; default: 100
#   --max-targets N   targets of a source side that are plugged in, with --text; default: 20
#   --pop-limit N     derivations of a span that DECODER may try; default: 1000
#   --seed N          default: 1
#   --threads N       that tune and translate; default: the number of processors. Sampling takes one, so that it is exact
#   --overwrite       do everything again; without it, steps that were done with the same settings are left out
#
# A recipe that was stopped goes on where it was when it is started again; for another decoder or another text, only
# what differs is made. Every step's log is in DIR/logs.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=recipes/translation.sh
. "$RECIPES/translation.sh"
conclusions=(summary.txt)

{ # Read as a whole before anything runs: edits meanwhile do no harm.

TEXT="" ALL=0 SOURCE="" TARGET="" ALIGNMENT="" MORE_ALIGNMENTS="" DEV="" TEST="" KIND=sampled LM="" ITERATIONS=60 BURN_IN="" SAMPLING=""
ORDER=3 CLASSES=0 METHOD=mira ROUNDS=10 BEAM=100 MAX_TARGETS=20 POP_LIMIT=1000 SEED=1 THREADS=""
parse_options --overwrite --all --output= --text= --source= --target= --alignment= --more-alignments= --dev=+ --kind= \
    --lm= --iterations= --burn-in= \
    --sampling= --order= --classes= --method= --rounds= --beam= --max-targets= --pop-limit= --seed= --threads= -- "$@"
EXPECTED="DATA_DIR SOURCE TARGET DECODER, e.g. data/novish-en novish en moses; see --help"
[ ${#positional[@]} = $([ -n "$SOURCE$TARGET" ] && echo 1 || echo 4) ] || die "expected $EXPECTED"
DECODER=${positional[${#positional[@]} - 1]}
case $DECODER in
    cdec | joshua) copy=any ;; # as these do, whatever they are told
    moses | travatar) copy=unknown ;;
    *) die "DECODER is cdec, moses, joshua or travatar, not '$DECODER'" ;;
esac
case $KIND in
    sampled | hiero) ;;
    *) die "--kind is sampled or hiero, not '$KIND'" ;;
esac
check_tuning "$METHOD" "$ROUNDS"
need_sweeps 1/3
need_number --pop-limit "$POP_LIMIT"
need_number --max-targets "$MAX_TARGETS"
[ -z "$LM" ] || [ -f "$LM" ] || die "there is no language model $LM"
need_threads
[ -z "$SOURCE$TARGET" ] || [ -n "$TEXT" ] || die "--source and --target need --text, what is to be translated"
find_files
: "${OUT:=runs/plug-in-$(basename "$DATA")-$SOURCE-$TARGET}"
name_lms
[ -z "$LM" ] || [ ! "$LM" -ef "$OUT/lm.arpa" ] || die "--lm $LM is what the recipe writes; leave it out, or name another --output"
[ "$CLASSES" = 0 ] || [ "$DECODER" = cdec ] || die "--classes is for cdec; $DECODER does not look up the class of a word"

find_training
DEV_SOURCE=$(find_text "$DEV.$SOURCE")
listed=$(list_references "$DEV")
DEV_REFERENCES=()
while IFS= read -r file; do DEV_REFERENCES+=("$file"); done <<<"$listed"
TEST_REFERENCES=()
if [ -z "$TEXT" ]; then
    TEST=$(find_test)
    TEXT=$(find_text "$TEST.$SOURCE")
    listed=$(list_references "$TEST")
    while IFS= read -r file; do TEST_REFERENCES+=("$file"); done <<<"$listed"
fi
[ -f "$TEXT" ] || die "there is no text $TEXT"

prepare_python
mkdir -p "$OUT"
say "$(count_lines "$TRAIN_SOURCE") training pairs, aligned in $(alignment_names); tuning on $DEV, for $DECODER"

# ------------------------------------------------------------------ the steps

train_lm() { # LINES-OF, or a model that there is: into one plain file, for both programs
    if [ -n "$LM" ]; then
        text "$LM" >"$OUT/lm.arpa"
    else
        decoder train-lm "$TRAIN_TARGET" --order "$ORDER" --output "$OUT/lm.arpa"
    fi
}

read -ra sampling <<<"$SAMPLING"
files_among ${SAMPLING:+"${sampling[@]}"}
corpus=("$TRAIN_SOURCE" "$TRAIN_TARGET" "${ALIGNMENTS[@]}")
corpus_options=(--source "$TRAIN_SOURCE" --target "$TRAIN_TARGET" --alignment "${ALIGNMENTS[@]}")

take_steps() {
    planned_step compile -- compile
    planned_step lm "${LM:-$TRAIN_TARGET}" --makes lm.arpa -- train_lm "$ORDER" "$LM"
    class_lm "$TRAIN_TARGET" "$TRAIN_TARGET"

    if [ "$KIND" = sampled ]; then
        planned_step sample "${corpus[@]}" ${named[@]+"${named[@]}"} --makes sample -- \
            sample_or_resume "$OUT/sample" "${corpus_options[@]}" \
            --iterations "$ITERATIONS" --burn-in "$BURN_IN" --seed "$SEED" ${SAMPLING:+"${sampling[@]}"}
        planned_step grammar-sampled sample --makes sampled.gz -- \
            sampler grammar "$OUT/sample" --output "$OUT/sampled.gz" --from marginal
    else
        planned_step grammar-hiero "${corpus[@]}" --makes hiero.gz -- \
            sampler extract "${corpus_options[@]}" --output "$OUT/hiero.gz"
    fi

    planned_step "filter-$KIND" "grammar-$KIND" "$DEV_SOURCE" --makes "$KIND.filtered.gz" -- \
        sampler filter "$OUT/$KIND.gz" --source "$DEV_SOURCE" --output "$OUT/$KIND.filtered.gz"
    planned_step "tune-$KIND-$copy" "filter-$KIND" "${lm_steps[@]}" "$DEV_SOURCE" "${DEV_REFERENCES[@]}" \
        --makes "$KIND-$copy.weights.json" -- \
        tune "$KIND" "$KIND-$copy" --source "$DEV_SOURCE" --references "${DEV_REFERENCES[@]}" --copy "$copy" \
        --method "$METHOD" --rounds "$ROUNDS" --beam "$BEAM" --seed "$SEED"

    table=$OUT/$KIND.gz rules=grammar-$KIND
    if [ "$ALL" = 0 ]; then
        table=$OUT/$KIND.text.gz rules=text-$KIND
        planned_step "$rules" "grammar-$KIND" "$TEXT" --makes "$KIND.text.gz" -- \
            sampler filter "$OUT/$KIND.gz" --source "$TEXT" --output "$table" --max-targets "$MAX_TARGETS"
    fi
    directory=$OUT/for-$DECODER of_classes=()
    [ "$CLASSES" = 0 ] || of_classes=(--lm "$OUT/lm-classes.arpa" --classes "$OUT/lm-classes.words")
    planned_step "plug-$DECODER" "$rules" "tune-$KIND-$copy" "${lm_steps[@]}" --makes "for-$DECODER" "logs/plug-$DECODER.log" -- \
        sampler plug "$table" --to "$DECODER" --lm "$OUT/lm.arpa" ${of_classes[@]+"${of_classes[@]}"} --weights "$OUT/$KIND-$copy.weights.json" \
        --output "$directory" --pop-limit "$POP_LIMIT"
    spelled=$OUT/input.$DECODER
    planned_step "spell-$DECODER" "$TEXT" --makes "input.$DECODER" -- \
        sampler convert --to "$DECODER" --text "$TEXT" "$spelled"
}

M=$(text "$TRAIN_SOURCE" "$TRAIN_TARGET" | wc -c | awk '{ printf "%.3f", $1 / 1000000 }')
SENTENCES=$(count_lines "$DEV_SOURCE")
plan_compiling
plan_steps take_steps
say "$(this_takes)"
take_steps

# ------------------------------------------------------------------ what to type

{
    number=$(count_rules "$table")
    printf 'rules: %s; for %s: %s\n' "$number" "$DECODER" "$(short "$directory")"
    table_signature "$table"
    echo
    echo 'To translate with it, in the virtual environment (. .venv/bin/activate):'
    command=$(tail -n 1 "$OUT/logs/plug-$DECODER.log")
    command=${command%%) < INPUT*}
    printf '  %s) < %s > %s\n' "$command" "$(quoted "$spelled")" "$(quoted "$OUT/output.$DECODER")"
    printf '  scfg-sampler convert --from %s --to native --text %s %s\n' "$DECODER" \
        "$(quoted "$OUT/output.$DECODER")" "$(quoted "$OUT/output.txt")"
    [ ${#TEST_REFERENCES[@]} = 0 ] ||
        printf '  scfg-decoder evaluate --hypothesis %s --references %s\n' "$(quoted "$OUT/output.txt")" \
            "$(quoted "${TEST_REFERENCES[@]}")"
    printf 'Another text: %s\n' "$(short "$directory")/README"
} >"$OUT/summary.txt"
cat "$OUT/summary.txt"
exit
}
