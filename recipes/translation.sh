# shellcheck shell=bash
# What the recipes that translate share: finding the files of a data directory, and the steps between a word
# alignment and BLEU. Sourced after common.sh, not run.
#
# Read here: MORE_ALIGNMENTS, DATA, SOURCE, TARGET, OUT, ORDER (of the language model), CLASSES (of words, for another model),
# THREADS, and SCHEDULER, of a cluster, if there is one. What else a step depends on is among its arguments, so that it is repeated when that changes.

# ------------------------------------------------------------------ what is there

language_of() { # FILE OTHERWISE: de for train.de and train.de.gz
    local name
    name=$(basename "$1" .gz)
    case $name in
        *.*) printf '%s' "${name##*.}" ;;
        *) printf '%s' "$2" ;;
    esac
}

# Where --source and --target name the training text, sets DATA, SOURCE and TARGET to a directory of links to it and to
# the files of --dev and --test, OUT/files, and DEV and TEST to names in it; otherwise --dev and --test are names already.
# `positional` is then what stands behind DATA_DIR SOURCE TARGET.
find_files() {
    local files=() file
    if [ -z "$SOURCE$TARGET" ]; then
        [ ${#positional[@]} -ge 3 ] || die "expected $EXPECTED"
        DATA=${positional[0]} SOURCE=${positional[1]} TARGET=${positional[2]}
        positional=(${positional[@]+"${positional[@]:3}"})
        DEV=${DEV%$'\n'} TEST=${TEST%$'\n'}
        case $DEV$TEST in
            *$'\n'*) die "--dev and --test take files where --source and --target do, and one name otherwise" ;;
        esac
        : "${DEV:=dev}"
        return
    fi
    [ -n "$SOURCE" ] && [ -n "$TARGET" ] && [ -n "$ALIGNMENT" ] && [ -n "$DEV" ] ||
        die "--source, --target, --alignment and --dev go together, or a DATA_DIR; see --help"
    while IFS= read -r file; do [ -z "$file" ] || files+=("$file"); done <<<"$SOURCE"$'\n'"$TARGET"$'\n'"$DEV$TEST"
    for file in "${files[@]}"; do
        [ -f "$file" ] || die "there is no file $file"
    done
    for file in dev test; do
        set -- "$DEV"
        [ "$file" = dev ] || set -- "$TEST"
        case ${1%$'\n'} in
            "" | *$'\n'*) ;;
            *) die "--$file takes a source file and at least one reference" ;;
        esac
    done
    link_files
}

link_files() { # the links of find_files
    local source target
    source=$(language_of "$SOURCE" source) target=$(language_of "$TARGET" target)
    [ "$source" != "$target" ] || { source="source" && target="target"; }
    : "${OUT:=runs/$source-$target}"
    DATA=$OUT/files
    keep_apart "$DATA" "${files[@]}" "$ALIGNMENT"
    mkdir -p "$DATA"
    find "$DATA" -type l -exec rm {} +
    link_to "$SOURCE" "train.$source"
    link_to "$TARGET" "train.$target"
    SOURCE=$source TARGET=$target
    link_set dev "$DEV"
    DEV=dev
    if [ -n "$TEST" ]; then
        link_set test "$TEST"
        TEST=test
    fi
}

link_set() { # NAME FILES: a source and its references
    local file number=-1 name="$1.$SOURCE"
    while IFS= read -r file; do
        [ -n "$file" ] || continue
        link_to "$file" "$name"
        number=$((number + 1))
        name=$1.$TARGET.ref$number
    done <<<"$2"
}

link_to() { # FILE NAME: a link in DATA, which ends in .gz if the file does
    local end=""
    case $1 in *.gz) end=.gz ;; esac
    ln -sf "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")" "$DATA/$2$end"
}

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
        done < <(find "$DATA/" -maxdepth 1 -name "train.$SOURCE-$TARGET.$name" | sort)
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
    file=$(find "$DATA/" -maxdepth 1 \( -name "test*.$SOURCE" -o -name "test*.$SOURCE.gz" \) | sort | head -n 1)
    [ -n "$file" ] || die "$DATA has neither test*.$SOURCE nor test*.$SOURCE.gz"
    file=$(basename "$file" .gz)
    printf '%s' "${file%".$SOURCE"}"
}

# Sets TRAIN_SOURCE, TRAIN_TARGET and ALIGNMENTS: ALIGNMENT, which may name a file in DATA already, and those of
# MORE_ALIGNMENTS, with commas between them.
find_training() {
    local alignment
    [ -d "$DATA" ] || die "$DATA is not a directory"
    TRAIN_SOURCE=$(find_text "train.$SOURCE")
    TRAIN_TARGET=$(find_text "train.$TARGET")
    [ -n "$ALIGNMENT" ] || ALIGNMENT=$(find_alignment)
    ALIGNMENT=$(find_here "$ALIGNMENT")
    ALIGNMENTS=("$ALIGNMENT")
    split_list --more-alignments "$MORE_ALIGNMENTS"
    for alignment in ${parts[@]+"${parts[@]}"}; do
        alignment=$(find_here "$alignment")
        case $'\n'$(printf '%s\n' "${ALIGNMENTS[@]}")$'\n' in
            *$'\n'"$alignment"$'\n'*) die "--more-alignments names $alignment again" ;;
        esac
        ALIGNMENTS+=("$alignment")
    done
}

alignment_names() { # for a message
    local alignment names=""
    for alignment in "${ALIGNMENTS[@]}"; do
        names+="${names:+ and }$(basename "$alignment")"
    done
    printf '%s' "$names"
}

check_tuning() { # METHOD ROUNDS; and of other numbers that tuning and translation take those that the recipe has
    local option name
    case $1 in
        pro | mira) ;;
        *) die "--method is pro or mira, not '$1'" ;;
    esac
    need_number --rounds "$2"
    for option in --order --beam --nbest --max-targets --seed; do
        name=$(variable_of "$option")
        [ -z "${!name-}" ] || need_number "$option" "${!name}"
    done
}

split_grammars() { # LIST: of --grammars, into `grammars`
    local grammar
    split_list --grammars "$1"
    grammars=(${parts[@]+"${parts[@]}"})
    [ ${#grammars[@]} -gt 0 ] || die "--grammars names none"
    for grammar in "${grammars[@]}"; do
        case $grammar in
            hiero | hiero-loose | sampled) ;;
            *) die "--grammars is a list of hiero, hiero-loose and sampled, not '$grammar'" ;;
        esac
    done
}

find_here() { # FILE: where it is, here or in DATA
    [ -f "$1" ] || [ ! -f "$DATA/$1" ] || set -- "$DATA/$1"
    [ -f "$1" ] || die "there is no alignment $1, nor in $DATA"
    printf '%s' "$1"
}

# ------------------------------------------------------------------ the time it takes

# Seconds of tuning and of translating, in the terms of `estimate`: a model of classes beside that of words makes them longer.
TUNING_TIME="0.006 * sentences * (rounds + 1) * beam / 200 * (1 + 2 / threads) * (classes ? 1.2 : 1)"
TRANSLATING_TIME="0.02 * translated * beam / 200 * (classes ? 2.2 : 1)"

# estimate NAME FORMULA: that a step takes so many seconds on two cores of 2020, from runs on 2,000 to 30,000 pairs, by a
# formula in T (thousands of training pairs), M (megabytes of training text), sentences (of the development set), translated
# (those that are translated), and what the options say. plan_estimates, after all of them, plans these steps.
estimated=() # the names
formulas="" # what prints the seconds of each
estimate() {
    estimated+=("$1")
    formulas+="printf \"%.2f\\n\", $2;"
}

plan_estimates() {
    local name seconds
    seconds=$(awk -v T="$T" -v M="$M" -v sweeps="${ITERATIONS:-60}" -v rounds="$ROUNDS" -v beam="${BEAM:-100}" \
        -v threads="$THREADS" -v sentences="$SENTENCES" -v translated="${TRANSLATED:-$SENTENCES}" -v draws="${DRAWS:-1}" \
        -v classes="${CLASSES:-0}" \
        "BEGIN { $formulas }")
    for name in "${estimated[@]}"; do
        plan "$name" "${seconds%%$'\n'*}"
        seconds=${seconds#*$'\n'}
    done
}

# Seconds that a step takes, by what its name begins with; sets that are translated have TRANSLATED sentences.
guesses() {
    awk -v M="$M" -v sweeps="${ITERATIONS:-60}" -v rounds="$ROUNDS" -v beam="${BEAM:-100}" -v threads="$THREADS" \
        -v sentences="$SENTENCES" -v translated="${TRANSLATED:-$SENTENCES}" -v classes="${CLASSES:-0}" '
        function guess(name) {
            if (name ~ /^lm$/) return 2 + M
            if (name ~ /^lm-classes$/) return 6 + 4 * M
            if (name ~ /^align$/) return 2 + 3 * M
            if (name ~ /^sample/) return 5 + 0.35 * sweeps * M
            if (name ~ /^grammar-/) return 4 + 8 * M
            if (name ~ /^(filter|text)-/) return 1 + 2 * M
            if (name ~ /^tune-fixed$/) return 1
            if (name ~ /^tune-/) return 3 + '"$TUNING_TIME"'
            if (name ~ /^fold.*-list-/) return 3 + 0.02 * 4 * sentences * beam / 200
            if (name ~ /^fold/) return 6 + 0.7 * sweeps * M
            if (name ~ /^(translate|parse|rank)-/) return 3 + '"$TRANSLATING_TIME"'
            if (name ~ /^plug-/) return 2 + M
            return 3
        }
        { printf "%s %.2f\n", $1, guess($1) }'
}

CACHE=${SCFG_SAMPLER_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/scfg-sampler} # of compiled kernels

# Plans `compile`: a second where this user has compiled the same before; where it was another version, between ten seconds
# and two minutes, as little or most of it is to be compiled again.
plan_compiling() {
    local seconds=40
    if [ -f "$(compiled)" ]; then
        seconds=2
    elif [ ! -d "$CACHE" ]; then
        seconds=240
        say "the first step compiles for this machine, which takes some minutes, and happens once"
    fi
    plan compile "$seconds"
}

# The file that says that `compile` has compiled what it does on this machine, for these versions: it lies among the
# kernels, so that it goes when they do.
compiled() {
    local digest
    digest=$({
        find "$ROOT/scfg_sampler" "$ROOT/decoder" -name '*.py' | LC_ALL=C sort | tr '\n' '\0' | xargs -0 cat
        cat "${BASH_SOURCE[0]}"
        "$PYTHON" -c 'import sys, importlib.metadata as m; print(sys.version, *(m.version(p) for p in ("numba", "llvmlite", "numpy")))'
        uname -nm
    } | cksum | tr ' ' '-')
    printf '%s/compiled-%s' "$CACHE" "$digest"
}

# ------------------------------------------------------------------ the steps

# The files that `sampler prepare` may write to OUT/data, into `prepared`; alignments are beside them.
name_prepared() {
    local language
    prepared=(data/preparation.json data/raw)
    for language in "$SOURCE" "$TARGET"; do
        prepared+=("data/"{train,dev,test,monolingual}".$language" "data/"{dev,test}".$language.ref"{0,1,2,3,4,5,6,7,8,9}
            "data/case.$language.json" "data/subwords.$language.model")
    done
}

# What `sampler prepare` said of the text: its table and its warnings, not how far it was meanwhile, nor which alignments
# it removed, as the next step makes them again, and that is told of whenever the recipe is.
tell_prepared() {
    sed -n '/^warning: .* is removed: it aligned /d; /^ *-\{0,1\}[0-9,]*  /p; /^warning: /p' "$OUT/logs/prepare.log" >&2
}

# Both programs on a few sentences, side by side: so the steps below find everything compiled, and their seconds
# are those of their work.
compile() {
    local directory=$OUT/logs/compile name learner status=0 learner_status=0 mark
    mark=$(compiled)
    if [ -f "$mark" ]; then
        "$PYTHON" -c 'import decoder, numba, scfg_sampler' # Python, too, compiles what is imported for the first time.
        return
    fi
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
    wait "$learner" || { learner_status=$? && kill "$learner" 2>/dev/null; } # also where Ctrl-C has ended the waiting
    [ "$status" != 0 ] || status=$learner_status
    [ "$status" = 0 ] || return "$status"
    sampler grammar "$directory/sample" --output "$directory/sampled.gz" || return
    rm -r "$directory"
    [ ! -d "$CACHE" ] || touch "$mark" # Elsewhere kernels are where the cache could not be made.
}
compile_the_rest() { # DIRECTORY
    decoder train-lm "$1/train.en" --order "$ORDER" --output "$1/lm.arpa" &&
        sampler extract --source "$1/train.novish" --target "$1/train.en" --alignment "$1/train.novish-en.gold" \
            --output "$1/hiero.gz" &&
        sampler filter "$1/hiero.gz" --source "$1/train.novish" --output "$1/filtered.gz" &&
        decoder tune --grammar "$1/filtered.gz" --lm "$1/lm.arpa" --source "$1/train.novish" \
            --references "$1/train.en" --output "$1/weights.json" --overwrite --rounds 1 --threads "$THREADS" &&
        decoder translate --grammar "$1/filtered.gz" --lm "$1/lm.arpa" --weights "$1/weights.json" \
            --threads "$THREADS" --input "$1/train.novish" --output "$1/output"
}

need_draws() { # dies unless the text is aligned at least once
    need_numbers --draws
    [ "$DRAWS" -ge 1 ] || die "--draws is at least 1, not $DRAWS"
}

# The training text in DATA, aligned by eflomal DRAWS times, after step `prepare`: into `corpus`, options that name it and
# the alignments.
align_prepared() {
    local name=train.$SOURCE-$TARGET draw file endings=(gdfa fwd rev) alignments=() made=() several=() ending
    [ "$ALIGNER" = eflomal ] || endings=(phrases) several=(--aligner "$ALIGNER" --seed "$SEED")
    [ "$DRAWS" = 1 ] || several+=(--draws "$DRAWS")
    for ((draw = 1; draw <= DRAWS; draw++)); do
        file=$name
        [ "$draw" = 1 ] || file+=.$draw
        alignments+=("$DATA/$file.${endings[0]}")
        for ending in "${endings[@]}"; do made+=("data/$file.$ending"); done
    done
    corpus=(--source "$DATA/train.$SOURCE" --target "$DATA/train.$TARGET")
    planned_step align prepare --makes "${made[@]}" -- \
        sampler align "${corpus[@]}" --output "$DATA/$name" ${several[@]+"${several[@]}"}
    corpus+=(--alignment "${alignments[@]}")
}

# Sets `lms` to options that name the language models, of words and of CLASSES classes of words, if that is not 0, and
# `lm_steps` to the steps that make them.
name_lms() {
    need_numbers --classes
    lms=(--lm "$OUT/lm.arpa") lm_steps=(lm)
    [ "$CLASSES" = 0 ] || { lms+=(--lm "$OUT/lm-classes.bin") && lm_steps+=(lm-classes); }
}

# The step lm-classes, if there are classes: a model of the classes of a text's words, which says more of what was seen
# seldom; of order 5, as there are fewer n-grams of classes than of words.
class_lm() { # TEXT INPUT…
    local text=$1
    shift
    [ "$CLASSES" = 0 ] ||
        planned_step lm-classes "$@" --makes lm-classes.bin lm-classes.arpa lm-classes.words -- train_class_lm "$text" "$CLASSES"
}
train_class_lm() { # TEXT CLASSES: fewer where they would have fewer than four words each
    local name=$OUT/lm-classes number
    number=$(text "$1" | awk -v most="$2" '
        { for (i = 1; i <= NF; i++) if (!($i in seen)) { seen[$i]; words++ } }
        END { few = int(words / 4); if (few < 1) few = 1; print most < few ? most : few }') || return
    sampler classes "$1" --number "$number" --output "$name.text" --words "$name.words" &&
        decoder train-lm "$name.text" --order 5 --output "$name.arpa" &&
        decoder compile-lm "$name.arpa" --classes "$name.words" --output "$name.bin"
}

sample_or_resume() { # RUN OPTION…
    local run=$1
    shift
    resume_or_begin "$run" sampler resume "$run" ${SCHEDULER:+--scheduler "$SCHEDULER"} -- \
        sampler sample --output "$run" --overwrite ${SCHEDULER:+--scheduler "$SCHEDULER"} "$@"
}

tune() { # GRAMMAR WEIGHTS OPTION…: an interrupted step goes on with the rounds it has done
    local grammar=$1 weights=$2
    shift 2
    forget_tuning "$weights"
    decoder tune --grammar "$OUT/$grammar.filtered.gz" "${lms[@]}" --output "$OUT/$weights.weights.json" \
        --threads "$THREADS" ${SCHEDULER:+--scheduler "$SCHEDULER"} "$@"
}
forget_tuning() { # WEIGHTS: rounds of other settings go first; a program stopped as it begins would leave them to the next
    [ "$RESUMING" = 1 ] || rm -rf "$OUT/$1.weights.json.state"
}

translate() { # GRAMMAR WEIGHTS OPTION…
    local grammar=$1 weights=$2
    shift 2
    decoder translate --grammar "$OUT/$grammar.filtered.gz" "${lms[@]}" \
        --weights "$OUT/$weights.weights.json" --threads "$THREADS" ${SCHEDULER:+--scheduler "$SCHEDULER"} "$@"
}

# translate_sets NAME GRAMMAR WEIGHTS OPTION…: all of `sets`, whose texts are `sources` and, one after the other,
# OUT/input.SOURCE, to OUT/NAME.SET.txt. All at once, as reading a grammar takes as long as many translations.
translate_sets() {
    local name=$1
    shift
    translate "$@" --input "$OUT/input.$SOURCE" --output "$OUT/$name.txt" && part_sets "$name"
}

part_sets() { # NAME: the translations of all sets, OUT/NAME.txt, to OUT/NAME.SET.txt
    local name=$1 set number=0 first=1 last
    for set in "${sets[@]}"; do
        last=$((first + $(count_lines "${sources[$number]}")))
        awk -v first="$first" -v last="$last" 'NR >= first && NR < last' "$OUT/$name.txt" >"$OUT/$name.$set.txt" || return
        first=$last number=$((number + 1))
    done
}

side_by_side() { # FUNCTION ARGUMENT…: the function of each argument, all at once; fails if one of them does
    local function=$1 argument process processes=() status=0
    shift
    for argument in "$@"; do
        "$function" "$argument" &
        processes+=($!)
    done
    for process in "${processes[@]}"; do
        wait "$process" || status=$((status > 128 ? status : $?))
        if [ "$status" -gt 128 ]; then # Ctrl-C, which, with bash 3.2, they pass over
            # shellcheck disable=SC2046 # several processes
            kill "${processes[@]}" $(IFS=, && pgrep -P "${processes[*]}") 2>/dev/null || true
        fi
    done
    return "$status"
}

score() { # OUTPUT ARGUMENT…
    local output=$1
    shift
    decoder evaluate --json "$@" >"$output.part" && mv "$output.part" "$output"
}

raw_tokenizer() { # LANGUAGE: sacrebleu's tokenisation of raw text in it, by a code of two letters or three
    case ${1%%[-_]*} in
        zh | zho | cmn | yue) echo zh ;;
        ja | jpn) if "$PYTHON" -c 'import MeCab, ipadic' 2>/dev/null; then echo ja-mecab; else echo char; fi ;;
        th | tha | lo | lao | km | khm | my | mya | bo | bod) echo char ;;
        *) echo 13a ;;
    esac
}

count_rules() { # TABLE
    gzip -dc "$1" | { grep -vc '^#' || [ $? = 1 ]; } # 1: there are none
}

table_signature() { # TABLE: what is read is its first line, so that gzip may complain of a pipe that is closed
    { gzip -dc "$1" || true; } | awk 'NR == 1 { sub(/^# */, ""); print; exit } END { exit !NR }'
}
