"""Sentences translated by other processes: the same, in order, whoever is killed."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from decoder.translation.decoder import Decoder
from scfg_sampler.core import mapped
from scfg_sampler.core.executors import InProcess
from scfg_sampler.core.streams import ordered
from scfg_sampler.errors import InputError
from tests.decoder.translation.test_decoder import decoder


def squared(number):
    return number * number


def reciprocal(number):
    return 1 // (3 - number)


@pytest.fixture(autouse=True)
def forgotten():
    yield
    mapped._last.clear()


@pytest.mark.parametrize("number", [0, 1, 8, 50])
def test_results_come_in_the_order_of_the_inputs(number):
    with ordered(squared, InProcess()) as results:
        assert list(results(range(number))) == [i * i for i in range(number)]
        assert list(results(range(3))) == [0, 1, 4]


def test_a_result_does_not_wait_for_the_next_input():
    asked = threading.Event()

    def inputs():
        yield 1
        assert asked.wait(10)
        yield 2

    with ordered(squared, InProcess()) as results:
        found = results(inputs())
        assert next(found) == 1
        asked.set()
        assert list(found) == [4]


def test_errors_of_inputs_and_tasks_are_raised_in_their_place():
    def inputs():
        yield from range(5)
        raise InputError("text", 6, "not UTF-8")

    with ordered(squared, InProcess()) as results:
        found = results(inputs())
        assert list(itertools.islice(found, 5)) == [0, 1, 4, 9, 16]
        with pytest.raises(InputError, match="text:6"):
            next(found)
    with ordered(reciprocal, InProcess()) as results:
        failing = results(range(9))
        assert list(itertools.islice(failing, 3)) == [0, 0, 1]
        with pytest.raises(ZeroDivisionError):
            next(failing)


class OtherMachine(InProcess):
    """Cannot see any files of this one."""

    def __init__(self):
        self.shared = []

    def share(self, value):
        self.shared.append(value)
        return value

    def submit(self, function, place, *arguments):
        mapped._last.clear()
        return super().submit(function, place._replace(path="/nowhere"), *arguments)


def test_who_does_not_see_the_file_is_sent_what_is_in_it_once():
    other = OtherMachine()
    with ordered(squared, other) as results:
        assert list(results(range(40))) == [i * i for i in range(40)]
    assert len(other.shared) == 1


class Killing(InProcess):
    """Kills the process that has been handed the third batch, as it may have done some of it."""

    def __init__(self, executor):
        self._executor, self._left = executor, 3
        self.share, self.status = executor.share, executor.status

    def submit(self, function, /, *arguments):
        task = self._executor.submit(function, *arguments)
        self._left -= 1
        if self._left == 0:
            for process in self._executor._client.run(os.getpid).values():
                os.kill(process, signal.SIGKILL)
        return task


class Recorded:
    """Translates, and writes down for whom."""

    def __init__(self, one: Decoder, path: Path):
        self._decoder, self._path = one, path

    def __call__(self, words):
        with open(self._path, "a") as out:
            out.write(f"{os.getpid()}\n")
        found = self._decoder.translate(words)
        return found.text, found.score


@pytest.mark.slow
def test_sentences_of_processes_that_are_killed_are_translated_again(workers, tmp_path):
    one = decoder(beam=5)
    rng = np.random.default_rng(2)
    texts = [list(rng.choice(["u", "v", "x"], size=rng.integers(1, 12))) for _ in range(200)]
    alone = [(found.text, found.score) for found in map(one.translate, texts)]
    with ordered(Recorded(one, tmp_path / "who"), Killing(workers)) as results:
        assert list(results(texts)) == alone
    assert str(os.getpid()) not in (tmp_path / "who").read_text().split()
