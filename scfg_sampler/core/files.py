"""Reading and writing text so that errors name the line and nothing is ever half written.

Lines end with a line feed and nothing else: U+2028 or a carriage return inside a line is text. A byte order
mark at the beginning, which some editors write, is dropped. A file with carriage returns and without a line
feed is refused: its lines end as on old Macs. Gzip is recognised by content on reading and by the suffix
`.gz` on writing. "-" is standard input or output.

The fact a newcomer would get wrong: /dev/stdout may be a file (`>> log`), which has a name of its own. It was
opened by somebody else, who has written into it, and goes on to; so it is written to, and never replaced.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import hashlib
import io
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from scfg_sampler.core.leftovers import has_locks, hold, sync_directory, sync_file, temporary_directory
from scfg_sampler.core.signals import signals_held
from scfg_sampler.errors import InputError

__all__ = [
    "DAMAGED",
    "LONGEST_LINE",
    "atomic_output",
    "atomic_path",
    "check_beginning",
    "damaged",
    "file_digest",
    "is_device",
    "is_stream",
    "long_line",
    "naming",
    "not_utf8",
    "open_bytes",
    "read_lines",
    "refuse_stream",
    "require_file",
]

PathLike = str | os.PathLike[str]


_PACKED = {b"\xfd7zXZ\0": "xz", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd", b"PK\3\4": "zip"}
"""What files of other programs than gzip begin with; none of it is text."""
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)
"""What reading raises of a packed file that cannot be unpacked."""
LONGEST_LINE = 1 << 28  # Bytes: a packed file of a few hundred kilobytes may hold gigabytes without a line.


def read_lines(path: PathLike, *, returns: bool = False) -> Iterator[str]:
    """The lines of a text file, without their line ends.

    Parameters
    ----------
    path : path
    returns : bool
        Whether the caller parts lines at carriage returns, so that they may end in these alone.

    Raises
    ------
    InputError
        The file is missing, is a directory, is a truncated or damaged gzip file, is not UTF-8, has no line
        feeds but carriage returns, or has a line beyond all sense, as a file that unpacks to gigabytes of
        nothing has; the last four name the line.
    """
    line = 0
    with open_bytes(path) as stream:
        try:
            for line, raw in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), start=1):
                if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
                    raise long_line(path, line)
                text = raw.removeprefix(codecs.BOM_UTF8) if line == 1 else raw
                if line == 1:
                    if not text:  # A byte order mark, and nothing else, is an empty file.
                        return
                    check_beginning(path, text, returns=returns)
                yield text.decode("utf-8").removesuffix("\n")
        except UnicodeDecodeError as error:
            raise InputError(path, line, *not_utf8(error)) from None
        except DAMAGED as error:
            raise damaged(path, line + 1, error) from None
        except SystemError as error:  # Of Python, for a signal amid a packed line: Ctrl-C, for one.
            raise error.__cause__ or error from None


def check_beginning(path: PathLike, begin: bytes, *, returns: bool = False) -> None:
    """Raise an InputError for text that is UTF-16 without its mark, or whose lines end in carriage returns.

    Parameters
    ----------
    path : path
    begin : bytes
        Whole lines, or all there is.
    returns : bool
        Whether lines may end in carriage returns alone.
    """
    for name, zeros in (("BE", begin[0:4:2]), ("LE", begin[1:4:2])):
        if zeros == b"\0\0" and begin[:2] != b"\0\0":
            hint = f"Convert the file, as 'iconv -f UTF-16{name} -t UTF-8' does"
            raise InputError(path, 1, "has bytes of 0, as UTF-16 without its mark has them", hint)
    if not returns and b"\r" in begin[:-1] and b"\n" not in begin:
        found = "lines end in a carriage return alone, as on old Macs"
        raise InputError(path, 1, found, "Convert the file, as tr '\\r' '\\n' does")


def not_utf8(error: UnicodeDecodeError) -> tuple[str, str]:
    """What is wrong with a line that is not UTF-8, and what to do."""
    for beginning, program in _PACKED.items():
        if error.object.startswith(beginning):
            return f"looks like a file of {program}, and not like text", "Unpack it first; gzip alone is read"
    if error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "is UTF-16, not UTF-8", "Convert the file, as 'iconv -f UTF-16 -t UTF-8' does"
    found = f"byte {error.object[error.start]:#04x} at column {error.start + 1} is not UTF-8"
    return found, "Convert the file to UTF-8"


def damaged(path: PathLike, line: int | None, error: Exception) -> InputError:
    """What is wrong with a packed file that cannot be unpacked from a line on."""
    found = f"the gzip data is damaged or ends too early ({error})"
    return InputError(path, line, found, "Copy or download the file again")


def long_line(path: PathLike, line: int) -> InputError:
    """What is said of a line that is longer than lines may be."""
    found = f"is longer than {LONGEST_LINE >> 20} MB"
    return InputError(path, line, found, "Is it text, a sentence or an entry a line?")


def require_file(path: PathLike) -> None:
    """Raise an InputError if the path cannot be opened for reading, before any work is done.

    A pipe is not opened: who writes into it would be told that nobody reads it, and not be there any more
    when somebody does.
    """
    if not is_stream(path):
        with _open_file(path):
            pass


@contextlib.contextmanager
def atomic_output(path: PathLike, *, binary: bool = False, durable: bool = True) -> Iterator[IO]:
    """A stream that becomes the file when the block ends without an exception.

    Until then an older file of that name stays as it is; a device or a pipe is written to at once. Text is
    UTF-8 with line feeds; names ending in `.gz` are compressed, without a time stamp, so that equal content
    gives equal bytes. What is not UTF-8 in names of files is written as `\\udcff`, which JSON reads back.
    """
    if str(path) == "-":
        yield sys.stdout.buffer if binary else sys.stdout
        sys.stdout.flush()
        return
    with (
        atomic_path(path, durable=durable) as temporary,
        open(temporary, "wb") as raw,
        contextlib.ExitStack() as stack,
    ):
        stream: IO = raw
        if str(path).endswith(".gz"):
            zipped = gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=4, mtime=0)
            stack.enter_context(zipped)
            stream = stack.enter_context(io.BufferedWriter(zipped, 1 << 18))
        if not binary:
            wrapped = io.TextIOWrapper(stream, "utf-8", errors="backslashreplace", newline="\n")
            stream = stack.enter_context(wrapped)
        yield stream


@contextlib.contextmanager
def atomic_path(path: PathLike, *, durable: bool = True) -> Iterator[Path]:
    """A temporary path beside `path` that is renamed to it when the block ends without an exception.

    The contents are on the disk before they have the name, and the name before this returns, so that not even
    a loss of power leaves half a file. What a killed process has left is written over. A symbolic link stays
    one. Devices and pipes cannot be replaced: they are yielded themselves. What is in the temporary path is
    added to a file that is open already, such as /dev/stdout.

    Parameters
    ----------
    path : path
    durable : bool
        Whether to wait for the disk, which takes milliseconds: not for each of thousands of small files.

    Raises
    ------
    InputError
        The file cannot be written: also for an OSError in the block that names no other file.
    """
    _require_path(path)
    if is_device(path):
        with _of_device(path) as place:
            yield place
        return
    target = Path(os.path.realpath(path))
    temporary, held = None, None
    try:
        with naming(path, None), signals_held():
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary, held = _partial(target)
        with naming(path, temporary):
            yield temporary
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            if durable:
                sync_file(temporary)
            os.replace(temporary, target)
            if durable:
                sync_directory(target.parent)
    except BaseException:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise
    finally:
        if held is not None:
            os.close(held)


@contextlib.contextmanager
def _of_device(path: PathLike) -> Iterator[Path]:
    """A device itself; for a file that is open already, a temporary path whose contents are added to it."""
    number = _descriptor(path)
    if number is None or not stat.S_ISREG(_mode(path)):
        with naming(path, path):
            yield Path(path)
        return
    with contextlib.ExitStack() as stack:
        with naming(path, None):
            place = Path(stack.enter_context(temporary_directory("scfg-output-")), "output")
        with naming(path, place):
            yield place
            if sys.stdout is not None:  # What was printed before comes before.
                sys.stdout.flush()
            with open(place, "rb") as written, open(os.dup(number), "wb") as out:
                shutil.copyfileobj(written, out)


def _partial(target: Path) -> tuple[Path, int]:
    """An empty file beside another, and the descriptor that holds it."""
    temporary = target.with_name(f".{target.name}.partial")
    held = hold(temporary)
    if held is None:  # Somebody else writes the same file; the last one wins.
        if not has_locks(temporary):  # Or nothing can be held, and nobody needs this name.
            temporary.unlink(missing_ok=True)
        held, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        temporary = Path(name)
    os.ftruncate(held, 0)
    return temporary, held


@contextlib.contextmanager
def naming(path: PathLike, written: PathLike | None = None) -> Iterator[None]:
    """Turn an OSError of the block into an InputError: `path` cannot be written.

    Parameters
    ----------
    path : path
        What the user calls the file.
    written : path, optional
        What the block calls it. An error that names another file is left alone. Not given: no error is.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if written is not None and error.filename not in (None, str(written)):
            raise
        if isinstance(error, FileExistsError) and str(error.filename) == str(path):
            hint = "Name another one"
            raise InputError(path, None, "is a file, where a directory is to be made", hint) from None
        raise InputError(path, None, f"cannot be written ({error.strerror or error})") from None


def file_digest(path: PathLike) -> str:
    """SHA-256 of a file's uncompressed text, so that a corpus and its gzipped copy agree.

    Raises
    ------
    InputError
        The file cannot be read, or only once, or is a truncated or damaged gzip file.
    """
    refuse_stream(path)
    digest = hashlib.sha256()
    with open_bytes(path) as stream:
        try:
            while block := stream.read(1 << 20):
                digest.update(block)
        except DAMAGED as error:
            raise damaged(path, None, error) from None
    return digest.hexdigest()


def refuse_stream(path: PathLike) -> None:
    """Raise an InputError for what can be read only once."""
    if is_stream(path):
        found = f"is {'standard input' if str(path) == '-' else 'a pipe'}, but has to be read more than once"
        raise InputError(path, None, found, "Write it to a file first")


def _require_path(path: object) -> None:
    """Raise a TypeError for a number, which `open` would take for an open file, and close, and for others."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{path!r} is no path; give a str or a Path")


def is_device(path: PathLike) -> bool:
    """Whether there is something of that name that is neither a file nor a directory, or is open already."""
    mode = _mode(path)
    return _descriptor(path) is not None or (mode != 0 and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)))


def _descriptor(path: PathLike) -> int | None:
    """The number of the open file that a name stands for, as /dev/stdout for 1; None of other names."""
    place = os.fspath(path)
    for _ in range(_LINKS):
        folder, name = os.path.split(os.path.abspath(place))
        if name.isdecimal() and os.path.realpath(folder) == os.path.realpath("/dev/fd"):
            return int(name)
        if not os.path.islink(place):
            break
        place = os.path.join(folder, os.readlink(place))
    return None


_LINKS = 40  # As many as Linux follows.


def is_stream(path: PathLike) -> bool:
    """Whether a path can be read only once: standard input, or a pipe, as <(command) is to a shell."""
    mode = _mode(path)
    return str(path) == "-" or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _mode(path: PathLike) -> int:
    """What is of that name, as `stat` puts it; 0 if there is nothing."""
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def _open_file(path: PathLike) -> io.FileIO:
    _require_path(path)
    try:
        return open(path, "rb", buffering=0)
    except IsADirectoryError:
        raise InputError(path, None, "is a directory", "Name a file") from None
    except OSError as error:
        raise InputError(path, None, f"cannot be read ({error.strerror})", "Check the name") from None


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes have been read already."""

    def __init__(self, begin: bytes, rest: io.BufferedReader) -> None:
        self._begin, self._rest = begin, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._begin:
            return self._rest.readinto1(buffer)
        size = min(len(buffer), len(self._begin))
        buffer[:size], self._begin = self._begin[:size], self._begin[size:]
        return size


_taken: list[Any] = []  # Standard input, once somebody reads it, maybe line by line beside another file.


def _standard_input() -> Any:
    """Standard input's bytes, or an InputError if somebody has read them, or is about to."""
    found = sys.stdin.buffer
    if found.closed or found in _taken:
        reason = "is standard input, which has been read already"
        raise InputError("-", None, reason, "Write it to a file first")
    _taken[:] = [found]
    return found


@contextlib.contextmanager
def open_bytes(path: PathLike) -> Iterator[IO[bytes]]:
    """A stream of a file's bytes, unzipped if need be; reading a damaged file raises what gzip raises."""
    raw: Any = _standard_input() if str(path) == "-" else io.BufferedReader(_open_file(path), 1 << 18)
    try:
        with raw:
            stream = raw
            if (begin := raw.peek(2)[:2]) == b"\x1f":  # Of a pipe into which a byte has been written so far.
                begin = raw.read(2)
                stream = io.BufferedReader(_Rejoined(begin, raw), 1 << 18)
            if begin == b"\x1f\x8b":
                with gzip.GzipFile(fileobj=stream) as unzipped:
                    yield io.BufferedReader(unzipped, 1 << 18)
            else:
                yield stream
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        raise InputError(
            path, None, f"cannot be read ({error.strerror or error})", "Check the disk"
        ) from None
