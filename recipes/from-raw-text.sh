#!/usr/bin/env bash
# From two files of raw text to a system that translates raw text, and its BLEU and chrF.
#
#   recipes/from-raw-text.sh SOURCE_FILE TARGET_FILE XX YY [options]
#
# Line k of both files, plain or gzipped (.gz), belongs together; XX and YY are their languages, as in de en. The text
# is cleaned, split, segmented, aligned by eflomal; then a grammar and a language model are learnt from it, weights
# tuned, and the raw test set translated and scored. DIR/system is what translates; it may be moved elsewhere. With
# --kind both, DIR/system-sampled and DIR/system-hiero do together. Systems of another --kind that are in DIR are removed
# when those of this one have been made.
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
#   --kind WHICH      of grammar, sampled, hiero, or both, of which each makes a system; these agree on translations;
#                     default: sampled
#   --iterations N    sweeps of the sampler; default: 60
#   --burn-in N       sweeps before its rule counts are collected; default: a third of the sweeps
#   --sampling TEXT   more options of scfg-sampler sample, as in "--base lexical --tables exact"
#   --order N         order of the language model; default: 3
#   --classes N       classes of words, for a second language model, of their n-grams up to five; 0 for none; default: 0
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
conclusions=(summary.txt)

{ # Read as a whole before anything runs: edits meanwhile do no harm.

SEGMENT=words CASE="true" DEV="" TEST="" PREPARING="" MONOLINGUAL="" ALIGNER=eflomal DRAWS=1 KIND=sampled ITERATIONS=60 BURN_IN="" SAMPLING=""
ORDER=3 CLASSES=0 METHOD="" METRIC=bleu ROUNDS=10 BEAM="" NBEST=100 SEED=1 THREADS=""
parse_options --overwrite --output= --segment= --case= --dev= --test= --preparing= --monolingual=+ --aligner= --draws= --kind= --iterations= \
    --burn-in= --sampling= --order= --classes= --method= --metric= --rounds= --beam= --nbest= --seed= --threads= -- "$@"
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
    sampled | hiero) KINDS=("$KIND") SYSTEMS=(system) ;;
    both) KINDS=(sampled hiero) SYSTEMS=(system-sampled system-hiero) ;;
    *) die "--kind is sampled, hiero or both, not '$KIND'" ;;
esac
need_threads
: "${OUT:=runs/$SOURCE-$TARGET}"
name_lms

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
[ "$CLASSES" = 0 ] || estimate lm-classes "6 + 4 * M"
for kind in "${KINDS[@]}"; do
    case $kind in
        sampled) estimate sample "5 + 0.35 * sweeps * M * draws" && estimate grammar-sampled "3 + 3 * M" ;;
        hiero) estimate grammar-hiero "4 + 10 * M * draws" ;;
    esac
    estimate "filter-$kind" "1 + 2 * M"
    estimate "tune-$kind" "3 + $TUNING_TIME"
done
for system in "${SYSTEMS[@]}"; do
    estimate "$system" "2 + M"
    estimate "${system/system/translate}" "3 + $TRANSLATING_TIME"
    estimate "${system/system/evaluate}" 3
done
if [ "$KIND" = both ]; then # lists of 50 and their comparison, for two systems
    estimate translate "3 + 0.06 * sentences * beam / 200"
    estimate evaluate 3
fi
[ "$KIND" = hiero ] || estimate report "4 + 2 * M"
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
files_among ${PREPARING:+"${preparing[@]}"}
name_prepared
at_the_end=advise
planned_step prepare "$SOURCE_FILE" "$TARGET_FILE" ${more_text[@]+"${more_text[@]}"} ${named[@]+"${named[@]}"} \
    --makes "${prepared[@]}" logs/prepare.log -- \
    sampler prepare --source "$SOURCE_FILE" --target "$TARGET_FILE" --languages "$SOURCE,$TARGET" --output "$DATA" --overwrite \
    --segment "$SEGMENT" --case "$CASE" --seed "$SEED" --verbose ${DEV:+--dev "$DEV"} ${TEST:+--test "$TEST"} \
    ${more_text[@]+--monolingual "${more_text[@]}"} ${PREPARING:+"${preparing[@]}"}
at_the_end=""
tell_prepared
existing "$DATA/dev.$SOURCE" >/dev/null ||
    die "no sentences are drawn for the weights, as the text is small, or most pairs share sentences; say how many with --dev"

align_prepared

lm_text() { # the training text and more text of the target language
    text "$DATA/train.$TARGET" ${more_text[@]+"$DATA/monolingual.$TARGET"} >"$OUT/lm.$TARGET" || return
    decoder train-lm "$OUT/lm.$TARGET" --order "$ORDER" --output "$OUT/lm.arpa"
}
planned_step lm prepare --makes lm.arpa "lm.$TARGET" -- lm_text "$ORDER"
class_lm "$OUT/lm.$TARGET" lm

read -ra sampling <<<"$SAMPLING"
files_among ${SAMPLING:+"${sampling[@]}"}
if [ "$KIND" != hiero ]; then
    planned_step sample prepare align ${named[@]+"${named[@]}"} --makes sample -- \
        sample_or_resume "$OUT/sample" "${corpus[@]}" \
        --iterations "$ITERATIONS" --burn-in "$BURN_IN" --seed "$SEED" ${SAMPLING:+"${sampling[@]}"}
    planned_step grammar-sampled sample --makes sampled.gz -- \
        sampler grammar "$OUT/sample" --output "$OUT/sampled.gz" --from marginal
fi
if [ "$KIND" != sampled ]; then
    planned_step grammar-hiero prepare align --makes hiero.gz -- \
        sampler extract "${corpus[@]}" --output "$OUT/hiero.gz"
fi

listed=$(list_references dev)
references=()
while IFS= read -r file; do references+=("$file"); done <<<"$listed"
for at in "${!KINDS[@]}"; do
    kind=${KINDS[at]} system=${SYSTEMS[at]}
    planned_step "filter-$kind" "grammar-$kind" prepare --makes "$kind.filtered.gz" -- \
        sampler filter "$OUT/$kind.gz" --source "$DATA/dev.$SOURCE" --output "$OUT/$kind.filtered.gz"
    planned_step "tune-$kind" "filter-$kind" "${lm_steps[@]}" prepare --makes "$kind.weights.json" -- \
        tune "$kind" "$kind" --source "$DATA/dev.$SOURCE" --references "${references[@]}" \
        --method "$METHOD" --metric "$METRIC" --rounds "$ROUNDS" ${BEAM:+--beam "$BEAM"} --nbest "$NBEST" --seed "$SEED"
    planned_step "$system" "grammar-$kind" "${lm_steps[@]}" "tune-$kind" prepare --makes "$system" -- \
        decoder bundle --grammar "$OUT/$kind.gz" "${lms[@]}" --weights "$OUT/$kind.weights.json" \
        --preparation "$DATA" --output "$OUT/$system" ${BEAM:+--beam "$BEAM"}
done

remove_others() { # systems of another --kind, which may be of other text, and what they were worth
    local step suffix removed=""
    for suffix in "" -sampled -hiero; do
        case " ${SYSTEMS[*]} " in *" system$suffix "*) continue ;; esac
        for step in "system$suffix" ${suffix:+"translate$suffix" "evaluate$suffix"}; do
            undo_step "$step"
            removed+=${undone:+"${removed:+, }$undone"}
        done
    done
    [ -z "$removed" ] || say "what was made with another --kind is removed: $removed"
}
remove_others

# ------------------------------------------------------------------ what it is worth

translate_raw() { # OUTPUT SYSTEM…: the raw test set, by what these systems agree on
    local output=$1 system given=()
    shift
    for system in "$@"; do given+=(--system "$OUT/$system"); done
    decoder translate "${given[@]}" --threads "$THREADS" --input "$DATA/raw/test.$SOURCE" --output "$OUT/$output"
}
work_out() { # SUFFIX SYSTEM…: translations and scores of the raw test set, in test.txt and test.json with a suffix
    local suffix=$1
    shift
    planned_step "translate$suffix" "$@" --makes "test$suffix.txt" -- translate_raw "test$suffix.txt" "$@"
    planned_step "evaluate$suffix" "translate$suffix" --makes "test$suffix.json" -- \
        score "$OUT/test$suffix.json" --hypothesis "$OUT/test$suffix.txt" --references "${references[@]}" \
        --tokenize "$(raw_tokenizer "$TARGET")" --metrics bleu chrf
}

tested=""
if existing "$DATA/raw/test.$SOURCE" >/dev/null; then
    listed=$(DATA=$DATA/raw list_references test)
    references=()
    while IFS= read -r file; do references+=("$file"); done <<<"$listed"
    tested=1
    if [ "$KIND" = both ]; then
        for system in "${SYSTEMS[@]}"; do work_out "${system#system}" "$system"; done
    fi
    work_out "" "${SYSTEMS[@]}"
else
    for made in test test-sampled test-hiero; do
        [ -f "$OUT/$made.txt" ] || [ -f "$OUT/$made.json" ] || continue
        rm -f "$OUT/$made.txt" "$OUT/$made.json"
        say "$made.txt and $made.json told of a test set, and are removed"
    done
fi
write_report() { # of the sampled grammar, and what it is worth by itself
    local came_of_it=() made=$OUT/test
    [ "$KIND" = sampled ] || made=$OUT/test-sampled
    if [ -n "$tested" ]; then
        came_of_it=(--scores "$made.json" --source "$DATA/raw/test.$SOURCE" --references "${references[@]}"
            --translations "$made.txt")
    fi
    [ ! -f "$OUT/sampled.weights.json.rounds.tsv" ] || came_of_it+=(--tunings "$OUT/sampled.weights.json.rounds.tsv")
    sampler report "$OUT/sample" --output "$OUT/report.html" --title "$(basename "$OUT")" ${came_of_it[@]+"${came_of_it[@]}"}
}
if [ "$KIND" != hiero ]; then
    scored=""
    [ -z "$tested" ] || scored=evaluate${SYSTEMS[0]#system}
    planned_step report "${SYSTEMS[0]}" ${scored:+"$scored"} --makes report.html -- write_report
elif [ -f "$OUT/report.html" ]; then
    rm "$OUT/report.html"
    say "report.html told of the sampled grammar, and is removed"
fi

sentence() { # a line of the text to show: the first of ordinary length, of the test set if there is one
    local file=$DATA/raw/test.$SOURCE
    [ -f "$file" ] || file=$DATA/raw/dev.$SOURCE
    awk 'length($0) >= 12 && length($0) <= 120 { print; found = 1; exit } NR == 1 { first = $0 } END { if (!found) print first }' "$file"
}

score_row() { # NAME SUFFIX: of the table of scores
    local bleu chrf
    bleu=$(json "$OUT/test$2.json" bleu score)
    chrf=$(json "$OUT/test$2.json" chrf score)
    printf '%-10s %6.2f %6.2f\n' "$1" "$bleu" "$chrf"
}

{
    pairs=$(count_lines "$DATA/train.$SOURCE")
    printf 'training pairs: %s' "$pairs"
    for kind in "${KINDS[@]}"; do
        rules=$(count_rules "$OUT/$kind.gz")
        if [ "$KIND" = both ]; then printf '; %s rules: %s' "$kind" "$rules"; else printf '; rules: %s' "$rules"; fi
    done
    echo
    if [ -n "$tested" ]; then
        bleu=$(json "$OUT/test.json" bleu score)
        chrf=$(json "$OUT/test.json" chrf score)
        lines=$(count_lines "$OUT/test.txt")
        printf 'BLEU %.2f, chrF %.2f on %s of raw text\n' "$bleu" "$chrf" "$(counted "$lines" sentence)"
        if [ "$KIND" = both ]; then
            printf '%-10s %6s %6s\n' "" BLEU chrF
            for kind in "${KINDS[@]}"; do score_row "$kind" "-$kind"; done
            score_row both ""
        fi
        bleu=$(json "$OUT/test.json" bleu signature)
        chrf=$(json "$OUT/test.json" chrf signature)
        printf 'BLEU: %s\nchrF: %s\n' "$bleu" "$chrf"
    fi
    for kind in "${KINDS[@]}"; do table_signature "$OUT/$kind.gz"; done
    call="" own=()
    for system in "${SYSTEMS[@]}"; do
        printf 'the system: %s\n' "$(short "$OUT/$system")"
        call+=" --system $(quoted "$(short "$OUT/$system")")"
        own+=(--system "$OUT/$system")
    done
    [ "$KIND" = hiero ] || printf 'the report: %s\n' "$(short "$OUT/report.html")"
    echo
    echo 'To translate with it, in the virtual environment (. .venv/bin/activate):'
    example=$(sentence)
    printf "  echo %s | %s translate%s\n" "$(in_marks "$example")" "$(call_of scfg-decoder)" "$call"
    translated=$(printf '%s\n' "$example" | decoder translate "${own[@]}" --quiet)
    printf '  → %s\n' "$translated"
} >"$OUT/summary.txt"
cat "$OUT/summary.txt"
exit
}
