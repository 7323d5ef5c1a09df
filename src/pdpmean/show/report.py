"""A report: the answer, what was promised, what was planned and how it was made, as one HTML file."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdpmean import __version__
from pdpmean.core.checks import check_probability
from pdpmean.core.text import rounded, short
from pdpmean.errors import InvalidInputError
from pdpmean.results.grouped_estimate import GroupedEstimate
from pdpmean.results.mean_estimate import MeanEstimate
from pdpmean.show.page import banner, columns, command_line, lines, page, paragraph, picture, pictures, section, table

if TYPE_CHECKING:
    from pdpmean.planning.plan import Plan

__all__ = ["report_html", "write_report"]

_LEVELS = (0.8, 0.95, 0.99)
_STEPS = {
    "census": "who holds which budget",
    "weights": "the total weight, to divide by",
    "weight_squares": "how even the weights are",
    "center": "where the population lies",
    "scale": "how wide it is",
    "sum": "the sum of the values, and a check of their shape",
}
_ASSUMED = {"gaussian": ", for a bell-shaped population"}
_ENDINGS = (".html", ".htm")
_USAGE = "write_report(estimate, 'report.html')"
_PACKAGES = ("numpy", "scipy", "opendp", "cryptography")


def write_report(
    estimate: MeanEstimate | GroupedEstimate,
    path: str | os.PathLike[str],
    *,
    command: str | None = None,
    level: float = 0.95,
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

    Raises
    ------
    InvalidInputError
        The two are in the wrong order, the path does not end so, or it cannot be written.

    """
    _check_estimate(estimate)
    target = _check_path(path)
    text = report_html(estimate, command=command, level=level)
    beside = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        beside.write_text(text, encoding="utf-8", errors="replace")
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        message = f"cannot write the report to {os.fspath(path)!r}: {error.strerror}"
        raise InvalidInputError(message, name="path", value=path) from error


def _check_estimate(estimate: object) -> None:
    if not isinstance(estimate, MeanEstimate | GroupedEstimate):
        raise InvalidInputError(
            f"a report is of an estimate; got {type(estimate).__name__}: {_USAGE}", name="estimate", value=estimate
        )


def _check_path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(
            f"a report is written to the path of a file; got {type(path).__name__}: {_USAGE}", name="path", value=path
        )
    target = Path(path)
    if target.suffix.lower() not in _ENDINGS:
        raise InvalidInputError(
            f"a report must end in {' or '.join(_ENDINGS)}; got {os.fspath(path)!r}", name="path", value=path
        )
    return target


def report_html(estimate: MeanEstimate | GroupedEstimate, *, command: str | None = None, level: float = 0.95) -> str:
    """The page, complete in itself: no scripts, no network. `command` is shown, `level` is that of the intervals."""
    check_probability("level", level)
    title, *content = _one(estimate, level) if isinstance(estimate, MeanEstimate) else _many(estimate, level)
    return page(
        f"{'' if estimate.private else 'NOT PRIVATE: '}{title} (pdpmean)",
        _banners(estimate),
        *content,
        section("How it was made", _made(estimate, command)),
    )


def _banners(estimate: MeanEstimate | GroupedEstimate) -> str:
    alarm = "Made with seeded randomness, for simulation only. It protects nobody: do not publish."
    return lines(
        "" if estimate.private else banner("alarm", "NOT PRIVATE.", alarm),
        *(banner("warning", "Warning:", f"{text}.") for text in estimate.warnings),
    )


def _how(estimate: MeanEstimate | GroupedEstimate, shape: str) -> str:
    means = "personalized differential privacy" if estimate.private else "seeded randomness"
    return paragraph(f"Estimated with {means}{_ASSUMED.get(shape, '')}.", "muted")


# One estimate


def _one(estimate: MeanEstimate, level: float) -> list[str]:
    mean = rounded(estimate.mean, estimate.std)
    low, high = (rounded(end, estimate.std) for end in estimate.interval(level))
    return [
        f"Mean {mean}",
        f"<h1><small>Mean</small> {mean}</h1>",
        f'<p class="lead">With {_percent(level)} confidence, the mean of the population lies between '
        f"<strong>{low}</strong> and <strong>{high}</strong>.</p>",
        _how(estimate, estimate.plan.shape),
        section("What was promised", paragraph(estimate.guarantee)),
        section("How sure it is", *_certainty(estimate, sorted({*_LEVELS, level}))),
        section("What was planned", *_planned(estimate.plan)),
    ]


def _certainty(estimate: MeanEstimate, levels: list[float]) -> list[str]:
    intervals = (
        "intervals",
        "The mean and its intervals",
        "Each interval holds the mean of the population with the probability at its left.",
    )
    parts = (
        "parts",
        "What its error is made of",
        "Noise is what protects people; sampling is who happens to be among them.",
    )
    ends = [" to ".join(rounded(end, estimate.std) for end in estimate.interval(level)) for level in levels]
    rows = [
        *((f"{_percent(level)} interval", text) for level, text in zip(levels, ends, strict=True)),
        ("error (std)", short(estimate.std)),
        ("of which noise", short(estimate.noise_std)),
        ("of which sampling", short(estimate.sampling_std)),
        ("population's std", short(estimate.scale, 4)),
        ("selection", f"off by up to {short(estimate.selection_bound)} more if budgets and values go together"),
    ]
    return [
        pictures(
            picture(*intervals, estimate, levels, height=0.9 + 0.4 * len(levels)),
            picture(*parts, estimate, height=2.1),
        ),
        table(rows),
    ]


def _planned(plan: Plan) -> list[str]:
    error = f"{plan.ratio_to_lower_bound * plan.lower_bound:.3g} standard deviations"
    errors = (
        "error",
        "Error that one run in four exceeds",
        f"If more or fewer people granted the same budgets. Here it is {error}, {plan.ratio_to_lower_bound:.3g} "
        "times the lower bound, which no private estimator stays below.",
    )
    weights = (
        "weights",
        "What a budget counts",
        f"A person's weight grows with their budget, up to {plan.saturation:.3g}; more no longer counts.",
    )
    facts = [row for row in plan.rows() if row[0] != "shares of the budget"]
    shares = [(_STEPS[name], _percent(round(float(share), 4))) for name, share in plan.shares.items()]
    return [
        pictures(picture(*errors, plan), picture(*weights, plan)),
        columns(table(facts, "Before any value was read"), table(shares, "Part of every budget that was used to find")),
    ]


# Many


def _many(grouped: GroupedEstimate, level: float) -> list[str]:
    count = f"{len(grouped.groups)} group{'s' * (len(grouped.groups) != 1)}"
    refused = f" {len(grouped.refused)} refused." if grouped.refused else ""
    groups = "groups", "The mean of each group", "Dots are means, lines their intervals."
    shapes: set[str] = {estimate.plan.shape for estimate in grouped.estimates.values()}
    return [
        f"Means of {count}",
        f"<h1><small>Means of</small> {count}</h1>",
        paragraph(f"Each with an interval that holds it with {_percent(level)} confidence.{refused}", "lead"),
        _how(grouped, *shapes or {""}),
        pictures(picture(*groups, grouped, level, height=0.9 + 0.3 * len(grouped.groups))),
        table(
            [_group(row) for row in grouped.rows(level)],
            head=("group", "mean", f"{_percent(level)} from", "to", "error (std)"),
        ),
        section("What was promised", paragraph(grouped.guarantee)),
    ]


def _group(row: dict[str, Any]) -> list[str]:
    name = str(row["group"])
    if row["refused"] is not None:
        return [name, f"refused: {row['refused']}"]
    return [name, *(rounded(row[number], row["std"]) for number in ("mean", "low", "high")), short(row["std"])]


# Both


def _made(estimate: MeanEstimate | GroupedEstimate, command: str | None) -> str:
    plans = [estimate.plan] if isinstance(estimate, MeanEstimate) else [one.plan for one in estimate.estimates.values()]
    model = estimate.promise.model
    options: list[tuple[str, str]] = [("model", model.name), *(("shape", plan.shape) for plan in plans[:1])]
    for name, ends in (("budget range", model.budget_range), ("support", plans[0].support if plans else None)):
        options += [(name, f"{ends[0]:g} to {ends[1]:g}")] if ends else []
    versions = [("pdpmean", __version__), ("Python", platform.python_version())]
    versions += [(name, metadata.version(name)) for name in _PACKAGES]
    return lines(
        command_line(command) if command else "", columns(table(options, "Options"), table(versions, "Versions"))
    )


def _percent(part: float) -> str:
    return f"{100 * part:g}\N{NO-BREAK SPACE}%"
