"""How the commands speak: answers on standard output; notes, warnings and errors on standard error, a line each.

======  =================================================================
 exit   meaning
======  =================================================================
   0    an answer was given
   1    refused: the budgets are not enough for an answer
   2    wrong use: an option, a file, a column
   3    no answer: what was released contradicts what was assumed
   4    a warning, which --strict takes for an error
   5    the ledger cannot be used, or has not recorded a release
  70    a fault of this program
 130    interrupted
 141    whoever read the output has stopped, such as head
======  =================================================================

Only texts that are public by construction are shown: those of this library's own errors and of the command line's.
Any other exception may quote data, so it is named and not quoted.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from pdpmean.cli.options import BOUNDS_HINT
from pdpmean.errors import BudgetWarning, InsufficientBudgetError, InvalidInputError, LedgerError, MissingPackageError

__all__ = [
    "CONTRADICTED",
    "INTERRUPTED",
    "LEDGER_FAILED",
    "REFUSED",
    "WARNED",
    "WRONG_USE",
    "Command",
    "Commands",
    "Group",
    "in_options",
    "note",
    "told_warnings",
    "warn",
]

REFUSED, WRONG_USE, CONTRADICTED, WARNED, LEDGER_FAILED, INTERNAL, INTERRUPTED, CUT_SHORT = 1, 2, 3, 4, 5, 70, 130, 141

_INTERRUPTED = "interrupted; nothing was written"
_CHARGED = ". A release that had been reserved counts as spent; see pdpmean ledger show"

# What the library says to someone who writes Python, for someone who writes options.
_OPTIONS = {
    r"budget_range goes": "--budget-min and --budget-max go",
    r"budget_range(=\(smallest, largest\))?": "--budget-min and --budget-max",
    r"^bounds must be \(low, high\) with low < high, and None": "--bounds must be LOW HIGH with LOW < HIGH, and none",
    r"^bounds must be at most": "--bounds must be at most",
    r"bounds=\(low, high\)": "--bounds LOW HIGH",
    r"bounds=\(low, None\)": "--bounds LOW none",
    r"tiers=\{name: budget\}": "--tiers NAME=BUDGET,...",
    r"\b(shape|model|value|budget|person|rows|equals)='([^']*)'": r"--\1 \2",
    r"\b(clip|center|scale|max)_(width|share|failure|ratio)\b": r"--\1-\2",
    r"^(share|saturation|person|rows|groups|equals|missing|spend|ledger)\b": r"--\1",
    r"\boverwrite=True\b": "--overwrite",
    r"\buse share$": "use --share",
    r"\bpurpose='\.\.\.'": "--purpose TEXT",
    r"\bpass moved=True once": "run pdpmean ledger init --moved once",
    r"^budgets must be >= 0; got": "--budget-for-all must be >= 0; got",
    r"\bbudgets=0\.5": "--budget-for-all 0.5",
    r"\btiers does\b": "--tiers does",
    r"^value and budget\b": "--value and --budget",
}


# What the parser of options says, for somebody who meant no option.
_USAGE = {
    r"^Option '--bounds' requires 2 arguments\.": BOUNDS_HINT,
    r"^No such option: -[\d.].*": (
        "budgets must be >= 0. Before an id that starts with a minus sign, write -- by itself"
    ),
}


class Command(TyperCommand):
    """One command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options, also that for help."""
        return _flags_alone(super().get_params(ctx))


class Group(TyperGroup):
    """Commands that belong together."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options, also those for help and completion."""
        return _flags_alone(super().get_params(ctx))


class Commands(Group):
    """All commands; whatever one raises becomes a line or two on standard error and an exit code."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **options: Any) -> NoReturn:
        """Run the command that `args`, or else this process's arguments, ask for."""
        words = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(words, *others, **options | {"standalone_mode": False, "obj": words})
        except SystemExit as end:  # how typer answers when nobody reads on
            code = CUT_SHORT if isinstance(end.__context__, BrokenPipeError) else end.code
        except Exception as error:
            if "--debug" in words:
                traceback.print_exc()
            code = _explain(error)
        if code == INTERRUPTED:
            note(_INTERRUPTED + _CHARGED * ("--ledger" in words))
        sys.exit(code or 0)


def _flags_alone(options: list[Any]) -> list[Any]:
    """The options, where those that take no value are shown without a word for one."""
    for option in options:
        if getattr(option, "is_flag", False):
            option.metavar = ""
    return options


def note(text: str) -> None:
    """A line on standard error."""
    typer.secho(_line(text), err=True)


def warn(text: str) -> None:
    """A line on standard error that catches the eye."""
    typer.secho(_line(text), err=True, bold=True, fg="red")


@contextmanager
def told_warnings(*, strict: bool) -> Iterator[None]:
    """In which a warning of odd budgets is a line or, if `strict`, an error; others may quote entries, so none is told.

    What there is to say about a population, answers say themselves.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error" if strict else "always", BudgetWarning)
        warnings.showwarning = _told  # type: ignore[assignment]
        yield


def _told(message: Warning | str, *_: Any) -> None:
    note(f"warning: {message}")


def _line(text: str) -> str:
    """Signed, and without characters that would do something to a terminal: names of columns may hold any."""
    return "pdpmean: " + "".join(
        letter if letter.isprintable() or letter == "\n" else "?" for letter in in_options(text)
    )


def in_options(text: str) -> str:
    """The same advice, with options instead of Python arguments."""
    for argument, option in _OPTIONS.items():
        text = re.sub(argument.replace(" ", r"\s+"), option, text)  # lines may have been folded
    return text


def _explain(error: Exception) -> int:
    """Say what was wrong; the exit code that goes with it."""
    match error:
        case typer.TyperException():
            return _explain_usage(error)
        case InsufficientBudgetError():
            warn(f"refused: {error}")
            return REFUSED
        case BudgetWarning():
            warn(f"{error} Nothing was spent or written")
            return WARNED
        case LedgerError():
            warn(str(error))
            return LEDGER_FAILED
        case InvalidInputError() | MissingPackageError():
            warn(str(error))
            return WRONG_USE
        case OSError(strerror=str(reason), filename=name) if name is not None:
            warn(f"{name}: {reason}")
            return WRONG_USE
        case OSError(errno=int(number)):
            warn(os.strerror(number))
            return WRONG_USE
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.filename.rsplit('/', 1)[-1]}, line {last.lineno}"
    warn(f"internal error: {type(error).__name__} in {place}. --debug shows more, possibly some of the data")
    return INTERNAL


def _explain_usage(error: typer.TyperException) -> int:
    message = error.format_message().replace("Value error, ", "")
    for said, meant in _USAGE.items():
        message = re.sub(said, meant, message)
    context = getattr(error, "ctx", None)
    if message:
        hint = f"\nTry '{context.command_path} --help'." if context else ""
        warn(f"{message}{hint}")
    return WRONG_USE
