#!/usr/bin/env bash
# Learn a grammar from word-aligned text, translate with it, and compare it with the Hiero baseline.
#
#   recipes/alignments-to-bleu.sh DATA_DIR SOURCE TARGET [options]
#   recipes/alignments-to-bleu.sh --source FILE --target FILE --alignment FILE --dev FILE… --test FILE… [options]
#
# DATA_DIR holds tokenised text, one sentence a line, plain or gzipped (.gz). With SOURCE fr and TARGET en:
#   train.fr  train.en        the training pairs
#   train.fr-en.NAME          their word alignment, Pharaoh format (0-0 1-2 …, French first)
#   dev.fr    dev.en          for the weights; several references: dev.en.ref0, dev.en.ref1, …, where an empty line
#                             means that a sentence has no further reference
#   test.fr   test.en         for the scores; any file test*.fr will do, the first of them is taken
#
# Options
#   --output DIR      where the results go; default: runs/ and the names of the data and languages
#   --source FILE     the training text, where there is no DATA_DIR
#   --target FILE     its translation
#   --alignment FILE  default: the only train.fr-en.* in DATA_DIR, preferring gold, then …-gdfa
#   --more-alignments LIST  of the same text, with commas between them; both grammars are then made under all
#   --test NAME       which test set, e.g. test2016; with --source, its files: the source, and its references
#   --dev NAME        which development set; default: dev; with --source, its files
#   --iterations N    sweeps of the sampler; default: 60
#   --burn-in N       sweeps before its rule counts are collected; default: a third of the sweeps
#   --sampling TEXT   more options of scfg-sampler sample, as in "--base lexical --tables exact"
#   --from WHICH      which rule counts: marginal, average or last; default: marginal, the expected counts
#   --baseline WHICH  of Hiero: tight (Chiang 2007), loose (phrases may begin and end with unaligned words on the target
#                     side), both or none; default: both
#   --no-baseline     the same as --baseline none
#   --order N         order of the language model; default: 3
#   --classes N       classes of words, for a second language model, of their n-grams up to five; 0 for none; default: 0
#   --method METHOD   of tuning, mira or pro; default: mira
#   --rounds N        rounds of tuning; default: 10
#   --beam N          beam of the decoder; default: 100, in tuning, and 200 in translating
#   --nbest N         translations of a sentence that a round of tuning adds; default: 100
#   --seed N          default: 1
#   --threads N       that tune and translate; default: the number of processors. Sampling takes one, so that it is exact;
#                     what does not need it is done beside it, unless N is 1
#   --scheduler WHERE sample, tune and translate on the Dask cluster of that scheduler: tcp://HOST:PORT, or the file it has
#                     written; in how many shards sample does, --sampling "--shards P" says
#   --overwrite       do everything again; without it, steps that were done with the same settings are left out
#
# A recipe that was stopped goes on where it was when it is started again. Every step's log is in DIR/logs.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=recipes/translation.sh
. "$RECIPES/translation.sh"
conclusions=(table.txt)

{ # Read as a whole before anything runs: edits meanwhile do no harm.

SOURCE="" TARGET="" ALIGNMENT="" MORE_ALIGNMENTS="" TEST="" DEV="" ITERATIONS=60 BURN_IN="" SAMPLING="" FROM=marginal BASELINE=both NO_BASELINE=0
ORDER=3 CLASSES=0 METHOD=mira ROUNDS=10 BEAM="" NBEST=100 SEED=1 THREADS="" SCHEDULER=""
parse_options --overwrite --no-baseline --output= --source= --target= --alignment= --more-alignments= --test=+ --dev=+ \
    --iterations= --burn-in= \
    --sampling= --from= --baseline= --order= --classes= --method= --rounds= --beam= --nbest= --seed= --threads= --scheduler= -- "$@"
EXPECTED="DATA_DIR SOURCE TARGET, e.g. data/novish-en novish en; see --help"
check_tuning "$METHOD" "$ROUNDS"
[ "$NO_BASELINE" = 0 ] || BASELINE=none
case $BASELINE in
    tight) baselines=(hiero) ;;
    loose) baselines=(hiero-loose) ;;
    both) baselines=(hiero hiero-loose) ;;
    none) baselines=() ;;
    *) die "--baseline is tight, loose, both or none, not '$BASELINE'" ;;
esac
need_sweeps 1/3
need_threads
[ -z "$SOURCE$TARGET" ] || [ -n "$TEST" ] || die "--source and --target need --test, its source and its references"
find_files
[ ${#positional[@]} = 0 ] || die "'${positional[0]}' is more than expected: $EXPECTED"
: "${OUT:=runs/$(basename "$DATA")-$SOURCE-$TARGET}"
name_lms

# ------------------------------------------------------------------ what is there

find_training
[ -n "$TEST" ] || TEST=$(find_test)
DEV_SOURCE=$(find_text "$DEV.$SOURCE")
TEST_SOURCE=$(find_text "$TEST.$SOURCE")
sets=("$DEV") sources=("$DEV_SOURCE")
[ "$TEST" = "$DEV" ] || { sets+=("$TEST") && sources+=("$TEST_SOURCE"); }
listed=$(list_references "$DEV")
DEV_REFERENCES=()
while IFS= read -r file; do DEV_REFERENCES+=("$file"); done <<<"$listed"
listed=$(list_references "$TEST")
TEST_REFERENCES=()
while IFS= read -r file; do TEST_REFERENCES+=("$file"); done <<<"$listed"

prepare_python pages
mkdir -p "$OUT"
say "$(count_lines "$TRAIN_SOURCE") training pairs, aligned in $(alignment_names); tuning on $DEV, testing on $TEST"

# ------------------------------------------------------------------ what it will take

T=$(count_lines "$TRAIN_SOURCE" | awk '{ printf "%.3f", $1 / 1000 }')
M=$(text "$TRAIN_SOURCE" "$TRAIN_TARGET" | wc -c | awk '{ printf "%.3f", $1 / 1000000 }')
SENTENCES=$(count_lines "$DEV_SOURCE")
TRANSLATED=$((SENTENCES + $(count_lines "$TEST_SOURCE")))
plan_compiling
estimate lm "2 + M"
[ "$CLASSES" = 0 ] || estimate lm-classes "6 + 4 * M"
estimate sample "5 + 0.35 * sweeps * M"
estimate grammar-sampled "3 + 3 * M"
for grammar in ${baselines[@]+"${baselines[@]}"}; do
    estimate "grammar-$grammar" "4 + 10 * M"
done
for grammar in ${baselines[@]+"${baselines[@]}"} sampled; do
    estimate "filter-$grammar" "1 + 2 * M"
    estimate "tune-$grammar" "3 + $TUNING_TIME"
    estimate "translate-$grammar" "3 + $TRANSLATING_TIME"
    estimate "evaluate-$grammar" 3
done
[ ${#baselines[@]} = 0 ] || estimate compare 6
estimate system "2 + M"
estimate report "4 + 2 * M"
plan_estimates
say "$(this_takes)"

# ------------------------------------------------------------------ the steps

planned_step compile -- compile

corpus=("$TRAIN_SOURCE" "$TRAIN_TARGET" "${ALIGNMENTS[@]}")
corpus_options=(--source "$TRAIN_SOURCE" --target "$TRAIN_TARGET" --alignment "${ALIGNMENTS[@]}")
text "${sources[@]}" >"$OUT/input.$SOURCE"

filter_for_input() { # GRAMMAR
    planned_step "filter-$1" "grammar-$1" "$OUT/input.$SOURCE" --makes "$1.filtered.gz" -- \
        sampler filter "$OUT/$1.gz" --source "$OUT/input.$SOURCE" --output "$OUT/$1.filtered.gz"
}
extract_baseline() { # GRAMMAR
    local loose=no
    [ "$1" = hiero ] || loose=target
    sampler extract "${corpus_options[@]}" --loose "$loose" --output "$OUT/$1.gz"
}
without_sampling() { # what needs no sample
    local grammar
    planned_step lm "$TRAIN_TARGET" --makes lm.arpa -- \
        decoder train-lm "$TRAIN_TARGET" --order "$ORDER" --output "$OUT/lm.arpa"
    class_lm "$TRAIN_TARGET" "$TRAIN_TARGET"
    for grammar in ${baselines[@]+"${baselines[@]}"}; do
        planned_step "grammar-$grammar" "${corpus[@]}" --makes "$grammar.gz" -- extract_baseline "$grammar"
        filter_for_input "$grammar"
    done
}
[ "$THREADS" = 1 ] || beside without_sampling

read -ra sampling <<<"$SAMPLING"
files_among ${SAMPLING:+"${sampling[@]}"}
planned_step sample "${corpus[@]}" ${named[@]+"${named[@]}"} --makes sample -- \
    sample_or_resume "$OUT/sample" "${corpus_options[@]}" \
    --iterations "$ITERATIONS" --burn-in "$BURN_IN" --seed "$SEED" ${SAMPLING:+"${sampling[@]}"}
planned_step grammar-sampled sample --makes sampled.gz -- \
    sampler grammar "$OUT/sample" --output "$OUT/sampled.gz" --from "$FROM"
filter_for_input sampled

if [ "$THREADS" = 1 ]; then without_sampling; else join; fi
grammars=(${baselines[@]+"${baselines[@]}"} sampled)

for grammar in "${grammars[@]}"; do
    planned_step "tune-$grammar" "filter-$grammar" "${lm_steps[@]}" "$DEV_SOURCE" "${DEV_REFERENCES[@]}" \
        --makes "$grammar.weights.json" -- \
        tune "$grammar" "$grammar" --source "$DEV_SOURCE" --references "${DEV_REFERENCES[@]}" \
        --method "$METHOD" --rounds "$ROUNDS" ${BEAM:+--beam "$BEAM"} --nbest "$NBEST" --seed "$SEED"
    of_sets=("${sets[@]/#/$grammar.}")
    planned_step "translate-$grammar" "tune-$grammar" "$OUT/input.$SOURCE" \
        --makes "$grammar.txt" "${of_sets[@]/%/.txt}" "logs/translate-$grammar.log" -- \
        translate_sets "$grammar" "$grammar" "$grammar" ${BEAM:+--beam "$BEAM"}
    evaluate_set() { # SET
        local references=("${DEV_REFERENCES[@]}")
        [ "$1" = "$DEV" ] || references=("${TEST_REFERENCES[@]}")
        score "$OUT/$grammar.$1.json" --hypothesis "$OUT/$grammar.$1.txt" --references "${references[@]}"
    }
    planned_step "evaluate-$grammar" "translate-$grammar" "${DEV_REFERENCES[@]}" "${TEST_REFERENCES[@]}" \
        --makes "${of_sets[@]/%/.json}" -- \
        side_by_side evaluate_set "${sets[@]}"
done
compare_with() { # GRAMMAR
    score "$OUT/compare-$1.json" --hypothesis "$OUT/sampled.$TEST.txt" --against "$OUT/$1.$TEST.txt" \
        --references "${TEST_REFERENCES[@]}" --seed "$SEED" --intervals
}
compared=(${baselines[@]+"${baselines[@]/#/compare-}"})
[ ${#baselines[@]} = 0 ] || planned_step compare "${grammars[@]/#/translate-}" "${TEST_REFERENCES[@]}" \
    --makes "${compared[@]/%/.json}" -- \
    side_by_side compare_with "${baselines[@]}"

planned_step system grammar-sampled "${lm_steps[@]}" tune-sampled --makes system -- \
    decoder bundle --grammar "$OUT/sampled.gz" "${lms[@]}" --weights "$OUT/sampled.weights.json" \
    --output "$OUT/system" ${BEAM:+--beam "$BEAM"}

# ------------------------------------------------------------------ the report

write_report() { # the page, of what there is: a tuning that was done long ago has left no table of its rounds
    local grammar scores=("$OUT/sampled.$TEST.json") tunings=() translations=() beside=()
    for grammar in sampled ${baselines[@]+"${baselines[@]}"}; do
        [ ! -f "$OUT/$grammar.weights.json.rounds.tsv" ] || tunings+=("$OUT/$grammar.weights.json.rounds.tsv")
        translations+=("$grammar=$OUT/$grammar.$TEST.txt")
        [ "$grammar" = sampled ] || scores+=("$OUT/$grammar.$TEST.json" "sampled against $grammar=$OUT/compare-$grammar.json")
    done
    # Large tables are left out: reading them would take longer than all the rest.
    for grammar in ${baselines[@]+"${baselines[@]}"}; do
        [ "$(count_rules "$OUT/$grammar.gz")" -gt 2000000 ] || { beside=(--baseline "$OUT/$grammar.gz") && break; }
    done
    sampler report "$OUT/sample" --output "$OUT/report.html" --title "$(basename "$OUT")" ${beside[@]+"${beside[@]}"} \
        --scores "${scores[@]}" ${tunings[@]+--tunings "${tunings[@]}"} \
        --source "$TEST_SOURCE" --references "${TEST_REFERENCES[@]}" --translations "${translations[@]}"
}
made=(sample "${grammars[@]/#/evaluate-}")
[ ${#baselines[@]} = 0 ] || made+=(compare)
planned_step report "${made[@]}" --makes report.html -- write_report "$BASELINE" "$TEST"

# ------------------------------------------------------------------ the table

sampling_seconds() { # those of all sweeps, if the step was resumed and knows its own part only
    { seconds sample && json "$OUT/sample/run.json" seconds; } | sort -g | tail -n 1
}

decoding_speed() { # GRAMMAR: sentences per second, without the time for reading grammar and language model
    sed -n 's/.* \([0-9.]*\) a second$/\1/p' "$OUT/logs/translate-$1.log"
}

row() { # GRAMMAR LEARNING-SECONDS: one line of the table
    local grammar=$1 rules speed dev test
    rules=$(count_rules "$OUT/$grammar.gz")
    speed=$(decoding_speed "$grammar")
    dev=$(json "$OUT/$grammar.$DEV.json" bleu score)
    test=$(json "$OUT/$grammar.$TEST.json" bleu score)
    printf '%s\t%s\t%.1f\t%.1f\t%.2f\t%.2f\n' "$grammar" "$rules" "$2" "$speed" "$dev" "$test"
}

{
    {
        printf 'grammar\trules\tlearning s\tdecoding sent/s\t%s BLEU\t%s BLEU\n' "$DEV" "$TEST"
        for grammar in ${baselines[@]+"${baselines[@]}"}; do
            took=$(seconds "grammar-$grammar")
            row "$grammar" "$took"
        done
        took=$(seconds grammar-sampled)
        took=$(sampling_seconds | awk -v more="$took" '{ print $1 + more }')
        row sampled "$took"
    } | table
    echo
    for grammar in ${baselines[@]+"${baselines[@]}"}; do
        difference=$(json "$OUT/compare-$grammar.json" difference)
        p_value=$(json "$OUT/compare-$grammar.json" p_value)
        printf 'sampled − %s: %+.2f BLEU, p = %.4f (paired bootstrap)\n' "$grammar" "$difference" "$p_value"
    done
    signature=$(json "$OUT/sampled.$TEST.json" bleu signature)
    printf 'BLEU: %s\n' "$signature"
    for grammar in "${grammars[@]}"; do
        signature=$(table_signature "$OUT/$grammar.gz")
        printf '%s: %s\n' "$grammar" "$signature"
    done
    printf 'report: %s\n' "$OUT/report.html"
    printf 'to translate: %s translate --system %s\n' "$(call_of scfg-decoder)" "$(quoted "$OUT/system")"
    printf 'to look into it: %s explore %s\n' "$(call_of scfg-sampler)" "$(quoted "$OUT")"
    printf 'run directory: %s\n' "$OUT"
} >"$OUT/table.txt"
cat "$OUT/table.txt"
exit
}
