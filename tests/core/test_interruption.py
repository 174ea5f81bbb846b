"""What is said when a command that can be continued is stopped."""

import pytest

from scfg_sampler.core import console
from scfg_sampler.core.interruption import repeatable, resumable, telling
from scfg_sampler.core.signals import Terminated


@pytest.fixture(autouse=True)
def heard(monkeypatch):
    """Commands that other tests have run may have silenced the process."""
    monkeypatch.setattr(console, "_quiet", False)


@pytest.mark.parametrize("signal", [KeyboardInterrupt, Terminated])
def test_the_command_that_goes_on_is_named(tmp_path, capsys, signal):
    place = tmp_path / "my run"
    place.mkdir()
    (place / "run.json").write_text("{}")
    with pytest.raises(signal), resumable("scfg-sampler resume", str(place)):
        raise signal
    assert capsys.readouterr() == ("", f"to go on: scfg-sampler resume '{place}'\n")


def test_what_is_saved_may_lie_beside_a_file(tmp_path, capsys):
    (tmp_path / "model.checkpoint.npz").write_text("")
    with (
        pytest.raises(KeyboardInterrupt),
        resumable("scfg-monolingual dmv resume", str(tmp_path / "model"), ".checkpoint.npz"),
    ):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == f"to go on: scfg-monolingual dmv resume {tmp_path / 'model'}\n"


def test_nothing_is_said_where_nothing_is_saved_or_nobody_has_stopped_it(tmp_path, capsys):
    with pytest.raises(KeyboardInterrupt), resumable("scfg-sampler resume", str(tmp_path)):
        raise KeyboardInterrupt
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(OSError, match="full"), resumable("scfg-sampler resume", str(tmp_path)):
        raise OSError("full")
    with resumable("scfg-sampler resume", str(tmp_path)):
        pass
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("overwrite", "again"), [(False, "again;"), (True, "again, without --overwrite;")])
def test_a_command_that_goes_on_when_it_is_given_again_says_so(tmp_path, capsys, overwrite, again):
    kept = tmp_path / "w.json.state"
    kept.mkdir()
    with pytest.raises(KeyboardInterrupt), repeatable(str(kept), overwrite=overwrite):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == ""
    (kept / "round-1").write_text("")
    with pytest.raises(KeyboardInterrupt), repeatable(str(kept), overwrite=overwrite):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == f"to go on: the same command {again} what is done is in {kept}\n"


@pytest.mark.parametrize("signal", [KeyboardInterrupt, Terminated])
@pytest.mark.parametrize("found", ["two of three are done", ""])
def test_what_is_there_all_the_same_is_said_if_anything_is(capsys, signal, found):
    with pytest.raises(signal), telling(lambda: found):
        raise signal
    with telling(lambda: "never"):
        pass
    assert capsys.readouterr().err == (f"{found}\n" if found else "")
