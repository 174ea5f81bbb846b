#!/usr/bin/env bash
# Words or subwords, and how many? BLEU and chrF of raw text for several segmentations of the same corpus.
#
#   recipes/segmentations.sh DATA_DIR XX YY [options]
#
# DATA_DIR holds raw text, as for recipes/low-resource.sh, which is run once for each segmentation and seed: it segments,
# aligns, learns, tunes and translates, the grammars of one run from the same alignment. What is best on the development
# set is said at the end, by BLEU and by chrF; the test set is for looking at afterwards.
#
# Options
#   --output DIR      where the results go; default: runs/segmentations- and the names of the data and languages
#   --segmentations TEXT  what to compare, with blanks between: words, subwords:N, subwords:N,M, none, or two of them, as in
#                     words,subwords:N; default: "words subwords:2000 subwords:4000 subwords:8000"
#   --seeds N         runs of each, with the seeds 1 to N of sampling and tuning, and alignments of their own; default: 3
#   --grammars LIST   of hiero, hiero-loose, sampled, with commas between them; default: hiero,sampled
#   --case CASE       true, lower or keep; default: true
#   --iterations N    sweeps of the sampler; default: 60
#   --metric METRIC   that weights are tuned for, bleu or chrf; default: bleu
#   --rounds N        rounds of tuning; default: 6
#   --beam N          beam of the decoder; default: 100
#   --nbest N         translations of a sentence that a round of tuning adds; default: 100
#   --preparing TEXT  more options of scfg-sampler prepare, as in "--joint --rules hi=en"
#   --threads N       that tune and translate; default: the number of processors. Sampling takes one, so that it is exact
#   --overwrite       do everything again; without it, steps that were done with the same settings are left out
#
# A recipe that was stopped goes on where it was when it is started again. DIR/SEGMENTATION.SEED holds a run each.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=recipes/translation.sh
. "$RECIPES/translation.sh"
conclusions=(table.txt table.tsv results.json)

{ # Read as a whole before anything runs: edits meanwhile do no harm.

SEGMENTATIONS="words subwords:2000 subwords:4000 subwords:8000" SEEDS=3 GRAMMARS=hiero,sampled CASE="true" ITERATIONS=60
METRIC=bleu ROUNDS=6 BEAM=100 NBEST=100 PREPARING="" THREADS=""
parse_options --overwrite --output= --segmentations= --seeds= --grammars= --case= --iterations= --metric= --rounds= --beam= \
    --nbest= --preparing= --threads= -- "$@"
[ ${#positional[@]} = 3 ] || die "expected DATA_DIR XX YY, e.g. es-cni es cni; see --help"
GIVEN=${positional[0]} SOURCE=${positional[1]} TARGET=${positional[2]}
need_numbers --seeds --iterations --rounds --beam --nbest
[ "$SEEDS" -ge 1 ] && [ "$SEEDS" -le 100 ] || die "--seeds is from 1 to 100"
read -ra segmentations <<<"$SEGMENTATIONS"
[ ${#segmentations[@]} -gt 0 ] || die "--segmentations names none"
twice=$(printf '%s\n' "${segmentations[@]}" | sort | uniq -d | head -n 1)
[ -z "$twice" ] || die "--segmentations names $twice twice"
check_tuning pro "$ROUNDS"
need_threads
: "${OUT:=runs/segmentations-$(basename "$GIVEN")-$SOURCE-$TARGET}"
for name in "train.$SOURCE" "train.$TARGET" "dev.$SOURCE"; do
    existing "$GIVEN/$name" >/dev/null || die "$GIVEN has neither $name nor $name.gz"
done
split_grammars "$GRAMMARS"
case $METRIC in
    chrf | bleu) ;;
    *) die "--metric is chrf or bleu, not '$METRIC'" ;;
esac

name_of() { # SEGMENTATION: subwords-2000-words for subwords:2000,words
    printf '%s' "${1//[:,]/-}"
}

prepare_python align,tokenize
mkdir -p "$OUT"

translate_raw() { # SEGMENTATION SEED OPTION…: what becomes of the raw text, in a directory of its own
    local segmentation=$1 seed=$2 again=()
    shift 2
    [ "$OVERWRITE" = 0 ] || again=(--overwrite)
    "$RECIPES/low-resource.sh" "$GIVEN" "$SOURCE" "$TARGET" --output "$OUT/$(name_of "$segmentation").$seed" \
        --segment "$segmentation" --seed "$seed" --tunings 1 --threads "$THREADS" ${again[@]+"${again[@]}"} "$@"
}

compare_grammars() { # NAME SEEDS: the sampled grammars of all seeds against Hiero's
    local listed file seed references=() hypotheses=() against=()
    listed=$(DATA=$OUT/$1.1/raw list_references test) || return
    while IFS= read -r file; do references+=("$file"); done <<<"$listed"
    for ((seed = 1; seed <= $2; seed++)); do # What there is of more seeds is of an earlier call.
        hypotheses+=("$OUT/$1.$seed/sampled.1.test.txt") against+=("$OUT/$1.$seed/hiero.1.test.txt")
    done
    score "$OUT/$1.json" --hypothesis "${hypotheses[@]}" --against "${against[@]}" \
        --references "${references[@]}" --tokenize "$(raw_tokenizer "$TARGET")" --metrics bleu
}

# ------------------------------------------------------------------ the steps

inputs=()
for file in "$GIVEN"/{train,dev,test}."$SOURCE"{,.gz} "$GIVEN"/{train,dev,test}."$TARGET"{,.gz,.ref?,.ref?.gz}; do
    [ ! -f "$file" ] || inputs+=("$file")
done
read -ra preparing <<<"$PREPARING"
files_among ${PREPARING:+"${preparing[@]}"}
inputs+=(${named[@]+"${named[@]}"})
options=(--grammars "$GRAMMARS" --case "$CASE" --iterations "$ITERATIONS" --metric "$METRIC" --rounds "$ROUNDS"
    --beam "$BEAM" --nbest "$NBEST" ${PREPARING:+--preparing "$PREPARING"})
T=$(count_lines "$(existing "$GIVEN/train.$TARGET")" | awk '{ printf "%.3f", $1 / 1000 }')
M=$(text "$(existing "$GIVEN/train.$TARGET")" | wc -c | awk '{ printf "%.3f", 2 * $1 / 1000000 }')
SENTENCES=$(count_lines "$(existing "$GIVEN/dev.$SOURCE")")
for ((seed = 1; seed <= SEEDS; seed++)); do
    for segmentation in "${segmentations[@]}"; do
        estimate "$(name_of "$segmentation").$seed" \
            "20 + 20 * M + 0.4 * sweeps * M + ${#grammars[@]} * (15 + 0.006 * sentences * (rounds + 5) * beam / 200 * (1 + 2 / threads))"
    done
done
plan_estimates
say "${#segmentations[@]} segmentations, $(counted "$SEEDS" seed); $(this_takes)"
for ((seed = 1; seed <= SEEDS; seed++)); do
    for segmentation in "${segmentations[@]}"; do
        name=$(name_of "$segmentation").$seed
        made=("$name/summary.txt" "$name/results.json" "$name/data/train."{"$SOURCE","$TARGET"})
        for grammar in "${grammars[@]}"; do
            made+=("$name/$grammar."{gz,dev.json,test.json,1.test.txt} "$name/logs/translate-$grammar.1.log")
        done
        planned_step "$name" "${inputs[@]}" --makes "${made[@]}" -- translate_raw "$segmentation" "$seed" "${options[@]}"
    done
done

# ------------------------------------------------------------------ the table

names=()
for segmentation in "${segmentations[@]}"; do
    name=$(name_of "$segmentation")
    names+=("$name")
    for ((seed = 1; seed <= SEEDS; seed++)); do
        run=$OUT/$name.$seed
        for log in "$run/logs/"{align,sample,grammar-*}.times; do
            [ ! -f "$log" ] || (OUT=$run && log=$(basename "$log" .times) && cpu_seconds "$log" >"$OUT/logs/$log.cpu")
        done
    done
    if [[ ,$GRAMMARS, = *,hiero,* && ,$GRAMMARS, = *,sampled,* ]]; then
        before=()
        for ((seed = 1; seed <= SEEDS; seed++)); do before+=("$name.$seed"); done
        step "compare-$name" "${before[@]}" --makes "$name.json" -- compare_grammars "$name" "$SEEDS"
    fi
done
tables segmentations "$OUT" "$SOURCE" "$TARGET" "$SEEDS" "$GRAMMARS" "${names[@]}" >"$OUT/table.tsv" # and results.json
{
    table <"$OUT/table.tsv"
    echo
    for metric in BLEU chrF; do
        best=$(json "$OUT/results.json" best "$metric")
        printf 'best on dev by %s: %s\n' "$metric" "$best"
    done
    scores=$OUT/${names[0]}.1/${grammars[0]}.test.json
    bleu=$(json "$scores" bleu signature)
    chrf=$(json "$scores" chrf signature)
    printf 'BLEU: %s\nchrF: %s\n' "$bleu" "$chrf"
    printf 'means over %s (standard deviations); p: sampled against hiero on the test set, BLEU\n' "$(counted "$SEEDS" seed)"
    printf 'run directory: %s\n' "$(short "$OUT")"
} >"$OUT/table.txt"
cat "$OUT/table.txt"
exit
}
