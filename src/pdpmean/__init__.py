"""The mean of a population in which every person sets their own privacy budget.

=====================  ===========================================================================
`paper`                the algorithms of the paper this library starts from, one function each
`lower_bound`          the error that no private estimator can beat
`Randomness`           secure randomness for releases, seeded randomness for simulations
`PdpMeanError`         base of every error raised on purpose; see `pdpmean.errors`
=====================  ===========================================================================
"""

from pdpmean import paper
from pdpmean.bounds import lower_bound
from pdpmean.errors import InvalidInputError, PdpMeanError
from pdpmean.randomness import Randomness

__version__ = "0.1.0"

__all__ = ["InvalidInputError", "PdpMeanError", "Randomness", "__version__", "lower_bound", "paper"]
