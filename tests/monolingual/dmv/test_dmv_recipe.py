"""`recipes/dmv.sh`: refused in one line when called wrongly."""

from __future__ import annotations

import shutil

import pytest

from tests.recipe_calls import RECIPES, assert_refused

RECIPE = RECIPES / "dmv.sh"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "expected one TREEBANK_DIR"),
        (("one", "two"), "expected one TREEBANK_DIR"),
        (("nowhere",), "there is no train.conllu in nowhere"),
        (("nowhere", "--frob"), "unknown option --frob"),
        (("nowhere", "--output"), "option --output needs a value"),
        (("nowhere", "--rounds", "many"), "--rounds is a whole number, not 'many'"),
    ],
)
def test_wrong_call_is_refused_in_one_line(arguments, complaint, tmp_path):
    assert_refused(tmp_path, RECIPE, arguments, complaint)
