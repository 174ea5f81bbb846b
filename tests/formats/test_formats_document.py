"""docs/formats.md: programs that exist, and configurations that fit the tables that are written."""

from __future__ import annotations

import re

import pytest

from tests.recognisers import cdec, joshua, moses, travatar

OWN = {  # What each decoder brings itself; the tables bring the rest.
    "cdec": {"LanguageModel", "WordPenalty", "Glue", "PassThrough"},
    "Joshua": {"lm_0", "tm_glue_0", "OOVPenalty", "WordPenalty"},
    "Travatar": {"lm", "unk"},
}
WEIGHT = {"cdec": r"^(\S+) -?[\d.]+$", "Joshua": r"^(\S+) -?[\d.]+$", "Travatar": r"^(\w+)=-?[\d.]+$"}
READERS = {"cdec": cdec, "Moses": moses, "Joshua": joshua, "Travatar": travatar}
PROGRAMS = {
    "cdec": "cdec -c cdec.ini -w weights",
    "Moses": "moses -f moses.ini",
    "Joshua": "$JOSHUA/bin/joshua-decoder -m 4g -c joshua.config",
    "Travatar": "travatar -config_file travatar.ini",
}


@pytest.fixture(scope="module")
def sections(root) -> dict[str, str]:
    text = (root / "docs" / "formats.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def example(section: str) -> bytes:
    (line,) = re.findall(r"^    (.+\|\|\| .+\n)", section, re.MULTILINE)
    return line.encode()


def blocks(section: str) -> list[str]:
    """What stands between fences, commands first."""
    found = re.findall(r"^```(bash)?\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert [language for language, _ in found][:1] == ["bash"]
    return [text for _, text in found]


@pytest.mark.parametrize("name", READERS)
def test_example_rules_are_what_decoders_read(sections, name):
    (found,) = READERS[name].read_table(example(sections[name]))
    assert found.source == (b"das", -1, b"haus", -2)
    assert found.target == (-2, b"the", -1, b"house")


@pytest.mark.parametrize("name", OWN)
def test_weights_are_those_of_features_that_tables_have(sections, name):
    (found,) = READERS[name].read_table(example(sections[name]))
    weighed = set(re.findall(WEIGHT[name], blocks(sections[name])[-1], re.MULTILINE))
    assert len(weighed) > 4
    assert weighed <= OWN[name] | set(found.features)


def test_weights_of_moses_are_as_many_as_scores(sections):
    _, configuration = blocks(sections["Moses"])
    given = dict(re.findall(r"^(\w+)= (.+)$", configuration, re.MULTILINE))
    declared = re.findall(r"name=(TranslationModel\d) num-features=(\d)", configuration)
    assert [(name, str(len(given[name].split()))) for name, _ in declared] == declared
    assert "[inputtype]\n0\n" in configuration, "text: trees would lose sentences with <"


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_called_as_they_are_today(sections, name):
    commands = blocks(sections[name])[0].splitlines()
    assert commands[-1].startswith(PROGRAMS[name] + " < ")
    written = re.findall(r"--(?:output|glue) (\S+)", "\n".join(commands))
    for file in written[-2:] if name != "cdec" else []:
        assert file in blocks(sections[name])[-1], f"{file} is not what the configuration reads"
