"""What the recipes read out of the files that their steps leave: `python recipes/tables.py NAME ARGUMENT…`.

Every function prints one value, or lines with tabs between their cells, for `table` of recipes/common.sh.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import math
import re
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO


def main(arguments: list[str]) -> None:
    from scfg_sampler.errors import ScfgError

    name, *rest = arguments
    try:
        TABLES[name](*rest)
    except ScfgError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def row(*cells: object) -> None:
    print(*cells, sep="\t")


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def all_lines(path: Path) -> list[str]:
    """The lines of a file, which end where its steps count them to: a form feed, say, is in a line."""
    from scfg_sampler.core.files import read_lines

    return list(read_lines(path))


def at(value: Any, *keys: str) -> Any:
    """What lies at a path of keys."""
    for key in keys:
        value = value[key]
    return value


def with_zero(path: str, *features: str) -> None:
    """Weights, as JSON, with 0 for features that they do not have."""
    print(json.dumps({**load(Path(path)), **dict.fromkeys(features, 0.0)}))


# ------------------------------------------------------------------ recipes/dmv.sh

LENGTHS = {"10": "≤ 10", "20": "≤ 20", "all": "all"}
DECODERS = ("viterbi", "mbr")


def dmv(out: str, *rows: str) -> None:
    """Directed accuracy by decoder and length: the two baselines, then a row for each TITLE=NAME,NAME….

    Several names are averaged over, with their standard deviation. A model's first line tells the rounds.
    """
    directory = Path(out)

    def scores(name: str) -> Any:
        return load(directory / f"{name}.scores.json")

    def rounds(name: str) -> str:
        with (directory / f"{name}.model.txt").open(encoding="utf-8") as model:
            return model.readline().split(",")[-1].split()[0]

    lengths = LENGTHS.values()
    row("estimator", *(f"{d} {t}" for d in DECODERS for t in lengths), "undirected ≤ 10", "rounds")
    first = scores(rows[0].rpartition("=")[2].split(",")[0])
    for title, name in (("attach right", "attach_right"), ("attach left", "attach_left")):
        directed = [f"{first[name][length]['directed']:.1f}" for length in LENGTHS]
        row(title, *directed, *directed, f"{first[name]['10']['undirected']:.1f}", "")
    for each in rows:
        title, _, joined = each.rpartition("=")
        names = joined.split(",")
        found = [scores(name) for name in names]
        directed = [spread(found, d, length, "directed") for d in DECODERS for length in LENGTHS]
        row(title, *directed, spread(found, "mbr", "10", "undirected"), "/".join(map(rounds, names)))


def spread(found: list[Any], *keys: str) -> str:
    """Mean and, of several, standard deviation of the values at a path of keys."""
    values = [at(each, *keys) for each in found]
    deviation = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{deviation}"


# ------------------------------------------------------------------ recipes/ot-lin2005.sh


def shares(out: str, name: str, *columns: str) -> None:
    """Observed beside predicted shares of every candidate, in percent, one column for each TITLE=GRAMMAR."""
    directory = Path(out)
    titles, _, grammars = zip(*(column.rpartition("=") for column in columns), strict=True)
    predictions = [load(directory / grammar / "predictions.json")["inputs"] for grammar in grammars]
    scatter = iter(load(directory / f"{name}-gla" / "summary.json")["scatter"])
    row("input → output", "observed", *titles, "GLA mean ± sd", "GLA below observed")
    for entries in zip(*predictions, strict=True):
        for candidates in zip(*(entry["candidates"] for entry in entries), strict=True):
            learners = next(scatter)
            row(
                f"{entries[0]['input']} → {candidates[0]['output']}",
                f"{100 * candidates[0]['observed']:.1f}",
                *(f"{100 * candidate['predicted']:.1f}" for candidate in candidates),
                f"{100 * learners['mean']:.1f} ± {100 * learners['sd']:.1f}",
                f"{100 * learners['below_observed']:.0f} %",
            )


def posterior(run: str) -> None:
    """What `ot sample` says of a run; the log of whoever stopped it has not what it says at its end."""
    from monolingual.ot.commands.sample import report
    from monolingual.ot.formats import read_tableaux
    from monolingual.ot.run import read_run, warn_of_tableaux

    with contextlib.redirect_stderr(sys.stdout):
        warn_of_tableaux(read_tableaux(Path(run, "tableaux.tsv")), read_run(run)["settings"])
        report(load(Path(run, "summary.json")), run, quiet=False)


# ------------------------------------------------------------------ recipes/tightness.sh

FLAT_TREE = "(S (S a) (S a) (S a))"
# Its posterior under S -> S S S | S S | 'a' with uniform prior: Cohen and Johnson (2013), section 8.
# The first two are fractions; the last is an integral, to eight digits.
EXACT_SHARES = {"sink": 7 / 11, "only-tight": 11179 / 17221, "renormalise": 0.61989256}


def section_8(out: str) -> None:
    """The share of the flat tree by each approach, exact, sampled and from one reweighted run."""

    def run(name: str) -> Any:
        return load(Path(out) / f"section8.{name}" / "summary.json")

    row("approach", "exact", "sampled", "error", "deviations", "reweighted", "error", "CPU s")
    reweighted = run("reweighted")["reweighted"]
    for approach, exact in EXACT_SHARES.items():
        found = run(approach)
        share = found["tree_frequencies"].get(FLAT_TREE, 0.0)  # Of few draws, it may be none.
        error = found["tree_frequency_errors"].get(FLAT_TREE, math.nan)
        other = reweighted[approach].get("tree_frequencies", found["tree_frequencies"]).get(FLAT_TREE, 0.0)
        # A tree of the reweighted run counts as one of so many independent draws.
        draws = reweighted[approach]["effective_draws"]
        other_error = math.sqrt(other * (1 - other) / draws) if draws else math.nan
        figures = (exact, share, error)
        row(
            approach,
            *(f"{figure:.6f}" for figure in figures),
            f"{(share - exact) / error:+.2f}",
            f"{other:.6f}",
            f"{other_error:.6f}",
            f"{found['cpu_seconds']:.1f}",
        )


# ------------------------------------------------------------------ recipes/tsg-gum.sh


def tsg_sizes(out: str) -> None:
    """Rules of the treebank's PCFG and of the grammar learnt, and what learning took."""
    learnt, productions = (
        elementary_trees(Path(out) / "learn" / f"{name}.tsg.gz") for name in ("grammar", "pcfg")
    )
    seconds = load(Path(out) / "learn" / "run.json")["cpu_seconds"]
    row("grammar", "rules", "of the PCFG's", "CPU s to learn")
    row("treebank PCFG", len(productions), "1.00", "-")
    for name, rules in (("elementary trees", learnt), ("with unused productions", learnt | productions)):
        row(name, len(rules), f"{len(rules) / len(productions):.2f}", f"{seconds:.0f}")


def elementary_trees(path: Path) -> set[str]:
    """The trees of a grammar file, whose lines are probability, tab, tree."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return {line.partition("\t")[2] for line in stream}


def tsg_scores(out: str, *sets: str) -> None:
    """F1 and exact match from words and with gold tags, and the speed of parsing words, by set and method."""
    row("set", "method", "F1 words", "exact", "F1 gold tags", "exact", "sentences", "CPU s", "a CPU s")
    for name in sets:
        for method in ("pcfg", "mpd", "mpp", "mer"):
            found = [load(Path(out) / f"{name}.{tags}.{method}.json") for tags in ("words", "gold-tags")]
            cells = [f"{figures[key]:.2f}" for figures in found for key in ("f1", "exact")]
            log = (Path(out) / f"{name}.words.{method}.log").read_text(encoding="utf-8")
            said = re.search(r"sentences? in ([\d.]+) CPU", log)
            # Sentences that are too long take no time, so only the others count.
            seconds = float(said[1]) if said else 0.0
            sentences = found[0]["sentences"]
            speed = f"{sentences / seconds:.1f}" if seconds else "-"
            row(name, method, *cells, sentences, f"{seconds:.1f}", speed)


# ------------------------------------------------------------------ recipes/low-resource.sh


def low_resource(out: str, *names: str) -> None:
    """Rules, chrF on the development set, chrF and BLEU on the test set of every grammar or translation.

    Several tunings have their standard deviation in brackets. `results.json` takes the chrF on the test set.
    """
    directory = Path(out)
    found = {}
    for name in names:
        table = directory / f"{name}.gz"
        cells: list[object] = [name, count_rules(table) if table.is_file() else ""]
        for which, metric in (("dev", "chrf"), ("test", "chrf"), ("test", "bleu")):
            path = directory / f"{name}.{which}.json"
            if not path.is_file():  # A rival may have translated one of the sets only.
                cells.append("")
                continue
            score = load(path)[metric]
            several = f" ({score['deviation']:.2f})" if score.get("scores") else ""
            cells.append(f"{score['score']:.2f}{several}")
            if (which, metric) == ("test", "chrf"):
                found[name] = score["score"]
        row(*cells)
    (directory / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def count_rules(path: Path) -> int:
    """The lines of a table without its header."""
    with gzip.open(path, "rb") as stream:
        return sum(not line.startswith(b"#") for line in stream)


# ------------------------------------------------------------------ recipes/segmentations.sh


def segmentations(out: str, source: str, target: str, seeds: str, grammars: str, *names: str) -> None:
    """Words, rules, seconds and scores of each segmentation and grammar, means over the seeds.

    `results.json` takes the scores, and under `best` what is best on the development set by either metric.
    """
    directory = Path(out)
    row(
        *("segmentation", "grammar", f"words {source}", f"words {target}", "rules", "aligning s"),
        *("learning s", "sent/s", "dev BLEU", "dev chrF", "test BLEU", "test chrF", "p"),
    )
    found: dict[str, dict[str, float]] = {}
    for name in names:
        runs = [directory / f"{name}.{seed}" for seed in range(1, int(seeds) + 1)]
        words = [count_words(runs[0] / "data" / f"train.{language}") for language in (source, target)]
        aligning = mean(read_number(run / "logs" / "align.cpu") for run in runs)
        for grammar in grammars.split(","):
            scores = scores_of_runs(runs, grammar)
            found[f"{name} {grammar}"] = {title: mean(values) for title, values in scores.items()}
            compared = directory / f"{name}.json"
            row(
                *(name, grammar, *words, f"{mean(count_rules(run / f'{grammar}.gz') for run in runs):.0f}"),
                *(f"{aligning:.1f}", f"{mean(learning_seconds(run, grammar) for run in runs):.1f}"),
                f"{mean(sentences_per_second(run, grammar) for run in runs):.0f}",
                *(mean_and_deviation(values) for values in scores.values()),
                f"{load(compared)['p_value']:.4f}" if grammar == "sampled" and compared.is_file() else "",
            )
    best = {}
    for metric in ("BLEU", "chrF"):
        best[metric] = max(found, key=lambda name, title=f"dev {metric}": found[name][title])
    results = json.dumps({"best": best, "scores": found}, indent=1)
    (directory / "results.json").write_text(results + "\n", encoding="utf-8")


def scores_of_runs(runs: list[Path], grammar: str) -> dict[str, list[float]]:
    """BLEU and chrF of the development set, then of the test set, of every run."""
    return {
        f"{which} {metric}": [load(run / f"{grammar}.{which}.json")[metric.lower()]["score"] for run in runs]
        for which in ("dev", "test")
        for metric in ("BLEU", "chrF")
    }


def learning_seconds(run: Path, grammar: str) -> float:
    """Processor time from an alignment to a rule table."""
    steps = [f"grammar-{grammar}"] + ["sample"] * (grammar == "sampled")
    return sum(read_number(run / "logs" / f"{step}.cpu") for step in steps)


def sentences_per_second(run: Path, grammar: str) -> float:
    """How fast the test set, the last one, was translated."""
    log = (run / "logs" / f"translate-{grammar}.1.log").read_text(encoding="utf-8")
    return float(re.findall(r"([\d.]+) a second$", log, re.MULTILINE)[-1])


def mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


def mean_and_deviation(values: list[float]) -> str:
    """With two decimals; the deviation, in brackets, of several only."""
    deviation = f" ({statistics.stdev(values):.2f})" if len(values) > 1 else ""
    return f"{mean(values):.2f}{deviation}"


def read_number(path: Path) -> float:
    return float(path.read_text(encoding="ascii"))


def count_words(path: Path) -> int:
    from scfg_sampler.core.arrays.vocabulary import split_words

    with lines_of(str(path)) as lines:
        return sum(len(split_words(line)) for line in lines)


# ------------------------------------------------------------------ recipes/meaning.sh


def questions(path: str, letters: str) -> None:
    """Questions in lower case, a line each, without the mark at their end, words cut after so many letters.

    0 letters leave words whole.
    """
    from decoder.expressions.questions import cut_words, question_words
    from scfg_sampler.core.files import read_lines

    for line in read_lines(path):
        print(*cut_words(question_words(line), int(letters)))


def first_expressions(path: str, number: str, form: str) -> None:
    """The first well-formed line of each list of translations, or the lines themselves, if it is no list.

    As many lines as there are questions, empty where none is well-formed, and a query where the form is SQL.
    """
    from decoder.expressions.forms import is_sound

    text = all_lines(Path(path))
    found = [""] * int(number)
    if not any(" ||| " in line for line in text):
        found = text
    for line in text:
        if " ||| " in line:
            question, expression = line.split(" ||| ")[:2]
            if not found[int(question)] and is_sound(expression.split(), form):
                found[int(question)] = expression
    for expression in found:
        print(expression)


def meaning(out: str, *names: str) -> None:
    """Rules and exact match of each grammar, beside `typed` or the last; `results.json` has the test set's.

    What is called `…-unranked` has the rules of the same grammar without it, `joined` those of two. With
    `--answers` before the names, the share that is answered like the given expressions, too, which
    `answers.json` takes.
    """
    directory = Path(out)
    by_answers = names[0] == "--answers"
    if by_answers:
        names = names[1:]
    gold = {which: all_lines(directory / f"{which}.mr") for which in ("dev", "test")}
    right: dict[tuple[str, str], list[bool]] = {}
    for name in names:
        for which, expected in gold.items():
            given = all_lines(directory / f"{name}.{which}.mr")
            right[name, which] = [line == wanted for line, wanted in zip(given, expected, strict=True)]
    row("grammar", "rules", "dev exact", "test exact", *(["test answers"] if by_answers else []), "p")
    found, answered = {}, {}
    reference = "typed" if "typed" in names else names[-1]
    for name in names:
        dev, test = (100 * statistics.fmean(right[name, which]) for which in gold)
        sign = f"{sign_test(right[name, 'test'], right[reference, 'test']):.4f}"
        grammars = ("typed", "hiero-typed") if name == "joined" else (name.removesuffix("-unranked"),)
        rules = sum(count_rules(directory / f"{grammar}.gz") for grammar in grammars)
        cells = [f"{dev:.1f}", f"{test:.1f}"]
        found[name] = round(test, 2)
        if by_answers:
            answered[name] = round(100 * statistics.fmean(same_answers(directory, name)), 2)
            cells.append(f"{answered[name]:.1f}")
        row(name, rules, *cells, "" if name == reference else sign)
    (directory / "answers.json").unlink(missing_ok=True)
    for file, shares_of in (("results.json", found), ("answers.json", answered)):
        if shares_of:
            (directory / file).write_text(json.dumps(shares_of, indent=1) + "\n", encoding="utf-8")


def coverage(out: str, name: str) -> None:
    """How many questions have an expression that is at least so probable, and how many of these are right."""
    directory = Path(out)
    row("probability", *(f"{which} {what}" for which in ("dev", "test") for what in ("coverage", "exact")))
    for least in (0.0, 0.5, 0.7, 0.9):
        cells = []
        for which in ("dev", "test"):
            gold, given, likely = (
                all_lines(directory / file)
                for file in (f"{which}.mr", f"{name}.{which}.mr", f"{name}.{which}.probabilities")
            )
            probable = [float(each) >= least for each in likely]
            right = [line == wanted for line, wanted in zip(given, gold, strict=True)]
            chosen = [one for one, enough in zip(right, probable, strict=True) if enough]
            cells.append(f"{100 * statistics.fmean(probable):.1f}")
            cells.append(f"{100 * statistics.fmean(chosen):.1f}" if chosen else "")
        row(f"{least:.1f}", *cells)


def same_answers(directory: Path, name: str) -> list[bool]:
    """Whether each test question has an expression, and one that is answered like the given one."""
    answers, wanted, expressions = (
        all_lines(directory / file) for file in (f"{name}.answers", "answers", f"{name}.test.mr")
    )
    each = zip(answers, wanted, expressions, strict=True)
    return [bool(expression) and answer == other for answer, other, expression in each]


def sign_test(ours: list[bool], theirs: list[bool]) -> float:
    """The two-sided probability of so uneven a share of the questions that only one of two has right."""
    only_ours = sum(a and not b for a, b in zip(ours, theirs, strict=True))
    only_theirs = sum(b and not a for a, b in zip(ours, theirs, strict=True))
    number = only_ours + only_theirs
    tail = sum(math.comb(number, k) for k in range(min(only_ours, only_theirs) + 1))
    return min(1.0, 2 * tail / 2**number)


def lines_of(path: str) -> TextIO:
    """A text, gzipped or not."""
    if path.endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig")  # type: ignore[return-value]
    return open(path, encoding="utf-8-sig")


TABLES: dict[str, Callable[..., None]] = {
    "with-zero": with_zero,
    "dmv": dmv,
    "shares": shares,
    "posterior": posterior,
    "section-8": section_8,
    "tsg-sizes": tsg_sizes,
    "tsg-scores": tsg_scores,
    "low-resource": low_resource,
    "segmentations": segmentations,
    "questions": questions,
    "first-expressions": first_expressions,
    "meaning": meaning,
    "coverage": coverage,
}

if __name__ == "__main__":
    main(sys.argv[1:])
