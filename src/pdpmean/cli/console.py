"""Console: messages and exit codes of the command line.

Answers go to standard output; notes, warnings and errors go to standard error, one line each.

======  =================================================================
 exit   meaning
======  =================================================================
   0    an answer was given
   1    refused: the budgets are not enough for an answer
   2    wrong use: an option, a file, a column
   3    no answer: the released numbers contradict the assumptions
   4    a warning, which --strict treats as an error; budgets that look wrong, without --force
   5    the ledger cannot be used, or has not recorded a release
  70    an internal error of this program
 130    interrupted
 141    whoever read the output has stopped, such as head
======  =================================================================

Only messages that are public by construction are shown: those of this library's own errors and of the option parser.
Any other exception may quote data, so only its type is shown.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from pdpmean.cli.options import BOUNDS_HINT
from pdpmean.core.text import percent_as_fraction
from pdpmean.errors import BudgetWarning, InsufficientBudgetError, InvalidInputError, LedgerError, MissingPackageError

__all__ = [
    "CONTRADICTED",
    "INTERRUPTED",
    "REFUSED",
    "WARNED",
    "Command",
    "Commands",
    "Group",
    "in_options",
    "note",
    "printed_warnings",
    "warn",
]

REFUSED = 1
WRONG_USE = 2
CONTRADICTED = 3
WARNED = 4
LEDGER_FAILED = 5
INTERNAL = 70
INTERRUPTED = 130
CUT_SHORT = 141

_INTERRUPTED = "interrupted; nothing was written"
_CHARGED = ". A release that had been reserved counts as spent; see pdpmean ledger show"

# The library's messages name Python arguments. These patterns replace them by command-line options.
_OPTIONS = {
    r"budget_range goes": "--budget-min and --budget-max go",
    r"budget_range(=\(smallest, largest\))?": "--budget-min and --budget-max",
    r"^bounds must be at most": "--bounds must be at most",
    r"bounds=\(low, high\)": "--bounds LOW HIGH",
    r"bounds=\(low, None\)": "--bounds LOW none",
    r"tiers=\{name: budget\}": "--tiers NAME=BUDGET",
    r"tiers=\{\.\.\., '': 0\}": "--tiers ...,=0",
    r"\b(shape|model|value|budget|person|rows|equals)='([^']*)'": r"--\1 \2",
    r"\bclip_half_width\b": "--clip-half-width",
    r"\b(center|scale|max)_(share|failure|ratio)\b": r"--\1-\2",
    r"^(share|saturation|person|rows|groups|equals|missing|spend|ledger)\b": r"--\1",
    r"\boverwrite=True\b": "--overwrite",
    r"\buse share$": "use --share",
    r"\bpurpose='\.\.\.'": "--purpose TEXT",
    r"\bpass moved=True once": "run pdpmean ledger init --moved once",
    r"^budgets must be >= 0; got": "--budget-for-all must be >= 0; got",
    r"\bbudgets=0\.5": "--budget-for-all 0.5",
    r"\btiers does\b": "--tiers does",
    r"\bin tiers\b": "in --tiers",
    r"^value and budget\b": "--value and --budget",
}


# Messages of the option parser that miss the point, and what to say instead.
_USAGE = {
    r"^Option '--bounds' requires 2 arguments\.": BOUNDS_HINT,
    r"^No such option: -[\d.].*": (
        "budgets must be >= 0. Before an id that starts with a minus sign, write -- by itself"
    ),
}
_NO_NUMBER = re.compile(r"Input should be a valid (number|integer), unable to parse .*")


class Command(TyperCommand):
    """A single command, whose help shows flags without a value, and paragraphs without the docstring's line breaks."""

    def __init__(self, name: str | None, *, help: str | None = None, **settings: Any) -> None:  # noqa: A002
        super().__init__(name, help=help and re.sub(r"(?<!\n)\n(?!\n)", " ", help), **settings)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options of the command, including ``--help``."""
        return _without_flag_values(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands, such as ``pdpmean ledger``, whose help shows flags without a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options of the group, including those for help and completion."""
        return _without_flag_values(super().get_params(ctx))


class Commands(Group):
    """The whole command line. Any exception becomes a line or two on standard error and an exit code."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **options: Any) -> NoReturn:
        """Run the command that `args` ask for; by default, the arguments of this process."""
        words = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(words, *others, **options | {"standalone_mode": False, "obj": words})
        except SystemExit as end:  # raised by Typer when the reader of the output has gone
            code = CUT_SHORT if isinstance(end.__context__, BrokenPipeError) else end.code
        except Exception as error:
            if "--debug" in words:
                traceback.print_exc()
            code = _explain(error)
        if code == INTERRUPTED:
            note(_INTERRUPTED + _CHARGED * ("--ledger" in words))
        sys.exit(code or 0)


def _without_flag_values(options: list[Any]) -> list[Any]:
    """The same options, changed so that help shows no placeholder for a value after a flag."""
    for option in options:
        if getattr(option, "is_flag", False):
            option.metavar = ""
    return options


def note(text: str) -> None:
    """Print a line on standard error."""
    typer.secho(_line(text), err=True)


def warn(text: str) -> None:
    """Print a line on standard error in bold red."""
    typer.secho(_line(text), err=True, bold=True, fg="red")


@contextmanager
def printed_warnings(unlikely_budgets: Literal["error", "always", "ignore"]) -> Iterator[None]:
    """A context in which a warning about unlikely budgets ends the command, is printed, or is ignored.

    All other Python warnings are silenced, since they may quote data. Warnings about the population are part of the
    result, and are printed with it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter(unlikely_budgets, BudgetWarning)
        warnings.showwarning = lambda message, *_, **__: note(f"warning: {message}")
        try:
            yield
        except BudgetWarning as warning:
            raise BudgetWarning(f"{warning} If they are right, pass --force.") from None


def _line(text: str) -> str:
    """The message with the program's name, in terms of options, and without control characters.

    Names of columns may contain any characters, also such as would control the terminal.
    """
    return "pdpmean: " + "".join(
        letter if letter.isprintable() or letter == "\n" else "?" for letter in in_options(text)
    )


def in_options(text: str) -> str:
    """The same text, with command-line options instead of Python arguments."""
    for argument, option in _OPTIONS.items():
        text = re.sub(argument.replace(" ", r"\s+"), option, text)  # the text may be wrapped into lines
    return text


def _explain(error: Exception) -> int:
    """Print what was wrong; returns the exit code."""
    match error:
        case typer.TyperException():
            return _explain_usage(error)
        case InsufficientBudgetError():
            warn(f"refused: {error}")
            return REFUSED
        case BudgetWarning():
            warn(f"{error} Nothing was spent")
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
    """Print what is wrong with the options; returns the exit code."""
    message = error.format_message().replace("Value error, ", "")
    for pattern, replacement in _USAGE.items():
        message = re.sub(pattern, replacement, message)
    message = _NO_NUMBER.sub(lambda found: _no_number(error, found[1]), message)
    context = getattr(error, "ctx", None)
    if message:
        hint = f"\nTry '{context.command_path} --help'." if context else ""
        warn(f"{message}{hint}")
    return WRONG_USE


def _no_number(error: typer.TyperException, kind: str) -> str:
    """What to say of the text of an option that should be a number of this kind."""
    problems: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()  # Typer reads options by Pydantic
    text = next((problem["input"] for problem in problems), "")
    if (fraction := percent_as_fraction(text)) is not None:
        return f"got {text!r}; write {fraction}"
    return f"got {text!r}, which is not {'a number' if kind == 'number' else 'a whole number'}"
