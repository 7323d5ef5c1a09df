"""Law: what an estimate knows of where the true mean lies, whatever it was found by."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Law"]


class Law(Protocol):
    """Where the true mean lies, given all released numbers."""

    @property
    def noise_std(self) -> float:
        """Standard deviation of the error due to noise."""

    @property
    def sampling_std(self) -> float:
        """Standard deviation of the error due to who is in the sample."""

    @property
    def tails_std(self) -> float:
        """Standard deviation of the error due to tails that nothing released could show."""

    def cdf(self, x: float) -> float:
        """P(true mean <= x)."""

    def interval(self, level: float) -> tuple[float, float]:
        """The interval that holds the true mean with probability `level`."""
