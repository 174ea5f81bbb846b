# shellcheck shell=bash
# What the recipes share: messages, checks, the virtual environment (environment.sh), and steps that are not done twice
# (steps.sh).
# Sourced, not run. Needs bash 3.2 or later, and Python 3.11 or later.

RECIPES=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(dirname "$RECIPES")
PYTHON=""
OUT="" # the directory of the run, for steps
OVERWRITE=0 # 1: repeat steps that were done before
RESUMING=0
# shellcheck source=recipes/steps.sh
. "$RECIPES/steps.sh"
# shellcheck source=recipes/environment.sh
. "$RECIPES/environment.sh"

say() { # MESSAGE: to standard error, with the seconds since the recipe began
    printf '[%4d s] %s\n' "$SECONDS" "$*" >&2
}

die() { # MESSAGE: something the user can mend
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 2
}

need_value() { # OPTION COUNT: dies unless the option is followed by a value
    [ "$2" -ge 2 ] || die "option $1 needs a value; see --help"
}

need_number() { # OPTION VALUE: dies unless the value is a whole number
    case $2 in
        "" | *[!0-9]*) die "$1 is a whole number, not '$2'" ;;
    esac
}

need_numbers() { # OPTION…: dies unless the variables of all of them are whole numbers; 08 becomes 8
    local option name
    for option in "$@"; do
        name=$(variable_of "$option")
        need_number "$option" "${!name}"
        printf -v "$name" %d "$((10#${!name}))"
    done
}

need_sweeps() { # SHARE: sets BURN_IN to this share of ITERATIONS, where it is empty; dies unless sweeps are left after it
    need_numbers --iterations
    : "${BURN_IN:=$((ITERATIONS * $1))}"
    need_numbers --burn-in
    [ "$BURN_IN" -lt "$ITERATIONS" ] || die "--burn-in $BURN_IN leaves none of the $ITERATIONS sweeps"
}

need_threads() { # sets THREADS to the number of processors, where it is empty; dies unless it is 1 or more
    : "${THREADS:=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)}"
    need_numbers --threads
    [ "$THREADS" -ge 1 ] || die "--threads is at least 1, not $THREADS"
}

variable_of() { # OPTION: BURN_IN for --burn-in; OUT for --output
    if [ "$1" = --output ]; then
        printf OUT
        return
    fi
    printf '%s' "${1#--}" | tr a-z- A-Z_
}

# split_list OPTION LIST: the parts of LIST, between commas, into `parts`; there may be none.
split_list() {
    local part
    parts=()
    [ -n "$2" ] || return 0
    IFS=, read -ra parts <<<"$2"
    [ "${#parts[@]}" -gt 0 ] || die "$1 has no parts: '$2'"
    for part in "${parts[@]}"; do
        case $part in
            "" | " "* | *" ") die "$1 is a list with commas, and no blanks, between its parts, not '$2'" ;;
        esac
    done
}

# parse_options OPTION… -- ARGUMENT…: an option whose name ends in = takes a value, which goes to the variable of that
# name: --burn-in 5 sets BURN_IN=5. One whose name ends in =+ takes all values up to the next option, and puts each on a
# line of its own. One without, like --overwrite, sets its variable to 1. What is left is in `positional`. Options are
# called as those of the commands are; --output may be called --out.
parse_options() {
    local known=" " name option
    while [ "$1" != -- ]; do
        known+="$1 "
        shift
    done
    shift
    positional=()
    while [ $# -gt 0 ]; do
        case $1 in
            -h | --help)
                usage
                exit 0
                ;;
            -*)
                option=$1
                [ "$1" != --out ] || option=--output
                name=$(variable_of "$option")
                case $known in
                    *" $option "*) printf -v "$name" 1 ;;
                    *" $option= "*)
                        need_value "$1" $#
                        printf -v "$name" '%s' "$2"
                        shift
                        ;;
                    *" $option=+ "*)
                        need_value "$1" $#
                        printf -v "$name" '%s%s\n' "${!name}" "$2"
                        shift
                        while [ $# -gt 1 ] && [[ "$2" != -* ]]; do
                            printf -v "$name" '%s%s\n' "${!name}" "$2"
                            shift
                        done
                        ;;
                    *) die "unknown option $1; see --help" ;;
                esac
                ;;
            *) positional+=("$1") ;;
        esac
        shift
    done
}

usage() { # prints the comment at the head of the recipe
    awk 'NR == 1 { next } /^#/ { sub(/^# ?/, ""); print; next } { exit }' "$0"
}

# ------------------------------------------------------------------ words and commands

short() { # PATH: relative to the present directory when it is below it
    case $1 in
        "$PWD"/*) printf '%s' "${1#"$PWD"/}" ;;
        *) printf '%s' "$1" ;;
    esac
}

quoted() { # WORD…: as they are typed in a command line
    local word space=""
    for word in "$@"; do
        printf %s "$space"
        case $word in
            "" | *[!A-Za-z0-9_./:@%+=,-]*) in_marks "$word" ;;
            *) printf %s "$word" ;;
        esac
        space=" "
    done
}

in_marks() { # TEXT: the same, in quotation marks; within the braces, bash 3.2 reads these otherwise than later ones
    local mark="'" instead="'\\''"
    printf "'%s'" "${1//$mark/$instead}"
}

# PROGRAM: how to call one of the project's from here: its name where that is found, else its path in the environment.
call_of() {
    local program
    program=$(dirname "$PYTHON")/$1
    if [ ! -x "$program" ] || command -v "$1" >/dev/null; then printf '%s' "$1"; else quoted "$(short "$program")"; fi
}

sampler() { "$PYTHON" -m scfg_sampler "$@"; }
decoder() { "$PYTHON" -m decoder "$@"; }

# ------------------------------------------------------------------ files

existing() { # PATH: PATH or PATH.gz, whichever exists; fails when neither does
    if [ -f "$1" ]; then
        printf '%s' "$1"
    elif [ -f "$1.gz" ]; then
        printf '%s' "$1.gz"
    else
        return 1
    fi
}

text() { # FILE…: their text, gzipped or not; where a file does not end its last line, that of the next one is another
    local file last
    for file in "$@"; do
        text_of "$file" || return
        [ $# = 1 ] || { last=$(text_of "$file" | tail -c 1) && [ -z "$last" ]; } || echo
    done
}
text_of() { # FILE: without its byte order mark, which would be a letter behind another file
    local mark=$'1s/^\xef\xbb\xbf//'
    case $1 in
        *.gz)
            gzip -dc "$1" | LC_ALL=C sed "$mark"
            return "${PIPESTATUS[0]}"
            ;;
        *) LC_ALL=C sed "$mark" "$1" ;;
    esac
}

# keep_apart DIRECTORY FILE…: dies if one of the files, which are read, lies in the directory, which the recipe writes into
keep_apart() {
    local directory=$1 file
    shift
    for file in "$@"; do
        [ ! "$(dirname "$file")" -ef "$directory" ] ||
            die "$file is read, and would be lost: the recipe writes into $(short "$directory"); name another --output"
    done
}

# files_among OPTION…: those that name a file, as in --labels FILE, into `named`: a step with such options depends on it, too.
files_among() {
    local option
    named=()
    for option in "$@"; do [ ! -f "${option#--*=}" ] || named+=("${option#--*=}"); done
}

counted() { # NUMBER NOUN: as people say it
    if [ "$1" = 1 ]; then printf '1 %s' "$2"; else printf '%s %ss' "$1" "$2"; fi
}

count_lines() { # FILE: one that has no end is counted, too
    case $1 in
        *.gz) gzip -dc "$1" | LC_ALL=C awk 'END { print NR }' ;;
        *) LC_ALL=C awk 'END { print NR }' <"$1" ;;
    esac
}

tables() { "$PYTHON" "$RECIPES/tables.py" "$@"; } # what the files of several steps say, for `table`
json() { "$PYTHON" -I -c "$VALUE_AT" "$@"; } # FILE KEY…: the value at a path of keys in a JSON file
VALUE_AT='
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    value = json.load(file)
for key in sys.argv[2:]:
    value = value[key]
print(value)
'

# ------------------------------------------------------------------ the time left

# A recipe that knows roughly what its steps take says so beforehand, plan NAME SECONDS, and calls them by
# `planned_step`, which says how much time is left: what is planned, multiplied by how much longer than planned
# the steps so far took. The plan weighs like half a minute of experience. Steps that an earlier run has done are
# taken to be done with until one of them, or one that they depend on, turns out not to be.
planned=() expected=() # their names, and what each is to take, in hundredths of a second
behind=" " # the names of the planned steps that are done
retaken=" " # those of them that were not left out
needs="" # what steps depend on, a line each: NAME DEPENDENCY…
tell="" # 1: `step` says how much time is left

plan() { # NAME SECONDS
    local time
    hundredths time "$2"
    planned+=("$1") expected+=("$time")
}

plan_lines() { # LINES: of NAME SECONDS
    local name seconds
    while read -r name seconds; do [ -z "$name" ] || plan "$name" "$seconds"; done <<<"$1"
}

# time_left VARIABLE: sets it to the time the steps that are still planned will take, for people. No process: this is done
# before every step.
time_left() {
    local number name time took=0 to_take=0 more=0 need words undone=$retaken
    while read -ra words; do
        name=${words[0]-}
        [[ -n "$name" && "$behind" != *" $name "* ]] || continue
        [ -f "$OUT/logs/$name.done" ] || undone+="$name "
        for need in ${words[@]+"${words[@]:1}"}; do
            [[ "$undone" != *" $need "* ]] || undone+="$name "
        done
    done <<<"$needs"
    for number in ${planned[@]+"${!planned[@]}"}; do
        name=${planned[number]}
        if [[ "$behind" = *" $name "* ]]; then
            time=0
            [ ! -f "$OUT/logs/$name.seconds" ] || read -r time <"$OUT/logs/$name.seconds" || true
            hundredths time "$time"
            took=$((took + time)) to_take=$((to_take + expected[number]))
        elif [ "$OVERWRITE" = 1 ] || [ ! -f "$OUT/logs/$name.done" ] || [[ "$undone" = *" $name "* ]]; then
            more=$((more + expected[number]))
        fi
    done
    more=$((more * (took + 3000) / (to_take + 3000)))
    if [ "$more" -lt 9000 ]; then
        printf -v "$1" '%d s' $(((more + 50) / 100))
    elif [ "$more" -lt 540000 ]; then
        printf -v "$1" '%d min' $(((more + 3000) / 6000))
    else
        more=$(((more + 18000) / 36000)) # tenths of an hour
        printf -v "$1" '%d.%d h' $((more / 10)) $((more % 10))
    fi
}

this_takes() { # how long, before the first step
    local left
    time_left left
    case $left in
        "0 s") printf 'all has been done before; what is lost or has changed since is done again' ;;
        *) printf 'this takes about %s' "$left" ;;
    esac
}

# Plans all that a function takes, which calls steps in its order but does not take them here: `guesses` reads their
# names, a line each, and writes NAME SECONDS. What the function itself does must not need what steps leave.
plan_steps() { # FUNCTION
    local lines
    needs=$(
        planned_step() {
            while [ "$1" != -- ] && [ "$1" != --makes ]; do
                printf '%s ' "$1"
                shift
            done
            echo
        }
        "$@" | awk '$1 != "compile" && !seen[$1]++'
    )
    lines=$(awk '{ print $1 }' <<<"$needs" | guesses)
    plan_lines "$lines"
}

planned_step() { # as for step
    tell=1 left_out=""
    step "$@"
    tell=""
    behind+="$1 "
    [ -n "$left_out" ] || retaken+="$1 "
    [ -z "$notes" ] || echo "$1 $left_out" >>"$notes"
}

# ------------------------------------------------------------------ two things at a time

# beside FUNCTION: the planned steps of a function, beside those that come next, until `join`, which fails if one of
# them did. Variables that it sets are lost. Should the recipe end before, so does the step that is being taken.
companion="" # the process that takes them
notes="" # there, a file for the names of steps taken
beside() {
    hold_output # The process below must not hold it for itself.
    : >"$OUT/logs/beside"
    notes=$OUT/logs/beside "$@" &
    companion=$!
    at_the_end=stop_companion # It does not hear Ctrl-C.
}

stop_companion() {
    # shellcheck disable=SC2046 # several processes
    kill "$companion" $(pgrep -P "$companion") 2>/dev/null || true
}

join() {
    local status=0 name before
    wait "$companion" || status=$?
    at_the_end=""
    [ "$status" = 0 ] || exit "$status"
    while read -r name before; do
        behind+="$name "
        [ -n "$before" ] || retaken+="$name "
    done <"$OUT/logs/beside"
    rm "$OUT/logs/beside"
}

# ------------------------------------------------------------------ tables

# Tab-separated lines from standard input as a table: the first column to the left, the others to the right.
# Widths are in characters, not bytes, whatever awk this is: without the bytes that continue a UTF-8 character.
table() {
    LC_ALL=C awk -F '\t' '
        function size(text) { gsub(/[\200-\277]/, "", text); return length(text) }
        function spaces(number,   text) { while (number-- > 0) text = text " "; return text }
        function rule(   column, line, k) {
            for (column = 1; column <= columns; column++) {
                if (column > 1) line = line "  "
                for (k = 0; k < width[column]; k++) line = line "-"
            }
            print line
        }
        {
            for (column = 1; column <= NF; column++) {
                cell[NR, column] = $column
                if (size($column) > width[column]) width[column] = size($column)
            }
            if (NF > columns) columns = NF
        }
        END {
            for (row = 1; row <= NR; row++) {
                line = cell[row, 1] spaces(width[1] - size(cell[row, 1]))
                for (column = 2; column <= columns; column++)
                    line = line "  " spaces(width[column] - size(cell[row, column])) cell[row, column]
                print line
                if (row == 1) rule()
            }
        }'
}
