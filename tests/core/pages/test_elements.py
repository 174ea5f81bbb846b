"""Elements of pages: escaped, closed, and read back by a strict parser."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.core.pages.elements import Markup, element, page, table, words
from scfg_sampler.core.reports.document import Section, write_document

XHTML = "{http://www.w3.org/1999/xhtml}"


@given(st.text(), st.text())
def test_any_text_is_content_and_attribute_and_nothing_else(content, attribute):
    read = ElementTree.fromstring(element("p", content, title=attribute))
    shown = "".join(c if c in "\n\t" or " " <= c < "\ufffe" or c > "\uffff" else "\ufffd" for c in content)
    assert read.tag == "p"
    assert list(read) == []
    if not any("\ud800" <= c <= "\udfff" for c in content):
        assert (read.text or "") == shown
    assert set(read.attrib) == {"title"}


def test_markup_stays_and_text_beside_it_is_escaped():
    inner = element("b", "<i>")
    assert element("p", inner, "<i>", None, [1, ["x"]]) == "<p><b>&lt;i&gt;</b>&lt;i&gt;1x</p>"
    assert isinstance(inner, Markup)


def test_attributes_that_are_not_given_are_left_out():
    assert element("td", scope=None, hidden=False, class_="a b", data_x=3, open=True) == (
        '<td class="a b" data-x="3" open="open"></td>'
    )


def test_page_is_xml_and_loads_nothing():
    text = page("<title>", "p{color:red}", element("p", "x"))
    assert text.startswith("<!DOCTYPE html>\n")
    root = ElementTree.fromstring(text)
    assert root.find(f"./{XHTML}head/{XHTML}title").text == "<title>"
    policy = root.find(f"./{XHTML}head/{XHTML}meta[@http-equiv]").get("content")
    assert policy.startswith("default-src 'none'")
    with pytest.raises(AssertionError):
        page("t", "</style>")


def test_rows_of_a_table_have_names_and_numbers_are_aligned():
    read = ElementTree.fromstring(table(["", "n"], [["a", "1"], ["b", "2"]], caption="c"))
    rows = read.findall(".//tbody/tr")
    assert [[cell.tag for cell in row] for row in rows] == [["th", "td"]] * 2
    assert [row[1].get("class") for row in rows] == ["number"] * 2
    assert rows[0][0].get("scope") == "row"
    assert read.find(".//caption").text == "c"


def test_words_keep_their_direction():
    assert words("שלום <b>") == '<bdi dir="auto">שלום &lt;b&gt;</bdi>'


def test_document_has_as_many_bytes_as_is_said(tmp_path):
    sections = [Section("Größe", "size", [element("p", "彼 は 学生")])]
    size = write_document("ナース", sections, tmp_path / "page")
    assert size == (tmp_path / "page").stat().st_size
