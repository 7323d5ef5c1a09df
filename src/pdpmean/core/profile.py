"""Profile: how many people have which allowance, from which a plan is made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pdpmean.core.types import Floats

__all__ = ["ALIKE", "Profile"]

ALIKE = 0.1  # a relative difference between profiles that hardly matters to a plan
_ROUGHLY_ALIKE = 0.25  # one that hardly matters to what a refusal suggests


@dataclass(frozen=True)
class Profile:
    """A distribution of allowances: `counts[j]` people have `allowances[j]`.

    Allowances are in nats, ascending and above 0; only the last may be infinite. Counts need not be whole numbers: in
    the unbounded model they come from a noisy census. The paper knows no allowances; its budgets take their place.
    """

    allowances: Floats
    counts: Floats

    @classmethod
    def of(cls, allowances: Floats, counts: Floats | None = None) -> Profile:
        """The profile of one person per allowance, or of as many as `counts` says; zeros are left out."""
        distinct, place = np.unique(allowances, return_inverse=True)
        people = np.bincount(place, weights=counts, minlength=distinct.size).astype(np.float64)
        is_counted = (distinct > 0) & (people > 0)
        return cls(distinct[is_counted], people[is_counted])

    def times(self, factor: float) -> Profile:
        """The profile with `factor` times as many people at every allowance."""
        return Profile(self.allowances, self.counts * factor)

    @cached_property
    def people(self) -> float:
        """The number of people."""
        return float(self.counts.sum())

    @cached_property
    def total(self) -> float:
        """The sum of everybody's allowance, in nats; infinite if one of them is."""
        return float((self.counts * self.allowances).sum())

    def is_like(self, other: Profile, tau: float) -> bool:
        """Whether the plan of the other profile will do for this one.

        The number of people, and the sums of their allowances and of the squares, capped at tau, agree to within 10 %.
        """
        pairs = zip((self.people, *self.capped_sums(tau)), (other.people, *other.capped_sums(tau)), strict=True)
        return all(math.isclose(*pair, rel_tol=ALIKE) for pair in pairs)

    def is_shaped_like(self, other: Profile, tau: float) -> bool:
        """Whether the profiles would be roughly alike if they had the same number of people."""
        weight, square = self.capped_sums(tau)
        other_weight, other_square = other.capped_sums(tau)
        pairs = (weight / self.people, other_weight / other.people), (square / weight, other_square / other_weight)
        return all(math.isclose(*pair, rel_tol=_ROUGHLY_ALIKE) for pair in pairs)

    @cached_property
    def _finite(self) -> Floats:
        """The finite allowances."""
        return self.allowances[np.isfinite(self.allowances)]

    @cached_property
    def _sums(self) -> Floats:
        """The sum of the allowances up to and including each."""
        return np.cumsum(self.counts[: self._finite.size] * self._finite)

    @cached_property
    def _squares(self) -> Floats:
        """The sum of the squared allowances up to and including each."""
        return np.cumsum(self.counts[: self._finite.size] * self._finite**2)

    @cached_property
    def _reach(self) -> Floats:
        """The largest constant for which the best cap lies between each allowance and the next; ascending."""
        return self._finite[1:] * self._sums[:-1] - self._squares[:-1]

    @cached_property
    def _above(self) -> Floats:
        """The number of people at each allowance or above; a last entry of 0 stands for nobody."""
        return np.append(np.cumsum(self.counts[::-1])[::-1], 0.0)

    def saturation(self, constant: float, share: float = 1.0) -> tuple[float, int]:
        """The cap tau on weights that minimises ``(sum w**2 + constant) / (sum w)**2``, and how many entries are below.

        A weight w is the share of an allowance, at most tau. At the minimum, tau is ``(sum w**2 + constant) / sum w``
        over the allowances below it. It is infinite if there are no finite allowances.
        """
        if self._finite.size == 0:
            return math.inf, 0
        constant /= share**2
        below = int(self._reach.searchsorted(constant)) + 1
        return share * float((self._squares[below - 1] + constant) / self._sums[below - 1]), below

    def capped_sums(self, tau: float, share: float = 1.0) -> tuple[float, float]:
        """The sum of all weights ``min(share * allowance, tau)``, and the sum of their squares."""
        tau /= share
        below = int(self._finite.searchsorted(tau))
        above = float(self._above[below])
        weight = (float(self._sums[below - 1]) if below else 0.0) + (above * tau if above else 0.0)
        square = (float(self._squares[below - 1]) if below else 0.0) + (above * tau**2 if above else 0.0)
        return share * weight, share**2 * square
