#!/usr/bin/env bash
# From the little text that a small language has to a translator: chrF of three grammars, and of another system's output.
#
#   recipes/low-resource.sh DATA_DIR XX YY [options]
#
# DATA_DIR holds raw text, a sentence a line, plain or gzipped (.gz). With XX es and YY cni:
#   train.es  train.cni  the training pairs
#   dev.es    dev.cni    for the weights
#   test.es   test.cni   for the scores; without them the development set is cut in the middle: its first half is for the
#                        weights and for choosing, its second half for the scores. Several references are called
#                        dev.cni.ref0, dev.cni.ref1 and so on
#   dev.NAME.cni         another system's translations of dev.es (test.NAME.cni, if there is a test.es), scored beside
#
# Options
#   --output DIR      where the results go; default: runs/ and the names of the data and languages
#   --segment HOW     words, subwords:N, subwords:N,M, none, or two, as in words,subwords:N; default: subwords:2000
#   --case CASE       true, lower or keep; default: true
#   --spelling FILE   rules of sed -E that bring the YY training text into the spelling of the sets
#   --dictionary FILE FILE  more pairs for training, words or phrases, in XX and in YY
#   --monolingual FILE…  more raw text of YY, for the language model
#   --preparing TEXT  more options of scfg-sampler prepare, as in "--joint --max-ratio 6"
#   --aligner WHICH   eflomal, or phrases, which links blocks of words and takes longer; default: eflomal
#   --draws N         how often it aligns, every pair counting under each alignment; default: 1
#   --grammars LIST   of hiero, hiero-loose, sampled, with commas between them; default: all three
#   --iterations N    sweeps of the sampler; default: 60
#   --burn-in N       sweeps before its rule counts are collected; default: a third of the sweeps
#   --sampling TEXT   more options of scfg-sampler sample, as in "--base lexical --tables exact"
#   --order N         order of the language model; default: 3
#   --classes N       classes of words, for a second language model, of their n-grams up to five; 0 for none; default: 0
#   --copy WHICH      which words may be copied, unknown or any; default: unknown
#   --metric METRIC   that weights are tuned for, chrf or bleu; default: chrf
#   --chrf-beta B     how much more recall counts in it than precision: 1 for translations that are less long and
#                     read better; default: 2, as chrF is scored
#   --rounds N        rounds of tuning; default: 6
#   --beam N          beam of the decoder; default: 100
#   --nbest N         translations of a sentence that a round of tuning adds; default: 100
#   --tunings N       every grammar is tuned N times, with the seed and those that follow; default: 3
#   --seed N          of the sampler, and of the first tuning; default: 1
#   --threads N       that tune and translate; default: the number of processors. Sampling takes one, so that it is exact
#   --overwrite       do everything again; without it, steps that were done with the same settings are left out
#
# DIR/results.json and the table have the means over the tunings; DIR/system translates with the grammar that is best on
# the development set. A recipe that was stopped goes on where it was when it is started again. Every step's log is in
# DIR/logs.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=recipes/translation.sh
. "$RECIPES/translation.sh"
conclusions=(summary.txt results.json)

{ # Read as a whole before anything runs: edits meanwhile do no harm.

SEGMENT=subwords:2000 CASE="true" SPELLING="" DICTIONARY="" MONOLINGUAL="" PREPARING=""
ALIGNER=eflomal DRAWS=1 GRAMMARS=hiero,hiero-loose,sampled ITERATIONS=60 BURN_IN="" SAMPLING="" ORDER=3 CLASSES=0 COPY=unknown METRIC=chrf CHRF_BETA=2 ROUNDS=6 BEAM=100
NBEST=100 TUNINGS=3 SEED=1 THREADS=""
parse_options --overwrite --output= --segment= --case= --spelling= --dictionary=+ --monolingual=+ --preparing= \
    --aligner= --draws= --grammars= --iterations= --burn-in= --sampling= --order= --classes= --copy= --metric= --chrf-beta= --rounds= --beam= --nbest= --tunings= \
    --seed= --threads= -- "$@"
[ ${#positional[@]} = 3 ] || die "expected DATA_DIR XX YY, e.g. es-cni es cni; see --help"
GIVEN=${positional[0]} SOURCE=${positional[1]} TARGET=${positional[2]}
[ "$SOURCE" != "$TARGET" ] || die "both languages are called $SOURCE; give them different names"
check_tuning pro "$ROUNDS"
case $METRIC in
    chrf | bleu) ;;
    *) die "--metric is chrf or bleu, not '$METRIC'" ;;
esac
case $CHRF_BETA in
    *[!0-9.]* | *.*.* | "" | .) die "--chrf-beta is a number, not '$CHRF_BETA'" ;;
    *[1-9]*) ;;
    *) die "--chrf-beta is above 0, not '$CHRF_BETA'" ;;
esac
need_numbers --seed --tunings
need_draws
need_sweeps 1/3
[ "$TUNINGS" -ge 1 ] && [ "$TUNINGS" -le 100 ] || die "--tunings is from 1 to 100"
case $COPY in
    unknown | any) ;;
    *) die "--copy is unknown or any, not '$COPY'" ;;
esac
split_grammars "$GRAMMARS"
need_threads
: "${OUT:=runs/$(basename "$GIVEN")-$SOURCE-$TARGET}"
name_lms

given() { # NAME: the file of the data, plain or gzipped
    existing "$GIVEN/$1" || die "$GIVEN has neither $1 nor $1.gz"
}

lines_of() { # VARIABLE TEXT: its lines into the array of that name; there may be none
    local line
    read -ra "${1?}" <<<""
    while IFS= read -r line; do
        [ -z "$line" ] || eval "$1+=(\"\$line\")"
    done <<<"$2"
}
lines_of dictionary "$DICTIONARY"
[ ${#dictionary[@]} = 0 ] || [ ${#dictionary[@]} = 2 ] || die "--dictionary takes two files, one for each language"
lines_of monolingual "$MONOLINGUAL"
for file in ${SPELLING:+"$SPELLING"} ${dictionary[@]+"${dictionary[@]}"} ${monolingual[@]+"${monolingual[@]}"}; do
    [ -f "$file" ] || die "there is no file $file"
done
[ -z "$SPELLING" ] || sed -E -f "$SPELLING" </dev/null || die "$SPELLING is not what sed -E takes"
set_files() { # VARIABLE SET: the source of a set and its references, into the array of that name
    local listed
    listed=$(given "$2.$SOURCE" && echo && DATA=$GIVEN list_references "$2") || exit
    lines_of "$1" "$listed"
}
train_files=()
for language in "$SOURCE" "$TARGET"; do
    file=$(given "train.$language")
    train_files+=("$file")
done
set_files dev_files dev
scored=dev test_files=()
if existing "$GIVEN/test.$SOURCE" >/dev/null; then
    scored=test
    set_files test_files test
fi
others=() other_files=() # the names of other systems' translations
for file in "$GIVEN/$scored".*."$TARGET" "$GIVEN/$scored".*."$TARGET.gz"; do
    [ -f "$file" ] || continue
    other_files+=("$file")
    name=${file#"$GIVEN/$scored."} name=${name%.gz} name=${name%."$TARGET"}
    case $name in
        hiero | hiero-loose | sampled) die "$file: another system cannot be called $name, as a grammar is" ;;
    esac
    others+=("$name")
done

for directory in raw data; do
    keep_apart "$OUT/$directory" "${train_files[@]}" "${dev_files[@]}" ${test_files[@]+"${test_files[@]}"} \
        ${other_files[@]+"${other_files[@]}"} ${SPELLING:+"$SPELLING"} ${dictionary[@]+"${dictionary[@]}"} \
        ${monolingual[@]+"${monolingual[@]}"}
done

case $ALIGNER in
    eflomal) prepare_python align,tokenize ;;
    phrases) prepare_python tokenize ;;
    *) die "--aligner is eflomal or phrases, not '$ALIGNER'" ;;
esac
mkdir -p "$OUT/raw"
DATA=$OUT/data RAW=$OUT/raw

# ------------------------------------------------------------------ the text

half() { # first|second FILE: that half of its lines
    local lines
    lines=$(count_lines "$2")
    text "$2" | awk -v half=$((lines / 2)) -v which="$1" '(NR <= half) == (which == "first")'
}

respell() { # standard input in the spelling of the sets
    if [ -n "$SPELLING" ]; then sed -E -f "$SPELLING"; else cat; fi
}

gather() { # the training text and the sets, in RAW
    local file name
    rm -f "$RAW"/*
    text "${train_files[0]}" ${dictionary[@]+"${dictionary[0]}"} >"$RAW/train.$SOURCE" || return
    text "${train_files[1]}" ${dictionary[@]+"${dictionary[1]}"} | respell >"$RAW/train.$TARGET" || return
    for file in "${dev_files[@]}" ${test_files[@]+"${test_files[@]}"} ${other_files[@]+"${other_files[@]}"}; do
        name=$(basename "$file" .gz)
        if [ "$scored" = dev ]; then
            half first "$file" >"$RAW/$name" && half second "$file" >"$RAW/test${name#dev}" || return
        else
            text "$file" >"$RAW/$name" || return
        fi
    done
    if [ ${#monolingual[@]} -gt 0 ]; then
        text "${monolingual[@]}" | respell >"$RAW/monolingual.$TARGET"
    fi
}

lm_text() { # ORDER
    text "$DATA/train.$TARGET" ${monolingual[@]+"$DATA/monolingual.$TARGET"} >"$OUT/lm.$TARGET" || return
    decoder train-lm "$OUT/lm.$TARGET" --order "$1" --output "$OUT/lm.arpa"
}

# ------------------------------------------------------------------ the steps

# From runs on 300 to 15,000 pairs.
T=$(count_lines "${train_files[1]}" | awk '{ printf "%.3f", $1 / 1000 }')
M=$(text "${train_files[1]}" | wc -c | awk '{ printf "%.3f", 2 * $1 / 1000000 }')
SENTENCES=$(count_lines "${dev_files[0]}")
plan_compiling
for name in gather lm; do estimate "$name" 2; done
[ "$CLASSES" = 0 ] || estimate lm-classes "6 + 4 * M"
estimate prepare "3 + 4 * M"
case $ALIGNER in
    eflomal) estimate align "3 + (1 + 17 * M / sqrt(T + 0.001)) * draws" ;; # it goes over few pairs more often
    phrases) estimate align "3 + (2 + 3.5 * T * (13 * M / (T + 0.001)) ^ 2.8) * draws" ;; # pieces are more than words
esac
for grammar in "${grammars[@]}"; do
    case $grammar in
        sampled) estimate sample "4 + 0.4 * sweeps * M * draws" && estimate grammar-sampled "3 + 3 * M" ;;
        *) estimate "grammar-$grammar" "4 + 12 * M * draws" ;;
    esac
    estimate "filter-$grammar" "2 + 2 * M"
    for ((tuning = 1; tuning <= TUNINGS; tuning++)); do
        estimate "tune-$grammar.$tuning" "4 + $TUNING_TIME"
        estimate "translate-$grammar.$tuning" "6 + $TRANSLATING_TIME"
    done
done
plan_estimates
say "$(count_lines "${train_files[1]}") pairs; $(this_takes)"
planned_step compile -- compile

# What files are for, and called, which their contents do not say.
roles=(${SPELLING:+--spelling} ${dictionary[@]+--dictionary} ${monolingual[@]+--monolingual} ${others[@]+"${others[@]}"})
planned_step gather "${train_files[@]}" "${dev_files[@]}" ${test_files[@]+"${test_files[@]}"} \
    ${other_files[@]+"${other_files[@]}"} ${SPELLING:+"$SPELLING"} ${dictionary[@]+"${dictionary[@]}"} \
    ${monolingual[@]+"${monolingual[@]}"} --makes raw -- gather ${roles[@]+"${roles[@]}"}

# The references of the sets: as they are, and prepared.
listed=$(DATA=$RAW list_references dev)
lines_of dev_references "$listed"
listed=$(DATA=$RAW list_references test)
lines_of test_references "$listed"
read -ra preparing <<<"$PREPARING"
files_among ${PREPARING:+"${preparing[@]}"}
name_prepared
planned_step prepare gather ${named[@]+"${named[@]}"} --makes "${prepared[@]}" logs/prepare.log -- \
    sampler prepare --source "$RAW/train.$SOURCE" --target "$RAW/train.$TARGET" --languages "$SOURCE,$TARGET" \
    --dev-source "$RAW/dev.$SOURCE" --dev-target "${dev_references[@]}" \
    --test-source "$RAW/test.$SOURCE" --test-target "${test_references[@]}" --output "$DATA" --overwrite \
    --segment "$SEGMENT" --case "$CASE" --verbose \
    ${monolingual[@]+--monolingual "$RAW/monolingual.$TARGET"} ${PREPARING:+"${preparing[@]}"}
tell_prepared
listed=$(list_references dev)
lines_of prepared_references "$listed"

align_prepared
planned_step lm prepare --makes lm.arpa "lm.$TARGET" -- lm_text "$ORDER"
class_lm "$OUT/lm.$TARGET" lm

read -ra sampling <<<"$SAMPLING"
files_among ${SAMPLING:+"${sampling[@]}"}
learn() { # GRAMMAR
    case $1 in
        hiero)
            planned_step grammar-hiero align --makes hiero.gz -- \
                sampler extract "${corpus[@]}" --output "$OUT/hiero.gz"
            ;;
        hiero-loose)
            planned_step grammar-hiero-loose align --makes hiero-loose.gz -- \
                sampler extract "${corpus[@]}" --loose target --output "$OUT/hiero-loose.gz"
            ;;
        sampled)
            planned_step sample align ${named[@]+"${named[@]}"} --makes sample -- \
                sample_or_resume "$OUT/sample" "${corpus[@]}" \
                --iterations "$ITERATIONS" --burn-in "$BURN_IN" --seed "$SEED" ${SAMPLING:+"${sampling[@]}"}
            planned_step grammar-sampled sample --makes sampled.gz -- \
                sampler grammar "$OUT/sample" --output "$OUT/sampled.gz" --from marginal
            ;;
    esac
}

filter_for_sets() { # GRAMMAR
    text "$DATA/dev.$SOURCE" "$DATA/test.$SOURCE" >"$OUT/input.$SOURCE" || return
    sampler filter "$OUT/$1.gz" --source "$OUT/input.$SOURCE" --output "$OUT/$1.filtered.gz"
}

translate_both() { # GRAMMAR TUNING: both sets, by a system of the rules that they need
    local name=$1.$2 set
    decoder bundle --grammar "$OUT/$1.filtered.gz" "${lms[@]}" --weights "$OUT/$name.weights.json" \
        --preparation "$DATA" --output "$OUT/$name.system" --beam "$BEAM" || return
    for set in dev test; do
        decoder translate --system "$OUT/$name.system" --threads "$THREADS" --copy "$COPY" \
            --input "$RAW/$set.$SOURCE" --output "$OUT/$name.$set.txt" || return
    done
    rm -r "$OUT/$name.system"
}

evaluate_sets() { # NAME HYPOTHESIS-PATTERN…: where % is the set
    local name=$1 set references
    shift
    for set in dev test; do
        [ -f "${1//%/$set}" ] || { rm -f "$OUT/$name.$set.json" && continue; } # It may have been there before.
        references=("${dev_references[@]}")
        [ "$set" = dev ] || references=("${test_references[@]}")
        score "$OUT/$name.$set.json" --hypothesis "${@//%/$set}" --references "${references[@]}" --tokenize "$(raw_tokenizer "$TARGET")" \
            --metrics chrf bleu || return
    done
}

for grammar in "${grammars[@]}"; do
    learn "$grammar"
    planned_step "filter-$grammar" "grammar-$grammar" prepare --makes "$grammar.filtered.gz" -- filter_for_sets "$grammar"
    hypotheses=() translated=()
    for ((tuning = 1; tuning <= TUNINGS; tuning++)); do
        planned_step "tune-$grammar.$tuning" "filter-$grammar" "${lm_steps[@]}" prepare --makes "$grammar.$tuning.weights.json" -- \
            tune "$grammar" "$grammar.$tuning" --source "$DATA/dev.$SOURCE" --references "${prepared_references[@]}" \
            --rounds "$ROUNDS" --beam "$BEAM" --nbest "$NBEST" --seed $((SEED + tuning - 1)) --copy "$COPY" \
            --metric "$METRIC" --chrf-beta "$CHRF_BETA"
        planned_step "translate-$grammar.$tuning" "tune-$grammar.$tuning" \
            --makes "$grammar.$tuning."{dev,test}.txt "logs/translate-$grammar.$tuning.log" -- translate_both "$grammar" "$tuning"
        hypotheses+=("$OUT/$grammar.$tuning.%.txt")
        translated+=("translate-$grammar.$tuning")
    done
    step "evaluate-$grammar" "${translated[@]}" --makes "$grammar."{dev,test}.json -- evaluate_sets "$grammar" "${hypotheses[@]}"
done
for name in ${others[@]+"${others[@]}"}; do
    step "evaluate-$name" gather --makes "$name."{test,dev}.json -- evaluate_sets "$name" "$RAW/%.$name.$TARGET"
done

# ------------------------------------------------------------------ what came of it

best=$(for grammar in "${grammars[@]}"; do
    score=$(json "$OUT/$grammar.dev.json" chrf score) || exit
    printf '%s %s\n' "$score" "$grammar"
done | sort -g -s -r -k 1,1 | awk 'NR == 1 { print $2 }')
planned_step system "grammar-$best" "tune-$best.1" "${lm_steps[@]}" prepare --makes system -- \
    decoder bundle --grammar "$OUT/$best.gz" "${lms[@]}" --weights "$OUT/$best.1.weights.json" \
    --preparation "$DATA" --output "$OUT/system" --beam "$BEAM"

for grammar in "${grammars[@]}"; do
    [ "$grammar" != sampled ] && [[ " ${grammars[*]} " = *" sampled "* ]] || continue
    hypotheses=() against=()
    for ((tuning = 1; tuning <= TUNINGS; tuning++)); do
        hypotheses+=("$OUT/sampled.$tuning.test.txt") against+=("$OUT/$grammar.$tuning.test.txt")
    done
    step "compare-$grammar" "evaluate-$grammar" evaluate-sampled --makes "compare-$grammar.json" -- \
        score "$OUT/compare-$grammar.json" --hypothesis "${hypotheses[@]}" --against "${against[@]}" \
        --references "${test_references[@]}" --tokenize "$(raw_tokenizer "$TARGET")" --metrics chrf bleu
done

{
    {
        printf 'grammar\trules\tdev chrF\ttest chrF\ttest BLEU\n'
        tables low-resource "$OUT" "${grammars[@]}" ${others[@]+"${others[@]}"} # and results.json
    } | table
    echo
    for grammar in "${grammars[@]}"; do
        [ -f "$OUT/compare-$grammar.json" ] || continue
        difference=$(json "$OUT/compare-$grammar.json" difference)
        p_value=$(json "$OUT/compare-$grammar.json" p_value)
        by=$(json "$OUT/compare-$grammar.json" chrf test)
        printf 'sampled − %s: %+.2f chrF, p = %.4f (%s)\n' "$grammar" "$difference" "$p_value" "$by"
    done
    pairs=$(count_lines "$DATA/train.$SOURCE")
    dev=$(count_lines "$RAW/dev.$SOURCE")
    test=$(count_lines "$RAW/test.$SOURCE")
    printf 'training pairs: %s; sentences: dev %s, test %s; tunings: %s\n' "$pairs" "$dev" "$test" "$TUNINGS"
    chrf=$(json "$OUT/$best.test.json" chrf signature)
    bleu=$(json "$OUT/$best.test.json" bleu signature)
    printf 'chrF: %s\nBLEU: %s\n' "$chrf" "$bleu"
    for grammar in "${grammars[@]}"; do
        signature=$(table_signature "$OUT/$grammar.gz")
        printf '%s: %s\n' "$grammar" "$signature"
    done
    printf 'the system (%s, best on dev): %s\n\n' "$best" "$(short "$OUT/system")"
    echo 'To translate with it, in the virtual environment (. .venv/bin/activate):'
    example=$(awk 'NR == 1 { print }' "$DATA/raw/test.$SOURCE")
    printf "  echo %s | %s translate --system %s%s\n" "$(in_marks "$example")" "$(call_of scfg-decoder)" "$(quoted "$(short "$OUT/system")")" \
        "$([ "$COPY" = unknown ] || echo " --copy $COPY")"
    translated=$(awk 'NR == 1 { print }' "$OUT/$best.1.test.txt")
    printf '  → %s\n' "$translated"
} >"$OUT/summary.txt"
cat "$OUT/summary.txt"
exit
}
