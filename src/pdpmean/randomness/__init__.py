"""Randomness: the only source of randomness in the library, for noise, coins, integers and permutations.

A test over the syntax tree checks that no other room draws random numbers. May import: core, errors.
"""

from pdpmean.randomness.keystream import new_run_id, this_process
from pdpmean.randomness.scale import LARGEST_SCALE, laplace_scale
from pdpmean.randomness.source import FirstBits, Randomness, check_randomness, places_below

__all__ = [
    "LARGEST_SCALE",
    "FirstBits",
    "Randomness",
    "check_randomness",
    "laplace_scale",
    "new_run_id",
    "places_below",
    "this_process",
]
