"""A language model scores alike as it is and with its words spelled as the table's."""

from __future__ import annotations

import json
import re

import pytest

from decoder.cli import main as decode
from tests.plugs.directories import FEATURES, READERS, TABLES, plug

WORDS = ("&#91;", "[", "&#124;", "|", "-lsb-", "%i")
WEIGHTS = {"LogForward": 1.0, "LanguageModel": 1.0, "Glue": 0.0, "PassThrough": 0.0}


@pytest.mark.parametrize("decoder", READERS)
def test_words_that_look_like_escapes_have_their_own_probability(tmp_path, decoder):
    """There, `&#91;` is how some decoders spell `[`, and not how they spell `&#91;`."""
    entries = "".join(f"-{k}.5\t{word}\n" for k, word in enumerate(WORDS))
    head = f"\\data\\\nngram 1={len(WORDS) + 3}\n\n\\1-grams:\n-9\t<unk>\n-99\t<s>\n-1\t</s>\n"
    (tmp_path / "lm.arpa").write_text(f"{head}{entries}\n\\end\\\n")
    spelled = [re.sub(r"[\[|]|&(?=#)", lambda match: f"&#{ord(match[0])};", word) for word in WORDS]
    rules = sorted(f"[X] ||| {word} ||| {word} ||| LogForward=0\n" for word in spelled)
    (tmp_path / "table.gz").write_text("".join(rules))
    (tmp_path / "w.json").write_text(json.dumps(WEIGHTS))
    (tmp_path / "in").write_text("\n".join(WORDS) + "\n")
    assert plug(tmp_path, decoder, "--from=native", "--quiet") == 0

    def scores(table: str, model: str) -> list[float]:
        weights = tmp_path / "all.json"
        weights.write_text(json.dumps(dict.fromkeys(FEATURES, 0.0) | WEIGHTS))
        arguments = [f"--grammar={tmp_path / table}", f"--lm={tmp_path / model}", f"--weights={weights}"]
        arguments += ["--input-words=plain", f"--input={tmp_path / 'in'}", f"--output={tmp_path / 'out'}"]
        assert decode(["translate", *arguments, "--nbest=1", "--quiet"]) == 0
        return [float(line.split(" ||| ")[3]) for line in (tmp_path / "out").read_text().splitlines()]

    table = f"{decoder}/{TABLES[decoder]},format={decoder}"
    theirs = scores(table, f"{decoder}/lm.arpa")
    assert theirs == scores(table, "lm.arpa")
    assert theirs == scores("table.gz,format=native", "lm.arpa")
    assert len(set(theirs)) == len(WORDS)
