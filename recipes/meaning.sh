#!/usr/bin/env bash
# From questions and their meanings to a parser that writes well-formed expressions, beside Hiero.
#
#   recipes/meaning.sh DATA_DIR LANG [options]
#
# DATA_DIR holds, plain or gzipped (.gz), one a line:
#   train.LANG  train.funql   questions, words separated by spaces, and their meanings as functional expressions:
#                             answer(city(loc_2(stateid('virginia'))))
#   dev.…       test.…        for the weights, and for the scores
#   phrases.LANG  phrases.LANG.funql   names and their constants, or parts of expressions; may be missing
#
# Scores are the questions of the test set, in percent, whose expression comes out exactly. Grammars are
#   hiero         tight phrases of one alignment
#   hiero-loose   … that may begin and end with unaligned symbols
#   sampled       of the same alignment
#   hiero-typed   as hiero-loose, of both directions' alignments too, of each draw, and with the expression model
#   typed         sampled from the same alignments, with the expression model
#   joined        what the last two say, in one list
# The first three take the best translation, of 100, that is well-formed; the others search well-formed ones alone, and
# a ranker, which reads whole words, chooses one of the 100 best, or 200, and of 100 that are likely given the words,
# whether a rule writes them or not; hiero-typed-unranked and typed-unranked take the best as it is. Rankers learn
# from the training questions, a part at a time, by grammars that are learnt of the other parts.
#
# Options
#   --output DIR      where the results go; default: runs/meaning- and the names of the data, language, and form if not funql
#   --form FORM       funql, lisp for (answer (city …)), or sql for SELECT … FROM …, which is then also how the files are
#                     called; default: funql
#   --letters N       what words of questions are cut after, so that forms of a word are one; 0: nothing; default: 5
#   --copies N        how often phrases count in learning; default: 10
#   --alignments LIST three alignments, fwd, rev and gdfa of train.LANG with the phrases behind it, with commas between
#                     them; default: by eflomal, which draws its own seed
#   --draws N         how often eflomal aligns for the last two, every question counting under each alignment;
#                     default: 3
#   --iterations N    sweeps of the sampler under one alignment, twice as many under several; default: 60
#   --order N         order of the language model of expressions; default: 3
#   --metric METRIC   what the weights of the last two are tuned for, bleu or exact; default: bleu
#   --rounds N        rounds of tuning; default: 8
#   --beam N          beam of the decoder, 0 for none, which takes very long; default: 200
#   --answers COMMAND what evaluates expressions, run by bash: reads them, one a line, empty where there is none, as
#                     linearise --undo writes them, and writes what each comes to, one a line; then the share of test
#                     questions that are answered like the given expressions is printed, too, and written to answers.json
#   --folds N         parts of the training questions that rankers learn from; 0: none; default: 5
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
conclusions=(table.txt table.tsv coverage.tsv results.json answers.json)

{ # Read as a whole before anything runs: edits meanwhile do no harm.

FORM=funql LETTERS=5 COPIES=10 ALIGNMENTS="" DRAWS=3 ITERATIONS=60 ORDER=3 METRIC=bleu ROUNDS=8 BEAM=200 FOLDS=5 ANSWERS="" SEED=1 THREADS=""
parse_options --overwrite --output= --form= --letters= --copies= --alignments= --draws= --iterations= --order= --metric= --rounds= --beam= --folds= --answers= \
    --seed= --threads= -- "$@"
[ ${#positional[@]} = 2 ] || die "expected DATA_DIR LANG, e.g. data/geoquery en; see --help"
DATA=${positional[0]} LANGUAGE=${positional[1]}
# In the results, meanings are called so.
case $LANGUAGE in
    mr | "$FORM") die "LANG is $LANGUAGE, as the files of meanings are called; rename those of questions, as to train.questions" ;;
esac
case $FORM in
    funql | lisp | sql) ;;
    *) die "--form is funql, lisp or sql, not '$FORM'" ;;
esac
case $METRIC in
    bleu | exact) ;;
    *) die "--metric is bleu or exact, not '$METRIC'" ;;
esac
need_numbers --letters --copies --iterations --order --rounds --beam --folds --seed
[ "$FOLDS" != 1 ] || die "--folds is 2 or more, or 0 for no rankers, not 1"
[ "$ORDER" -ge 1 ] && [ "$ORDER" -le 6 ] || die "--order is from 1 to 6, not $ORDER"
need_draws
[ "$ITERATIONS" -ge 3 ] || die "--iterations is at least 3, a third of them burn-in, not $ITERATIONS"
need_threads
: "${OUT:=runs/meaning-$(basename "$DATA")-$LANGUAGE$([ "$FORM" = funql ] || echo "-$FORM")}"
[ -d "$DATA" ] || die "$DATA is not a directory"
keep_apart "$OUT" "$DATA/train.$LANGUAGE"

check_pairs() { # QUESTIONS MEANINGS: dies unless they have as many lines, at least one, and no meaning is empty
    local questions meanings
    questions=$(count_lines "$1") meanings=$(count_lines "$2")
    [ "$questions" = "$meanings" ] || die "$1 has $questions lines, but $2 $meanings: line i of one is what line i of the other means"
    [ "$questions" -gt 0 ] || die "$1 has no lines"
    [ "$(first_empty "$2")" = 0 ] || die "$2:$(first_empty "$2"): an empty line; leave it out, and that of $1"
    [ "$(first_empty "$1")" = 0 ] || echo "warning: $1:$(first_empty "$1"): an empty line" >&2
}

first_empty() { # FILE: the number of its first line without words; 0 if all have some
    text "$1" | awk '{ sub(/\r$/, "") } !NF && !first { first = NR } END { print first + 0 }'
}

for set in train dev test; do
    question_file=$(find_text "$set.$LANGUAGE")
    meaning_file=$(find_text "$set.$FORM")
    check_pairs "$question_file" "$meaning_file"
done
if PHRASES=$(existing "$DATA/phrases.$LANGUAGE"); then
    PHRASE_MEANINGS=$(find_text "phrases.$LANGUAGE.$FORM")
    check_pairs "$PHRASES" "$PHRASE_MEANINGS"
elif existing "$DATA/phrases.$LANGUAGE.$FORM" >/dev/null; then
    die "$DATA has phrases.$LANGUAGE.$FORM, but not phrases.$LANGUAGE"
else
    PHRASES="" PHRASE_MEANINGS=""
fi
split_list --alignments "$ALIGNMENTS"
given=(${parts[@]+"${parts[@]}"})
[ ${#given[@]} = 0 ] || [ ${#given[@]} = 3 ] || die "--alignments names three files, fwd, rev and gdfa, not ${#given[@]}"
for file in ${given[@]+"${given[@]}"}; do
    [ -f "$file" ] || die "there is no alignment $file"
done

draws=(align) # the names of alignments
if [ ${#given[@]} = 0 ]; then
    for ((draw = 2; draw <= DRAWS; draw++)); do draws+=("align$draw"); done
fi

prepare_python align
mkdir -p "$OUT"
say "$(count_lines "$(find_text "train.$LANGUAGE")") questions, ${PHRASES:+$(count_lines "$PHRASES") phrases, }tuning on dev, testing on test"

# ------------------------------------------------------------------ the steps

linear() { # FILE OUTPUT: expressions in linear form
    decoder linearise "$1" --form "$FORM" --output "$2"
}

questions() { # FILE OUTPUT LETTERS: questions in lower case, without the mark at their end, words cut
    tables questions "$1" "$3" >"$2.part" && mv "$2.part" "$2"
}

prepare_set() { # SET LETTERS, which say whether the step was done before; so with others below
    local text
    text=$(find_text "$1.$LANGUAGE") && questions "$text" "$OUT/$1.$LANGUAGE" "$2" && questions "$text" "$OUT/whole.$1" 0 &&
        linear "$(find_text "$1.$FORM")" "$OUT/$1.mr"
}

with_phrases() { # DIR: what grammars of DIR are learnt of
    local side copy phrases
    for side in "$LANGUAGE" mr; do
        phrases=()
        for ((copy = 0; copy < COPIES; copy++)); do phrases+=("$OUT/phrases.$side"); done
        cat "$1/train.$side" ${phrases[@]+"${phrases[@]}"} >"$1/learnt.$side" || return
    done
}

add_phrases() { # COPIES LETTERS
    : >"$OUT/phrases.$LANGUAGE" && : >"$OUT/whole.phrases" && : >"$OUT/phrases.mr"
    if [ -n "$PHRASES" ]; then
        questions "$PHRASES" "$OUT/phrases.$LANGUAGE" "$2" && questions "$PHRASES" "$OUT/whole.phrases" 0 &&
            linear "$PHRASE_MEANINGS" "$OUT/phrases.mr" || return
    fi
    with_phrases "$OUT"
}

align() { # DIR: the alignments of a run are kept, as they differ each time
    local draw
    for draw in "${draws[@]}"; do
        sampler align --source "$1/learnt.$LANGUAGE" --target "$1/learnt.mr" --output "$1/$draw" || return
    done
}

align_all() { # DRAWS
    if [ ${#given[@]} = 3 ]; then
        text "${given[0]}" >"$OUT/align.fwd" && text "${given[1]}" >"$OUT/align.rev" && text "${given[2]}" >"$OUT/align.gdfa"
    else
        align "$OUT"
    fi
}

several_alignments() { # DIR: sets alignments to all that there are
    local draw
    alignments=()
    for draw in "${draws[@]}"; do alignments+=("$1/$draw.gdfa" "$1/$draw.fwd" "$1/$draw.rev"); done
}

learn_lm() { # DIR
    decoder train-lm "$1/learnt.mr" --order "$ORDER" --output "$1/lm.arpa"
}

train_expressions() { # TEXT TARGET PHRASES OUTPUT
    local phrases=()
    [ -z "$PHRASES" ] || phrases=(--phrases "$3" --phrase-targets "$OUT/phrases.mr")
    decoder train-expressions --form "$FORM" --source "$1" --target "$2" ${phrases[@]+"${phrases[@]}"} --output "$4"
}

expressions_of() { # DIR
    train_expressions "$1/train.$LANGUAGE" "$1/train.mr" "$OUT/phrases.$LANGUAGE" "$1/expressions.json"
}

tune_grammar() { # GRAMMAR OPTION…
    local grammar=$1
    shift
    forget_tuning "$grammar"
    decoder tune --grammar "$OUT/$grammar.gz" --lm "$OUT/lm.arpa" --source "$OUT/dev.$LANGUAGE" \
        --references "$OUT/dev.mr" --method pro --widen 1.5 --threads "$THREADS" \
        --output "$OUT/$grammar.weights.json" "$@"
}

parse_set() { # GRAMMAR NAME SET OPTION…: expressions, a line for each question, empty where there is none
    local grammar=$1 name=$2 set=$3
    shift 3
    decoder translate --grammar "$OUT/$grammar.gz" --lm "$OUT/lm.arpa" --weights "$OUT/$grammar.weights.json" \
        --threads "$THREADS" --input "$OUT/$set.$LANGUAGE" --output "$OUT/$name.$set.raw" "$@" &&
        tables first-expressions "$OUT/$name.$set.raw" "$(count_lines "$OUT/$set.mr")" "$FORM" \
            >"$OUT/$name.$set.mr" &&
        decoder linearise "$OUT/$name.$set.mr" --undo --form "$FORM" --output "$OUT/$name.$set.$FORM"
}

prepare_fold() { # FOLD: all that its grammars have in common; question n is in fold (n − 1) mod FOLDS
    local dir=$OUT/fold$1 side way lines fold="NR <= lines && (NR - 1) % folds == fold"
    mkdir -p "$dir" && lines=$(count_lines "$OUT/train.mr")
    local numbers=(-v lines="$lines" -v folds="$FOLDS" -v fold="$1")
    for side in "$LANGUAGE" mr; do
        awk "${numbers[@]}" "$fold" "$OUT/train.$side" >"$dir/held.$side" &&
            awk "${numbers[@]}" "!($fold)" "$OUT/train.$side" >"$dir/train.$side" || return
    done
    with_phrases "$dir" || return
    if [ -n "$ALIGNMENTS" ]; then
        for way in fwd rev gdfa; do awk "${numbers[@]}" "!($fold)" "$OUT/align.$way" >"$dir/align.$way" || return; done
    else
        align "$dir" || return
    fi
    learn_lm "$dir" && expressions_of "$dir"
}

fold_grammar() { # GRAMMAR FOLD
    local dir=$OUT/fold$2 alignments
    several_alignments "$dir"
    local corpus=(--source "$dir/learnt.$LANGUAGE" --target "$dir/learnt.mr" --alignment "${alignments[@]}")
    if [ "$1" = hiero-typed ]; then
        sampler extract "${corpus[@]}" --loose target --output "$dir/$1.gz"
    else
        sample_or_resume "$dir/sample-typed" "${corpus[@]}" "${typed_chain[@]}" &&
            sampler grammar "$dir/sample-typed" --output "$dir/$1.gz"
    fi
}

list_set() { # GRAMMAR DIR SET OUTPUT: the 100 best expressions of each question by the models in DIR, and 100 predicted
    decoder translate --grammar "$2/$1.gz" --lm "$2/lm.arpa" --weights "$OUT/$1.weights.json" --threads "$THREADS" \
        --beam "$BEAM" --expressions "$2/expressions.json" --copy any --nbest 100 --predict 100 \
        --input "$3.$LANGUAGE" --output "$4"
}

join_lists() { # DIR SUFFIX: the lists of both typed grammars as one
    decoder join-lists Sampled="$1/typed.$2" Hiero="$1/hiero-typed.$2" --output "$1/joined.$2"
}

train_ranker() { # GRAMMAR, and the names among whole words
    local fold lists=()
    for ((fold = 0; fold < FOLDS; fold++)); do lists+=("$OUT/fold$fold/$1.list"); done
    decoder train-ranker --source "$OUT/whole.train" --target "$OUT/train.mr" --expressions "$OUT/whole.expressions.json" \
        --lists "${lists[@]}" --output "$OUT/$1.ranker.json"
}

rank_set() { # GRAMMAR SET: the expressions chosen, and how probable the ranker takes each to be
    if [ "$1" = joined ]; then
        join_lists "$OUT" "$2.list"
    else
        list_set "$1" "$OUT" "$OUT/$2" "$OUT/$1.$2.list"
    fi &&
        decoder rank "$OUT/$1.$2.list" --ranker "$OUT/$1.ranker.json" --source "$OUT/whole.$2" \
            --probabilities --output "$OUT/$1.$2.ranked" &&
        cut -f 1 "$OUT/$1.$2.ranked" >"$OUT/$1.$2.probabilities" &&
        cut -f 2 "$OUT/$1.$2.ranked" >"$OUT/$1.$2.mr" &&
        rm "$OUT/$1.$2.ranked" &&
        decoder linearise "$OUT/$1.$2.mr" --undo --form "$FORM" --output "$OUT/$1.$2.$FORM"
}

bundle_parser() { # LETTERS
    local ranker=()
    [ "$FOLDS" = 0 ] || ranker=(--ranker "$OUT/typed.ranker.json" --predict 100)
    decoder bundle-parser --grammar "$OUT/typed.gz" --lm "$OUT/lm.arpa" --weights "$OUT/typed.weights.json" \
        --expressions "$OUT/expressions.json" ${ranker[@]+"${ranker[@]}"} --form "$FORM" --letters "$1" --copy any \
        --beam "$BEAM" --output "$OUT/parser"
}

answer() { # COMMAND FILE OUTPUT: a line for each expression of a file
    text "$2" | bash -c "$1" >"$3.part" || return
    if [ "$(count_lines "$3.part")" != "$(count_lines "$2")" ]; then
        echo "--answers wrote $(count_lines "$3.part") lines, in $3.part, for the $(count_lines "$2") expressions of $2" >&2
        return 1
    fi
    mv "$3.part" "$3"
}

answer_given() { # COMMAND: the given expressions, written as parses are
    decoder linearise "$OUT/test.mr" --undo --form "$FORM" --output "$OUT/given.test.$FORM" &&
        answer "$1" "$OUT/given.test.$FORM" "$OUT/answers"
}

take_steps() {
    planned_step compile -- compile

    for set in train dev test; do
        planned_step "prepare-$set" "$(find_text "$set.$LANGUAGE")" "$(find_text "$set.$FORM")" \
            --makes "$set."{"$LANGUAGE",mr} "whole.$set" -- prepare_set "$set" "$LETTERS"
    done
    [ -z "$ANSWERS" ] || planned_step answers prepare-test --makes answers "given.test.$FORM" -- answer_given "$ANSWERS" # now, as it may fail
    planned_step phrases prepare-train ${PHRASES:+"$PHRASES" "$PHRASE_MEANINGS"} \
        --makes {phrases,learnt}.{"$LANGUAGE",mr} whole.phrases -- add_phrases "$COPIES" "$LETTERS"

    files=()
    for draw in "${draws[@]}"; do files+=("$draw".{gdfa,fwd,rev}); done
    planned_step align phrases ${given[@]+"${given[@]}"} --makes "${files[@]}" -- align_all "${#draws[@]}"

    planned_step lm phrases --makes lm.arpa -- learn_lm "$OUT" "$ORDER"

    planned_step expressions phrases --makes expressions.json -- expressions_of "$OUT"

    learnt=(--source "$OUT/learnt.$LANGUAGE" --target "$OUT/learnt.mr" --alignment)
    several_alignments "$OUT"
    planned_step grammar-hiero align --makes hiero.gz -- \
        sampler extract "${learnt[@]}" "$OUT/align.gdfa" --output "$OUT/hiero.gz"
    planned_step grammar-hiero-loose align --makes hiero-loose.gz -- \
        sampler extract "${learnt[@]}" "$OUT/align.gdfa" --loose target --output "$OUT/hiero-loose.gz"
    planned_step grammar-hiero-typed align --makes hiero-typed.gz -- \
        sampler extract "${learnt[@]}" "${alignments[@]}" --loose target --output "$OUT/hiero-typed.gz"
    planned_step sample align --makes sample -- sample_or_resume "$OUT/sample" "${learnt[@]}" "$OUT/align.gdfa" \
        --iterations "$ITERATIONS" --burn-in $((ITERATIONS / 3)) --seed "$SEED"
    planned_step grammar-sampled sample --makes sampled.gz -- sampler grammar "$OUT/sample" --output "$OUT/sampled.gz"
    typed_chain=(--iterations $((2 * ITERATIONS)) --burn-in $((2 * ITERATIONS / 3)) --discount 0.8 --seed "$SEED")
    planned_step sample-typed align --makes sample-typed -- \
        sample_or_resume "$OUT/sample-typed" "${learnt[@]}" "${alignments[@]}" \
        "${typed_chain[@]}"
    planned_step grammar-typed sample-typed --makes typed.gz -- sampler grammar "$OUT/sample-typed" --output "$OUT/typed.gz"

    systems=() made=() # and the steps that made their expressions
    for grammar in hiero hiero-loose sampled hiero-typed typed; do
        name=$grammar
        case $grammar in
            *typed)
                search=(--expressions "$OUT/expressions.json" --copy any)
                tuning=("${search[@]}" --metric "$METRIC") model=expressions
                [ "$FOLDS" = 0 ] || name+=-unranked
                ;;
            *) search=(--nbest 100) tuning=() model=lm ;;
        esac
        planned_step "tune-$grammar" "grammar-$grammar" lm "$model" prepare-dev --makes "$grammar.weights.json" -- \
            tune_grammar "$grammar" --rounds "$ROUNDS" --beam "$BEAM" --seed "$SEED" ${tuning[@]+"${tuning[@]}"}
        for set in dev test; do
            planned_step "parse-$grammar-$set" "tune-$grammar" "prepare-$set" \
                --makes "$name.$set".{mr,raw,"$FORM"} -- parse_set "$grammar" "$name" "$set" --beam "$BEAM" "${search[@]}"
        done
        systems+=("$name") made+=("parse-$grammar-test")
    done

    # Rankers.

    if [ "$FOLDS" -gt 0 ]; then
        planned_step whole-expressions phrases --makes whole.expressions.json -- \
            train_expressions "$OUT/whole.train" "$OUT/train.mr" "$OUT/whole.phrases" \
            "$OUT/whole.expressions.json"
        for ((fold = 0; fold < FOLDS; fold++)); do
            files=("fold$fold/"{held,train,learnt}.{"$LANGUAGE",mr} "fold$fold/"{lm.arpa,expressions.json})
            for draw in "${draws[@]}"; do files+=("fold$fold/$draw".{gdfa,fwd,rev}); done
            planned_step "fold$fold" align lm expressions --makes "${files[@]}" -- prepare_fold "$fold" "$FOLDS" "${#draws[@]}"
        done
        for grammar in hiero-typed typed; do
            folds=()
            for ((fold = 0; fold < FOLDS; fold++)); do
                planned_step "fold$fold-grammar-$grammar" "fold$fold" --makes "fold$fold/$grammar.gz" -- \
                    fold_grammar "$grammar" "$fold" "${typed_chain[@]}"
                planned_step "fold$fold-list-$grammar" "fold$fold-grammar-$grammar" "tune-$grammar" \
                    --makes "fold$fold/$grammar.list" -- \
                    list_set "$grammar" "$OUT/fold$fold" "$OUT/fold$fold/held" "$OUT/fold$fold/$grammar.list" "$BEAM"
                folds+=("fold$fold-list-$grammar")
            done
            planned_step "ranker-$grammar" whole-expressions "${folds[@]}" --makes "$grammar.ranker.json" -- train_ranker "$grammar" "$FOLDS"
            for set in dev test; do
                planned_step "rank-$grammar-$set" "ranker-$grammar" "prepare-$set" \
                    --makes "$grammar.$set".{list,probabilities,mr,"$FORM"} -- rank_set "$grammar" "$set"
            done
            systems+=("$grammar") made+=("rank-$grammar-test")
        done
        folds=()
        for ((fold = 0; fold < FOLDS; fold++)); do
            planned_step "fold$fold-list-joined" "fold$fold-list-hiero-typed" "fold$fold-list-typed" \
                --makes "fold$fold/joined.list" -- \
                join_lists "$OUT/fold$fold" list
            folds+=("fold$fold-list-joined")
        done
        planned_step ranker-joined whole-expressions "${folds[@]}" --makes joined.ranker.json -- train_ranker joined "$FOLDS"
        for set in dev test; do
            planned_step "rank-joined-$set" ranker-joined "rank-hiero-typed-$set" "rank-typed-$set" \
                --makes "joined.$set".{list,probabilities,mr,"$FORM"} -- rank_set joined "$set"
        done
        systems+=(joined) made+=(rank-joined-test)
    fi

    local ranked=()
    [ "$FOLDS" = 0 ] || ranked=(ranker-typed)
    planned_step parser tune-typed ${ranked[@]+"${ranked[@]}"} --makes parser -- bundle_parser "$LETTERS" "$BEAM"

    if [ -n "$ANSWERS" ]; then
        for i in "${!systems[@]}"; do
            planned_step "answers-${systems[i]}" answers "${made[i]}" --makes "${systems[i]}.answers" -- \
                answer "$ANSWERS" "$OUT/${systems[i]}.test.$FORM" "$OUT/${systems[i]}.answers"
        done
    fi
}

M=$(text "$(find_text "train.$LANGUAGE")" "$(find_text "train.$FORM")" ${PHRASES:+"$PHRASES" "$PHRASE_MEANINGS"} | wc -c |
    awk '{ printf "%.3f", 2 * $1 / 1000000 }')
SENTENCES=$(count_lines "$(find_text "dev.$LANGUAGE")")
plan_compiling
plan_steps take_steps
say "$(this_takes)"
take_steps

# ------------------------------------------------------------------ the table

tables meaning "$OUT" ${ANSWERS:+--answers} "${systems[@]}" >"$OUT/table.tsv" # and results.json, answers.json
[ "$FOLDS" = 0 ] || tables coverage "$OUT" typed >"$OUT/coverage.tsv"
{
    table <"$OUT/table.tsv"
    printf 'exact: share of expressions that are the given ones, in percent; p: two-sided, exact sign test against typed\n'
    [ -z "$ANSWERS" ] || printf 'answers: share of expressions that are answered like the given ones\n'
    [ "$FOLDS" = 0 ] || { echo && table <"$OUT/coverage.tsv"; }
    [ "$FOLDS" = 0 ] || printf 'coverage: share of questions whose expression is so probable, or more, by the ranker of typed; exact: of these\n'
    printf 'run directory: %s\n' "$OUT"
    printf 'to parse: %s parse --parser %s\n' "$(call_of scfg-decoder)" "$(quoted "$(short "$OUT/parser")")"
} >"$OUT/table.txt"
cat "$OUT/table.txt"
exit
}
