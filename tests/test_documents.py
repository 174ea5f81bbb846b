"""The documents beside the code are true: links lead somewhere, files and modules they name exist.

Examples and command lines are checked in `test_docs.py`.
"""

from __future__ import annotations

import re
import subprocess

import pytest

import scfg_sampler
from tests.figures import OF_COMMIT
from tests.test_docs import COMMANDS, ROOT

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = "recipes|tests|data|docs|decoder|scfg_sampler"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_exist(document):
    text = document.read_text(encoding="utf-8")
    for name in re.findall(rf"(?<![\w/.])((?:{FOLDERS})/[\w./-]*\w)", text):
        assert (ROOT / name).exists(), name


def test_architecture_names_every_module_and_no_other():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    sections = re.split(r"^### (\S+)/: .*$", text.partition("## 3.")[0], flags=re.MULTILINE)[1:]
    assert len(sections) >= 6
    for folder, section in zip(sections[::2], sections[1::2], strict=True):
        rows = "".join(line for line in section.splitlines() if line.startswith("|"))
        named = set(re.findall(r"`(\w+\.py|commands/)`", rows))
        there = {path.name for path in (ROOT / folder).glob("*.py")} - {"__init__.py"}
        there |= {"commands/"} if (ROOT / folder / "commands").is_dir() else set()
        assert named == there, folder


@pytest.mark.parametrize("program", ["scfg-sampler", "scfg-decoder"])
def test_the_page_of_commands_lists_every_command_and_no_other(program):
    text = (ROOT / "docs" / "look-up" / "commands.md").read_text(encoding="utf-8")
    table = re.search(rf"^\| `{program}` \|.*\n((\|.*\n)+)", text, re.MULTILINE)
    listed = re.findall(r"^\| `([\w-]+)` \|", table[1], re.MULTILINE)
    assert sorted(listed) == sorted(name for other, name in COMMANDS if other == program)


def contents() -> dict[str, list[str]]:
    """The pages of the site below each caption of its contents."""
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{toctree\}\n:caption: (.*)\n:hidden:\n\n((?:.+\n)*)```", text, re.MULTILINE)
    return {caption: pages.split() for caption, pages in blocks}


def test_contents_have_the_four_sections_and_every_page_once():
    assert list(contents()) == ["Learn", "Do", "Look up", "Know"]
    listed = [page for pages in contents().values() for page in pages]
    docs = ROOT / "docs"
    for text in [(docs / page).with_suffix(".md").read_text(encoding="utf-8") for page in listed]:
        # Those of a page's own contents, below it on the site.
        for block in re.findall(r"^```\{toctree\}\n:hidden:\n\n((?:.+\n)*)```", text, re.MULTILINE):
            listed += block.split()
    there = {str(path.relative_to(docs).with_suffix("")) for path in docs.rglob("*.md")} - {"index"}
    assert sorted(listed) == sorted(there), "give every page a place in docs/index.md or below one that has"


def test_version_of_the_citation_is_that_of_the_package():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {scfg_sampler.__version__}\n" in citation


def tables_without_stamp(text: str) -> list[str]:
    """The heads of tables with a column of numbers that do not say of which commit they are."""
    tables = re.findall(r"^ *(\|.*)\n *\|.*---:.*\n(?: *\|.*\n)*\n? *(.*)", text, re.MULTILINE)
    return [head for head, below in tables if not OF_COMMIT.fullmatch(below)]


def test_tables_of_figures_say_of_which_commit_they_are():
    compared = {"bundled-corpus.md", "features.md"}
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.name not in compared]
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in pages}
    without = {name: heads for name, text in texts.items() if (heads := tables_without_stamp(text))}
    assert without == {}, "write 'Figures of COMMIT, DAY.' below, the commit of main whose code made them"
    commits = {match["commit"] for text in texts.values() for match in OF_COMMIT.finditer(text)}
    assert len(commits) > 10
    table = "| a | b |\n| --- | ---: |\n| c | 1 |\n\n"
    assert tables_without_stamp(f"{table}Text.\n") == ["| a | b |"]
    in_a_list = f"{table}Text.\n".replace("\n|", "\n  |")
    assert tables_without_stamp(f"- one:\n\n  {in_a_list}") == ["| a | b |"]
    if (ROOT / ".git").exists() and not (ROOT / ".git" / "shallow").exists():
        command = ["git", "cat-file", "--batch-check"]
        found = subprocess.run(
            command, cwd=ROOT, input="\n".join(commits), capture_output=True, text=True, check=True
        )
        assert "missing" not in found.stdout
