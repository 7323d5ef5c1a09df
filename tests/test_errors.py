"""The errors are what the drawing at the top of their module says."""

from __future__ import annotations

import builtins
import inspect
import pickle
import re
from typing import NamedTuple

import pytest

from pdpmean import errors, estimate_mean
from pdpmean.errors import InsufficientBudgetError, InvalidInputError, MissingPackageError, PdpMeanError

_LINE = re.compile(r"^(?P<indent>[\s│├└─]*)(?P<name>\w+)(?: \(also an? (?P<also>\w+)\))?(?:\s{2,}\S.*)?$")


class Drawn(NamedTuple):
    """One line of the drawing: the class, what it stands under, and what else it is."""

    name: str
    parent: str
    also: str | None


def read_drawing(docstring: str) -> set[Drawn]:
    """The hierarchy drawn in the literal block (after `::`) of a docstring."""
    block = inspect.cleandoc(docstring).split("::\n", 1)[1].lstrip("\n")
    drawn: set[Drawn] = set()
    above: list[tuple[int, str]] = []  # the path to this line: indent and name
    for line in block.splitlines():
        if line and not line.startswith(" "):
            break  # the block has ended
        if not line.strip():
            continue
        match = _LINE.match(line)
        assert match, f"this line of the drawing cannot be read: {line!r}"
        while above and above[-1][0] >= len(match["indent"]):
            above.pop()
        drawn.add(Drawn(match["name"], above[-1][1] if above else "Exception", match["also"]))
        above.append((len(match["indent"]), match["name"]))
    return drawn


def as_drawn(error: type[PdpMeanError]) -> Drawn:
    parent, *also = (base.__name__ for base in error.__bases__)
    return Drawn(error.__name__, parent, also[0] if also else None)


def own_errors() -> list[type[PdpMeanError]]:
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    return [kind for kind in classes if issubclass(kind, PdpMeanError)]


def test_a_drawing_is_read_right() -> None:
    docstring = """Errors.

    ::

        Top
        ├── Middle (also an OSError)    what it means: words, a list
        │   └── Bottom
        └── Other (also a ValueError)

    Not part of it.
    """
    assert read_drawing(docstring) == {
        Drawn("Top", "Exception", None),
        Drawn("Middle", "Top", "OSError"),
        Drawn("Bottom", "Middle", None),
        Drawn("Other", "Top", "ValueError"),
    }


def test_the_hierarchy_is_the_one_drawn() -> None:
    assert read_drawing(errors.__doc__ or "") == {as_drawn(error) for error in own_errors()}


def test_every_error_is_exported_and_explained() -> None:
    names = [error.__name__ for error in own_errors()]
    assert sorted(errors.__all__) == sorted([*names, "BudgetWarning", "PopulationWarning"])
    assert issubclass(errors.PopulationWarning, UserWarning)
    assert all(error.__doc__ for error in own_errors())
    also = {drawn.also for drawn in map(as_drawn, own_errors())} - {None}
    assert all(issubclass(getattr(builtins, str(name)), Exception) for name in also)


def test_an_invalid_input_carries_its_name_and_value() -> None:
    error = InvalidInputError("beta must lie strictly between 0 and 1; got 2", name="beta", value=2)
    assert str(error) == "beta must lie strictly between 0 and 1; got 2"
    assert (error.name, error.value) == ("beta", 2)
    assert InvalidInputError("lengths differ", name="budgets").value is None


def test_an_invalid_input_must_say_what_it_is_about() -> None:
    with pytest.raises(TypeError, match="name"):
        InvalidInputError("something is wrong")  # type: ignore[call-arg]


def test_one_except_clause_catches_them_all() -> None:
    for clause in (PdpMeanError, ValueError, InvalidInputError):
        with pytest.raises(clause):
            raise InvalidInputError("wrong", name="seed")


def test_a_missing_package_says_how_to_install_it() -> None:
    error = MissingPackageError("matplotlib", extra="plot")
    assert str(error) == "this needs matplotlib: pip install matplotlib"
    other = MissingPackageError("psycopg", extra="postgres", requirement="'psycopg[binary]'")
    assert str(other) == "this needs psycopg: pip install 'psycopg[binary]'"
    assert (error.name, error.extra) == ("matplotlib", "plot")
    with pytest.raises(ImportError):
        raise error


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_public_refusal_costs_nothing(share: float) -> None:
    with pytest.raises(InsufficientBudgetError) as refusal:
        estimate_mean([1.0, 2.0], 0.5, share=share)
    assert refusal.value.spent == 0
    assert "has used" not in str(refusal.value)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_noisy_refusal_says_what_it_cost(share: float) -> None:
    said = rf"Finding this out has used {share / 16:.3g} of every budget$"
    with pytest.raises(InsufficientBudgetError, match=said) as refusal:
        estimate_mean([1.0, 2.0], 0.5, model="unbounded", budget_range=(0.1, 1.0), share=share)
    assert refusal.value.spent == share / 16


@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidInputError("wrong", name="share", value=2.0),
        errors.InsufficientBudgetError("too little", total=5.0, needed=200.0, failure_probability=1.0).having_spent(
            0.1
        ),
        errors.MissingPackageError("matplotlib", extra="plot"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_pickling(error: errors.PdpMeanError) -> None:
    """As between the processes of a pool."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
