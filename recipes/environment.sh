# shellcheck shell=bash
# The interpreter that runs the recipes, and the virtual environment that it needs (part of common.sh).

# prepare_python_to_draw: as prepare_python, with what pictures need unless NO_PLOTS is 1.
prepare_python_to_draw() {
    if [ "$NO_PLOTS" = 1 ]; then prepare_python; else prepare_python report; fi
}

# prepare_python [EXTRAS]: sets PYTHON to an interpreter that has the project and the extras (as in "dev,report").
#   SCFG_PYTHON   an interpreter with everything installed; used as it is
#   VIRTUAL_ENV   an active virtual environment; the project is installed into it
#   neither       .venv in the repository, made when there is none
# An environment is installed into again only after pyproject.toml has changed, and by one recipe at a time.
prepare_python() {
    local extras="${1:-}" environment stamp wanted log
    if [ -n "${SCFG_PYTHON:-}" ]; then
        PYTHON=$SCFG_PYTHON
        case $PYTHON in */*) PYTHON=$(cd "$(dirname "$PYTHON")" && pwd)/$(basename "$PYTHON") ;; esac # Some steps are elsewhere.
        "$PYTHON" -c "$HAS_PACKAGES" numba sacrebleu scipy rich 2>/dev/null ||
            die "SCFG_PYTHON=$SCFG_PYTHON lacks the packages of pyproject.toml; install them or unset SCFG_PYTHON"
        export PYTHONPATH="$ROOT${PYTHONPATH:+:$PYTHONPATH}"
        return
    fi
    environment=${VIRTUAL_ENV:-$ROOT/.venv}
    PYTHON=$environment/bin/python
    stamp=$environment/.scfg-sampler-installed${extras:+-$(echo "$extras" | tr ',' '-')}
    wanted=$(echo "$ROOT" | cat - "$ROOT/pyproject.toml" | cksum)
    ! is_installed "$stamp" "$wanted" || return 0
    hold_environment "$environment"
    if [ ! -x "$PYTHON" ]; then
        say "making the virtual environment $(short "$environment")"
        make_environment "$environment"
    fi
    if ! is_installed "$stamp" "$wanted"; then # Another recipe may have, meanwhile.
        say "installing the project and what it needs (once)"
        log=$environment/scfg-sampler-install.log
        install_project "$log" "${extras:+[$extras]}"
        # Whoever has the extras has the project.
        echo "$wanted" | tee "$stamp" >"$environment/.scfg-sampler-installed"
    fi
    exec 7>&-
}

is_installed() { # STAMP WANTED: whether that has been installed for PYTHON
    [ -x "$PYTHON" ] && [ -f "$1" ] && [ "$(<"$1")" = "$2" ]
}

# hold_environment DIRECTORY: waits while another recipe installs into it, and keeps others waiting until 7 is closed. That
# is the operating system's lock, as in hold_output: it ends with the recipe and its pip, however they do.
hold_environment() {
    local python status=0
    python=$(recent_python) || return 0
    if mkdir -p "$1" 2>/dev/null && { exec 7>>"$1/.scfg-sampler-lock"; } 2>/dev/null; then
        "$python" -c "$HOLD" 7 || status=$?
        [ "$status" = 3 ] || return 0
        say "waiting for another recipe, which installs into $(short "$1")"
        "$python" -c "$HOLD" 7 wait
    fi # Where nothing can be written, the installation says so.
}

# The names of Python, the most likely first.
PYTHONS=(python3 python3.14 python3.13 python3.12 python3.11 python)

# Installs the project into the environment of PYTHON. One that was just made has no pip: that of the Python that made it
# installs pip along, without the six seconds of ensurepip. Where it cannot, ensurepip does.
install_project() { # LOG EXTRAS
    local bytecode=--no-compile other wheel
    # Most of what comes along is never imported. What is, is compiled then, unless PYTHONDONTWRITEBYTECODE forbids it.
    "$PYTHON" -c 'import sys; sys.exit(sys.dont_write_bytecode)' || bytecode=--compile
    if ! "$PYTHON" -m pip --version >/dev/null 2>&1; then
        for other in "${PYTHONS[@]}"; do
            # Before 22.3, pip installs nowhere else.
            "$other" -m pip --python "$PYTHON" --version >/dev/null 2>&1 || continue
            wheel=$("$PYTHON" -c "$BUNDLED_PIP" 2>/dev/null) || wheel=pip
            if (cd "$ROOT" && "$other" -m pip --python "$PYTHON" install "$bytecode" "$wheel" --editable ".$2") >"$1" 2>&1; then
                return
            fi
            break
        done
        # Absent also when the making was interrupted, and in environments made by uv.
        "$PYTHON" -m pip --version >/dev/null 2>&1 || "$PYTHON" -m ensurepip >"$1" 2>&1 ||
            die "$(short "$(dirname "$1")") has no pip; remove it, or install pip into it; on Debian and Ubuntu: apt install python3-venv"
    fi
    if ! (cd "$ROOT" && "$PYTHON" -m pip install "$bytecode" --editable ".$2") >"$1" 2>&1; then
        tail -n 15 "$1" >&2
        die "installation failed; the whole log is $(short "$1")"
    fi
}

# Fails unless every package named can be found; importing them takes a second.
HAS_PACKAGES='
import sys
from importlib.util import find_spec
sys.exit(not all(map(find_spec, sys.argv[1:])))
'

# Prints the wheel of pip that comes with Python, or fails.
BUNDLED_PIP='
import glob, os, sysconfig, ensurepip
places = [sysconfig.get_config_var("WHEEL_PKG_DIR"), os.path.join(os.path.dirname(ensurepip.__file__), "_bundled")]
print(max(wheel for place in places if place for wheel in glob.glob(os.path.join(place, "pip-*.whl"))))
'

recent_python() { # prints the name of one that can run the project; fails where there is none
    local candidate
    for candidate in "${PYTHONS[@]}"; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf %s "$candidate"
            return
        fi
    done
    return 1
}

make_environment() { # DIRECTORY: an environment that has no pip yet
    local python
    python=$(recent_python) || die "no Python 3.11 or later was found; install one, or name one in SCFG_PYTHON"
    "$python" -m venv --without-pip "$1" >&2 && return
    rm -rf "$1"
    die "$python cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv"
}
