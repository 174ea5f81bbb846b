"""Files of tableaux: what is written is read back, and what is wrong is named with its line."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from monolingual.ot.formats import read_source, read_tableaux, write_tableaux
from monolingual.ot.praat import read_grammar, write_pairs
from monolingual.ot.tableaux import (
    Row,
    build_tableaux,
    identical_candidates,
    relative_frequencies,
    token_counts,
)
from scfg_sampler.errors import InputError, SettingsError
from tests.monolingual.ot.examples import ILOKANO, SPANISH, TABLE_2, tableaux, two_constraints

TSV = "input\toutput\tfrequency\tMax\t*Coda\npat\tpa\t3\t1\t0\npat\tpat\t1\t0\t1\n"
OTSOFT = "\t\t\tMax (no deletion)\tNoCoda\n\t\t\tMax\t*Coda\npat\tpa\t3\t1\n\tpat\t1\t\t1\nta\tta\t\n"
GRAMMAR = '''File type = "ooTextFile"
Object class = "OTGrammar 2"

decisionStrategy = <OptimalityTheory>
leak = 0
2 constraints
constraint [1]: "N\\s{O}C\\s{ODA}" 100 101.5 1 ! NOCODA "quoted" 17
constraint [2]: "P\\s{ARSE}" 90 90 1

1 fixed rankings
   1 2

2 tableaus
input [1]: "say ""pat""" 2
   candidate [1]: "pa" 0 1
   candidate [2]: "pat" 1 0
input [2]: "pa" 1
   candidate [1]: "pa" 0 0
'''
PAIRS = '"ooTextFile"\n"PairDistribution"\n2 pairs\n"say ""pat""" "pa" 60.5\n"pa" "pa"\n 40\n'


def same(first, second):
    assert first[:2] == second[:2]
    assert first.outputs == second.outputs
    for name in ("start", "frequency", "violations"):
        assert_array_equal(getattr(first, name), getattr(second, name))


def write(tmp_path, text, name="tableaux.tsv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


names = (
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=6)
    .map(str.strip)
    .filter(bool)
    .filter(lambda text: not text.startswith(("/**", "\ufeff")))
)


@given(st.data())
def test_every_format_reads_back_what_was_written(tmp_path_factory, data):
    constraints = data.draw(st.lists(names, min_size=1, max_size=4, unique=True))
    rows = []
    for form in data.draw(st.lists(names, min_size=1, max_size=3, unique=True)):
        for output in data.draw(st.lists(names, min_size=1, max_size=3, unique=True)):
            marks = data.draw(st.tuples(*[st.integers(0, 12)] * len(constraints)))
            rows.append(Row(1, form, output, data.draw(st.sampled_from([0.0, 1.0, 0.25, 1e6, 0.1])), marks))
    example = build_tableaux("x", constraints, rows)
    place = tmp_path_factory.mktemp("formats")
    for kind in ("tsv", "otsoft", "praat"):
        write_tableaux(example, place / kind, kind)
    write_pairs(example, place / "pairs")
    for kind in ("tsv", "otsoft"):
        same(read_tableaux(place / kind), example)
    same(read_tableaux(place / "praat", place / "pairs"), example)


def test_blank_cells_are_zero_and_blank_inputs_repeat(tmp_path):
    example = read_tableaux(write(tmp_path, TSV.replace("pat\tpat\t1\t0", "\tpat\t1\t")))
    same(example, read_tableaux(write(tmp_path, TSV)))
    soft = read_tableaux(write(tmp_path, OTSOFT))
    assert soft.constraints == ("Max (no deletion)", "NoCoda")
    assert soft.inputs == ("pat", "ta")
    assert soft.violations.tolist() == [[1, 0], [0, 1], [0, 0]]
    assert soft.frequency.tolist() == [3, 1, 0]


def test_inputs_in_brackets_are_no_headings(tmp_path):
    """As in OT-Help: what stands alone in brackets is one."""
    rows = "[typology]\n" + OTSOFT.split("\n", 2)[2].replace("pat", "[pat]", 1) + "/** x\ty\t1\n[end]\t\t\n"
    text = "\n".join(OTSOFT.split("\n")[:2]) + "\n" + rows
    assert read_tableaux(write(tmp_path, text)).inputs == ("[pat]", "ta")


@pytest.mark.parametrize(
    ("form", "output", "kind", "message"),
    [
        ("", "x", "tsv", "input 2 is empty"),
        ("", "x", "otsoft", "a blank cell is the input of the line above"),
        ("j", "", "tsv", "the input 'j' has an empty candidate, for which columns have no place"),
        ("/** j", "x", "otsoft", "'/** j' would be a comment in a file of OTSoft"),
    ],
)
def test_names_that_columns_do_not_hold_are_refused(tmp_path, form, output, kind, message):
    rows = [Row(1, "i", "x", 1.0, (0,)), Row(2, form, output, 1.0, (0,))]
    example = build_tableaux("x", ["A"], rows)
    with pytest.raises(InputError) as error:
        write_tableaux(example, tmp_path / "t", kind)
    assert message in str(error.value)
    assert not (tmp_path / "t").exists()
    write_tableaux(example, tmp_path / "g", "praat")
    same(read_grammar(tmp_path / "g").tableaux, example._replace(frequency=np.zeros(2)))


def test_files_of_otsoft_may_lack_abbreviations(tmp_path):
    """As OTSoft 2.7 has it; they are the names, then."""
    head, _, *rest = OTSOFT.splitlines(keepends=True)
    found = read_source(write(tmp_path, head + "".join(rest)))
    same(found.tableaux, read_tableaux(write(tmp_path, OTSOFT)))
    assert found.abbreviations == ()


def test_windows_files_and_gzip_are_read(tmp_path):
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + TSV.replace("\n", "\r\n").encode()))
    same(read_tableaux(path), read_tableaux(write(tmp_path, TSV)))


def test_inputs_may_hold_spaces_and_any_script(tmp_path):
    text = "input\toutput\tfrequency\tΔ ή\n/ɡato + ito/\t[ɡa.ti.to]\t1\t2\n日本 語\tにほんご\t2\t0\n"
    example = read_tableaux(write(tmp_path, text))
    assert example.inputs == ("/ɡato + ito/", "日本 語")
    assert example.constraints == ("Δ ή",)


def test_rows_of_an_input_need_not_stand_together(tmp_path):
    text = "input\toutput\tfrequency\tA\nx\ta\t1\t0\ny\tc\t1\t1\nx\tb\t2\t3\n"
    example = read_tableaux(write(tmp_path, text))
    assert example.inputs == ("x", "y")
    assert example.outputs == ("a", "b", "c")
    assert list(example.candidates(0)) == [0, 1]


def test_praat_grammar_with_comments_and_fixed_rankings(tmp_path):
    grammar = read_grammar(write(tmp_path, GRAMMAR, "g"), write(tmp_path, PAIRS, "p"))
    assert grammar.tableaux.constraints == (r"N\s{O}C\s{ODA}", r"P\s{ARSE}")
    assert grammar.tableaux.inputs == ('say "pat"', "pa")
    assert grammar.tableaux.violations.tolist() == [[0, 1], [1, 0], [0, 0]]
    assert grammar.tableaux.frequency.tolist() == [60.5, 0, 40]
    assert grammar.ranking.tolist() == [100, 90]
    assert grammar.fixed_rankings == ((0, 1),)
    assert grammar.strategy == "OptimalityTheory"


def test_strings_of_praat_stand_in_cells(tmp_path):
    text = GRAMMAR.replace('"pat" 1 0', '" p\ta\n\tt\n" 1 0')
    example = read_grammar(write(tmp_path, text, "g")).tableaux
    assert example.outputs[1] == "p a  t"
    write_tableaux(example, tmp_path / "t")
    same(read_tableaux(tmp_path / "t"), example)


def test_older_grammars_have_no_plasticity(tmp_path):
    text = '"ooTextFile"\n"OTGrammar 1"\n<OptimalityTheory>\n1\n"A" 5 6\n0\n1\n"x" 1\n"a" 2\n'
    grammar = read_grammar(write(tmp_path, text))
    assert grammar.ranking.tolist() == [5]
    assert grammar.tableaux.violations.tolist() == [[2]]


def test_first_version_needs_a_decision_strategy_and_those_before_have_none(tmp_path):
    rest = '1\n"A" 5 6\n0\n1\n"x" 1\n"a" 2\n'
    assert read_grammar(write(tmp_path, f'"ooTextFile"\n"OTGrammar"\n{rest}')).ranking.tolist() == [5]
    with pytest.raises(InputError, match=r"<OptimalityTheory>\. Write one above"):
        read_grammar(write(tmp_path, f'"ooTextFile"\n"OTGrammar 1"\n{rest}'))


def test_grammar_keeps_ranking_values(tmp_path):
    write_tableaux(SPANISH, tmp_path / "g", "praat", [1.5, -2.0, 0.1, 100.0])
    assert read_grammar(tmp_path / "g").ranking.tolist() == [1.5, -2.0, 0.1, 100.0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        ("some prose\n", ":1: is not the beginning of a file of tableaux"),
        (TSV + "pat\tpam\t1\t0\n", ":4: 4 columns instead of 5"),
        (TSV + "pat\tpam\t1\t0\t-1\n", ":4: '-1' is not a number of violations"),
        (TSV + "pat\tpam\t1\t0.5\t1\n", ":4: '0.5' is not a number of violations"),
        (TSV + "pat\tpam\t1\tinf\t1\n", ":4: 'inf' is not a number of violations"),
        (TSV + "pat\tpam\tmany\t0\t1\n", ":4: 'many' is not a frequency"),
        (TSV + "pat\tpam\t-2\t0\t1\n", ":4: '-2' is not a frequency"),
        (TSV + "pat\tpam\tnan\t0\t1\n", ":4: 'nan' is not a frequency"),
        (
            TSV + "pat\tpa\t1\t0\t1\n",
            ":4: input 'pat' has the candidate 'pa' in line 2, with other violations",
        ),
        (TSV + "pat\t\t1\t0\t1\n", ":4: no output"),
        (TSV + "pat\tpam\t1\t0\t1\t1\n", ":4: '1' stands beyond the last constraint"),
        (TSV.replace("*Coda", "Max"), "two constraints are named 'Max'"),
        (TSV.replace("Max", " "), "constraint 1 has no name. Give it one"),
        (TSV.splitlines()[0] + "\n", "has no candidate"),
        ("input\toutput\tfrequency\nx\ty\t1\n", "has no constraint. Name at least one"),
        ("input\toutput\tfrequency\tA\n\tx\t1\t0\n", ":2: no input"),
        ("\t\t\tMax\tDep\npat\tpa\t1\tM\tD\n", ":2: neither abbreviations below the names of the"),
        ("\t\t\tMax\tDep\npat\t\t1\t0\t0\n", ":2: neither abbreviations below the names of the"),
        (GRAMMAR.replace('"pat" 1 0', '"pat" 1'), ':17: "pa" instead of a number of violations'),
        (GRAMMAR.replace("leak = 0", "leak"), "instead of"),
        (GRAMMAR[:-3], "the file ends where a number of violations should be"),
        (GRAMMAR.replace("OTGrammar 2", "OTGrammar 3"), "has version 3 of OTGrammar"),
        (GRAMMAR.replace("OTGrammar 2", "OTGrammar 2b"), "has version 2b of OTGrammar"),
        (GRAMMAR.replace("2 tableaus", "1e999 tableaus"), "'1e999' is not a number"),
        (GRAMMAR.replace('"pa" 0 1', '"p"a" 0 1'), ":15: 'a' follows a quote, within a string or at its end"),
        (GRAMMAR.replace('"pa" 0 0', '"pa 0 0'), ":18: a string begins here and does not end. Is the file"),
        (GRAMMAR.replace('" 1 0', '" 1, 0'), ":16: '1,' is not a number. Give a number; words that begin"),
        (GRAMMAR.replace("leak = 0", "leak = --undefined--"), ":5: '--undefined--' is not a number"),
        (GRAMMAR.replace("leak = 0", "leak = -inf"), ":5: '-inf' is not a number"),
        (
            GRAMMAR.replace("2 tableaus", "3 tableaus") + '"lost" 0\n',
            ":19: the input 'lost' has no candidate",
        ),
        (
            GRAMMAR.replace('input [2]: "pa"', 'input [2]: "say ""pat"""'),
            """:17: the input 'say "pat"' has a tableau in line 14 already""",
        ),
        (
            GRAMMAR.replace('"pat" 1 0', '"pa" 0 1'),
            """:16: the input 'say "pat"' has the candidate 'pa' in line 15 already""",
        ),
        (
            GRAMMAR.replace("90 90", "-1e101 90"),
            ":8: -1e+101 is not a ranking value. Expected a number from -1e",
        ),
        (GRAMMAR + "7\n", ":19: a number stands behind 2 tableaus. Mend that number, or leave out the rest"),
        (GRAMMAR.replace("OTGrammar 2", "Sound"), "is a Sound, not a file of class OTGrammar"),
        (GRAMMAR.replace("<OptimalityTheory>", ""), "no decision strategy"),
        (
            GRAMMAR.replace("OTGrammar 2", "OTGrammar"),
            "has a decision strategy, which came with version 1",
        ),
        (
            GRAMMAR.replace("2 constraints", "1 constraints"),
            ":8: announces 1 constraint, and here is",
        ),
        ("CONSTRAINTS\t\tA\nrankings\t\t9\n", ":1: seems to be a headerless spreadsheet of Praat"),
        ("\tNoOns\tMax\nNoOns\t\t1\nMax\n", ":1: seems to be a table of OTSoft of rankings known a priori"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, text, complaint):
    with pytest.raises(InputError) as error:
        read_tableaux(write(tmp_path, text))
    assert complaint in str(error.value)
    assert str(error.value).startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("pairs", "complaint"),
    [
        (PAIRS.replace('"pa" "pa"', '"pa" "ba"'), "p:5: the pair 'pa', 'ba' is no candidate"),
        (PAIRS.replace(" 40", " -40"), "-40 is not a weight"),
        (PAIRS.replace(" 40", " 40%%"), "p:6: '40%%' is not a number"),
        (PAIRS.replace(" 40", " 40/0"), "p:6: '40/0' is not a number"),
        (PAIRS + "3\n", "p:7: a number stands behind 2 pairs"),
        (PAIRS.replace("2 pairs", "3 pairs"), "the file ends where an input should be"),
        (GRAMMAR, "is a OTGrammar 2, not a file of class PairDistribution"),
        ("[L L1]\n[H L1]\n", "p:1: is not a text file of Praat"),
    ],
)
def test_wrong_pairs_are_named(tmp_path, pairs, complaint):
    with pytest.raises(InputError) as error:
        read_tableaux(write(tmp_path, GRAMMAR, "g"), write(tmp_path, pairs, "p"))
    assert complaint in str(error.value)


def test_tokens_are_counts_percentages_or_scaled():
    assert token_counts(SPANISH).tolist() == [10, 0, 5, 5, 9, 1]
    assert token_counts(ILOKANO).tolist() == [33, 33, 33]
    assert token_counts(ILOKANO, 100).tolist() == [34, 33, 33]
    assert token_counts(TABLE_2, 1000).tolist() == [400, 300, 0, 0, 300, 0]
    mixed = tableaux("A", ("x", "a", 1.5, "0"), ("x", "b", 2, "1"))
    with pytest.raises(SettingsError, match="say with --tokens how many they are"):
        token_counts(mixed)
    assert token_counts(mixed, 7).tolist() == [3, 4]
    with pytest.raises(SettingsError, match="--tokens is 0"):
        token_counts(mixed, 0)
    with pytest.raises(SettingsError, match="--tokens is 100000000000; it must be at most"):
        token_counts(mixed, 10**11)
    with pytest.raises(SettingsError, match="the frequencies sum to 1e\\+11; scale them with --tokens"):
        token_counts(two_constraints(10**11, 1))
    with pytest.raises(InputError, match="no candidate has a frequency above 0"):
        token_counts(tableaux("A", ("x", "a", 0, "0")))


def test_a_variant_is_not_lost_when_probabilities_become_percentages():
    for rare in (0.004, 0.005):  # Half a per cent is rounded to the even number, 0.
        example = tableaux("A B", ("x", "a", 1 - rare, "10"), ("x", "b", rare, "01"), ("x", "c", 0, "11"))
        message = f"^x → b has the frequency {rare}, which in percent rounds to no token; say with --tokens"
        with pytest.raises(SettingsError, match=message):
            token_counts(example)
        assert token_counts(example, 1000).tolist() == [1000 - 1000 * rare, 1000 * rare, 0]
    kept = tableaux("A B", ("x", "a", 0.994, "10"), ("x", "b", 0.006, "01"), ("x", "c", 0, "11"))
    assert token_counts(kept).tolist() == [99, 1, 0]


def test_shares_and_ties():
    assert relative_frequencies(SPANISH).tolist() == [1, 0, 0.5, 0.5, 0.9, 0.1]
    unseen = tableaux("A", ("x", "a", 0, "0"), ("x", "b", 0, "0"))
    assert relative_frequencies(unseen).tolist() == [0, 0]
    assert identical_candidates(unseen) == [(0, 1)]
    assert identical_candidates(SPANISH) == []
    assert np.all(SPANISH.input_of() == [0, 0, 1, 1, 2, 2])


def test_lines_of_spreadsheets_on_old_macs_end_in_carriage_returns(tmp_path):
    """What Excel there calls text with tabs."""
    text = "\t\t\tMax\tDep\n\t\t\tMax\tDep\nbat\tbat\t8\t\t1\n\tba\t2\t1\n"
    found = []
    for name, end in (("unix", "\n"), ("mac", "\r")):
        (tmp_path / name).write_bytes(text.replace("\n", end).encode())
        found.append(read_tableaux(tmp_path / name))
    assert found[1].inputs == found[0].inputs == ("bat",)
    assert found[1].frequency.tolist() == found[0].frequency.tolist() == [8, 2]


def test_tabs_in_quotes_are_blanks(tmp_path):
    (tmp_path / "t.csv").write_text('input,output,frequency,A,B\n/x/,"x\t1\n2",8,0,1\n,y,2,1,0\n')
    found = read_tableaux(tmp_path / "t.csv")
    assert found.outputs == ("x 1 2", "y")
    write_tableaux(found, tmp_path / "t.tsv")
    assert read_tableaux(tmp_path / "t.tsv").outputs == found.outputs


def test_utf16_without_its_mark_is_named(tmp_path):
    (tmp_path / "a").write_bytes("\t\t\tMax\nbat\tbat\t8\t1\n".encode("utf-16-le"))
    with pytest.raises(
        InputError, match=r"a:1: has bytes of 0, as UTF-16 without its mark has them. Convert"
    ):
        read_tableaux(tmp_path / "a")
