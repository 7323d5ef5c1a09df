"""The mean of a population in which every person sets their own privacy budget.

=====================  ===========================================================================
`estimate_mean`        the mean, at everybody's own budget, with an interval: a `MeanEstimate`
`plan_mean`            what to expect of it before any value is read: a `Plan`
`compare`              the errors of this estimator and of others, by simulation
`what_if`              what larger budgets or more people would do to a plan
`Ledger`               what people grant, and what every release has cost them
`plot`                 a picture of a plan, an estimate or a comparison
`write_report`         an estimate as one HTML page
`Choices`              parameters to choose yourself, instead of the plan
`paper`                the algorithms of the paper this library starts from, one function each
`lower_bound`          the error that no private estimator can beat
`Randomness`           secure randomness for releases, seeded randomness for simulations
`PdpMeanError`         base of every error raised on purpose; see `pdpmean.errors`
=====================  ===========================================================================
"""

from typing import TYPE_CHECKING, Any

from pdpmean.core.version import VERSION
from pdpmean.errors import (
    BudgetWarning,
    InsufficientBudgetError,
    InvalidInputError,
    LedgerError,
    MissingPackageError,
    PdpMeanError,
    PopulationWarning,
)

if TYPE_CHECKING:
    from pdpmean import paper
    from pdpmean.core.choices import Choices
    from pdpmean.estimate import estimate_mean
    from pdpmean.laws.lower_bound import lower_bound
    from pdpmean.ledger.ledger import Ledger
    from pdpmean.plan import plan_mean
    from pdpmean.planning.grouped_plan import GroupedPlan
    from pdpmean.planning.plan import Plan
    from pdpmean.randomness import Randomness
    from pdpmean.results.grouped_estimate import GroupedEstimate
    from pdpmean.results.mean_estimate import MeanEstimate
    from pdpmean.show import plot, write_report
    from pdpmean.study.compare import compare
    from pdpmean.study.what_if import what_if

__version__ = VERSION

__all__ = [
    "BudgetWarning",
    "Choices",
    "GroupedEstimate",
    "GroupedPlan",
    "InsufficientBudgetError",
    "InvalidInputError",
    "Ledger",
    "LedgerError",
    "MeanEstimate",
    "MissingPackageError",
    "PdpMeanError",
    "Plan",
    "PopulationWarning",
    "Randomness",
    "__version__",
    "compare",
    "estimate_mean",
    "lower_bound",
    "paper",
    "plan_mean",
    "plot",
    "what_if",
    "write_report",
]

if not TYPE_CHECKING:  # with a module-level __getattr__ a type checker would accept any name

    def __getattr__(name: str) -> Any:
        """An exported name, imported on first use, since NumPy and SciPy take a second to import."""
        if name not in __all__:
            raise AttributeError(f"module 'pdpmean' has no attribute {name!r}")
        globals().update(_imported_with(name))
        return globals()[name]

    def _imported_with(name: str) -> dict[str, Any]:
        """The exported names that are imported together with this one."""
        if name == "Ledger":
            from pdpmean.ledger.ledger import Ledger

            return {"Ledger": Ledger}
        return _import_show() if name in ("plot", "write_report") else _import_methods()

    def _import_show() -> dict[str, Any]:
        """The names that draw or write."""
        from pdpmean.show import plot, write_report

        return {"plot": plot, "write_report": write_report}

    def _import_methods() -> dict[str, Any]:
        """The names that estimate, plan or simulate."""
        import pdpmean.paper
        from pdpmean.core.choices import Choices
        from pdpmean.estimate import estimate_mean
        from pdpmean.laws.lower_bound import lower_bound
        from pdpmean.plan import plan_mean
        from pdpmean.planning.grouped_plan import GroupedPlan
        from pdpmean.planning.plan import Plan
        from pdpmean.randomness import Randomness
        from pdpmean.results.grouped_estimate import GroupedEstimate
        from pdpmean.results.mean_estimate import MeanEstimate
        from pdpmean.study.compare import compare
        from pdpmean.study.what_if import what_if

        functions = (estimate_mean, plan_mean, compare, what_if, lower_bound)
        types = (Choices, Plan, GroupedPlan, Randomness, GroupedEstimate, MeanEstimate)
        return {"paper": pdpmean.paper} | {export.__name__: export for export in (*functions, *types)}

    def __dir__() -> list[str]:
        return sorted(__all__)
