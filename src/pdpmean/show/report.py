"""Report: an estimate as one HTML file, with the answer, the guarantee, the plan, the cost and how it was made.

The texts and the layout are in `templates/`. This module collects what the templates are filled with.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Hashable, Sequence
from functools import lru_cache
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdpmean.core.checks import check_probability
from pdpmean.core.choices import ASSUMPTIONS
from pdpmean.core.files import PAGE_SUFFIXES, check_is_new, replacing
from pdpmean.core.html import environment
from pdpmean.core.question import NAMELESS
from pdpmean.core.text import rounded, short
from pdpmean.core.version import VERSION
from pdpmean.errors import InvalidInputError
from pdpmean.planning.forecast import ONE_IN_FOUR
from pdpmean.planning.plan_in_words import STEPS, with_unit
from pdpmean.results.grouped_estimate import LEVEL_HEAD, GroupedEstimate
from pdpmean.results.mean_estimate import LEVELS, MeanEstimate
from pdpmean.show.cost import cost_of, run_of
from pdpmean.show.figures import Figures

if TYPE_CHECKING:
    from jinja2 import Environment

    from pdpmean.planning.plan import Plan

__all__ = ["report_html", "write_report"]

_NOISE = "Noise protects people. "
_SAMPLING = "Sampling error remains because they are only a sample of the population."
_SAMPLING_OF_THESE_PEOPLE = "Sampling error remains only as far as people count differently, or values are clipped."
_TAILS = " Unseen tails are what may lie where the budget shows nothing."
# Packages whose versions a report states.
_PACKAGES = ("numpy", "scipy", "opendp", "cryptography")

Context = dict[str, Any]  # the variables of a template


def write_report(
    estimate: MeanEstimate | GroupedEstimate,
    path: str | os.PathLike[str],
    *,
    command: str | None = None,
    level: float = 0.95,
    overwrite: bool = False,
) -> None:
    """Write an estimate as one HTML page, complete in itself: no scripts, no network.

    Parameters
    ----------
    estimate
        What `estimate_mean` returned.
    path
        The file, which must end in .html or .htm. It is written whole or not at all.
    command
        The command that made the estimate, to be shown on the page.
    level
        The confidence level of the intervals.
    overwrite
        Replace an existing file. It may be the only report of a release that cannot be repeated.

    Raises
    ------
    InvalidInputError
        The arguments are in the wrong order, or the path has another ending, exists already, or cannot be written.

    """
    _check_arguments(estimate, path)
    check_is_new(path, overwrite=overwrite)
    text = report_html(estimate, command=command, level=level)
    try:
        with replacing(Path(path), PAGE_SUFFIXES) as part:
            part.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        message = f"cannot write {os.fspath(path)}: {error.strerror}"
        raise InvalidInputError(message, name="path", value=path) from error


def _check_arguments(estimate: object, path: object) -> None:
    """Raise if the arguments of `write_report` have the wrong types or are in the wrong order."""
    if not isinstance(estimate, MeanEstimate | GroupedEstimate) or not isinstance(path, str | os.PathLike):
        raise InvalidInputError(
            "write_report takes an estimate and the path of a file, write_report(estimate, 'report.html'); "
            f"got {type(estimate).__name__} and {type(path).__name__}",
            name="estimate",
        )


def report_html(estimate: MeanEstimate | GroupedEstimate, *, command: str | None = None, level: float = 0.95) -> str:
    """The HTML page of a report, complete in itself: no scripts, no network.

    `command` is the command to show on the page, and `level` the confidence level of the intervals.
    """
    check_probability("level", level)
    if isinstance(estimate, MeanEstimate):
        template, content = "estimate.html", _one_estimate(estimate, level)
    else:
        template, content = "groups.html", _estimates_by_group(estimate, level)
    return str(_templates().get_template(template).render(_common(estimate, command) | content))


@lru_cache(maxsize=1)
def _templates() -> Environment:
    return environment("pdpmean.show")


def _common(estimate: MeanEstimate | GroupedEstimate, command: str | None) -> Context:
    """The variables that both templates need."""
    return {
        "private": estimate.private,
        "warnings": estimate.warnings,
        "contradictions": estimate.contradictions,
        "advice": estimate.advice,
        "cost_of_another": estimate.cost_of_another,
        "guarantee": estimate.guarantee,
        "style": _style(),
        "command": command.split() if command else [],
        "made": _made(estimate),
        "cost": cost_of(estimate.promise),
    }


def _style() -> Any:
    """The style sheet, which goes into the page."""
    from markupsafe import Markup

    return Markup(resources.files("pdpmean.show").joinpath("report.css").read_text(encoding="utf-8"))


def _method(estimate: MeanEstimate | GroupedEstimate, plan: Plan | None) -> str:
    """One sentence that names the method and its assumption about the population."""
    protection = "personalized differential privacy" if estimate.private else "seeded randomness"
    return f"Estimated with {protection}{ASSUMPTIONS[plan.shape] if plan else ''}."


# One estimate


def _one_estimate(estimate: MeanEstimate, level: float) -> Context:
    """The variables of the template for a single estimate."""
    if estimate.contradicted:
        return _no_answer(estimate)
    mean = estimate.shown(estimate.mean)
    low, high = map(estimate.shown, estimate.interval(level))
    what = estimate.question.in_words
    return {
        "title": f"{what}: {mean}",
        "what": what,
        "mean": mean,
        "quantity": _quantity(estimate),
        "level": _percent(level),
        "low": low,
        "high": high,
        "holds_if": estimate.holds_if,
        "method": _method(estimate, estimate.plan),
        "certainty": _certainty(estimate, level),
        "planned": _planned(estimate.plan),
    }


def _quantity(estimate: MeanEstimate) -> str:
    """What is estimated, and whose it is, such as "mean of the population"."""
    whose = estimate.plan.whose
    if not estimate.question.is_share:
        return f"mean of {whose.in_words}"
    return f"share {'among' if whose.are_these_people else 'in'} {whose.in_words}"


def _no_answer(estimate: MeanEstimate) -> Context:
    """The variables where the released numbers contradict the assumptions: no mean and no intervals."""
    return {
        "title": f"{estimate.question.in_words}: no answer",
        "what": estimate.question.in_words,
        "released": rounded(estimate.released_mean, estimate.std),
        "method": _method(estimate, estimate.plan),
        "planned": _planned(estimate.plan),
    }


def _certainty(estimate: MeanEstimate, level: float) -> Context:
    """The figures and the table about how far the estimate may be from the truth."""
    levels = sorted({*LEVELS, level})
    intervals = [" to ".join(map(estimate.shown, estimate.interval(one_level))) for one_level in levels]
    return {
        "figures": _figures_of_certainty(estimate, levels).drawn,
        "rows": [
            *((f"{_percent(one_level)} interval", text) for one_level, text in zip(levels, intervals, strict=True)),
            ("error (std)", estimate.shown_error(estimate.std)),
            *((f"of which {name}", estimate.shown_error(size)) for name, size in estimate.error_parts.items()),
            ("population's std", short(estimate.scale, 4)),
            *(estimate.missing_rows() if estimate.question.is_share else estimate.further_rows(level)),
            *estimate.assumed_rows(),
            ("whose mean", estimate.whose_mean),
            *estimate.level_rows(),
        ],
    }


def _figures_of_certainty(estimate: MeanEstimate, levels: Sequence[float]) -> Figures:
    """The figures of the intervals, of the parts of the error and, if the levels of budgets differ, of their means."""
    figures = Figures()
    figures.add(
        "intervals",
        "The mean and its intervals",
        f"Each interval contains the {_quantity(estimate)} with the probability on its left.",
        (estimate, levels),
        height=0.9 + 0.4 * len(levels),
    )
    figures.add(
        "parts",
        "What its error is made of",
        _on_error_parts(estimate),
        (estimate,),
        height=0.9 + 0.4 * (1 + len(estimate.error_parts)),
    )
    if estimate.levels_differ:
        figures.add(
            "levels",
            "The mean by budget",
            "Values correlate with budgets. Shown are the mean at each budget and that of everyone.",
            (estimate,),
            height=0.9 + 0.4 * len(estimate.levels),
        )
    return figures


def _on_error_parts(estimate: MeanEstimate) -> str:
    """What each part of the error is due to."""
    sampling = _SAMPLING_OF_THESE_PEOPLE if estimate.plan.whose.are_these_people else _SAMPLING
    return _NOISE + sampling + (_TAILS if estimate.assumed else "")


def _planned(plan: Plan) -> Context:
    """The figures and the tables about the plan."""
    figures = Figures()
    figures.add(
        "error",
        "Error that one run in four exceeds",
        f"As it would be with more or fewer people at the same budgets. Here it is {_error(plan)}.",
        (plan,),
    )
    figures.add(
        "weights",
        "How much a budget counts",
        _weights_caption(plan),
        (plan,),
    )
    return {
        "figures": figures.drawn,
        "facts": [row for row in plan.rows() if row[0] != "shares of the budget"],
        "shares": _shares([plan]),
    }


def _weights_caption(plan: Plan) -> str:
    """The caption of the figure of weights."""
    if plan.levels is None:
        return f"A person's weight grows with their budget up to {plan.saturation_in_words}; more budget adds nothing."
    if plan.weighting == "everyone":
        return "Everyone counts the same, whatever they grant."
    return "How much a person counts if values turn out not to depend on budgets. If they do, people count more evenly."


def _shares(plans: Sequence[Plan]) -> list[tuple[str, str]]:
    """The share of every budget that each step used, such as "20 %"; a range where plans differ."""
    shares = {name: sorted({round(float(plan.shares.get(name, 0)), 4) for plan in plans}) for name in STEPS}
    used = {name: (sizes[0], sizes[-1]) for name, sizes in shares.items() if sizes and sizes[-1] > 0}
    return [(STEPS[name], " to ".join(dict.fromkeys(map(_percent, ends)))) for name, ends in used.items()]


def _error(plan: Plan) -> str:
    """The error that one run in four exceeds, and its ratio to the lower bound, if there is one."""
    error = with_unit(plan, plan.half_width(ONE_IN_FOUR))
    ratio = plan.ratio_to_lower_bound
    return error if ratio is None else f"{error}, {ratio:.3g} times the lower bound for every private estimator"


# Estimates by group


def _estimates_by_group(grouped: GroupedEstimate, level: float) -> Context:
    """The variables of the template for estimates by group."""
    count = f"{len(grouped.groups)} group{'s' * (len(grouped.groups) != 1)}"
    figures = Figures()
    figures.add(
        "groups",
        "The mean of each group",
        "Dots are means; lines are their intervals.",
        (grouped, level),
        height=0.9 + 0.3 * len(grouped.groups),
    )
    ends = grouped.intervals(level)
    question = next((one.question for one in grouped.estimates.values()), NAMELESS)
    quantity = "share" if question.is_share else "mean"
    return {
        "title": f"{question.in_words} in {count}",
        "what": question.in_words,
        "quantity": quantity,
        "count": count,
        "level": _percent(level),
        "answered": bool(grouped.answered),
        "without_answer": _without_answer(grouped),
        "holds_if": grouped.holds_if,
        "method": _method(grouped, _plan(grouped)),
        "drawn": figures.drawn,
        "rows": [_group(grouped, group, ends.get(group)) for group in grouped.groups],
        "shares": _shares([one.plan for one in grouped.estimates.values()]),
        "head": ("group", *["people"] * _has_people(grouped), quantity, f"{_percent(level)} from", "to", "error (std)"),
        "percentages": _percentages(grouped, ends),
        "levels": grouped.level_rows(),
        "level_head": LEVEL_HEAD,
    }


def _without_answer(grouped: GroupedEstimate) -> str:
    """How many groups have no answer, and why."""
    contradicted = len(grouped.estimates) - len(grouped.answered)
    refused = f" {len(grouped.refused)} refused." if grouped.refused else ""
    return refused + (f" {contradicted} without an answer." if contradicted else "")


def _has_people(grouped: GroupedEstimate) -> bool:
    """Whether the numbers of people may be shown, as they may be where participation is public."""
    return grouped.promise.model.budgets_are_public


def _percentages(grouped: GroupedEstimate, ends: dict[Hashable, tuple[float, float]]) -> list[tuple[str, ...]]:
    """Means between 0 and 1 and their intervals as percentages; none for shares, which are in percent by themselves."""
    answers = {group: grouped.estimates[group] for group in grouped.answered}
    return [
        (str(group), *answer.in_percent(ends[group]))
        for group, answer in answers.items()
        if answer.is_between_0_and_1 and not answer.question.is_share
    ]


def _group(grouped: GroupedEstimate, group: Hashable, ends: tuple[float, float] | None) -> list[str]:
    """The row of a group in the table."""
    name = str(group)
    if ends is None:
        return [name, f"refused: {grouped.refused[group]}"]
    estimate = grouped.estimates[group]
    if estimate.contradicted:
        return [name, f"no answer: {'; '.join(estimate.contradictions)}"]
    people = [f"{estimate.plan.people:,.0f}"] if _has_people(grouped) else []
    return [name, *people, *map(estimate.shown, (estimate.mean, *ends)), estimate.shown_error(estimate.std)]


# Both


def _plan(estimate: MeanEstimate | GroupedEstimate) -> Plan | None:
    """The plan of an estimate; of estimates by group, the plan of the first group that has one."""
    if isinstance(estimate, MeanEstimate):
        return estimate.plan
    return next((one.plan for one in estimate.estimates.values()), None)


def _made(estimate: MeanEstimate | GroupedEstimate) -> Context:
    """How the estimate was made: the run, the options and the versions of the software."""
    plan = _plan(estimate)
    model = estimate.promise.model
    options: list[tuple[str, str]] = [("model", model.name)]
    if plan:
        options += [
            ("shape", plan.given_shape),
            ("weighting", plan.whose.weighting),
            ("target", plan.whose.target),
            ("missing", "none" if plan.nothing_missing else "some"),
        ]
    for name, ends in (("budget range", model.budget_range), ("bounds", plan and plan.bounds.ends)):
        options += [(name, " to ".join("unknown" if end is None else f"{end:g}" for end in ends))] if ends else []
    versions = [("pdpmean", VERSION), ("Python", platform.python_version())]
    versions += [(name, metadata.version(name)) for name in _PACKAGES]
    return {"run": run_of(estimate.promise), "options": options, "versions": versions}


def _percent(part: float) -> str:
    return f"{100 * part:g}\N{NO-BREAK SPACE}%"
