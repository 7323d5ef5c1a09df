"""What the package exports and takes long to import: where `pdpmean.name` looks when a name is first asked for."""

from pdpmean import paper as paper
from pdpmean.bounds import lower_bound as lower_bound
from pdpmean.choices import Choices as Choices
from pdpmean.estimate import estimate_mean as estimate_mean
from pdpmean.grouped import GroupedEstimate as GroupedEstimate
from pdpmean.plan import Plan as Plan
from pdpmean.plan import plan_mean as plan_mean
from pdpmean.randomness import Randomness as Randomness
from pdpmean.result import MeanEstimate as MeanEstimate
