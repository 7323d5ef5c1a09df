"""Bugs that a test must catch: each is one edit of the shipped code, and `test_planted.py` makes it on a copy.

To plant another, add one entry to `BUGS`. Choose narrow tests: each bug runs its own in a process of its own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """One edit that breaks a promise, and the tests that are there to notice."""

    name: str
    file: str
    """The file to edit, under src/pdpmean."""
    text: str
    """What to replace; it must stand in the file exactly once."""
    replacement: str
    caught_by: tuple[str, ...]
    """Node ids, as pytest takes them from the root of the repository; at least one of them must fail."""
    compiled: bool = False
    """Whether the loops of kernels.py are to be compiled, which takes some seconds, or run as plain Python."""


BUGS = (
    Bug(
        name="the noise of the census is half of what its share allows",
        file="census.py",
        text="laplace_scale(2**shift, share)",
        replacement="laplace_scale(2**shift, 2 * share)",
        caught_by=("tests/exact/test_estimator.py::test_census_attains_its_share_and_no_more",),
    ),
)
