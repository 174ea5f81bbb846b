# shellcheck shell=bash
# Steps that are not done twice, and what they have made, so that what is lost or changed is noticed. Sourced by common.sh,
# not run.

# A step is done once. logs/NAME.done holds a checksum of its command and of everything it depends on, and when it was
# begun; it is written when the step has succeeded, and the step is left out as long as the checksum stays the same and
# what it has made is there as it was left (see below). So a recipe that was stopped goes on where it was, one that
# is started with other settings repeats what they change, and what was lost is made again, with all that depends on it.
#
#   step NAME [DEPENDENCY…] [--makes PRODUCT…] -- COMMAND [ARGUMENT…]
#
# A dependency is the name of an earlier step or a file; a product is a file or a directory, by its name in OUT, which no
# other step writes to. The command's output goes to logs/NAME.log; its duration in seconds to logs/NAME.seconds, its
# processor time to logs/NAME.times (see cpu_seconds). OUT must be set. While a command runs, RESUMING is 1 if the same
# step was begun before and not finished, so that the command may go on instead of beginning again.
step() {
    local name=$1 log="$OUT/logs/$1.log" done="$OUT/logs/$1.done" wanted="" began status=0
    local begun="$OUT/logs/$1.begun" needed=() products=() line="" harm="" prolonged="" stopped="" left=""
    shift
    hold_output
    while [ "$1" != -- ] && [ "$1" != --makes ]; do
        if [ -f "$OUT/logs/$1.done" ]; then
            read -r line <"$OUT/logs/$1.done" || true
            wanted+=$line
            needed+=("$1")
        else
            case $1 in
                *.gz) wanted+=$(text "$1" | cksum) ;;
                *) wanted+=$(cksum <"$1") ;;
            esac
        fi
        shift
    done
    if [ "$1" = --makes ]; then
        shift
        while [ "$1" != -- ]; do
            products+=("$1")
            shift
        done
    fi
    shift
    printf -v wanted '%s\n' "$wanted" "$@"
    wanted=$(cksum <<<"${wanted%$'\n'}") # One process, not the three of a pipe.
    if [ "$OVERWRITE" != 1 ] && [ -f "$done" ]; then
        read -r line <"$done" || true
        if [ "${line% @*}" = "$wanted" ]; then
            find_harm "$name" ${products[@]+"${products[@]}"}
            if [ -z "$harm" ]; then
                say "$name: done before"
                left_out=1
                return
            fi
            if [ -n "$prolonged" ] && grep -q '"finished": true' "$OUT/$prolonged"; then
                say "$name: taken as it is, as $prolonged has changed"
                now began
                record_products "$name" "${products[@]}"
                echo "$wanted @$began+$RANDOM" >"$done"
                left_out=1
                return
            fi
        else
            for line in ${needed[@]+"${needed[@]}"}; do
                [ ! "$OUT/logs/$line.done" -nt "$done" ] || harm="$line was done again"
            done
        fi
        [ -z "$harm" ] || say "$name: again, as $harm"
    fi
    RESUMING=0
    # shellcheck disable=SC2034 # read by the recipes' commands
    [ -z "$prolonged" ] || RESUMING=1
    if [ "$OVERWRITE" != 1 ] && [ ! -f "$done" ] && [ -f "$begun" ] && [ "$(<"$begun")" = "$wanted" ]; then
        # shellcheck disable=SC2034
        RESUMING=1
    fi
    [ ! -f "$done" ] || rm -f "$done"
    forget_conclusions
    [ -z "$tell" ] || time_left left
    say "$name${left:+ (about $left left)}"
    echo "$wanted" >"$begun"
    now began
    times >"$OUT/logs/$name.times"
    trap 'stopped=130' INT # A program may answer Ctrl-C with any status: one that has just begun, with Python's own words.
    under_way=$name
    { "$@" >"$log" 2>&1 || status=$?; } 9>&2
    under_way=""
    trap - INT
    times >>"$OUT/logs/$name.times"
    case $status in 129 | 130 | 143) stopped=$status ;; esac # a closed terminal, Ctrl-C, the end asked for
    told=$stopped
    if [ "$status" != 0 ] && [ -n "$stopped" ]; then
        say "$name was stopped; started again, the recipe goes on there"
        exit "$stopped"
    fi
    if [ "$status" != 0 ]; then
        tail -n 15 "$log" >&2
        say "$name failed with status $status; its whole log is $(short "$log")"
        exit "$status"
    fi
    since "$began" >"$OUT/logs/$name.seconds"
    record_products "$name" ${products[@]+"${products[@]}"}
    # When it was begun makes what depends on it be done again, too, after this was, whenever that is; a number drawn,
    # where it was begun twice in a second, as the clock of bash before version 5 has no parts of one.
    echo "$wanted @$began+$RANDOM" >"$done"
    if [ -n "$stopped" ]; then
        say "stopped after $name; started again, the recipe goes on there"
        exit "$stopped"
    fi
}

# What a recipe concludes with says nothing of steps that are done again, and would be taken for what they said, should one
# of them fail.
conclusions=() # the files of it that the recipe writes in the end, by their names in OUT
forget_conclusions() {
    [ ${#conclusions[@]} = 0 ] || rm -f "${conclusions[@]/#/$OUT/}"
    conclusions=()
}

# Asked to end (SIGTERM, SIGHUP), bash does so at once, and would leave the step's program running. It ends here, too, and
# is waited for, as it may have a checkpoint to write.
under_way="" # the step whose command runs; 9 is then standard error, as 2 may be the log
told="" # not empty when it has been said that the recipe was stopped
at_the_end="" # a function that is called when the recipe ends, however it does
end_recipe() {
    local status=$?
    if [ -n "$under_way" ]; then
        ! stop_programs || say "$under_way was stopped; started again, the recipe goes on there" 2>&9 || true # The terminal may be closed.
    elif [[ -z $told && " ${FUNCNAME[*]} " = *" main main "* ]]; then # Amid its function; the other one is bash's for scripts.
        case $status in # A signal leaves that of the last command; a command that it has ended, its own.
            0 | 129 | 130 | 143)
                stop_programs 2>/dev/null || true # What bash says of them is of no use.
                say "the recipe was stopped; started again, it goes on where it was" || true
                ;;
        esac
    fi
    [ -z "$at_the_end" ] || "$at_the_end"
}

# within NAME COMMAND…: a recipe that is no step, as it has steps of its own, but ends with this one all the same; its status.
within() {
    local status=0
    under_way=$1
    shift
    trap end_recipe EXIT
    { "$@" 2>&9 || status=$?; } 9>&2 2>/dev/null # What bash says of a program that was ended is of no use.
    under_way=""
    case $status in 129 | 130 | 143) told=$status ;; esac # by that recipe
    return "$status"
}

stop_programs() { # ends what is of our group: children, and theirs, as some are shells; what programs begin they end themselves
    local children processes process
    command -v pgrep >/dev/null || return # as in small containers: nobody knows them, and they go on
    children=$(pgrep -g 0 -P $$) || true
    processes=$children$'\n'$(pgrep -g 0 -P "${children//$'\n'/,}") || true
    # shellcheck disable=SC2086 # several processes
    kill $processes 2>/dev/null || true
    for process in $processes; do
        while is_running "$process"; do sleep 0.1; done
    done
}

is_running() { # and is not dead already, when nobody has asked yet how it ended: in a container there may be nobody
    local state
    state=$(ps -o stat= -p "$1" 2>/dev/null) && [ "${state:0:1}" != Z ]
}

# hold_output: OUT, with logs in it, is this recipe's alone until it and all programs that it has begun have ended, however
# they do; dies if it is another's. Steps call it; a recipe that writes into OUT before its first step does, too. The lock is
# the operating system's, of the open file 8, which programs inherit.
held=""
hold_output() {
    [ -d "$OUT/logs" ] || mkdir -p "$OUT/logs" # No process that can be done without: recipes have many steps.
    [ "$held" != "$OUT" ] || return 0
    held=$OUT
    trap end_recipe EXIT
    [ -n "$PYTHON" ] || return 0
    exec 8>>"$OUT/logs/lock"
    "$PYTHON" -c "$HOLD" 8 || [ $? != 3 ] ||
        die "$(short "$OUT") is in use by another recipe, or by what one has left running; wait until it ends, or name another --output"
}
# DESCRIPTOR [wait]: locks what is open there; fails with 3 where another process has, or waits for that.
HOLD='
import fcntl, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
try:
    fcntl.flock(int(sys.argv[1]), fcntl.LOCK_EX | (0 if sys.argv[2:] else fcntl.LOCK_NB))
except BlockingIOError:
    sys.exit(3)
except OSError:
    pass  # Some file systems have no locks.
'

# resume_or_begin RUN RESUME… -- BEGIN…: the command RESUME goes on with the run directory that the same step has begun,
# and its failure is the step's: a run that cannot be resumed now is not thrown away. Where there is nothing to go on
# with, the command BEGIN.
resume_or_begin() {
    local run=$1 resume=()
    shift
    while [ "$1" != -- ]; do
        resume+=("$1")
        shift
    done
    shift
    if [ "$RESUMING" = 1 ] && [ -f "$run/run.json" ]; then
        # A step may be stopped when its run has just finished.
        grep -q '"finished": true' "$run/run.json" || "${resume[@]}"
        return
    fi
    rm -f "$run/run.json" # Of other settings; should BEGIN be stopped at once, it is nothing to go on with.
    "$@"
}

seconds() { # NAME: the time the step took
    cat "$OUT/logs/$1.seconds"
}

cpu_seconds() { # NAME: the processor time the step took, compilation and reading included
    awk '
        function part(text) { sub("s", "", text); sub(",", ".", text); split(text, piece, "m"); return 60 * piece[1] + piece[2] }
        { total[NR] = part($1) + part($2) }
        END { printf "%.1f\n", total[3] + total[4] - total[1] - total[2] }' "$OUT/logs/$1.times"
}

now() { # VARIABLE: sets it to the seconds since 1970, with decimals where bash has them
    local time=${EPOCHREALTIME:-$(date +%s)}
    printf -v "$1" '%s' "${time/,/.}"
}

since() { # TIME: the seconds that have passed
    local began ended
    now ended
    hundredths began "$1"
    hundredths ended "$ended"
    ended=$((ended > began ? ended - began : 0)) # Clocks are set back, too.
    printf '%d.%02d\n' $((ended / 100)) $((ended % 100))
}

# hundredths VARIABLE NUMBER: sets it to so many hundredths, as the shell has whole numbers alone; to 0 where that is none,
# or below 0.
hundredths() {
    local whole=${2%%[.,]*} decimals=00
    [ "$whole" = "$2" ] || decimals=${2#"$whole"?}00
    case $whole$decimals in *[!0-9]*) whole=0 decimals=00 ;; esac
    printf -v "$1" %d "$((10#$whole${decimals:0:2}))"
}

# ------------------------------------------------------------------ what steps have made

# logs/NAME.products holds, when the step NAME is done, a line for each file of its products, with size and time, an empty
# line, and the same with checksums. The first are compared each time, by one process. Only where they differ is anything
# read: times are others, too, where a run directory was copied, and then the contents decide. Names are relative to
# OUT, as it may be moved. All files of a directory belong to it, but not those that are put there afterwards.

# Sets `harm` to what is no longer as the step left it, or to nothing; and `prolonged` to the record of a run that has
# changed while nothing of it is missing: somebody has resumed it, and what that took is not thrown away.
find_harm() { # NAME PRODUCT…
    local record=$OUT/logs/$1.products name=$1 recorded="" found line file
    harm="" prolonged=""
    shift
    [ $# -gt 0 ] || return 0
    if [ ! -f "$record" ]; then # The step was done before products were recorded. The first is one that is always made.
        [ -e "$OUT/$1" ] || { harm="$1 is missing" && return; }
        record_products "$name" "$@"
        return
    fi
    IFS= read -r -d '' recorded <"$record" || true # It ends without a NUL, which is a failure to read.
    found=$(states_of "$@") || true # fails where one is missing
    [ "$found" != "${recorded%%$'\n\n'*}" ] || return 0
    found=$(checksums_of "$@") || true
    while IFS= read -r line; do
        [ -n "$line" ] || continue
        case $'\n'$found$'\n' in
            *$'\n'"$line"$'\n'*) continue ;;
        esac
        file=./${line#*./}
        if [ ! -e "$OUT/$file" ]; then
            harm="${file#./} is missing" prolonged=""
            return 0
        fi
        [ -n "$harm" ] || harm="${file#./} has changed"
        case $file in */run.json) prolonged=${file#./} ;; esac
    done <<<"${recorded#*$'\n\n'}"
    [ -z "$harm" ] || return 0
    write_record "$record" "${recorded#*$'\n\n'}" "$@"
}

record_products() { # NAME PRODUCT…: those that there are, as a step may do without one
    local record=$OUT/logs/$1.products
    shift
    [ $# = 0 ] || write_record "$record" "$(checksums_of "$@")" "$@"
}

write_record() { # FILE CHECKSUMS PRODUCT…
    local record=$1 checksums=$2
    shift 2
    printf '%s\n\n%s' "$(states_of "$@")" "$checksums" >"$record"
}

# undo_step NAME: removes what the step has made, so that it is to be done, but nothing that others put there; sets `undone`
# to the first of what was there, or to nothing.
undo_step() {
    local record=$OUT/logs/$1.products recorded="" line made=() at
    undone=""
    [ -f "$record" ] || return 0
    IFS= read -r -d '' recorded <"$record" || true
    while IFS= read -r line; do
        case $line in *./*) made+=("$OUT/${line#*./}") ;; esac
    done <<<"${recorded#*$'\n\n'}"
    [ ! -L "${made[0]-}" ] || return 0 # What others have moved elsewhere is theirs.
    rm -f "$OUT/logs/$1".{done,begun,products}
    for ((at = ${#made[@]} - 1; at >= 0; at--)); do # Directories come before what is in them.
        [ -e "${made[at]}" ] || continue
        if [ -d "${made[at]}" ]; then rmdir "${made[at]}" 2>/dev/null || true; else rm "${made[at]}"; fi
        undone=${made[at]#"$OUT"/}
    done
}

# What these two print is taken by $( ), whose process becomes `find`.

states_of() { # PRODUCT…: sizes and times of their files, and what directories there are
    local look=(-printf '%s %T@ %p\n')
    case $OSTYPE in
        linux*) ;;
        *) look=(-exec ls -ln '{}' +) ;; # where find has no -printf; times are in minutes
    esac
    CDPATH="" cd "$OUT" && exec find -L "${@/#/./}" -type d -print -o -type f "${look[@]}" 2>/dev/null
}

checksums_of() { # PRODUCT…: the same with checksums, which takes as long as reading
    CDPATH="" cd "$OUT" && exec find -L "${@/#/./}" -type d -print -o -type f -exec cksum '{}' + 2>/dev/null
}
