#!/usr/bin/env bash
# Learn a grammar from word-aligned text, translate with it, and compare it with the Hiero baseline.
#
#   recipes/alignments-to-bleu.sh DATA_DIR SOURCE TARGET [options]
#
# DATA_DIR holds tokenised text, one sentence a line, plain or gzipped (.gz). With SOURCE fr and TARGET en:
#   train.fr  train.en        the training pairs
#   train.fr-en.NAME          their word alignment, Pharaoh format (0-0 1-2 …, French first)
#   dev.fr    dev.en          for the weights; several references: dev.en.ref0, dev.en.ref1, …, where an empty line
#                             means that a sentence has no further reference
#   test.fr   test.en         for the scores; any file test*.fr will do, the first of them is taken
#
# Options
#   --out DIR         where the results go; default: runs/ and the names of the data and languages
#   --alignment FILE  default: the only train.fr-en.* in DATA_DIR, preferring gold, then …-gdfa
#   --test NAME       which test set, e.g. test2016
#   --dev NAME        which development set; default: dev
#   --sweeps N        sweeps of the sampler; default: 60
#   --burn-in N       sweeps before its rule counts are collected; default: a third of the sweeps
#   --sampling TEXT   more options of scfg-sampler sample, as in "--base lexical --tables exact"
#   --from WHICH      which rule counts: marginal, average or last; default: marginal, the expected counts
#   --no-baseline     without the Hiero baseline
#   --order N         order of the language model; default: 3
#   --rounds N        rounds of tuning; default: 10
#   --beam N          beam of the decoder; default: 200
#   --nbest N         translations of a sentence that a round of tuning adds; default: 100
#   --seed N          default: 1
#   --threads N       default: the number of processors
#   --force           do everything again; without it, steps that were done with the same settings are left out
#
# A recipe that was stopped goes on where it was when it is started again. Every step's log is in DIR/logs.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

{ # Read as a whole before anything runs: edits meanwhile do no harm.

OUT="" ALIGNMENT="" TEST="" DEV=dev SWEEPS=60 BURN_IN="" SAMPLING="" FROM=marginal BASELINE=1 ORDER=3 ROUNDS=10 BEAM=200 NBEST=100 SEED=1 THREADS="" FORCE=0
positional=()
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage; exit 0 ;;
        --force) FORCE=1; shift ;;
        --no-baseline) BASELINE=0; shift ;;
        --out | --alignment | --test | --dev | --sweeps | --burn-in | --sampling | --from | --order | --rounds | --beam | --nbest | --seed | --threads)
            need_value "$1" $#
            case $1 in
                --out) OUT=$2 ;;
                --alignment) ALIGNMENT=$2 ;;
                --test) TEST=$2 ;;
                --dev) DEV=$2 ;;
                --sweeps) SWEEPS=$2 ;;
                --burn-in) BURN_IN=$2 ;;
                --sampling) SAMPLING=$2 ;;
                --from) FROM=$2 ;;
                --order) ORDER=$2 ;;
                --rounds) ROUNDS=$2 ;;
                --beam) BEAM=$2 ;;
                --nbest) NBEST=$2 ;;
                --seed) SEED=$2 ;;
                --threads) THREADS=$2 ;;
            esac
            shift 2
            ;;
        -*) die "unknown option $1; see --help" ;;
        *) positional+=("$1"); shift ;;
    esac
done
[ ${#positional[@]} = 3 ] || die "expected DATA_DIR SOURCE TARGET, e.g. data/novish-en novish en; see --help"
DATA=${positional[0]} SOURCE=${positional[1]} TARGET=${positional[2]}
need_number --sweeps "$SWEEPS"
: "${BURN_IN:=$((SWEEPS / 3))}"
need_number --burn-in "$BURN_IN"
[ "$BURN_IN" -lt "$SWEEPS" ] || die "--burn-in $BURN_IN leaves none of the $SWEEPS sweeps"
: "${THREADS:=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)}"
: "${OUT:=runs/$(basename "$DATA")-$SOURCE-$TARGET}"

# ------------------------------------------------------------------ what is there

find_text() { # NAME: the file, plain or gzipped
    existing "$DATA/$1" || die "$DATA has neither $1 nor $1.gz"
}

list_references() { # SET: its reference files, one a line: the only one, or ref0, ref1, … up to the first missing
    local number=0
    if existing "$DATA/$1.$TARGET"; then
        return
    fi
    existing "$DATA/$1.$TARGET.ref0" || die "$DATA has neither $1.$TARGET nor $1.$TARGET.ref0, nor these with .gz"
    while number=$((number + 1)) && echo && existing "$DATA/$1.$TARGET.ref$number"; do
        :
    done
}

find_alignment() { # the only file of the most preferred name that there is
    local name file found=()
    for name in gold gold.gz '*gdfa' '*gdfa.gz' '*'; do
        while IFS= read -r file; do
            found+=("$file")
        done < <(find "$DATA/" -name "train.$SOURCE-$TARGET.$name" | sort)
        case ${#found[@]} in
            0) ;;
            1)
                printf '%s' "${found[0]}"
                return
                ;;
            *) die "several alignments are there, choose one with --alignment: ${found[*]}" ;;
        esac
    done
    die "$DATA has no train.$SOURCE-$TARGET.*; name the word alignment with --alignment"
}

find_test() { # the name of the first test set
    local file
    file=$(find "$DATA/" -name "test*.$SOURCE" -o -name "test*.$SOURCE.gz" | sort | head -n 1)
    [ -n "$file" ] || die "$DATA has neither test*.$SOURCE nor test*.$SOURCE.gz"
    file=$(basename "$file" .gz)
    printf '%s' "${file%".$SOURCE"}"
}

[ -d "$DATA" ] || die "$DATA is not a directory"
TRAIN_SOURCE=$(find_text "train.$SOURCE")
TRAIN_TARGET=$(find_text "train.$TARGET")
[ -n "$ALIGNMENT" ] || ALIGNMENT=$(find_alignment)
[ -f "$ALIGNMENT" ] || [ ! -f "$DATA/$ALIGNMENT" ] || ALIGNMENT=$DATA/$ALIGNMENT
[ -f "$ALIGNMENT" ] || die "there is no alignment $ALIGNMENT, nor in $DATA"
[ -n "$TEST" ] || TEST=$(find_test)
DEV_SOURCE=$(find_text "$DEV.$SOURCE")
TEST_SOURCE=$(find_text "$TEST.$SOURCE")
listed=$(list_references "$DEV")
DEV_REFERENCES=()
while IFS= read -r file; do DEV_REFERENCES+=("$file"); done <<<"$listed"
listed=$(list_references "$TEST")
TEST_REFERENCES=()
while IFS= read -r file; do TEST_REFERENCES+=("$file"); done <<<"$listed"

prepare_python
mkdir -p "$OUT"
say "$(count_lines "$TRAIN_SOURCE") training pairs, aligned in $(basename "$ALIGNMENT"); tuning on $DEV, testing on $TEST"

# ------------------------------------------------------------------ the steps

# Both programs on a few sentences, side by side: so the steps below find everything compiled, and their seconds
# are those of their work. It takes a few seconds when all is compiled already.
compile() {
    local directory=$OUT/compile name learner status=0 learner_status=0
    mkdir -p "$directory"
    for name in train.novish train.en train.novish-en.gold; do
        text "$ROOT/data/novish-en/$name.gz" | awk 'NR <= 40' >"$directory/$name" || return
    done
    # Not through a function, so that $! is Python itself: a job in the background does not hear Ctrl-C.
    "$PYTHON" -m scfg_sampler sample --output "$directory/sample" --overwrite --iterations 2 --burn-in 1 \
        --source "$directory/train.novish" --target "$directory/train.en" \
        --alignment "$directory/train.novish-en.gold" &
    learner=$!
    compile_the_rest "$directory" || { status=$? && kill "$learner" 2>/dev/null; }
    wait "$learner" || learner_status=$?
    [ "$status" != 0 ] || status=$learner_status
    [ "$status" = 0 ] || return "$status"
    sampler grammar "$directory/sample" --output "$directory/sampled.gz" && rm -r "$directory"
}
compile_the_rest() { # DIRECTORY
    decoder train-lm "$1/train.en" --order "$ORDER" --output "$1/lm.arpa" &&
        sampler extract --source "$1/train.novish" --target "$1/train.en" --alignment "$1/train.novish-en.gold" \
            --output "$1/hiero.gz" &&
        sampler filter "$1/hiero.gz" --source "$1/train.novish" --output "$1/filtered.gz" &&
        decoder tune --grammar "$1/filtered.gz" --lm "$1/lm.arpa" --source "$1/train.novish" \
            --references "$1/train.en" --output "$1/weights.json" --restart --rounds 1 --threads "$THREADS" &&
        decoder translate --grammar "$1/filtered.gz" --lm "$1/lm.arpa" --weights "$1/weights.json" \
            --threads "$THREADS" --input "$1/train.novish" --output "$1/output"
}
step compile -- compile

step lm "$TRAIN_TARGET" -- \
    decoder train-lm "$TRAIN_TARGET" --order "$ORDER" --output "$OUT/lm.arpa"

sample_or_resume() { # OPTION…
    # A run that was stopped after its last sweep cannot be resumed and begins again.
    if [ "$RESUMING" = 1 ] && [ -f "$OUT/sample/checkpoint.npz" ] && sampler resume "$OUT/sample"; then
        return
    fi
    sampler sample --output "$OUT/sample" --overwrite "$@"
}

read -ra sampling <<<"$SAMPLING"
step sample "$TRAIN_SOURCE" "$TRAIN_TARGET" "$ALIGNMENT" -- \
    sample_or_resume --source "$TRAIN_SOURCE" --target "$TRAIN_TARGET" --alignment "$ALIGNMENT" \
    --iterations "$SWEEPS" --burn-in "$BURN_IN" --seed "$SEED" ${SAMPLING:+"${sampling[@]}"}

step grammar-sampled sample -- \
    sampler grammar "$OUT/sample" --output "$OUT/sampled.gz" --from "$FROM"

grammars=(sampled)
[ "$BASELINE" = 0 ] || grammars=(hiero sampled)
[ "$BASELINE" = 0 ] || step grammar-hiero "$TRAIN_SOURCE" "$TRAIN_TARGET" "$ALIGNMENT" -- \
    sampler extract --source "$TRAIN_SOURCE" --target "$TRAIN_TARGET" --alignment "$ALIGNMENT" --output "$OUT/hiero.gz"

text "$DEV_SOURCE" "$TEST_SOURCE" >"$OUT/input.$SOURCE"

tune() { # GRAMMAR OPTION…: an interrupted step goes on with the rounds it has done
    local grammar=$1 restart=--restart
    shift
    [ "$RESUMING" = 0 ] || restart=""
    decoder tune --grammar "$OUT/$grammar.filtered.gz" --lm "$OUT/lm.arpa" --output "$OUT/$grammar.weights.json" \
        --threads "$THREADS" ${restart:+"$restart"} "$@"
}

translate() { # GRAMMAR OPTION…
    local grammar=$1
    shift
    decoder translate --grammar "$OUT/$grammar.filtered.gz" --lm "$OUT/lm.arpa" \
        --weights "$OUT/$grammar.weights.json" --threads "$THREADS" "$@"
}

score() { # OUTPUT ARGUMENT…
    local output=$1
    shift
    decoder evaluate --json "$@" >"$output.part" && mv "$output.part" "$output"
}

for grammar in "${grammars[@]}"; do
    step "filter-$grammar" "grammar-$grammar" "$OUT/input.$SOURCE" -- \
        sampler filter "$OUT/$grammar.gz" --source "$OUT/input.$SOURCE" --output "$OUT/$grammar.filtered.gz"
    step "tune-$grammar" "filter-$grammar" lm "$DEV_SOURCE" "${DEV_REFERENCES[@]}" -- \
        tune "$grammar" --source "$DEV_SOURCE" --references "${DEV_REFERENCES[@]}" \
        --rounds "$ROUNDS" --beam "$BEAM" --nbest "$NBEST" --seed "$SEED"
    step "translate-$grammar-$DEV" "tune-$grammar" "$DEV_SOURCE" -- \
        translate "$grammar" --beam "$BEAM" --input "$DEV_SOURCE" --output "$OUT/$grammar.$DEV.txt"
    step "translate-$grammar-$TEST" "tune-$grammar" "$TEST_SOURCE" -- \
        translate "$grammar" --beam "$BEAM" --input "$TEST_SOURCE" --output "$OUT/$grammar.$TEST.txt"
    step "evaluate-$grammar-$DEV" "translate-$grammar-$DEV" "${DEV_REFERENCES[@]}" -- \
        score "$OUT/$grammar.$DEV.json" --hypothesis "$OUT/$grammar.$DEV.txt" --references "${DEV_REFERENCES[@]}"
    step "evaluate-$grammar-$TEST" "translate-$grammar-$TEST" "${TEST_REFERENCES[@]}" -- \
        score "$OUT/$grammar.$TEST.json" --hypothesis "$OUT/$grammar.$TEST.txt" --references "${TEST_REFERENCES[@]}"
done
[ "$BASELINE" = 0 ] || step compare "translate-hiero-$TEST" "translate-sampled-$TEST" "${TEST_REFERENCES[@]}" -- \
    score "$OUT/compare.json" --hypothesis "$OUT/sampled.$TEST.txt" --against "$OUT/hiero.$TEST.txt" \
    --references "${TEST_REFERENCES[@]}" --seed "$SEED"

# ------------------------------------------------------------------ the table

count_rules() { # TABLE
    gzip -dc "$1" | grep -vc '^#'
}

sampling_seconds() { # those of all sweeps, if the step was resumed and knows its own part only
    printf '%s\n' "$(seconds sample)" "$(json "$OUT/sample/run.json" seconds)" | sort -g | tail -n 1
}

decoding_speed() { # GRAMMAR: sentences per second, without the time for reading grammar and language model
    sed -n 's/.* \([0-9.]*\) a second$/\1/p' "$OUT/logs/translate-$1-$TEST.log"
}

row() { # GRAMMAR LEARNING-SECONDS: one line of the table
    local grammar=$1
    printf '%s\t%s\t%.1f\t%.1f\t%.2f\t%.2f\n' "$grammar" "$(count_rules "$OUT/$grammar.gz")" "$2" "$(decoding_speed "$grammar")" \
        "$(json "$OUT/$grammar.$DEV.json" bleu score)" "$(json "$OUT/$grammar.$TEST.json" bleu score)"
}

{
    {
        printf 'grammar\trules\tlearning s\tdecoding sent/s\t%s BLEU\t%s BLEU\n' "$DEV" "$TEST"
        [ "$BASELINE" = 0 ] || row hiero "$(seconds grammar-hiero)"
        row sampled "$(sampling_seconds | awk -v more="$(seconds grammar-sampled)" '{ print $1 + more }')"
    } | table
    echo
    [ "$BASELINE" = 0 ] || printf 'sampled − hiero: %+.2f BLEU, p = %.4f (paired bootstrap)\n' \
        "$(json "$OUT/compare.json" difference)" "$(json "$OUT/compare.json" p_value)"
    printf 'BLEU: %s\n' "$(json "$OUT/sampled.$TEST.json" bleu signature)"
    for grammar in "${grammars[@]}"; do
        printf '%s: %s\n' "$grammar" "$(gzip -dc "$OUT/$grammar.gz" | awk 'NR == 1 { sub(/^# */, ""); print; exit }')"
    done
    printf 'run directory: %s\n' "$OUT"
} >"$OUT/table.txt"
cat "$OUT/table.txt"
exit
}
