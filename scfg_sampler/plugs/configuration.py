"""Configuration files of cdec, Moses, Joshua and Travatar, with names of files beside them.

Every limit of a search but the number of derivations that a span may try is lifted, as all of them have a
meaning of their own in each decoder: the targets tried for a source side (20 in Moses and Joshua), the items
a span keeps (200 in Moses, 100 in Travatar), their distance from the best (a factor of 100,000 in Moses), the
words of a sentence (200 in Joshua, and 1,000 in the configurations that come with Moses and Travatar). The
rules that may apply to a span, 5,000 in Moses, are so many that all do: 0 is not none there, for it then
leaves out most of them.

Where a table has labels other than X, there are glue rules for each, and the labels of copied words beside
(`labels`): a third grammar, which to Travatar comes first, as it fills gaps in the order of its files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from scfg_sampler.formats import COPY_OWNER
from scfg_sampler.plugs.classes import CLASSES
from scfg_sampler.plugs.labels import COPIES, LabelNames
from scfg_sampler.plugs.weights import TheirWeights, model_feature

__all__ = ["PLUGS", "Plug", "Search", "model_file"]

_ANY_LENGTH = 100_000  # Words of a sentence. Joshua cuts what is longer, and Moses writes no line for it.


def model_file(model: int) -> str:
    """What a language model is called in a directory.

    >>> model_file(0), model_file(1)
    ('lm.arpa', 'lm.1.arpa')
    """
    return f"lm.{model}.arpa" if model else "lm.arpa"


class Search(NamedTuple):
    """How a decoder is to search.

    pop_limit : derivations that a span may try
    max_span : source words that a rule may cover, gaps included; in Travatar, that may fill a gap
    orders : length of the longest n-grams of each language model
    labels : those that the decoder has to know of, if others than X
    classes : whether the last language model is of classes of words; for cdec
    """

    pop_limit: int
    max_span: int
    orders: tuple[int, ...]
    labels: LabelNames | None = None
    classes: bool = False


class Plug(NamedTuple):
    """What a decoder is to find in its directory.

    name : what the decoder is called in sentences
    table, glue, weights : names of files; no glue where the decoder brings its own
    command : to be typed in the directory, text to translation
    files : names of files to their text, given weights and search
    copies_any : whether any word may be copied, also one that rules have as their source side
    copies_any_of_labels : the same where there are labels other than X
    """

    name: str
    table: str
    glue: str | None
    weights: str
    command: str
    files: Callable[[TheirWeights, Search], dict[str, str]]
    copies_any: bool
    copies_any_of_labels: bool


def _lines(weights: TheirWeights, form: str) -> str:
    return "".join(
        form.format(name, " ".join(repr(value + 0.0) for value in values)) + "\n"
        for name, values in weights.values.items()
    )


def _models(search: Search, form: str, first: str | None = None) -> str:
    """A line for each language model, with its `number`, `path`, `order` and `name` by our features, and
    where its words are classes cdec's option for it, `classes`.

    first : the form of the first one, where it is another
    """
    return "".join(
        (first if first and not model else form).format(
            number=model,
            path=model_file(model),
            order=order,
            name=model_feature(model),
            classes=f"-m {CLASSES} " if search.classes and model == len(search.orders) - 1 else "",
        )
        + "\n"
        for model, order in enumerate(search.orders)
    )


def _cdec(weights: TheirWeights, search: Search) -> dict[str, str]:
    models = _models(
        search,
        "feature_function=KLanguageModel {classes}-n {name} {path}",
        "feature_function=KLanguageModel {classes}{path}",
    )
    labels = ""
    if names := search.labels:
        labels = f"""\
grammar={COPIES}
scfg_extra_glue_grammar=glue-rules
scfg_no_hiero_glue_grammar=true
scfg_default_nt={names.copied}
goal={names.start}
"""
    return {
        "cdec.ini": f"""\
formalism=scfg
grammar=grammar.gz
{labels}weights=weights
add_pass_through_rules=true
scfg_max_span_limit={search.max_span}
intersection_strategy=cube_pruning
cubepruning_pop_limit={search.pop_limit}
{models}""",
        "weights": _lines(weights, "{} {}"),
    }


def _moses(weights: TheirWeights, search: Search) -> dict[str, str]:
    labels = f"[unknown-lhs]\n{COPIES}\n\n" if search.labels else ""
    return {
        "moses.ini": f"""\
[input-factors]
0

[mapping]
0 T 0
1 T 1

[non-terminals]
X

{labels}[search-algorithm]
3

[inputtype]
0

[max-chart-span]
{search.max_span}
{_ANY_LENGTH}

[cube-pruning-pop-limit]
{search.pop_limit}

[stack]
0

[beam-threshold]
0

[rule-limit]
100000

[feature]
UnknownWordPenalty
WordPenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path=rule-table.gz input-factor=0 \
output-factor=0 table-limit=100000
PhraseDictionaryMemory name=TranslationModel1 num-features=1 path=glue-grammar input-factor=0 \
output-factor=0 tuneable=true
{_models(search, "KENLM name=LM{number} factor=0 path={path} order={order} oov-feature=1")}
[weight]
{_lines(weights, "{}= {}")}"""
    }


def _joshua(weights: TheirWeights, search: Search) -> dict[str, str]:
    model = "feature-function = StateMinimizingLanguageModel -lm_type kenlm"
    model += " -lm_order {order} -lm_file {path} -oov_feature"
    names = search.labels
    copies = f"tm = thrax -owner {COPY_OWNER} -maxspan 1 -path {COPIES}\n" if names else ""
    return {
        "joshua.config": f"""\
tm = thrax -owner pt -maxspan {search.max_span} -path grammar.gz
tm = thrax -owner glue -maxspan -1 -path glue-grammar
{copies}default-non-terminal = {names.copied if names else "X"}
goal-symbol = {names.start if names else "GOAL"}
mark-oovs = false
pop-limit = {search.pop_limit}
num-translation-options = 0
maxlen = {_ANY_LENGTH}
top-n = 1
output-format = %s
{_models(search, model)}feature-function = OOVPenalty

{_lines(weights, "{} {}")}"""
    }


def _travatar(weights: TheirWeights, search: Search) -> dict[str, str]:
    # Without names, all models would be one feature.
    models = _models(search, "{path}|lm_feat=lm{number},lm_unk_feat=lm{number}unk", "{path}")
    copies, labels, limit = "", "", ""
    if names := search.labels:
        copies, limit = f"{COPIES}\n", "1\n"
        labels = f"[root_symbol]\n{names.start}\n\n[unk_symbol]\n{names.copied}\n\n"
    return {
        "travatar.ini": f"""\
[tm_file]
{copies}rules.gz
glue-rules

[lm_file]
{models}
[in_format]
word

[tm_storage]
fsm

[search]
cp

[pop_limit]
{search.pop_limit}

[chart_limit]
0

{labels}[hiero_span_limit]
{limit}{search.max_span}
{_ANY_LENGTH}

[weight_vals]
{_lines(weights, "{}={}")}"""
    }


PLUGS = {
    "cdec": Plug("cdec", "grammar.gz", None, "weights", "cdec -c cdec.ini", _cdec, True, True),
    "moses": Plug(
        "Moses", "rule-table.gz", "glue-grammar", "moses.ini", "moses -f moses.ini", _moses, False, False
    ),
    "joshua": Plug(
        "Joshua",
        "grammar.gz",
        "glue-grammar",
        "joshua.config",
        "$JOSHUA/bin/joshua-decoder -m 4g -c joshua.config",
        _joshua,
        True,
        True,
    ),
    "travatar": Plug(
        "Travatar",
        "rules.gz",
        "glue-rules",
        "travatar.ini",
        "travatar -config_file travatar.ini",
        _travatar,
        False,
        True,
    ),
}
"""By the names of `--to`."""
