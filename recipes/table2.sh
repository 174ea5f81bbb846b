#!/usr/bin/env bash
# Table 2 and section 5.4 of Chung et al. (2014): how sampled grammars translate beside all of Hiero's rules.
#
#   recipes/table2.sh DATA_DIR SOURCE TARGET [options]
#
# DATA_DIR as for recipes/alignments-to-bleu.sh. The rows:
#   hiero             the baseline, all rules of Hiero
#   hiero-loose-target  … whose phrases may begin and end with unaligned words on the target side
#   hiero-loose       … on both sides
#   no-singletons     without rules that occur once and have several source words
#   initial           the sampler's initial state
#   last              the paper's 100 stratified sweeps, the last state
#   average           … eight of their states averaged: the paper's result
#   average-hiero     … the rules that Hiero allows instead of those of scope 2
#   dirichlet-last    the last state of the same sweeps with discount 0
#   dirichlet         … eight states averaged
#   ours              expected counts over 40 of 60 full sweeps
#   ours-hiero        … the rules that Hiero allows
#   ours-redundancy   … without redundant rules
#   ours-tenth        … of these the most frequent, a tenth as many as the baseline has
#   free              as ours, but unaligned words belong to any rule that could hold them
#   free-tenth        … without redundant rules, the most frequent, a tenth as many as the baseline has
# and with --more-alignments, every pair counting once under each alignment:
#   union-hiero       all rules of Hiero
#   union-hiero-loose-target  … with unaligned words at the ends of target phrases
#   union             expected counts over 100 of 120 full sweeps with discount 0.8
#   union-annotated   … with the phrase probabilities and counts of hiero-loose-target as features, too
#   union-redundancy  … without redundant rules
#   union-tenth       … of these the most frequent, a tenth as many as the baseline has
#   union-twentieth   … a twentieth as many
#   union-tenth-annotated, union-twentieth-annotated  … these, with the features of union-annotated
#   union-loose-tenth … a tenth as many as hiero-loose-target has
#   union-exact       as union, but which customers sit at which table is sampled, too
#   union-types       … and every phrase has one of two types
#   union-classes     as union-exact, and phrases have as label the classes of their first target word and their last,
#                     of four classes that are learnt of the text
#   union-free        as union, but unaligned words belong to any rule that could hold them
# and with --more-alignments, every pair counting once, the chain choosing an alignment:
#   choose            as union, for each phrase
#   choose-sentence   … for each sentence
#
# The first table has weights that were tuned on the baseline and are used throughout, as in the paper: weights for
# LogPosterior, LogLabels and the features of annotated rows, which the baseline does not have, are 0. p is that of paired
# bootstrap against the baseline, and the time is processor time for the development set and all test sets, reading of
# grammar and language model included.
# The second table has weights of its own for each of the rows of --tuned, one for each seed of tuning: means, standard
# deviations in brackets, and p against the baseline by a two-sided bootstrap over sentences and tunings (with one seed
# that of the first table, by sacrebleu's paired bootstrap).
# A third table, with --consensus, has what several of these rows say together, once for each seed of tuning: of the 50
# best translations of each row the one that is most like all of them, as `scfg-decoder consensus` chooses it.
#
# Options
#   --output DIR      where the results go; default: runs/table2- and the names of the data and languages
#   --alignment FILE  default: as recipes/alignments-to-bleu.sh chooses
#   --more-alignments LIST  of the same text, with commas between them
#   --tests LIST      test sets, with commas between them; default: the first
#   --dev NAME        development set; default: dev
#   --rows LIST       rows of the first table besides hiero, with commas between them; default: all
#   --tuned LIST      rows of the second table besides hiero; default: average,ours, and union if there is one
#   --consensus LIST  rows of the third table: rows of the second with + between them, and commas between those; default:
#                     none
#   --seeds N         seeds of tuning in the second table; 0 leaves it out; default: 3
#   --order N         order of the language model; default: 3
#   --classes N       classes of words, for a second language model, of their n-grams up to five; 0 for none; default: 0
#   --method METHOD   of tuning, pro or mira; default: pro, as in the paper
#   --rounds N        rounds of tuning; default: 6
#   --beam N          beam of the decoder; default: 100
#   --widen K         widens the beam of long spans, see docs/decoder.md; default: 0, all spans alike
#   --max-targets N   targets the decoder tries for a source side; default: 20
#   --seed N          of the sampler; default: 1
#   --threads N       that tune and translate; default: the number of processors. Sampling takes one, so that it is exact
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

ALIGNMENT="" MORE_ALIGNMENTS="" TESTS="" DEV=dev TUNED="" CONSENSUS="" SEEDS=3 ORDER=3 CLASSES=0
METHOD=pro ROUNDS=6 BEAM=100 WIDEN=0 MAX_TARGETS=20 SEED=1 THREADS=""
ROWS=all
ROWS_OF_ONE=hiero-loose-target,hiero-loose,no-singletons,initial,last,average,average-hiero,dirichlet-last,dirichlet,ours,ours-hiero,ours-redundancy,ours-tenth,free,free-tenth
ROWS_OF_SEVERAL=union-hiero,union-hiero-loose-target,union,union-annotated,union-redundancy,union-tenth,union-tenth-annotated,union-twentieth,union-twentieth-annotated,union-loose-tenth,union-exact,union-types,union-classes,union-free,choose,choose-sentence
parse_options --overwrite --output= --alignment= --more-alignments= --tests= --dev= --rows= --tuned= --consensus= --seeds= --order= --classes= --method= \
    --rounds= --beam= --widen= --max-targets= --seed= --threads= -- "$@"
[ ${#positional[@]} = 3 ] || die "expected DATA_DIR SOURCE TARGET, e.g. data/novish-en novish en; see --help"
DATA=${positional[0]} SOURCE=${positional[1]} TARGET=${positional[2]}
check_tuning "$METHOD" "$ROUNDS"
need_numbers --seeds
[ "$SEEDS" -ge 0 ] && [ "$SEEDS" -le 100 ] || die "--seeds is from 0 to 100"
need_threads
: "${OUT:=runs/table2-$(basename "$DATA")-$SOURCE-$TARGET}"
name_lms

one_in() { # N [ROW]: of N rules of the baseline, or of another row, one
    local rules table=$OUT/${2:-hiero}.gz
    [ -f "$table" ] || return 0 # Steps are planned before there is one.
    rules=$(count_rules "$table") || return
    echo $((rules / $1))
}

# Where the rules of a row come from: a run and the options of grammar, or a dash and the options of extract.
origin() { # ROW
    case $1 in
        hiero | union-hiero) echo - ;;
        hiero-loose-target | union-hiero-loose-target) echo - --loose target ;;
        hiero-loose) echo - --loose ;;
        no-singletons) echo - --no-singletons ;;
        initial) echo initial --from average ;;
        last) echo paper --from last ;;
        average) echo paper --from average ;;
        average-hiero) echo paper --from average --filter hiero ;;
        dirichlet-last) echo dirichlet --from last ;;
        dirichlet) echo dirichlet --from average ;;
        ours) echo ours ;;
        ours-hiero) echo ours --filter hiero ;;
        ours-redundancy) echo ours --prune redundancy ;;
        ours-tenth) echo ours --prune redundancy --keep "$(one_in 10)" ;;
        free) echo free ;;
        free-tenth) echo free --prune redundancy --keep "$(one_in 10)" ;;
        union) echo union ;;
        union-exact | union-types | union-classes | union-free) echo "$1" ;;
        choose | choose-sentence) echo "$1" ;;
        union-redundancy) echo union --prune redundancy ;;
        union-tenth) echo union --prune redundancy --keep "$(one_in 10)" ;;
        union-twentieth) echo union --prune redundancy --keep "$(one_in 20)" ;;
        union-loose-tenth) echo union --prune redundancy --keep "$(one_in 10 hiero-loose-target)" ;;
    esac
}

sampling() { # RUN: options of sample
    case $1 in
        initial) echo --paper --iterations 1 --burn-in 0 --average-until 0 ;;
        paper) echo --paper --iterations 100 ;;
        dirichlet) echo --paper --iterations 100 --discount 0 ;;
        ours) echo --iterations 60 --burn-in 20 ;;
        free) echo --iterations 60 --burn-in 20 --unaligned free ;;
        union) echo --iterations 120 --burn-in 20 --discount 0.8 ;;
        union-exact | union-classes) echo --iterations 120 --burn-in 20 --discount 0.8 --tables exact ;;
        union-types) echo --iterations 120 --burn-in 20 --discount 0.8 --types 2 ;;
        union-free) echo --iterations 120 --burn-in 20 --discount 0.8 --unaligned free ;;
        choose) echo --iterations 120 --burn-in 20 --discount 0.8 --choose phrase ;;
        choose-sentence) echo --iterations 120 --burn-in 20 --discount 0.8 --choose sentence ;;
    esac
}

check_rows() { # OPTION LIST: the rows into `parts`, each once, after the baseline
    local row listed=(hiero) known=$ROWS_OF_ONE
    [ -z "$MORE_ALIGNMENTS" ] || known+=,$ROWS_OF_SEVERAL
    split_list "$1" "$2"
    for row in ${parts[@]+"${parts[@]}"}; do
        case ,hiero,$known,$ROWS_OF_SEVERAL, in
            *",$row,"*) ;;
            *) die "no row is called $row, in $1; see --help" ;;
        esac
        case ,hiero,$known, in
            *",$row,"*) ;;
            *) die "row $row, in $1, needs --more-alignments; see --help" ;;
        esac
        case " ${listed[*]} " in
            *" $row "*) ;;
            *) listed+=("$row") ;;
        esac
    done
    parts=("${listed[@]}")
}

check_consensus() { # its rows, each once, into `together`
    local row rows_of listed
    split_list --consensus "$CONSENSUS"
    listed=(${parts[@]+"${parts[@]}"}) together=()
    for rows_of in ${listed[@]+"${listed[@]}"}; do
        IFS=+ read -ra parts <<<"$rows_of+" # One + at the end is no part to it, but two are.
        [ "${#parts[@]}" -gt 1 ] || die "--consensus has rows with + between them, not '$rows_of'"
        [ "${#rows_of}" -le 200 ] || die "--consensus $rows_of is too long to name files by; take fewer rows"
        for row in "${parts[@]}"; do
            case " ${tuned[*]} " in
                *" $row "*) ;;
                *) die "row ${row:-without a name}, in --consensus, is none of --tuned" ;;
            esac
        done
        case " ${together[*]-} " in
            *" $rows_of "*) ;;
            *) together+=("$rows_of") ;;
        esac
    done
    [ ${#together[@]} = 0 ] || [ "$SEEDS" != 0 ] || die "--consensus needs rows that are tuned; with --seeds 0 none is"
}

[ "$ROWS" != all ] || ROWS=$ROWS_OF_ONE${MORE_ALIGNMENTS:+,$ROWS_OF_SEVERAL}
: "${TUNED:=average,ours${MORE_ALIGNMENTS:+,union}}"
check_rows --rows "$ROWS"
rows=("${parts[@]}")
check_rows --tuned "$TUNED"
tuned=("${parts[@]}")
check_consensus
find_training
[ -n "$TESTS" ] || TESTS=$(find_test)
split_list --tests "$TESTS"
tests=("${parts[@]}")
[[ " ${tests[*]} " != *" $DEV "* ]] || die "--tests has the development set, $DEV, which has a column of its own; leave it out"
sets=("$DEV" "${tests[@]}")
sources=()
for set in "${sets[@]}"; do
    found=$(find_text "$set.$SOURCE")
    sources+=("$found")
    list_references "$set" >/dev/null
done

prepare_python
hold_output
say "$(count_lines "$TRAIN_SOURCE") training pairs, aligned in $(alignment_names); tuning on $DEV, testing on ${tests[*]}"

# ------------------------------------------------------------------ the steps

text "${sources[@]}" >"$OUT/input.$SOURCE"
references=()

find_references() { # SET: sets `references` and `source`
    local listed file
    source=$(find_text "$1.$SOURCE")
    listed=$(list_references "$1")
    references=()
    while IFS= read -r file; do references+=("$file"); done <<<"$listed"
}

make_grammar() { # ROW: the table, and the rules of it that the texts can use
    case $1 in
        union-loose-tenth) make_grammar hiero-loose-target ;;
        *-annotated)
            make_grammar hiero-loose-target
            make_grammar "${1%-annotated}"
            planned_step "grammar-$1" "grammar-${1%-annotated}" grammar-hiero-loose-target --makes "$1.gz" -- \
                sampler annotate "$OUT/${1%-annotated}.gz" "$OUT/hiero-loose-target.gz" --output "$OUT/$1.gz" --prefix Hiero
            filter_grammar "$1"
            return
            ;;
    esac
    local from options run chain aligned=("$ALIGNMENT") corpus corpus_options learnt=()
    case $1 in
        union* | choose*) aligned=("${ALIGNMENTS[@]}") ;;
    esac
    corpus=("$TRAIN_SOURCE" "$TRAIN_TARGET" "${aligned[@]}")
    corpus_options=(--source "$TRAIN_SOURCE" --target "$TRAIN_TARGET" --alignment "${aligned[@]}")
    if [ "$1" = union-classes ]; then
        learnt=(classes)
        planned_step classes "$TRAIN_TARGET" --makes "classes.$TARGET" -- \
            sampler classes "$TRAIN_TARGET" --number 4 --output "$OUT/classes.$TARGET"
        corpus_options+=(--labels "$OUT/classes.$TARGET" --labels-form classes)
    fi
    from=$(origin "$1")
    read -ra options <<<"$from"
    run=${options[0]}
    if [ "$run" = - ]; then
        planned_step "grammar-$1" "${corpus[@]}" --makes "$1.gz" -- \
            sampler extract "${corpus_options[@]}" --output "$OUT/$1.gz" "${options[@]:1}"
    else
        chain=$(sampling "$run")
        read -ra chain <<<"$chain"
        planned_step "sample-$run" "${corpus[@]}" ${learnt[@]+"${learnt[@]}"} --makes "$run.run" -- \
            sample_or_resume "$OUT/$run.run" "${corpus_options[@]}" --seed "$SEED" "${chain[@]}"
        planned_step "grammar-$1" "sample-$run" --makes "$1.gz" -- \
            sampler grammar "$OUT/$run.run" --output "$OUT/$1.gz" "${options[@]:1}"
    fi
    filter_grammar "$1"
}

filter_grammar() { # ROW: the rules of it that the texts can use
    planned_step "filter-$1" "grammar-$1" "$OUT/input.$SOURCE" --makes "$1.filtered.gz" -- \
        sampler filter "$OUT/$1.gz" --source "$OUT/input.$SOURCE" --output "$OUT/$1.filtered.gz"
}

tune_row() { # ROW SEED
    find_references "$DEV"
    planned_step "tune-$1-$2" "filter-$1" "${lm_steps[@]}" "$source" "${references[@]}" --makes "$1-$2.weights.json" -- \
        tune "$1" "$1-$2" --source "$source" --references "${references[@]}" \
        --method "$METHOD" --rounds "$ROUNDS" --beam "$BEAM" --widen "$WIDEN" --max-targets "$MAX_TARGETS" --seed "$2"
}

fix_weights() { # FEATURE…: those of the baseline, and 0 for the features that it does not have
    tables with-zero "$OUT/hiero-1.weights.json" "$@" >"$OUT/fixed.weights.json"
}

translate_row() { # ROW WEIGHTS
    local of_sets=("${sets[@]/#/$1.$2.}")
    planned_step "translate-$1.$2" "filter-$1" "tune-$2" "$OUT/input.$SOURCE" --makes "$1.$2.txt" "${of_sets[@]/%/.txt}" -- \
        translate_sets "$1.$2" "$1" "$2" --beam "$BEAM" --widen "$WIDEN" --max-targets "$MAX_TARGETS"
}

list_row() { # ROW SEED: 50 translations of every line, by the search that translates
    planned_step "translate-$1-$2.list" "filter-$1" "tune-$1-$2" "$OUT/input.$SOURCE" --makes "$1-$2.list.gz" -- \
        translate "$1" "$1-$2" --nbest 50 --search guided --beam "$BEAM" --widen "$WIDEN" --max-targets "$MAX_TARGETS" \
        --input "$OUT/input.$SOURCE" --output "$OUT/$1-$2.list.gz"
}

agree() { # ROW+ROW… SEED: translations of all sets, most like what these rows say
    local row steps=() lists=() of_sets=("${sets[@]/#/$1.agreed-$2.}")
    IFS=+ read -ra parts <<<"$1"
    for row in "${parts[@]}"; do
        list_row "$row" "$2"
        steps+=("translate-$row-$2.list") lists+=("$OUT/$row-$2.list.gz")
    done
    planned_step "translate-$1.agreed-$2" "${steps[@]}" --makes "$1.agreed-$2.txt" "${of_sets[@]/%/.txt}" -- \
        agree_on_sets "$1.agreed-$2" "${lists[@]}"
}

agree_on_sets() { # NAME LIST…
    local name=$1
    shift
    decoder consensus "$@" --output "$OUT/$name.txt" && part_sets "$name"
}

# Score translations of all sets, one or one for each seed, and compare them with the baseline's.
evaluate_row() { # RESULT ROW WEIGHTS…: RESULT is fixed or tuned; the baseline's weights are named alike
    local result=$1 row=$2 set weights of_hiero hypotheses against steps
    shift 2
    for set in "${sets[@]}"; do
        find_references "$set"
        hypotheses=() against=(--against) steps=()
        for weights in "$@"; do
            of_hiero=${weights/#"$row"-/hiero-} of_hiero=${of_hiero/#agreed-/hiero-}
            hypotheses+=("$OUT/$row.$weights.$set.txt")
            against+=("$OUT/hiero.$of_hiero.$set.txt")
            steps+=("translate-$row.$weights" "translate-hiero.$of_hiero")
        done
        [ "$row" != hiero ] || against=()
        planned_step "evaluate-$row.$result-$set" "${steps[@]}" "${references[@]}" \
            --makes "$row.$result.$set.json" -- \
            score "$OUT/$row.$result.$set.json" --metrics bleu --hypothesis "${hypotheses[@]}" \
            --references "${references[@]}" ${against[@]+"${against[@]}"}
    done
}

[ "$SEEDS" != 0 ] || tuned=()

take_steps() {
    planned_step compile -- compile
    planned_step lm "$TRAIN_TARGET" --makes lm.arpa -- \
        decoder train-lm "$TRAIN_TARGET" --order "$ORDER" --output "$OUT/lm.arpa"
    class_lm "$TRAIN_TARGET" "$TRAIN_TARGET"
    make_grammar hiero
    tune_row hiero 1
    planned_step tune-fixed tune-hiero-1 --makes fixed.weights.json -- \
        fix_weights LogPosterior HieroLogForward HieroLogBackward HieroLogCount HieroMissing LogLabels
    local row weights seed
    for row in "${rows[@]}"; do
        make_grammar "$row"
        translate_row "$row" fixed
        evaluate_row fixed "$row" fixed
    done
    for row in ${tuned[@]+"${tuned[@]}"}; do
        make_grammar "$row"
        weights=()
        for ((seed = 1; seed <= SEEDS; seed++)); do
            tune_row "$row" "$seed"
            translate_row "$row" "$row-$seed"
            weights+=("$row-$seed")
        done
        evaluate_row tuned "$row" "${weights[@]}"
    done
    for row in ${together[@]+"${together[@]}"}; do
        weights=()
        for ((seed = 1; seed <= SEEDS; seed++)); do
            agree "$row" "$seed"
            weights+=("agreed-$seed")
        done
        evaluate_row tuned "$row" "${weights[@]}"
    done
}

M=$(text "$TRAIN_SOURCE" "$TRAIN_TARGET" | wc -c | awk '{ printf "%.3f", $1 / 1000000 }')
SENTENCES=$(count_lines "${sources[0]}")
TRANSLATED=$(count_lines "$OUT/input.$SOURCE")
plan_compiling
plan_steps take_steps
say "$(this_takes)"
take_steps

# ------------------------------------------------------------------ the tables

# BLEU, with the standard deviation in brackets where there are several tunings; and for test sets p, which the
# baseline has not.
results() { # RESULT ROW
    local set file score other
    for set in "${sets[@]}"; do
        file=$OUT/$2.$1.$set.json
        score=$(json "$file" bleu score)
        printf '\t%.2f' "$score"
        if [ "$1" != fixed ] && [ "$SEEDS" != 1 ]; then
            other=$(json "$file" bleu deviation)
            printf ' (%.2f)' "$other"
        fi
        [ "$set" != "$DEV" ] || continue
        if [ "$2" = hiero ]; then
            printf '\t'
        else
            other=$(json "$file" p_value)
            printf '\t%.3f' "$other"
        fi
    done
    echo
}

{
    echo "Weights tuned on the baseline, used throughout:"
    {
        printf 'grammar\trules\tdecoding CPU s\t%s BLEU' "$DEV"
        printf '\t%s BLEU\tp' "${tests[@]}"
        echo
        for row in "${rows[@]}"; do
            rules=$(count_rules "$OUT/$row.gz")
            took=$(cpu_seconds "translate-$row.fixed")
            printf '%s\t%s\t%s' "$row" "$rules" "$took"
            results fixed "$row"
        done
    } | table
    if [ "$SEEDS" != 0 ]; then
        echo
        echo "Weights of its own for each, $(counted "$SEEDS" tuning) by $METHOD:"
        {
            printf 'grammar\trules\t%s BLEU' "$DEV"
            printf '\t%s BLEU\tp' "${tests[@]}"
            echo
            for row in "${tuned[@]}"; do
                rules=$(count_rules "$OUT/$row.gz")
                printf '%s\t%s' "$row" "$rules"
                results tuned "$row"
            done
        } | table
    fi
    if [ ${#together[@]} != 0 ]; then
        echo
        echo "Of the lists of several, tuned so, the translation most like all of them:"
        {
            printf 'grammars\t%s BLEU' "$DEV"
            printf '\t%s BLEU\tp' "${tests[@]}"
            echo
            for row in "${together[@]}"; do
                printf '%s' "$row"
                results tuned "$row"
            done
        } | table
    fi
    echo
    signature=$(json "$OUT/hiero.fixed.${tests[0]}.json" bleu signature)
    printf 'BLEU: %s\n' "$signature"
    for row in "${rows[@]}"; do
        signature=$(table_signature "$OUT/$row.gz")
        printf '%s: %s\n' "$row" "$signature"
    done
    printf 'run directory: %s\n' "$OUT"
} >"$OUT/table.txt"
cat "$OUT/table.txt"
exit
}
