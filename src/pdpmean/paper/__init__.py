"""The paper's algorithms, one file each, with the paper's names and corrected where the printed form fails.

Dong and Ge, "Tight Bounds for Gaussian Mean Estimation under Personalized Differential Privacy"
(arXiv 2601.15682). The corrections are in docs/errata.md. May import: core, laws, release, sources, randomness, errors.

=====================  ===========================================================================
`sparse_vector`        Algorithm 1, SVT
`find_quantile`        Algorithm 2, FindQuantile
`saturation`, `adpm`   Algorithm 3, ADPM, and its threshold
`diffusion_rates`      the rates of Algorithm 6, by Theorem 10
`diffuse`              Definition 6, diffusion
`discretize`           Algorithm 4, Discretization
`estimate_radius`      Algorithm 5, EstimateRadius
`estimate_range`       Algorithm 6, PDPEstimateRange
`mean_bounded`         Algorithm 7, PDPMeanEstimation
`mean_unbounded`       Algorithm 8, PDPMeanEstimationUnknownPrivacy
`lower_bound`          Theorems 9 and 12
`upper_bound`          Theorem 11
`required_records`     Theorems 11 and 13, the number of records that they require
`two_stage_bound`      Lemma 18, two-stage sampling
`ratio_bound`          Lemma 19, ratio concentration
=====================  ===========================================================================
"""

from pdpmean.paper.adpm import adpm
from pdpmean.paper.diffusion import DiffusionRates, diffuse, diffusion_rates
from pdpmean.paper.discretize import Discretized, discretize
from pdpmean.paper.estimate_radius import estimate_radius
from pdpmean.paper.estimate_range import estimate_range
from pdpmean.paper.find_quantile import find_quantile
from pdpmean.paper.mean_bounded import mean_bounded
from pdpmean.paper.mean_unbounded import mean_unbounded
from pdpmean.paper.saturation import Saturation, saturation
from pdpmean.paper.sparse_vector import sparse_vector
from pdpmean.paper.theory import lower_bound, ratio_bound, required_records, two_stage_bound, upper_bound

__all__ = [
    "DiffusionRates",
    "Discretized",
    "Saturation",
    "adpm",
    "diffuse",
    "diffusion_rates",
    "discretize",
    "estimate_radius",
    "estimate_range",
    "find_quantile",
    "lower_bound",
    "mean_bounded",
    "mean_unbounded",
    "ratio_bound",
    "required_records",
    "saturation",
    "sparse_vector",
    "two_stage_bound",
    "upper_bound",
]
