"""Amount: privacy budgets and costs as whole numbers of 2**-40 nat, or infinity.

Floating-point sums of costs would drift, and could exceed a grant by a rounding error. Amounts are integers, so that
sums are exact. Numbers that come in are rounded down, and so are doubles that go out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pdpmean.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pdpmean.core.types import Floats

__all__ = [
    "INFINITE",
    "NOTHING",
    "ONE_UNIT",
    "UNITS_PER_NAT",
    "UNIT_BITS",
    "Amount",
    "budgets_of_columns",
    "columns_of_budgets",
]

UNIT_BITS = 40
UNITS_PER_NAT = 2**UNIT_BITS
# The largest finite amount, in nats; larger ones are lowered to it. It protects nothing anyway, and fits into 64 bits
# even when it is multiplied by a share with a numerator up to 2**20.
_LARGEST_NATS = 2**40


@dataclass(frozen=True, order=True)
class Amount:
    """An amount of privacy budget: a whole number of units of 2**-40 nat, or infinity.

    It exists so that sums of costs are exact. Amounts are ordered like numbers, with infinity above all others. A
    database stores an amount as three integers, its `columns`.
    """

    infinite: bool = False
    units: int = 0

    @classmethod
    def rounded_down(cls, number: Any, name: str = "budget") -> Amount:
        """The largest amount that is at most `number` nats: a Fraction, an int, a float, or a text such as "0.1".

        Finite amounts are capped at 2**40 nats. `name` is what an error message calls the number.
        """
        exact = _exact(number, name)
        return INFINITE if exact is None else cls(units=math.floor(min(exact, _LARGEST_NATS) * UNITS_PER_NAT))

    @classmethod
    def of_columns(cls, infinite: int, nats: int, units: int) -> Amount:
        """The amount that is stored in three columns of a database."""
        return INFINITE if infinite else cls(units=int(nats) * UNITS_PER_NAT + int(units))

    @property
    def columns(self) -> tuple[int, int, int]:
        """Whether it is infinite (0 or 1), its whole nats, and the remaining units; each fits into 64 bits."""
        return int(self.infinite), self.units // UNITS_PER_NAT, self.units % UNITS_PER_NAT

    def __add__(self, other: Amount) -> Amount:
        return INFINITE if self.infinite or other.infinite else Amount(units=self.units + other.units)

    def part(self, share: Fraction) -> Amount:
        """A share of the amount, rounded down; any share of infinity is infinite."""
        return INFINITE if self.infinite else Amount(units=math.floor(self.units * share))

    def less(self, spent: Amount) -> Amount:
        """The amount minus `spent`, but at least zero; infinity minus anything is infinity."""
        if self.infinite:
            return INFINITE
        return NOTHING if spent.infinite else Amount(units=max(self.units - spent.units, 0))

    @property
    def exact(self) -> Fraction | float:
        """The amount in nats, as an exact fraction; or infinity."""
        return math.inf if self.infinite else Fraction(self.units, UNITS_PER_NAT)

    @property
    def largest_double(self) -> float:
        """The largest double that is at most this amount, in nats."""
        import numpy as np

        return float(budgets_of_columns(*np.array(self.columns, dtype=np.int64))[()])

    def __float__(self) -> float:
        """The amount in nats, rounded down: importing an export's remaining budgets then grants nobody more."""
        nearest = float(self.exact)
        return nearest if nearest <= self.exact else math.nextafter(nearest, 0.0)

    def __str__(self) -> str:
        """The amount in nats, to nine digits: 0.1 rounded down to units still reads as 0.1."""
        return f"{float(self):.9g}"


INFINITE = Amount(infinite=True)
NOTHING = Amount()
ONE_UNIT = Amount(units=1)


def _exact(number: Any, name: str) -> Fraction | None:
    """The number as an exact fraction; None if it is infinite. Raises if it is negative or no number."""
    try:
        text = number.strip().lower() if isinstance(number, str) else number
        if text in ("inf", "infinity", math.inf):
            return None
        exact = Fraction(text) if isinstance(text, str) else Fraction(*_ratio_of(text)())
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        exact = Fraction(-1)
    if exact < 0:
        raise InvalidInputError(f"{name} must be a number >= 0 (or inf); got {number!r}", name=name, value=number)
    return exact


def _ratio_of(number: Any) -> Callable[[], tuple[int, int]]:
    """The method that returns a number's exact numerator and denominator.

    It is the number's own where it has one. A conversion to a double first could round up, as for a Decimal.
    """
    ratio: Callable[[], tuple[int, int]] = getattr(number, "as_integer_ratio", None) or float(number).as_integer_ratio
    return ratio


def columns_of_budgets(budgets: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The three columns of many budgets at once, rounded down like single ones.

    Every step is exact: a double minus its whole part is a double, and so is that times a power of two.
    """
    import numpy as np

    infinite = np.isinf(budgets)
    finite = np.where(infinite, 0.0, np.minimum(budgets, float(_LARGEST_NATS)))
    nats = np.floor(finite)
    units = np.floor((finite - nats) * UNITS_PER_NAT)
    return infinite.astype(np.int64), nats.astype(np.int64), units.astype(np.int64)


def budgets_of_columns(infinite: NDArray[np.int64], nats: NDArray[np.int64], units: NDArray[np.int64]) -> Floats:
    """The largest doubles that do not exceed these amounts, in nats.

    An estimate uses them as budgets, so that nobody's privacy loss exceeds what they are charged.
    """
    import numpy as np

    whole = nats.astype(np.float64)
    fraction = units.astype(np.float64) / UNITS_PER_NAT
    nearest = whole + fraction
    # Dekker's fast two-sum: (nearest - whole) is exact, since the whole nats are either 0 or larger than the fraction.
    is_above = (nearest - whole) - fraction > 0
    rounded_down: Floats = np.where(is_above, np.nextafter(nearest, 0.0), nearest)
    return np.where(infinite > 0, math.inf, rounded_down)
