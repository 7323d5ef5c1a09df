"""Law: the interface of all distributions of the true mean, however they were computed."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Law"]


class Law(Protocol):
    """The distribution of the true mean, given all released numbers."""

    @property
    def noise_std(self) -> float:
        """Standard deviation of the error due to noise."""

    @property
    def sampling_std(self) -> float:
        """Standard deviation of the sampling error."""

    @property
    def tails_std(self) -> float:
        """Standard deviation of the error due to tails that no released number could show."""

    def cdf(self, x: float) -> float:
        """P(true mean <= x)."""

    def interval(self, level: float) -> tuple[float, float]:
        """The interval that contains the true mean with probability `level`."""
