"""Noise that is the same in every run of a test, so that none fails by chance.

While a test runs, `Randomness.secure()` makes sources that count as secure but are keyed by the test's name and by how
many it has made before. Fixtures that several tests share have noise of their own name, whichever test comes first.
`python -m repeatable` is for commands and scripts in processes of their own.
"""

from __future__ import annotations

import hashlib
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from threading import Lock
from unittest import mock

from pdpmean.randomness import Randomness
from pdpmean.randomness.single_draws import simulated_laplace
from pdpmean.randomness.source import _seeded_anywhere


@dataclass
class _State:
    """Whose noise is drawn, and where."""

    name: str
    """A test or a fixture."""
    sources: int = 0
    """How many it has made."""
    forks: int = 0
    """How many processes this one has forked."""
    process: str = ""
    """Which fork of which fork of the test's own process this one is: no two have the same noise."""


class RepeatableSource(Randomness):
    """A source that draws what its name says, and in a forked process what that one's place says as well."""

    def __init__(self, name: str) -> None:
        self._name, self._made = name, count()
        super().__init__(partial(_key, name), simulated_laplace, private=True)

    def spawn(self) -> Randomness:
        """Another, named after this one: whatever other threads make meanwhile."""
        return RepeatableSource(self._next_name())

    def remote(self) -> Callable[[str], Randomness]:
        """What makes sources by the names of tasks: as a seeded one does, since other processes know no tests."""
        return partial(_seeded_anywhere, _key(self._next_name()))

    def _next_name(self) -> str:
        return f"{self._name}, {next(self._made)}"


class Maker:
    """Makes the sources of one test after the other.

    Hypothesis seeds it before every example, so that an example means the same whenever it is run.
    """

    def __init__(self) -> None:
        self.state = _State("")
        self._lock = Lock()

    def secure(self) -> Randomness:
        with self._lock:
            self.state.sources += 1
            return RepeatableSource(f"{self.state.name}, source {self.state.sources}")

    def seed(self, _seed: int) -> None:
        self.state = _State(self.state.name, process=self.state.process)

    def getstate(self) -> _State:
        return replace(self.state)

    def setstate(self, state: _State) -> None:
        self.state = state

    def before_fork(self) -> None:
        self.state.forks += 1

    def in_fork(self) -> None:
        self.state = replace(self.state, forks=0, process=f"{self.state.process}/{self.state.forks}")


def _key(name: str) -> bytes:
    return hashlib.sha256(f"{name}, process {MAKER.state.process}".encode()).digest()


MAKER = Maker()
os.register_at_fork(before=MAKER.before_fork, after_in_child=MAKER.in_fork)


@contextmanager
def repeatable_noise(name: str) -> Iterator[None]:
    """Secure sources that repeat themselves, for what has this name."""
    before = MAKER.state
    MAKER.state = _State(name)
    try:
        with mock.patch.object(Randomness, "secure", MAKER.secure):
            yield
    finally:
        MAKER.state = before


def main() -> None:
    """Run `pdpmean`, or a script, with the words that follow and with noise of their name."""
    del sys.argv[0]
    program, *words = sys.argv
    with repeatable_noise(" ".join([os.path.basename(program), *words])):
        if program == "pdpmean":
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(program))
            runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
