"""What the package exports and takes long to import: where `pdpmean.name` looks when a name is first asked for."""

from pdpmean import paper as paper
from pdpmean.core.choices import Choices as Choices
from pdpmean.estimate import estimate_mean as estimate_mean
from pdpmean.laws.lower_bound import lower_bound as lower_bound
from pdpmean.plan import plan_mean as plan_mean
from pdpmean.planning.plan import Plan as Plan
from pdpmean.randomness import Randomness as Randomness
from pdpmean.results.grouped_estimate import GroupedEstimate as GroupedEstimate
from pdpmean.results.mean_estimate import MeanEstimate as MeanEstimate
