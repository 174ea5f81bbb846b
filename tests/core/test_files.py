"""Text files: lines, errors that name them, and outputs that are whole or absent."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import stat
import threading
import tracemalloc

import numpy as np
import pytest

from scfg_sampler.core import files
from scfg_sampler.core.arrays import blocks
from scfg_sampler.core.arrays.blocks import read_blocks
from scfg_sampler.core.arrays.external import Scratch
from scfg_sampler.core.chains.chain import TraceWriter, read_trace, run_chain
from scfg_sampler.core.files import atomic_output, atomic_path, file_digest, read_lines, require_file
from scfg_sampler.errors import InputError
from tests.core.chains.toy_chain import TOY, toy_state


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_lines_read_back_as_written(tmp_path, suffix):
    lines = ["eins zwei", "", "carriage\rreturn", "separator\u2028and\x85inside", "no-break\xa0space", "日本"]
    path = tmp_path / f"text{suffix}"
    with atomic_output(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)
    assert list(read_lines(path)) == lines
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == bool(suffix)


def test_gzip_is_recognised_by_content(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(b"a\nb"))
    assert list(read_lines(path)) == ["a", "b"]
    path = tmp_path / "plain.gz"
    path.write_bytes(b"a\nb\n")
    assert list(read_lines(path)) == ["a", "b"]


@pytest.mark.parametrize("source", ["-", "fifo"])
@pytest.mark.parametrize("text", ["", "a", "aé\n" * 200_000])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_pipe_into_which_a_single_byte_is_written_at_first_is_read(
    tmp_path, monkeypatch, source, text, compress
):
    os.mkfifo(tmp_path / "fifo")
    path = source if source == "-" else tmp_path / source
    data, seen = compress(text.encode()), threading.Event()

    def write():
        with open(tmp_path / "fifo", "wb", buffering=0) as pipe:
            pipe.write(data[:1])
            seen.wait(5)
            with contextlib.suppress(BrokenPipeError):
                pipe.writelines(data[at : at + 60_000] for at in range(1, len(data), 60_000))

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    # The rest is not written before somebody has looked at the first byte.
    threading.Timer(0.05, seen.set).start()
    with contextlib.ExitStack() as stack:
        if source == "-":
            stdin = stack.enter_context(open(tmp_path / "fifo", encoding="utf-8"))
            monkeypatch.setattr("sys.stdin", stdin)
        assert "\n".join(read_lines(path)) == text.removesuffix("\n")
    writer.join(5)
    if source == "-":
        with pytest.raises(InputError, match="is standard input, which has been read already"):
            next(read_lines(path))


def test_an_empty_line_that_comes_first_is_read_before_there_is_another(tmp_path):
    """Whoever writes it may wait for an answer."""
    os.mkfifo(tmp_path / "fifo")
    answered, in_time = threading.Event(), []

    def write():
        with open(tmp_path / "fifo", "wb", buffering=0) as pipe:
            pipe.write(b"\n")
            in_time.append(answered.wait(5))
            pipe.write(b"a\n")

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    lines = read_lines(tmp_path / "fifo")
    assert next(lines) == ""
    answered.set()
    assert list(lines) == ["a"]
    writer.join(5)
    assert in_time == [True]


def test_empty_file_has_no_lines(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert list(read_lines(tmp_path / "empty")) == []


def test_standard_input_and_output(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO("ä\nb\n".encode()))))
    assert list(read_lines("-")) == ["ä", "b"]
    with atomic_output("-") as stream:
        stream.write("out\n")
    assert capsys.readouterr().out == "out\n"
    require_file("-")


def test_missing_file_is_named(tmp_path):
    path = tmp_path / "none"
    for use in (require_file, file_digest, lambda name: list(read_lines(name))):
        with pytest.raises(
            InputError, match=r"none: cannot be read \(No such file or directory\)\. Check the"
        ):
            use(path)


def test_directory_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"is a directory\. Name a file"):
        require_file(tmp_path)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_wrong_encoding_names_line_and_column(tmp_path, compress):
    path = tmp_path / "latin"
    path.write_bytes(compress(b"gut\nna\xefv\n"))
    with pytest.raises(InputError, match=r"latin:2: byte 0xef at column 3 is not UTF-8\. Convert the file"):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (lzma.compress, r":1: looks like a file of xz, and not like text\. Unpack it first; gzip alone is"),
        (bz2.compress, r":1: looks like a file of bzip2, and"),
        (lambda text: bytes.fromhex("28b52ffd2006310000") + text, r":1: looks like a file of zstd, and"),
        (lambda text: b"PK\3\4\24\0\0\0\0\0\xff" + text, r":1: looks like a file of zip, and"),
        (
            lambda text: text.decode().encode("utf-16"),
            r":1: is UTF-16, not UTF-8\. Convert the file, as 'iconv",
        ),
        (lambda text: b"\xfe\xff" + text.decode().encode("utf-16-be"), r":1: is UTF-16, not UTF-8"),
    ],
)
def test_files_of_other_programs_are_recognised(tmp_path, packed, message):
    (tmp_path / "file").write_bytes(packed(b"a b\nb a\n"))
    with pytest.raises(InputError, match=f"file{message}"):
        list(read_lines(tmp_path / "file"))
    (tmp_path / "text").write_bytes(b"a BZh\xff\n")
    with pytest.raises(InputError, match="text:1: byte 0xff at column 6 is not"):
        list(read_lines(tmp_path / "text"))


READERS = [lambda path: list(read_lines(path)), lambda path: list(read_blocks(path))]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("text", ["a b\rc\r", "a b\rc", "\ufeffa\rb\r", "a\r\rb"])
def test_lines_that_end_in_carriage_returns_alone_are_not_one_line(tmp_path, read, compress, text):
    (tmp_path / "mac").write_bytes(compress(text.encode()))
    with pytest.raises(
        InputError, match=r"mac:1: lines end in a carriage return alone, as on old Macs\. Conv"
    ):
        read(tmp_path / "mac")


@pytest.mark.parametrize("text", ["a\r", "a\rb\n", "a\r\nb\r", "a\nb\rc", "\r\n"])
def test_carriage_returns_beside_line_feeds_are_text(tmp_path, text):
    (tmp_path / "text").write_bytes(text.encode())
    assert list(read_lines(tmp_path / "text")) == text.removesuffix("\n").split("\n")
    assert b"".join(read_blocks(tmp_path / "text", 1)) == text.encode()


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("order", ["BE", "LE"])
def test_utf16_without_its_mark_is_recognised(tmp_path, read, order):
    (tmp_path / "file").write_bytes("a b\nb a\n".encode(f"utf-16-{order}"))
    with pytest.raises(InputError, match=rf"file:1: has bytes of 0, as UTF-16 .*'iconv -f UTF-16{order} -t"):
        read(tmp_path / "file")
    for text in (b"ab\0c\0d\n", b"\0\0\0\0\n", b"\0a\n"):  # Words with such characters are words.
        (tmp_path / "file").write_bytes(text)
        assert read(tmp_path / "file")


def test_truncated_gzip_names_the_line(tmp_path):
    path = tmp_path / "short.gz"
    data = gzip.compress(os.urandom(3000).hex().encode() + b"\nlast\n")
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"short\.gz:1: the gzip data is damaged or ends too early"):
        list(read_lines(path))


def test_damaged_gzip_is_an_input_error(tmp_path):
    path = tmp_path / "bad.gz"
    data = bytearray(gzip.compress(b"first\n" * 1000))
    data[-6] ^= 0xFF  # In the checksum.
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"bad\.gz:\d+: the gzip data is damaged"):
        list(read_lines(path))


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_interrupted_output_leaves_the_old_file(tmp_path, name):
    path = tmp_path / name
    with atomic_output(path) as stream:
        stream.write("old\n")

    def interrupted():
        with atomic_output(path) as stream:
            stream.write("new\n" * 100_000)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(read_lines(path)) == ["old"]
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_equal_content_gives_equal_bytes(tmp_path):
    for name in ("a.gz", "b.gz"):
        with atomic_output(tmp_path / name) as stream:
            stream.write("same\n")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_output_makes_its_directory_and_has_ordinary_permissions(tmp_path):
    path = tmp_path / "new" / "deep" / "file"
    before = os.umask(0o027)
    try:
        with atomic_output(path, binary=True) as stream:
            stream.write(b"\x00")
    finally:
        os.umask(before)
    assert path.read_bytes() == b"\x00"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_output_that_cannot_be_written_is_an_input_error(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match=r"file/out: cannot be written \("),
        atomic_path(tmp_path / "file/out"),
    ):
        pass


@pytest.fixture
def full(tmp_path):
    """A name for a device that is full; a link, so that no mistake can replace the device itself."""
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    for name in ("full", "full.gz"):
        (tmp_path / name).symlink_to("/dev/full")
    return tmp_path / "full"


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_full_device_is_an_input_error_and_stays(full, suffix, binary, size):
    path = f"{full}{suffix}"
    text = os.urandom(size) if binary else os.urandom(size).hex()
    with pytest.raises(InputError, match=r"full(\.gz)?: cannot be written \(No space left on device\)"):
        write(path, text, binary)
    assert os.path.islink(path)
    assert stat.S_ISCHR(os.stat(path).st_mode)


def write(path, text, binary=False):
    with atomic_output(path, binary=binary) as stream:
        stream.write(text)


@contextlib.contextmanager
def short_of_disk():
    """Files may not grow beyond 1,000 bytes, as if the disk were full.

    No fixture, which would last until the test has been reported: pytest's own output may be a file.
    """
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_full_disk_names_the_file_and_keeps_the_old_one(tmp_path):
    write(tmp_path / "file", "old\n")
    with pytest.raises(InputError, match=r"file: cannot be written \(File too large\)"), short_of_disk():
        write(tmp_path / "file", "new\n" * 10_000)
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old\n"


def test_full_disk_names_the_trace(tmp_path, rng):
    trace = TraceWriter(tmp_path / "trace.tsv", [("log_joint", lambda sweep: sweep.info.log_joint)])
    with pytest.raises(InputError, match=r"trace.tsv: cannot be written \(File too large\)"), short_of_disk():
        list(run_chain(TOY, toy_state(), rng, sweeps=1000, sinks=[trace]))
    assert len(read_trace(tmp_path / "trace.tsv")["sweep"]) > 30


def test_full_disk_names_the_place_of_temporary_files(tmp_path):
    with Scratch(directory=str(tmp_path)) as scratch, short_of_disk():
        table = scratch.table(np.int64)
        with pytest.raises(InputError, match=rf"{tmp_path}/scfg-work-\w+: cannot be written \("):
            table.append(np.arange(1000))


def test_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write(tmp_path / "pipe", "text\n")
    reader.join(timeout=10)
    assert found == [b"text\n"]


def test_link_stays_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk/file")
    for text in ("first\n", "second\n"):
        write(tmp_path / "link", text)
        assert os.readlink(tmp_path / "link") == "disk/file"
        assert (tmp_path / "disk" / "file").read_text() == text
    assert os.listdir(tmp_path / "disk") == ["file"]


def test_errors_of_other_files_are_not_those_of_the_output(tmp_path):
    def copy():
        with atomic_output(tmp_path / "out") as stream:
            stream.write((tmp_path / "none").read_text())

    with pytest.raises(FileNotFoundError, match="none"):
        copy()
    assert list(tmp_path.iterdir()) == []


def test_output_in_the_place_of_a_directory_is_an_input_error(tmp_path):
    (tmp_path / "place").mkdir()
    with pytest.raises(InputError, match=r"place: cannot be written \(Is a directory\)"):
        write(tmp_path / "place", "")
    assert os.listdir(tmp_path) == ["place"]


def test_input_that_breaks_while_it_is_read_is_an_input_error():
    """The memory of a process has nothing at its beginning."""
    if not os.path.exists("/proc/self/mem"):
        pytest.skip("needs /proc")
    for use in (file_digest, lambda name: list(read_lines(name))):
        with pytest.raises(InputError, match=r"/proc/self/mem: cannot be read \(Input/output error\)"):
            use("/proc/self/mem")


def test_digest_is_that_of_the_text(tmp_path):
    (tmp_path / "a").write_bytes(b"text\n")
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"text\n"))
    (tmp_path / "b").write_bytes(b"text")
    assert file_digest(tmp_path / "a") == file_digest(tmp_path / "a.gz") != file_digest(tmp_path / "b")


def test_standard_input_is_read_once(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a\n"))))
    assert list(read_lines("-")) == ["a"]
    with pytest.raises(InputError, match="is standard input, which has been read already"):
        list(read_lines("-"))


def test_standard_input_is_read_once_at_the_same_time(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a\nb\n"))))
    first, second = read_lines("-"), read_lines("-")
    assert next(first) == "a"
    with pytest.raises(InputError, match="is standard input, which has been read already"):
        next(second)
    assert list(first) == ["b"]


@pytest.mark.parametrize("ends", [b"", b"\n"])
@pytest.mark.parametrize("reader", [read_lines, read_blocks])
def test_a_bomb_is_one_line_and_little_memory(tmp_path, monkeypatch, reader, ends):
    """A small packed file with one line of 64 MB, where a line may have one."""
    for module in (files, blocks):
        monkeypatch.setattr(module, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"a b\n" + bytes(1 << 26) + ends, 1))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"bomb\.gz:[12]: is longer than 1 MB\. Is it text"):
            list(reader(path))
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_a_line_of_the_longest_length_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 8)
    (tmp_path / "f").write_bytes(b"1234567\n1234567\n\nx")
    assert list(read_lines(tmp_path / "f")) == ["1234567", "1234567", "", "x"]
    (tmp_path / "f").write_bytes(b"12345678\n")
    with pytest.raises(InputError, match="f:1: is longer"):
        list(read_lines(tmp_path / "f"))


def test_an_interruption_amid_a_packed_line_stays_one(tmp_path, monkeypatch):
    class Interrupted(io.BytesIO):
        """Tells of an interruption as Python's own reader of packed files may."""

        def readline(self, size=-1):
            raise SystemError("readline returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("scfg_sampler.core.files.open_bytes", lambda path: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        list(read_lines(tmp_path / "packed.gz"))
