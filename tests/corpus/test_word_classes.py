"""Classes of words are those of a twin that counts everything anew, and no word is better off elsewhere."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from scfg_sampler.cli import main
from scfg_sampler.corpus import word_classes
from scfg_sampler.corpus.word_classes import learn_classes
from scfg_sampler.errors import SettingsError

END = "</s>"


def log_prob(lines, class_of):
    """What depends on the classes, from the definition: ln P(class | class before), ln P(word | class)."""
    pairs, before, uses, words = Counter(), Counter(), Counter(), Counter()
    for line in filter(None, lines):
        text = [END, *line, END]
        for one, other in itertools.pairwise(text):
            pairs[class_of[one], class_of[other]] += 1
            before[class_of[one]] += 1
            uses[class_of[other]] += 1
            words[other] += 1
    transitions = sum(n * math.log(n / before[one]) for (one, _), n in pairs.items())
    return transitions + sum(n * math.log(n / uses[class_of[word]]) for word, n in words.items())


def exchanged(lines, number, passes):
    """Classes by exchange, each word moved to where the text is most probable, numbered by their uses."""
    count = Counter(word for line in lines for word in line)
    words = [word for word, _ in count.most_common()]
    class_of = {word: rank % number for rank, word in enumerate(words)} | {END: number}
    for _ in range(passes):
        before = dict(class_of)
        for word in words:
            old = class_of[word]
            gains = [log_prob(lines, class_of | {word: label}) for label in range(number)]
            best = max(gains)
            class_of[word] = old if gains[old] > best - 1e-9 else gains.index(best)
        if class_of == before:
            break
    uses = Counter()
    for word in words:
        uses[class_of[word]] += count[word]
    order = sorted(range(number), key=lambda label: -uses[label])
    return words, {word: f"C{order.index(class_of[word]) + 1}" for word in words}


def random_lines(seed, *, lines=40, words=9):
    """Lines in which words of two kinds take turns, mostly; some are empty, some have a word twice."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(lines):
        kinds = rng.integers(2) + np.arange(rng.integers(6)) + (rng.random() < 0.2)
        found.append([f"w{2 * rng.integers(words // 2 + 1) + kind % 2}" for kind in kinds.tolist()])
        if rng.random() < 0.3:
            found[-1] += found[-1][-1:]
    return found


@pytest.mark.parametrize("number", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(6))
def test_classes_are_those_of_a_twin(seed, number):
    lines = random_lines(seed)
    found = learn_classes(lines, number)
    words, expected = exchanged(lines, number, 30)
    assert found.names == expected
    assert list(found.words) == words
    count = Counter(word for line in lines for word in line)
    assert dict(zip(found.words, found.uses.tolist(), strict=True)) == count
    assert found.number == number


@pytest.mark.parametrize("tabled", [1, 2, 9])
def test_numbers_too_large_to_be_looked_up_are_counted_alike(tabled, monkeypatch):
    lines = random_lines(9, lines=200, words=40)
    expected = exchanged(lines, 4, 30)[1]
    monkeypatch.setattr(word_classes, "_TABLED", tabled)
    assert learn_classes(lines, 4).names == expected


@pytest.mark.parametrize("passes", [1, 2])
def test_passes_are_as_many_as_are_asked_for(passes):
    lines = random_lines(7, lines=200, words=40)
    found = learn_classes(lines, 4, passes=passes)
    assert found.names == exchanged(lines, 4, passes)[1]
    assert found.names != learn_classes(lines, 4).names


def test_no_word_is_better_off_in_another_class():
    lines = random_lines(8, lines=200, words=40)
    names = learn_classes(lines, 3).names | {END: END}
    best = log_prob(lines, names)
    elsewhere = [(word, other) for word in names if word != END for other in ("C1", "C2", "C3")]
    others = [log_prob(lines, names | {word: other}) for word, other in elsewhere]
    assert max(others) <= best + 1e-9
    assert min(others) < best - 1.0


def test_a_word_that_is_as_well_off_elsewhere_stays():
    """That two words are told apart by their classes, or within one, is all the same here."""
    assert learn_classes([["a"], ["b"]], 2).names == {"a": "C1", "b": "C2"}


def test_how_many_words_are_moved_at_a_time_changes_nothing(monkeypatch):
    lines = random_lines(9, lines=200, words=40)
    told = []
    whole = learn_classes(lines, 4, tell=lambda *numbers: told.append(numbers))
    monkeypatch.setattr(word_classes, "_AT_A_TIME", 7)
    parts = []
    assert learn_classes(lines, 4, tell=lambda *numbers: parts.append(numbers)).names == whole.names
    assert {words for words, _ in told} == {len(whole.words)}
    assert told[-1][1] == 0
    assert np.sum(parts, axis=0).tolist() == np.sum(told, axis=0).tolist()
    assert max(words for words, _ in parts) == 7


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"number": 0}, "--number is 0, but must be at least 1"),
        ({"number": 2, "passes": 0}, "--passes is 0, but must be at least 1"),
        ({"number": 3}, "--number is 3, but the text has 2 different words"),
    ],
)
def test_numbers_that_are_no_good_are_told(settings, message):
    with pytest.raises(SettingsError, match=message):
        learn_classes([["a", "b"], [], ["a"]], **settings)


def test_the_command_writes_a_class_for_every_word(tmp_path, capsys):
    lines = ["a cat sees a dog", "", "the dog sees the cat", "a dog sleeps"]
    (tmp_path / "text").write_text("".join(line + "\n" for line in lines), "utf-8")
    found = learn_classes(map(str.split, lines), 3)
    assert main(["classes", str(tmp_path / "text"), "--number", "3", "--output", str(tmp_path / "out")]) == 0
    written = [" ".join(found.names[word] for word in line.split()) for line in lines]
    assert (tmp_path / "out").read_text("utf-8").splitlines() == written
    said = capsys.readouterr().err.splitlines()
    rows = said[said.index(next(line for line in said if line.startswith("class "))) + 1 : -1]
    assert [row.split()[0] for row in rows] == ["C1", "C2", "C3"]
    for row in rows:
        name, words, uses, *shown = row.split()
        own = [word for word in found.words if found.names[word] == name]
        assert (int(words), shown) == (len(own), own[:8])
        assert int(uses) == sum(" ".join(lines).split().count(word) for word in own)
    assert said[-1] == f"3 classes of 6 words written to {tmp_path / 'out'}"
    out, words = tmp_path / "again", tmp_path / "words"
    options = ["--number", "3", "--output", str(out), "--words", str(words), "--quiet"]
    assert main(["classes", str(tmp_path / "text"), *options]) == 0
    assert out.read_text("utf-8").splitlines() == written
    assert dict(line.split("\t") for line in words.read_text("utf-8").splitlines()) == found.names
    assert words.read_text("utf-8").split()[::2] == list(found.words)
    options = ["--output", str(out), "--words", str(out)]
    with pytest.raises(SystemExit):
        main(["classes", str(tmp_path / "text"), *options])
    assert "which --output writes, too; name another file" in capsys.readouterr().err


def test_the_command_tells_of_a_text_with_too_few_words(tmp_path, capsys):
    (tmp_path / "text").write_text("a b\n", "utf-8")
    assert main(["classes", str(tmp_path / "text"), "--output", str(tmp_path / "out")]) == 2
    message = f"scfg-sampler: --number is 4, but {tmp_path / 'text'} has 2 different words"
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_line_that_is_a_string_is_refused():
    with pytest.raises(TypeError, match=r"a line is a string; give its words, such as line.split\(\)"):
        learn_classes(["a b", "b a"], 2)
