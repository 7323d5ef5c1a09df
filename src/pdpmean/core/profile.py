"""How many people hold which budget: what a plan is made from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pdpmean.core.types import Floats

__all__ = ["ALIKE", "Profile"]

ALIKE, _ROUGHLY_ALIKE = 0.1, 0.25  # relative differences that hardly matter to a plan, and to what a refusal says


@dataclass(frozen=True)
class Profile:
    """`counts[j]` people at level `levels[j]`; levels ascend, are above 0, and only the last may be infinite.

    A count may be a fraction: in the unbounded model it comes from a noisy census.
    """

    levels: Floats
    counts: Floats

    @classmethod
    def of(cls, budgets: Floats, counts: Floats | None = None) -> Profile:
        """The profile of budgets, one per person, or as many as `counts` says; who grants nothing does not count."""
        levels, place = np.unique(budgets, return_inverse=True)
        held = np.bincount(place, weights=counts, minlength=levels.size).astype(np.float64)
        counted = (levels > 0) & (held > 0)
        return cls(levels[counted], held[counted])

    def times(self, factor: float) -> Profile:
        """So many times the people, at the same levels."""
        return Profile(self.levels, self.counts * factor)

    @cached_property
    def people(self) -> float:
        """How many there are."""
        return float(self.counts.sum())

    @property
    def total(self) -> float:
        """The sum of all levels; infinite as soon as one person's is."""
        return float((self.counts * self.levels).sum())

    def is_like(self, other: Profile, tau: float) -> bool:
        """Whether people and capped budgets agree within 10 %: a plan for the other will then do."""
        pairs = zip((self.people, *self.capped_sums(tau)), (other.people, *other.capped_sums(tau)), strict=True)
        return all(math.isclose(*pair, rel_tol=ALIKE) for pair in pairs)

    def is_shaped_like(self, other: Profile, tau: float) -> bool:
        """Whether it would be like the other, roughly, with as many people."""
        (weight, square), (others, squares) = self.capped_sums(tau), other.capped_sums(tau)
        pairs = (weight / self.people, others / other.people), (square / weight, squares / others)
        return all(math.isclose(*pair, rel_tol=_ROUGHLY_ALIKE) for pair in pairs)

    @cached_property
    def _finite(self) -> Floats:
        return self.levels[np.isfinite(self.levels)]

    @cached_property
    def _sums(self) -> Floats:
        return np.cumsum(self.counts[: self._finite.size] * self._finite)

    @cached_property
    def _squares(self) -> Floats:
        return np.cumsum(self.counts[: self._finite.size] * self._finite**2)

    @cached_property
    def _reach(self) -> Floats:
        """The constant up to which the cap is between a level and the next; ascends with them."""
        return self._finite[1:] * self._sums[:-1] - self._squares[:-1]

    @cached_property
    def _above(self) -> Floats:
        """How many hold each level or more; and last, nobody."""
        return np.append(np.cumsum(self.counts[::-1])[::-1], 0.0)

    def saturation(self, constant: float, share: float = 1.0) -> tuple[float, int]:
        """The cap tau on weights that minimises ``(sum w**2 + constant) / (sum w)**2``, and how many levels stay below.

        Weights are a share of the level. As these ascend, tau is ``(sum w**2 + constant) / sum w`` over those below it;
        infinite where no finite level is.
        """
        if self._finite.size == 0:
            return math.inf, 0
        constant /= share**2
        below = int(self._reach.searchsorted(constant)) + 1
        return share * float((self._squares[below - 1] + constant) / self._sums[below - 1]), below

    def capped_sums(self, tau: float, share: float = 1.0) -> tuple[float, float]:
        """The sum of the weights min(share * level, tau), and of their squares."""
        tau /= share
        below = int(self._finite.searchsorted(tau))
        above = float(self._above[below])
        weight = (float(self._sums[below - 1]) if below else 0.0) + (above * tau if above else 0.0)
        square = (float(self._squares[below - 1]) if below else 0.0) + (above * tau**2 if above else 0.0)
        return share * weight, share**2 * square
