"""Every error that this library raises on purpose, and its warnings.

::

    PdpMeanError
    ├── InvalidInputError (also a ValueError)        something public is wrong: a budget, a length, an option
    ├── InsufficientBudgetError                      the budgets are not enough for an answer; says what would be
    ├── LedgerError                                  the ledger cannot be used, or has not recorded a release
    └── MissingPackageError (also an ImportError)    something optional is not installed; says how to

An error is only ever raised because of something public. A private value, however strange, is data.
There are two warnings. `PopulationWarning` is given if *released* numbers do not look like the assumed shape, and
`BudgetWarning` if public budgets do not look like budgets, before anything is drawn.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "BudgetWarning",
    "InsufficientBudgetError",
    "InvalidInputError",
    "LedgerError",
    "MissingPackageError",
    "PdpMeanError",
    "PopulationWarning",
]


class PdpMeanError(Exception):
    """Base of every error the library raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, exceptions with keyword arguments cannot be pickled, so worker processes could not send them.
        return _rebuilt, (type(self), self.args, vars(self))


class InvalidInputError(PdpMeanError, ValueError):
    """Something public about the call is wrong: `name` says which argument, and `value` is its value.

    `record` is the number of the record that is wrong, from 0, where there is one.
    """

    def __init__(self, message: str, *, name: str, value: object = None, record: int | None = None) -> None:
        super().__init__(message)
        self.name = name
        self.value = value
        self.record = record


class InsufficientBudgetError(PdpMeanError):
    """The budgets are not enough for an answer: `total` was granted, about `needed` would be enough.

    About `people_needed` people with budgets like those at hand would grant that much. `failure_probability` is the
    predicted probability that the population would not be found. The error is raised before any value is used, from
    public numbers alone or, in the unbounded model, from the noisy census.
    """

    def __init__(
        self,
        message: str,
        *,
        total: float,
        needed: float,
        failure_probability: float,
        people_needed: float = math.inf,
    ) -> None:
        super().__init__(message)
        self.total = total
        self.needed = needed
        self.people_needed = people_needed
        self.failure_probability = failure_probability
        self.spent = 0.0
        """The fraction of every budget that was used to find this out; 0 where budgets are public."""

    @property
    def in_brief(self) -> str:
        """The refusal in a few words, for a row of a table."""
        if self.total == 0:
            return f"refused: {str(self).split(',', 1)[0]}"
        return "refused: no budget would be enough" if math.isinf(self.needed) else f"refused: needs {self.needed:,.0f}"

    def add_sentence(self, sentence: str) -> None:
        """Add a sentence to the message."""
        self.args = (f"{self}. {sentence}",)

    def having_spent(self, share: float) -> InsufficientBudgetError:
        """The same refusal, with the share of every budget that was used to find out."""
        if share:
            self.spent = share
            self.add_sentence(f"Finding this out has used {share:.3g} of every budget")
        return self


class LedgerError(PdpMeanError):
    """The ledger cannot be read or written, or is not what it should be; the message says what to do.

    `result` is the estimate that the ledger could not record, if there is one; its cost stays reserved.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.result: Any = None


class MissingPackageError(PdpMeanError, ImportError):
    """A required package, `name`, is not installed; the extra `extra` includes it.

    The message names the package itself, since a checkout is on no registry. `requirement` is what to install, if that
    is more than the name.
    """

    def __init__(self, name: str, *, extra: str, requirement: str | None = None) -> None:
        super().__init__(f"this needs {name}: pip install {requirement or name}", name=name)
        self.extra = extra


class PopulationWarning(UserWarning):
    """What to know about an answer: the released numbers do not look like the assumed population, for example."""


class BudgetWarning(UserWarning):
    """Public budgets do not look like budgets; nothing has been drawn yet."""


def _rebuilt(kind: type[PdpMeanError], words: tuple[Any, ...], attributes: dict[str, Any]) -> PdpMeanError:
    """A pickled error, from its message and its attributes."""
    error = kind.__new__(kind)
    error.args = words
    vars(error).update(attributes)
    return error
