"""Parallel text is read from what people have, and what is wrong with it is said in one line."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.preparation import apart
from scfg_sampler.preparation.apart import place_apart
from scfg_sampler.preparation.readers import Pair, check_columns, read_pairs, read_tmx, read_tsv

TMX = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="EN-us"><seg>The &amp; <bpt i="1">&lt;b&gt;</bpt>red<ept i="1"/> <hi>dog</hi>.</seg></tuv>
    <tuv xml:lang="fr"><seg>Le chien
 rouge.</seg></tuv></tu>
<tu><prop>x</prop><tuv lang="fr-CA"><seg>Oui.</seg></tuv><tuv lang="fr"><seg>Non.</seg></tuv>
    <tuv lang="en"><seg>Yes<ph>{0}</ph>!</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>Ja</seg></tuv><tuv xml:lang="en"/></tu>
</body></tmx>
"""


def write(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# ---------------------------------------------------------------- two files


def test_lines_of_two_files_belong_together(tmp_path):
    source = write(tmp_path / "a.xx", "eins\r\n\nzwei\u2028drei\n")
    target = write(tmp_path / "a.yy.gz", gzip.compress(b"one\n\ntwo three"))
    assert read_pairs(source, target) == [
        Pair("eins\r", "one", 1),
        Pair("", "", 2),
        Pair("zwei\u2028drei", "two three", 3),
    ]


SENTENCES = [
    (f"Das ist der Satz mit der Nummer {n} und {much}mehr.", f"Sentence number {n} and {much}more.")
    for n, much in enumerate("viel " * (k % 7) for k in range(200))
]


@pytest.mark.parametrize("at", [0, 60, 150, 199, 200])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("more", [1, 3])
def test_files_of_unequal_length_are_refused_with_the_place(tmp_path, at, side, more):
    sides = [[pair[k] for pair in SENTENCES] for k in (0, 1)]
    sides[side][at:at] = ["Something else, which stands here only by mistake."] * more
    paths = [write(tmp_path / f"a.{k}", "".join(line + "\n" for line in sides[k])) for k in (0, 1)]
    with pytest.raises(InputError) as caught:
        read_pairs(*paths)
    message = str(caught.value)
    assert f"a.{1 - side}: has 200 lines, but " in message
    assert f"a.{side} has {200 + more}. They seem to go apart near line" in message
    assert abs(int(message.rpartition(" ")[2]) - (at + 1)) <= 1


def sorted_by_length(lines: int) -> list[tuple[str, str]]:
    """Pairs in order of length; half of the words are translations of each other, most of them rare."""
    rng = np.random.default_rng(4)
    pairs = []
    for _ in range(lines):
        words = rng.zipf(1.3, size=rng.integers(4, 9)) % 9000
        others = np.where(rng.random(len(words)) < 0.5, rng.integers(9000, 90000, len(words)), words)
        pairs.append((" ".join(f"ab{w:05}" for w in words), " ".join(f"{w:05}yz" for w in others[::-1])))
    no_digits = str.maketrans("0123456789", "klmnopqrst")  # They would tell by themselves.
    pairs = [(source.translate(no_digits), target.translate(no_digits)) for source, target in pairs]
    return sorted(pairs, key=lambda pair: len(pair[0]))


@pytest.mark.parametrize("at", [80, 480, 900])
@pytest.mark.parametrize("most", [4000, 250])
def test_words_tell_the_place_where_neighbours_are_equally_long(monkeypatch, at, most):
    monkeypatch.setattr(apart, "_MOST_LINES", most)
    source, target = (list(side) for side in zip(*sorted_by_length(1000), strict=True))
    del source[at]
    assert abs(place_apart(source, target) - (at + 1)) <= 2
    assert abs(place_apart(target, source) - (at + 1)) <= 2


def test_no_place_is_guessed_where_lines_say_nothing():
    assert place_apart(["a"] * 10, ["b"] * 11) is None
    assert place_apart([], ["b"]) is None


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path):
    bad = write(tmp_path / "a.xx", b"gut\nsch\xf6n\n")
    with pytest.raises(InputError, match=r"a\.xx:2: byte 0xf6 at column 4 is not UTF-8"):
        read_pairs(bad, write(tmp_path / "a.yy", "good\nnice\n"))


# ---------------------------------------------------------------- TSV


def test_columns_are_counted_from_one(tmp_path):
    path = write(tmp_path / "a.tsv", "1\ten\tfr\trest\r\n\n2\tb\t\n")
    assert list(read_tsv(path, (3, 2))) == [Pair("fr", "en", 1), Pair("", "", 2), Pair("", "b", 3)]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ('"He said ""no"" twice."', 'He said "no" twice.'),
        ('"""No!"""', '"No!"'),
        ('"No!"', '"No!"'),  # May be what the text says.
        ('"No" and "yes"', '"No" and "yes"'),
        ('an ""odd"" one', 'an ""odd"" one'),
        ('"', '"'),
        ('""', '""'),
    ],
)
def test_columns_that_spreadsheets_have_quoted_are_as_they_were_before(tmp_path, field, text):
    path = write(tmp_path / "a.tsv", f"{field}\tx\r\ny\t{field}\r\n")
    (one, _, _), (_, other, _) = read_tsv(path, (1, 2))
    assert [one, other.rstrip("\r")] == [text, text]


def test_a_missing_column_is_named_with_its_line(tmp_path):
    path = write(tmp_path / "a.tsv", "a\tb\tc\na\tb\nc\n")
    with pytest.raises(InputError, match=r"a\.tsv:2: has 2 columns, but --columns names column 3"):
        list(read_tsv(path, (1, 3)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "0,1",
        "1,1",
        "1,2,3",
        "a,A",
        "a,2",
        "a,",
        "a,b,c",
        "1;2",
        "-1,2",
        "\N{ARABIC-INDIC DIGIT ONE},2",
    ],
)
def test_columns_are_two_numbers_or_two_names(text):
    with pytest.raises(SettingsError, match="--columns is"):
        check_columns(text)
    assert check_columns("2,10") == (2, 10)
    assert check_columns("français, fɔngbè") == ("français", "fɔngbè")


def test_columns_go_by_what_the_first_line_calls_them(tmp_path):
    path = write(tmp_path / "a.tsv", 'No\t"the ""Fon"""\tFrench\r\n1\tb\ta\r\n\n2\td\tc\n')
    assert [pair[:2] for pair in read_tsv(path, ("french", 'the "Fon"'))] == [
        ("a\r", "b"),
        ("", ""),
        ("c", "d"),
    ]
    assert [pair.line for pair in read_tsv(path, ("No", "French"))] == [2, 3, 4]
    with pytest.raises(
        InputError, match=r"a\.tsv:1: has no column called 'Ewe'\. It has No, the .Fon., French; "
    ):
        list(read_tsv(path, ("No", "Ewe")))
    write(tmp_path / "b.tsv", "a\tA\tb\n")
    with pytest.raises(InputError, match=r"b\.tsv:1: has several columns called 'a'"):
        list(read_tsv(tmp_path / "b.tsv", ("a", "b")))
    write(tmp_path / "c.tsv", "")
    with pytest.raises(InputError, match=r"c\.tsv:1: has no column called 'a'\. It has none; or give"):
        list(read_tsv(tmp_path / "c.tsv", ("a", "b")))


# ---------------------------------------------------------------- TMX


@pytest.mark.parametrize(
    "pack", [str.encode, lambda text: gzip.compress(text.encode()), lambda t: t.encode("utf-16")]
)
def test_units_of_a_translation_memory(tmp_path, pack):
    text = TMX.replace('<?xml version="1.0"?>', "") if pack(TMX).startswith(b"\xff\xfe") else TMX
    path = write(tmp_path / "a.tmx", pack(text))
    found = [Pair(*pair) for pair in read_tmx(path, ("en", "fr"))]
    assert found == [
        Pair("The & red dog.", "Le chien\n rouge.", 1),
        Pair("Yes!", "Oui.", 2),
        Pair("", "", 3),
    ]


def test_a_namespace_does_no_harm(tmp_path):
    path = write(tmp_path / "a.tmx", TMX.replace('<tmx version="1.4">', '<tmx xmlns="urn:x">'))
    assert len(list(read_tmx(path, ("fr", "en")))) == 3


def test_a_long_memory_is_a_stream(tmp_path):
    unit = '<tu><tuv lang="en"><seg>%s</seg></tuv><tuv lang="fr"><seg>x</seg></tuv></tu>\n' % ("word " * 200)
    path = write(tmp_path / "a.tmx", f"<tmx><body>{unit * 20000}</body></tmx>")
    import tracemalloc

    tracemalloc.start()
    assert sum(1 for _ in read_tmx(path, ("en", "fr"))) == 20000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6 < path.stat().st_size / 4


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (TMX.replace("</tuv></tu>", "</tu>", 1), r"a\.tmx:6: not well-formed XML \(mismatched tag"),
        (TMX[:300], r"a\.tmx:\d+: not well-formed XML"),
        ("", r"a\.tmx:1: not well-formed XML"),
        ("plain text", r"a\.tmx:1: not well-formed XML"),
        ("<tmx><body/></tmx>", "has no translation units"),
        (TMX.replace('"1.0"?', '"1.0" encoding="x-y"?'), "cannot be read as XML|not well-formed"),
        (gzip.compress(TMX.encode() * 100)[:-200], "cannot be read as XML"),
        (TMX.encode().replace(b"Oui", b"\xe9"), r"a\.tmx:7: not well-formed"),
    ],
)
def test_broken_memories_are_refused(tmp_path, content, complaint):
    path = write(tmp_path / "a.tmx", content)
    with pytest.raises(InputError, match=complaint) as caught:
        list(read_tmx(path, ("en", "fr")))
    assert "\n" not in str(caught.value)


def memory(*units: str) -> str:
    return f"<tmx><body>{''.join(units)}</body></tmx>"


def variant(text: str, language: str = "") -> str:
    return f"<tuv{language and f' xml:lang={chr(34)}{language}{chr(34)}'}><seg>{text}</seg></tuv>"


def test_units_within_a_unit_leave_it_what_it_has(tmp_path):
    """TMX has no such units; of those that are there all the same nothing is lost."""
    inner = f"<tu>{variant('in', 'en')}{variant('dans', 'fr')}</tu>"
    unit = f"<tu>{variant('out', 'en')}{inner}{variant('dehors', 'fr')}</tu>"
    path = write(tmp_path / "a.tmx", memory(unit))
    assert [pair[:2] for pair in read_tmx(path, ("en", "fr"))] == [("in", "dans"), ("out", "dehors")]


def test_codes_may_lie_within_codes_without_end(tmp_path):
    deep = "<hi>a" * 20000 + "<ph>x</ph>" + "b</hi>" * 20000
    path = write(tmp_path / "a.tmx", memory(f"<tu>{variant(deep, 'en')}{variant('y', 'fr')}</tu>"))
    assert next(read_tmx(path, ("en", "fr"))).source == "a" * 20000 + "b" * 20000


def test_variants_without_a_language_are_counted_where_one_is_missed(tmp_path):
    path = write(tmp_path / "a.tmx", memory(f"<tu>{variant('x', 'en')}{variant('y')}</tu>"))
    with pytest.raises(InputError, match=r"no unit in the language 'fr'. It has en, 1 without xml:lang"):
        list(read_tmx(path, ("en", "fr")))
    path = write(tmp_path / "b.tmx", memory("<tu></tu>"))
    with pytest.raises(InputError, match=r"no unit in the language 'en'. It has no <tuv>; name"):
        list(read_tmx(path, ("en", "fr")))


def test_encodings_that_the_parser_lacks_are_to_be_saved_as_another(tmp_path):
    text = '<?xml version="1.0" encoding="Shift_JIS"?>' + memory(variant("日本", "ja"))
    path = write(tmp_path / "a.tmx", text.encode("shift_jis"))
    with pytest.raises(InputError, match=r"cannot be read as XML \(multi-byte .*\). Save it as UTF-8"):
        list(read_tmx(path, ("en", "ja")))


def test_a_language_that_no_unit_has_is_refused_with_those_there_are(tmp_path):
    path = write(tmp_path / "a.tmx", TMX)
    with pytest.raises(InputError, match=r"no unit in the language 'es'. It has EN-us, de, en, fr, fr-CA"):
        list(read_tmx(path, ("en", "es")))
