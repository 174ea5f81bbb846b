"""Addresses and numbers are found whole, and end where they end."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest

from scfg_sampler.preparation.protected import _PART, _UNSPACED, is_protected, protected_spans


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("Nothing to see; no.", []),
        ("http://a.org/b?c=d&e=%20#f.", ["http://a.org/b?c=d&e=%20#f"]),
        ("(see https://en.wikipedia.org/wiki/Set_(music)).", ["https://en.wikipedia.org/wiki/Set_(music)"]),
        ("(www.a.com/x), FTP ftp://b.net!", ["www.a.com/x", "ftp://b.net"]),
        ("访问http://a.cn/b。好", ["http://a.cn/b"]),
        ("http://de.wikipedia.org/wiki/Köln, schön", ["http://de.wikipedia.org/wiki/Köln"]),
        ("Mail ann.b+c@mail-host.co.uk.", ["ann.b+c@mail-host.co.uk"]),
        ("发邮件给ann@b.org吧", ["ann@b.org"]),
        ("go to example.com, or sub.example.org/a/b.", ["example.com", "sub.example.org/a/b"]),
        ("Ende.Anfang und casa.de", []),
        ("@ann_1 likes #cats_2, R&D #", ["@ann_1", "#cats_2"]),
        ("@Bénin #ÉduBénin, #Bénin!", ["@Bénin", "#ÉduBénin", "#Bénin"]),
        ("#O\u0323\u0300ro\u0323.", ["#O\u0323\u0300ro\u0323"]),
        ("#ኢትዮጵያ። #हिन्दी। #می\u200cخواهم،", ["#ኢትዮጵያ", "#हिन्दी", "#می\u200cخواهم"]),
        ("#ދިވެހި, @ꦗꦮꦶ #ܐܵܬܘܿܪ #a\u20d7b", ["#ދިވެހި", "@ꦗꦮꦶ", "#ܐܵܬܘܿܪ", "#a\u20d7b"]),
        ("#ꯃꯩꯇꯩꯂꯣꯟ #አማ፞ርኛ #\ufe0f\u20e3b", ["#ꯃꯩꯇꯩꯂꯣꯟ", "#አማ፞ርኛ"]),
        ("#රු෴ #abc\u0e34", ["#රු", "#abc"]),
        ("#DVD很好 @ann吧 #好 #'a", ["#DVD", "@ann"]),
        ("٣٫١٤ ١٬٠٠٠، ٥٫", ["٣٫١٤", "١٬٠٠٠", "٥"]),
        ("C#x a@b ##y @@z &#xa;", []),
        ("3 1,234.5 12:30 3/4", ["3", "1,234.5", "12:30", "3/4"]),
        ("2014-01-05 1.000.000, 5.", ["2014-01-05", "1.000.000", "5"]),
        ("B2B १२३ 10-year", ["2", "१२३", "10"]),
        ("http:// and www. alone", []),
    ],
)  # fmt: skip
def test_parts(text, parts):
    assert [text[begin:end] for begin, end, _ in protected_spans(text)] == parts


def test_all_marks_of_unicode_can_be_in_a_name_but_of_scripts_without_spaces():
    for code in range(0x110000):
        if unicodedata.category(chr(code))[0] == "M" and not re.match(f"[{_UNSPACED}]", chr(code)):
            assert [end for _, end, _ in protected_spans(f"#a{chr(code)}b")] == [4], hex(code)


def test_numbers_are_told_from_addresses():
    assert [number for _, _, number in protected_spans("5 http://a.org/7 @b")] == [True, False, False]
    assert is_protected("1,5")
    assert not is_protected("1,5 ")


@pytest.mark.parametrize("unit", [".a(", "((", "a.", "1.", "a@", "@", "@ɛ\u0301", "http://", "-", "a-", "1:"])
def test_long_lines_take_no_long_time(unit):
    began = time.perf_counter()
    list(protected_spans("www." + unit * 5000))
    list(protected_spans(unit * 5000))
    assert time.perf_counter() - began < 2  # some milliseconds, but for machines that do much else


def test_marks_within_an_address_are_one_part_of_it():
    # After each part, the end of the address is looked for.
    assert re.findall(_PART, "a" + ".!?" * 100 + "(b)c", re.VERBOSE) == ["a", ".!?" * 100, "(b)", "c"]
    assert [end for _, end, _ in protected_spans("www.a" + "." * 100 + "b...")] == [106]


def test_what_is_no_address_is_refused_at_the_first_try():
    assert not is_protected("www.a" + "(b)" * 100 + "<")  # Each bracket can be read in two ways.
    assert is_protected("www.a" + "(b)" * 100 + "...")
