#!/usr/bin/env bash
# From two files of raw text to a system that translates raw text, and its BLEU and chrF.
#
#   recipes/from-raw-text.sh SOURCE_FILE TARGET_FILE XX YY [options]
#
# Line k of both files, plain or gzipped (.gz), belongs together; XX and YY are their languages, as in de en. The text
# is cleaned, split, segmented, aligned by eflomal; then a grammar and a language model are learnt from it, weights
# tuned, and the raw test set translated and scored. DIR/system is what translates; it may be moved elsewhere.
#
# Options
#   --output DIR      where the results go; default: runs/ and the languages
#   --segment HOW     words, subwords:N, subwords:N,M, none, or two, as in words,subwords:N; default: words (by
#                     sacremoses; scripts without spaces get subwords)
#   --case CASE       true, lower or keep; default: true
#   --dev N           sentences for the weights; default: a tenth, at most 500
#   --test N          sentences for the scores; default: a tenth, at most 500
#   --preparing TEXT  more options of scfg-sampler prepare, as in "--max-ratio 6 --rules nn=sv"
#   --monolingual FILE…  more raw text of the target language, for the language model
#   --aligner WHICH   eflomal, or phrases, which links blocks of words and takes longer; default: eflomal
#   --draws N         how often it aligns, every pair counting under each alignment; default: 1
#   --kind WHICH      of grammar, sampled or hiero; default: sampled
#   --iterations N    sweeps of the sampler; default: 60
#   --burn-in N       sweeps before its rule counts are collected; default: a third of the sweeps
#   --sampling TEXT   more options of scfg-sampler sample, as in "--base lexical --tables exact"
#   --order N         order of the language model; default: 3
#   --method METHOD   of tuning, mira or pro; default: mira, or pro for chrF
#   --metric METRIC   that weights are tuned for, bleu or chrf (with pro alone); default: bleu
#   --rounds N        rounds of tuning; default: 10
#   --beam N          beam of the decoder; default: 100, in tuning, and 200 in translating
#   --nbest N         translations of a sentence that a round of tuning adds; default: 100
#   --seed N          default: 1
#   --threads N       that tune and translate; default: the number of processors. Sampling takes one, so that it is exact
#   --overwrite       do everything again; without it, steps that were done with the same settings are left out
#
# A recipe that was stopped goes on where it was when it is started again. Every step's log is in DIR/logs.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=recipes/translation.sh
. "$RECIPES/translation.sh"

{ # Read as a whole before anything runs: edits meanwhile do no harm.

SEGMENT=words CASE="true" DEV="" TEST="" PREPARING="" MONOLINGUAL="" ALIGNER=eflomal DRAWS=1 KIND=sampled ITERATIONS=60 BURN_IN="" SAMPLING=""
ORDER=3 METHOD="" METRIC=bleu ROUNDS=10 BEAM="" NBEST=100 SEED=1 THREADS=""
parse_options --overwrite --output= --segment= --case= --dev= --test= --preparing= --monolingual=+ --aligner= --draws= --kind= --iterations= \
    --burn-in= --sampling= --order= --method= --metric= --rounds= --beam= --nbest= --seed= --threads= -- "$@"
[ ${#positional[@]} = 4 ] ||
    die "expected SOURCE_FILE TARGET_FILE XX YY, e.g. corpus.de corpus.en de en; see --help"
SOURCE_FILE=${positional[0]} TARGET_FILE=${positional[1]} SOURCE=${positional[2]} TARGET=${positional[3]}
case $METRIC in
    bleu) : "${METHOD:=mira}" ;;
    chrf) : "${METHOD:=pro}" ;;
    *) die "--metric is bleu or chrf, not '$METRIC'" ;;
esac
check_tuning "$METHOD" "$ROUNDS"
[ "$METHOD-$METRIC" != mira-chrf ] || die "--metric chrf is for --method pro alone"
need_draws
need_sweeps 1/3
for option in "--dev ${DEV:-0}" "--test ${TEST:-0}"; do need_number "${option% *}" "${option#* }"; done
[ "$DEV" != 0 ] || die "--dev is 0, but weights cannot be tuned without a development set"
case $KIND in
    sampled | hiero) ;;
    *) die "--kind is sampled or hiero, not '$KIND'" ;;
esac
need_threads
: "${OUT:=runs/$SOURCE-$TARGET}"

more_text=()
while IFS= read -r file; do
    [ -z "$file" ] || more_text+=("$file")
done <<<"$MONOLINGUAL"
for file in "$SOURCE_FILE" "$TARGET_FILE" ${more_text[@]+"${more_text[@]}"}; do
    [ -f "$file" ] || die "there is no file $file"
done

case $ALIGNER in
    eflomal) prepare_python align,tokenize ;;
    phrases) prepare_python tokenize ;;
    *) die "--aligner is eflomal or phrases, not '$ALIGNER'" ;;
esac
mkdir -p "$OUT"
DATA=$OUT/data

# ------------------------------------------------------------------ what it will take

T=$(count_lines "$SOURCE_FILE" | awk '{ printf "%.3f", $1 / 1000 }')
M=$(text "$SOURCE_FILE" "$TARGET_FILE" | wc -c | awk '{ printf "%.3f", $1 / 1000000 }')
SENTENCES=${DEV:-$(awk -v T="$T" 'BEGIN { print T < 5 ? T * 100 : 500 }')}
plan_compiling
estimate prepare "4 + 3 * M"
case $ALIGNER in
    eflomal) estimate align "2 + (1 + 17 * M / sqrt(T + 0.001)) * draws" ;; # it goes over few pairs more often
    phrases) estimate align "2 + (2 + T * (13 * M / (T + 0.001)) ^ 2.2) * draws" ;; # long pairs take most of it
esac
estimate lm "2 + M"
case $KIND in
    sampled) estimate sample "5 + 0.35 * sweeps * M * draws" && estimate grammar-sampled "3 + 3 * M" ;;
    hiero) estimate grammar-hiero "4 + 10 * M * draws" ;;
esac
estimate filter "1 + 2 * M"
estimate tune "3 + 0.006 * sentences * (rounds + 1) * beam / 200 * (1 + 2 / threads)"
estimate system "2 + M"
estimate translate "3 + 0.02 * sentences * beam / 200"
estimate evaluate 3
estimate report "4 + 2 * M"
plan_estimates

# ------------------------------------------------------------------ the steps

say "$(count_lines "$SOURCE_FILE") lines; $(this_takes)"
planned_step compile -- compile

advise() { # where the options go that `prepare` names when it knows no rules for a language
    local language
    language=$(sed -n "s/.*has no rules for the language '\([^']*\)'.*/\1/p" "$OUT/logs/prepare.log" 2>/dev/null) || return 0
    [ -z "$language" ] ||
        say "for this recipe that is --segment subwords:8000, or --preparing \"--rules $language=en\""
}
read -ra preparing <<<"$PREPARING"
name_prepared
at_the_end=advise
planned_step prepare "$SOURCE_FILE" "$TARGET_FILE" ${more_text[@]+"${more_text[@]}"} \
    --makes "${prepared[@]}" logs/prepare.log -- \
    sampler prepare --source "$SOURCE_FILE" --target "$TARGET_FILE" --languages "$SOURCE,$TARGET" --output "$DATA" --overwrite \
    --segment "$SEGMENT" --case "$CASE" --seed "$SEED" --verbose ${DEV:+--dev "$DEV"} ${TEST:+--test "$TEST"} \
    ${more_text[@]+--monolingual "${more_text[@]}"} ${PREPARING:+"${preparing[@]}"}
at_the_end=""
tell_prepared

align_prepared

lm_text() { # the training text and more text of the target language
    text "$DATA/train.$TARGET" ${more_text[@]+"$DATA/monolingual.$TARGET"} >"$OUT/lm.$TARGET" || return
    decoder train-lm "$OUT/lm.$TARGET" --order "$ORDER" --output "$OUT/lm.arpa"
}
planned_step lm prepare --makes lm.arpa -- lm_text "$ORDER"

read -ra sampling <<<"$SAMPLING"
if [ "$KIND" = sampled ]; then
    planned_step sample prepare align --makes sample -- \
        sample_or_resume "$OUT/sample" "${corpus[@]}" \
        --iterations "$ITERATIONS" --burn-in "$BURN_IN" --seed "$SEED" ${SAMPLING:+"${sampling[@]}"}
    planned_step grammar-sampled sample --makes sampled.gz -- \
        sampler grammar "$OUT/sample" --output "$OUT/sampled.gz" --from marginal
else
    planned_step grammar-hiero prepare align --makes hiero.gz -- \
        sampler extract "${corpus[@]}" --output "$OUT/hiero.gz"
fi

listed=$(list_references dev)
references=()
while IFS= read -r file; do references+=("$file"); done <<<"$listed"
planned_step filter "grammar-$KIND" prepare --makes "$KIND.filtered.gz" -- \
    sampler filter "$OUT/$KIND.gz" --source "$DATA/dev.$SOURCE" --output "$OUT/$KIND.filtered.gz"
planned_step tune filter lm prepare --makes "$KIND.weights.json" -- \
    tune "$KIND" "$KIND" --source "$DATA/dev.$SOURCE" --references "${references[@]}" \
    --method "$METHOD" --metric "$METRIC" --rounds "$ROUNDS" ${BEAM:+--beam "$BEAM"} --nbest "$NBEST" --seed "$SEED"

planned_step system "grammar-$KIND" lm tune prepare --makes system -- \
    decoder bundle --grammar "$OUT/$KIND.gz" --lm "$OUT/lm.arpa" --weights "$OUT/$KIND.weights.json" \
    --preparation "$DATA" --output "$OUT/system" ${BEAM:+--beam "$BEAM"}

# ------------------------------------------------------------------ what it is worth

tested=""
if existing "$DATA/raw/test.$SOURCE" >/dev/null; then
    planned_step translate system --makes test.txt -- \
        decoder translate --system "$OUT/system" --threads "$THREADS" --input "$DATA/raw/test.$SOURCE" --output "$OUT/test.txt"
    listed=$(DATA=$DATA/raw list_references test)
    references=()
    while IFS= read -r file; do references+=("$file"); done <<<"$listed"
    tested=1
    planned_step evaluate translate --makes test.json -- \
        score "$OUT/test.json" --hypothesis "$OUT/test.txt" --references "${references[@]}" \
        --tokenize "$(raw_tokenizer "$TARGET")" --metrics bleu chrf
elif [ -f "$OUT/test.txt" ] || [ -f "$OUT/test.json" ]; then
    rm -f "$OUT/test.txt" "$OUT/test.json"
    say "test.txt and test.json told of a test set, and are removed"
fi

write_report() {
    local came_of_it=()
    if [ -n "$tested" ]; then
        came_of_it=(--scores "$OUT/test.json" --source "$DATA/raw/test.$SOURCE" --references "${references[@]}"
            --translations "$OUT/test.txt")
    fi
    [ ! -f "$OUT/$KIND.weights.json.rounds.tsv" ] || came_of_it+=(--tunings "$OUT/$KIND.weights.json.rounds.tsv")
    sampler report "$OUT/sample" --output "$OUT/report.html" --title "$(basename "$OUT")" ${came_of_it[@]+"${came_of_it[@]}"}
}
if [ "$KIND" = sampled ]; then
    planned_step report system ${tested:+evaluate} --makes report.html -- write_report
elif [ -f "$OUT/report.html" ]; then
    rm "$OUT/report.html"
    say "report.html told of the sampled grammar, and is removed"
fi

sentence() { # a line of the text to show: the first of ordinary length, of the test set if there is one
    local file=$DATA/raw/test.$SOURCE
    [ -f "$file" ] || file=$DATA/raw/dev.$SOURCE
    awk 'length($0) >= 12 && length($0) <= 120 { print; found = 1; exit } NR == 1 { first = $0 } END { if (!found) print first }' "$file"
}

{
    pairs=$(count_lines "$DATA/train.$SOURCE")
    rules=$(count_rules "$OUT/$KIND.gz")
    printf 'training pairs: %s; rules: %s\n' "$pairs" "$rules"
    if [ -n "$tested" ]; then
        bleu=$(json "$OUT/test.json" bleu score)
        chrf=$(json "$OUT/test.json" chrf score)
        lines=$(count_lines "$OUT/test.txt")
        printf 'BLEU %.2f, chrF %.2f on %s of raw text\n' "$bleu" "$chrf" "$(counted "$lines" sentence)"
        bleu=$(json "$OUT/test.json" bleu signature)
        chrf=$(json "$OUT/test.json" chrf signature)
        printf 'BLEU: %s\nchrF: %s\n' "$bleu" "$chrf"
    fi
    table_signature "$OUT/$KIND.gz"
    printf 'the system: %s\n' "$(short "$OUT/system")"
    [ "$KIND" != sampled ] || printf 'the report: %s\n' "$(short "$OUT/report.html")"
    echo
    echo 'To translate with it, in the virtual environment (. .venv/bin/activate):'
    example=$(sentence)
    printf "  echo %s | %s translate --system %s\n" "$(in_marks "$example")" "$(call_of scfg-decoder)" "$(quoted "$(short "$OUT/system")")"
    translated=$(printf '%s\n' "$example" | decoder translate --system "$OUT/system" --quiet)
    printf '  → %s\n' "$translated"
} >"$OUT/summary.txt"
cat "$OUT/summary.txt"
exit
}
