"""What all command lines share: statuses, messages, help."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

from scfg_sampler import errors
from scfg_sampler.core import console, parsers
from scfg_sampler.core.console import memory_size
from scfg_sampler.core.signals import Terminated
from scfg_sampler.errors import ChainTooShort, InputError, ScfgError, SettingsError


@pytest.fixture(autouse=True)
def loud():
    console.set_quiet(False)
    yield
    console.set_quiet(False)


def raising(error):
    def command(arguments):
        raise error

    return command


LESS_AT_ONCE = "Give it less at once (shorter lines, fewer threads, a smaller --memory), or more memory"


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        (lambda arguments: None, 0, ""),
        (lambda arguments: 3, 3, ""),
        (raising(InputError("f", 2, "bad\n  thing", "Mend it")), 2, "prog: f:2: bad thing. Mend it\n"),
        (raising(SettingsError("--k is 0")), 2, "prog: --k is 0\n"),
        (raising(ChainTooShort("short", 1.5)), 2, "prog: short\n"),
        (raising(PermissionError(13, "Denied", "x/y")), 2, "prog: x/y: cannot be used (Denied)\n"),
        (raising(OSError("7 requested and 3 written")), 2, "prog: 7 requested and 3 written\n"),
        (raising(KeyboardInterrupt()), 130, "prog: interrupted\n"),
        (raising(MemoryError()), 2, f"prog: there is not enough memory. {LESS_AT_ONCE}\n"),
        (
            raising(MemoryError("for\n 9 GB")),
            2,
            f"prog: there is not enough memory (for 9 GB). {LESS_AT_ONCE}\n",
        ),
    ],
)
def test_status_and_message_of_a_command(capsys, command, status, message):
    assert console.run("prog", command, []) == status
    assert capsys.readouterr() == ("", message)


def test_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        console.run("prog", raising(ZeroDivisionError()))


def test_quiet_silences_all_but_warnings(capsys):
    console.say("hello")
    console.set_quiet(True)
    console.say("unheard")
    console.warn("careful")
    with console.progress("work", 2) as advance:
        advance()
    assert capsys.readouterr() == ("", "hello\nwarning: careful\n")


def test_no_progress_bar_without_a_terminal(capsys):
    with console.progress("work", 3) as advance:
        advance(2, "note")
        advance()
    assert capsys.readouterr() == ("", "")


def test_progress_without_a_terminal_is_a_line_a_minute(capsys, monkeypatch):
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with console.progress("sampling", 100) as advance:
        for sweep in range(1, 101):
            now += 2.5
            advance(1, f"log joint {sweep}")
    now = 0.0
    with console.progress("reading lines", None) as advance:
        now += 59.0
        advance(1_000)
        now += 1.0
        advance(2_000)
    assert capsys.readouterr() == (
        "",
        "sampling: 24 of 100, 24.0 a minute, 0:03:10 left; log joint 24\n"
        "sampling: 48 of 100, 24.0 a minute, 0:02:10 left; log joint 48\n"
        "sampling: 72 of 100, 24.0 a minute, 0:01:10 left; log joint 72\n"
        "sampling: 96 of 100, 24.0 a minute, 0:00:10 left; log joint 96\n"
        "reading lines: 3,000, 50.0 a second\n",
    )


def test_rates_leave_out_what_compiling_took(capsys, monkeypatch):
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    console.leave_out_of_rates(7.0)  # Before, and so no matter.
    with console.progress("sampling", 20) as advance:
        now += 90.0
        console.leave_out_of_rates(80.0)
        advance(1)
    assert capsys.readouterr().err == "sampling: 1 of 20, 6.0 a minute, 0:03:10 left\n"


def said_by(work, capsys, monkeypatch):
    """What a command that does so says, if it has to say something every twentieth of a second."""
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.05)
    assert console.run("prog", lambda arguments: work(), []) == 0
    time.sleep(0.1)  # Nothing after the end.
    return capsys.readouterr().err


def busily(seconds=0.3):
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        sum(range(1000))


def test_who_works_in_silence_says_so_every_minute(capsys, monkeypatch):
    said = said_by(busily, capsys, monkeypatch)
    assert 1 <= said.count("at work for 0:00:00\n") <= 6
    assert set(said.splitlines()) == {"at work for 0:00:00"}


def test_who_waits_says_nothing(capsys, monkeypatch):
    used = time.process_time()
    with monkeypatch.context() as patched:
        patched.setattr("time.process_time", lambda: used)  # Threads of other tests may work.
        assert said_by(lambda: time.sleep(0.3), capsys, monkeypatch) == ""

    def serve():
        console.rest()
        busily()

    assert said_by(serve, capsys, monkeypatch) == ""


def test_what_has_no_steps_tells_how_long_it_takes(capsys, monkeypatch):
    def align():
        with console.progress("aligning", None):
            time.sleep(0.3)  # Others work.

    assert "aligning: 0:00:00 so far\n" in said_by(align, capsys, monkeypatch)


def test_a_program_is_silent_for_no_longer_than_a_second(capsys, monkeypatch):
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    monkeypatch.setattr(console, "SECONDS_OF_SILENCE", 1.0)

    def steps():
        nonlocal now
        with console.progress("learning", 40) as advance:
            for _ in range(40):
                now += 0.3
                advance(1)

    assert console.run("prog", lambda arguments: steps()) == 0
    assert capsys.readouterr() == ("", "learning: 4 of 40, 3.3 a second, 0:00:11 left\n")

    def told_before(arguments):
        console.say("reading")
        steps()

    assert console.run("prog", told_before) == 0
    assert capsys.readouterr() == ("", "reading\n")


def said_after_a_while(work, capsys, monkeypatch, arguments=()):
    """What a command that does so says, if it has to break the silence after a quarter of a second."""
    monkeypatch.setattr(console, "SECONDS_OF_SILENCE", 0.25)

    def build_parser():
        parser = parsers.Parser(prog="prog")
        parser.add_argument("--quiet", action="store_true")
        parser.set_defaults(run=lambda options: work())
        return parser

    assert console.run_parser("prog", build_parser, list(arguments)) == 0
    return capsys.readouterr().err


@pytest.mark.parametrize("is_terminal", [False, True])
def test_who_works_in_silence_says_so_once_after_a_second(capsys, monkeypatch, is_terminal):
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    assert said_after_a_while(lambda: busily(0.8), capsys, monkeypatch) == "at work for 0:00:00\n"
    assert said_after_a_while(lambda: busily(0.8), capsys, monkeypatch, ["--quiet"]) == ""
    assert said_after_a_while(lambda: busily(0.1), capsys, monkeypatch) == ""


def test_who_has_said_something_or_waits_needs_not_break_the_silence(capsys, monkeypatch):
    def told():
        console.say("reading")
        busily(0.6)

    assert said_after_a_while(told, capsys, monkeypatch) == "reading\n"
    used = time.process_time()
    with monkeypatch.context() as patched:
        patched.setattr("time.process_time", lambda: used)
        assert said_after_a_while(lambda: time.sleep(0.6), capsys, patched) == ""

    def barred():
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        with console.progress("counting", 2):
            busily(0.6)

    assert "at work" not in said_after_a_while(barred, capsys, monkeypatch)


def test_silence_is_broken_late_by_who_got_no_processor_before(capsys, monkeypatch):
    def starved():
        used = time.process_time()
        with monkeypatch.context() as patched:
            patched.setattr("time.process_time", lambda: used)
            time.sleep(0.6)
        busily(0.6)

    assert said_after_a_while(starved, capsys, monkeypatch) == "at work for 0:00:01\n"


def test_silence_is_broken_by_what_has_no_steps_yet(capsys, monkeypatch):
    def align():
        with console.progress("aligning", None):
            time.sleep(0.6)  # Others work.

    assert said_after_a_while(align, capsys, monkeypatch) == "aligning: 0:00:00 so far\n"


def test_what_begins_late_breaks_the_silence_at_its_first_step(capsys, monkeypatch):
    monkeypatch.setattr(console, "SECONDS_OF_SILENCE", 1.0)
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)

    def late(arguments):
        nonlocal now
        now += 5.0  # Nobody else could speak: code was being loaded.
        with console.progress("learning", 40) as advance:
            now += 0.5
            advance(1)
            now += 0.5
            advance(1)

    assert console.run("prog", late) == 0
    assert capsys.readouterr().err == "learning: 1 of 40, 2.0 a second, 0:00:20 left\n"


def test_progress_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with console.progress("counting", 2) as advance:
        advance(2, "nearly")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "counting" in shown.err
    assert "2/2" in shown.err


def test_help_shows_defaults_and_keeps_examples(capsys):
    parser = parsers.Parser(prog="prog", epilog="example:\n  prog --beam 3\n  prog")
    parser.add_argument("--beam", type=int, default=200, help="size of the beam")
    parser.add_argument("--quiet", action="store_true", help="say nothing")
    with pytest.raises(SystemExit) as end:
        parser.parse_args(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert "size of the beam (default: 200)" in text
    assert "say nothing\n" in text
    assert "example:\n  prog --beam 3\n  prog\n" in text


IMPORTING = """
import sys
from scfg_sampler.core import console

def command(arguments):
    import scfg_sampler.core.jit
    print("done", end="")

sys.exit(console.run("prog", command))
"""


@pytest.mark.parametrize("threads", ["0", "-3", "x"])
def test_number_of_threads_of_numba_may_be_nonsense(root, threads):
    command = [sys.executable, "-c", IMPORTING]
    environment = os.environ | {"NUMBA_NUM_THREADS": threads}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done", "")


@pytest.mark.parametrize("columns", ["", "abc", "0", "-5", "²", "1", " 80", "99999999999999999999"])
def test_width_of_the_screen_may_be_nonsense(capsys, monkeypatch, columns):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    def build_parser():
        parser = parsers.Parser(prog="prog")
        parser.add_argument("--beam", type=int, default=200, help="size of the beam")
        parser.set_defaults(run=work)
        return parser

    def work(options):
        with console.progress("counting", 2) as advance:
            advance(2, "nearly")

    # Set back before the test ends: pytest -v writes its line while the test's own settings still hold.
    with monkeypatch.context() as patch:
        patch.setenv("COLUMNS", columns)
        assert console.run_parser("prog", build_parser, []) == 0
        with pytest.raises(SystemExit) as end:
            console.run_parser("prog", build_parser, ["--help"])
    assert end.value.code == 0
    assert "size" in capsys.readouterr().out


@pytest.mark.parametrize("program", ["scfg_sampler", "decoder", "monolingual"])
@pytest.mark.parametrize("columns", ["", "abc", "0", "-5"])
def test_programs_help_whatever_the_width_of_the_screen(root, program, columns):
    command = [sys.executable, "-m", program, "--help"]
    child = subprocess.run(command, cwd=root, env={**os.environ, "COLUMNS": columns}, capture_output=True)
    assert (child.returncode, child.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bea", "3"], "prog: unrecognized arguments: --bea 3. Try 'prog --help'.\n"),
        (["--beam", "x"], "prog: argument --beam: invalid int value: 'x'. Try 'prog --help'.\n"),
    ],
)
def test_wrong_option_is_one_line_and_status_two(capsys, arguments, message):
    parser = parsers.Parser(prog="prog")
    parser.add_argument("--beam", type=int)
    with pytest.raises(SystemExit) as end:
        parser.parse_args(arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err == message


def test_all_errors_a_user_can_mend_have_one_root():
    assert all(issubclass(getattr(errors, name), ScfgError) for name in errors.__all__)


def test_errors_cross_process_borders():
    error = pickle.loads(pickle.dumps(InputError("f", 3, "found", "hint")))
    assert (error.path, error.line, error.found, error.hint) == ("f", 3, "found", "hint")
    assert str(error) == "f:3: found. hint"


@pytest.mark.parametrize(
    ("text", "size"), [("1M", 1 << 20), ("1.5g", 3 << 29), ("2GB", 2 << 30), ("2000000", 2_000_000)]
)
def test_sizes_have_units_of_1024(text, size):
    assert memory_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "10", "500K", "-1G", "1X", "1 2M"])
def test_sizes_that_are_none_or_too_small_are_refused(text):
    with pytest.raises(SettingsError, match=r"--memory .* is not a size of at least a megabyte"):
        memory_size(text)


@pytest.mark.parametrize(
    ("signalled", "status", "said"),
    [(Terminated, 143, "terminated"), (KeyboardInterrupt, 130, "interrupted")],
)
@pytest.mark.parametrize("wrapped", [SystemError, RuntimeError, ImportError, SettingsError])
def test_signals_that_others_code_has_wrapped_are_still_signals(signalled, status, said, wrapped, capsys):
    """As Python does where a handler raises within compiled code that then returns a result."""

    def command(arguments):
        try:
            raise signalled
        except BaseException as error:
            raise wrapped("returned a result with an exception set") from error

    assert console.run("program", command, []) == status
    assert capsys.readouterr().err == f"program: {said}\n"


@pytest.mark.parametrize("fault", [SystemError, RuntimeError])
def test_other_faults_of_python_keep_their_traceback(fault):
    def command(arguments):
        raise fault("a bug")

    with pytest.raises(fault, match="a bug"):
        console.run("program", command, [])


@pytest.mark.parametrize(
    ("package", "arguments", "other"),
    [
        ("scfg_sampler", ["align", "--help"], "scfg_sampler.commands.sample"),
        ("decoder", ["evaluate", "--help"], "decoder.commands.tune"),
        ("monolingual", ["ot", "gla", "--help"], "monolingual.tsg"),
    ],
)
def test_a_command_does_not_load_the_others(root, package, arguments, other):
    script = (
        f"import sys\nfrom {package}.cli import build_parser, main\n"
        f"try: main({arguments!r})\nexcept SystemExit as end: assert not end.code\n"
        f"assert {other!r} not in sys.modules\n"
        f"build_parser()\nassert {other!r} in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, check=True)


def test_a_command_that_is_not_there_is_looked_for_among_all(capsys):
    from decoder.cli import main

    with pytest.raises(SystemExit) as end:
        main(["translatte"])
    assert end.value.code == 2
    assert "did you mean 'translate'?" in capsys.readouterr().err


WAITING = """
import sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from scfg_sampler.core.console import run

def command(arguments):
    pool = ThreadPoolExecutor(1)
    # The threads of a pool that a daemon fills are daemons.
    threading.Thread(target=pool.submit, args=(time.sleep, 600), daemon=True).start()
    while not any("Pool" in each.name for each in threading.enumerate()):
        time.sleep(0.01)
    try:
        print("begun", flush=True)
        while True:
            time.sleep(0.01)
    finally:
        pool.shutdown(wait=False)
        print("left", end="")

sys.exit(run("prog", command))
"""


RESTING = """
import sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from scfg_sampler.core import console

def command(arguments):
    ThreadPoolExecutor(1).submit(time.sleep, 600)
    console.rest()
    print("left", end="")

sys.exit(console.run("prog", command))
"""


def test_a_command_that_answers_others_ends_without_their_answers(root):
    done = subprocess.run(
        [sys.executable, "-c", RESTING], cwd=root, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "left", "")


@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGINT, "prog: interrupted\n"), (signal.SIGTERM, "prog: terminated\n")]
)
def test_a_command_that_is_stopped_waits_for_no_thread(root, number, said):
    child = subprocess.Popen(
        [sys.executable, "-c", WAITING], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "begun\n"
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (128 + number, "left", said)
