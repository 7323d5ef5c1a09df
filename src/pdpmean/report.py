"""A page about an estimate: the answer, what was promised, what was planned, and how it was made; one HTML file."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable
from html import escape
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdpmean import __version__
from pdpmean.errors import InvalidInputError, MissingPackageError
from pdpmean.inputs import check_probability
from pdpmean.result import rounded

if TYPE_CHECKING:
    from pdpmean.planned import Plan
    from pdpmean.result import MeanEstimate

__all__ = ["report_html", "write_report"]

_LEVELS = (0.8, 0.95, 0.99)
_STEPS = {
    "census": "who holds which budget",
    "weights": "the total weight, to divide by",
    "weight_squares": "how even the weights are",
    "center": "where the population lies",
    "scale": "how wide it is",
    "check": "whether many values are equal",
    "square": "the squares, for the interval",
    "sum": "the sum of the values",
}
_PACKAGES = ("numpy", "scipy", "opendp", "cryptography")
# Nothing is fetched and nothing runs, even if something should have been escaped and was not.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def write_report(
    path: str | os.PathLike[str], estimate: MeanEstimate, *, command: str | None = None, level: float = 0.95
) -> None:
    """Write the page of `report_html` to a file, whole or not at all."""
    page, target = report_html(estimate, command=command, level=level), Path(path)
    beside = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        beside.write_text(page, encoding="utf-8", errors="replace")
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        message = f"cannot write the report to {os.fspath(path)!r}: {error.strerror}"
        raise InvalidInputError(message, name="path", value=path) from error


def report_html(estimate: MeanEstimate, *, command: str | None = None, level: float = 0.95) -> str:
    """The page, complete in itself: no scripts, no network. `command` is shown, `level` is that of the interval."""
    check_probability("level", level)
    mean = rounded(estimate.mean, estimate.std)
    body = [
        *_banners(estimate.private, estimate.warnings),
        *_answer(estimate, mean, level),
        *_section("What was promised", f"<p>{escape(estimate.guarantee)}</p>"),
        *_section("How sure it is", *_certainty(estimate, sorted({*_LEVELS, level}))),
        *_section("What was planned", *_planned(estimate.plan)),
        *_section("How it was made", *_made(estimate.plan, command)),
    ]
    return _page(f"Mean {mean}", body, private=estimate.private)


# Parts of the page, as lines of HTML


def _banners(private: bool, warnings: Iterable[str]) -> list[str]:
    alarm = "Made with seeded randomness, for simulation only. It protects nobody: do not publish."
    shown = [] if private else [f'<p class="alarm"><strong>NOT PRIVATE.</strong> {alarm}</p>']
    return shown + [f'<p class="warning"><strong>Warning:</strong> {escape(text)}.</p>' for text in warnings]


def _answer(estimate: MeanEstimate, mean: str, level: float) -> list[str]:
    low, high = (rounded(end, estimate.std) for end in estimate.interval(level))
    how = "personalized differential privacy" if estimate.private else "seeded randomness"
    shape = ", for a bell-shaped population" if estimate.plan.shape == "gaussian" else ""
    return [
        f"<h1><small>Mean</small> {mean}</h1>",
        f'<p class="lead">With {_percent(level)} confidence, the mean of the population lies between '
        f"<strong>{low}</strong> and <strong>{high}</strong>.</p>",
        f'<p class="muted">Estimated with {how}{shape}.</p>',
    ]


def _certainty(estimate: MeanEstimate, levels: list[float]) -> list[str]:
    def ends(level: float) -> str:
        return " to ".join(rounded(end, estimate.std) for end in estimate.interval(level))

    return [
        *_pictures(
            _picture(
                "intervals",
                "The mean and its intervals",
                "Each interval holds the mean of the population with the probability at its left.",
                estimate,
                levels,
                height=0.9 + 0.4 * len(levels),
            ),
            _picture(
                "parts",
                "What its error is made of",
                "Noise is what protects people; sampling is who happens to be among them.",
                estimate,
                height=2.1,
            ),
        ),
        *_table(
            [
                *((f"{_percent(level)} interval", ends(level)) for level in levels),
                ("error (std)", f"{estimate.std:.3g}"),
                ("of which noise", f"{estimate.noise_std:.3g}"),
                ("of which sampling", f"{estimate.sampling_std:.3g}"),
                ("population's std", f"{estimate.scale:.4g}"),
                ("selection", f"off by up to {estimate.selection_bound:.3g} more if budgets and values go together"),
            ]
        ),
    ]


def _planned(plan: Plan) -> list[str]:
    error, ratio = f"{plan.ratio_to_lower_bound * plan.lower_bound:.3g}", f"{plan.ratio_to_lower_bound:.3g}"
    return [
        *_pictures(
            _picture(
                "error",
                "Error that one run in four exceeds",
                f"If more or fewer people granted the same budgets. Here it is {error} standard deviations, {ratio} "
                "times the lower bound, which no private estimator stays below.",
                plan,
            ),
            _picture(
                "weights",
                "What a budget counts",
                f"A person's weight grows with their budget, up to {plan.saturation:.3g}; more no longer counts.",
                plan,
            ),
        ),
        '<div class="tables">',
        *_table([row for row in plan.rows() if row[0] != "shares of the budget"], "Before any value was read"),
        *_table(
            [(_STEPS[name], _percent(round(float(share), 4))) for name, share in plan.shares.items()],
            "Part of every budget that was used to find",
        ),
        "</div>",
    ]


def _made(plan: Plan, command: str | None) -> list[str]:
    options: list[tuple[str, str]] = [("model", plan.model.name), ("shape", plan.shape)]
    for name, ends in (("budget range", plan.model.budget_range), ("support", plan.support)):
        options += [(name, f"{ends[0]:g} to {ends[1]:g}")] if ends else []
    versions = [("pdpmean", __version__), ("Python", platform.python_version())]
    versions += [(name, metadata.version(name)) for name in _PACKAGES]
    return [
        f"<pre><code>{_words(command)}</code></pre>" if command else "",
        '<div class="tables">',
        *_table(options, "Options"),
        *_table(versions, "Versions"),
        "</div>",
    ]


# HTML


def _page(title: str, body: list[str], *, private: bool) -> str:
    style = resources.files("pdpmean").joinpath("report.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>{'' if private else 'NOT PRIVATE: '}{escape(title)} (pdpmean)</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            *filter(None, body),
            "</main>",
            "</body>",
            "</html>\n",
        ]
    )


def _section(title: str, *content: str) -> list[str]:
    return ["<section>", f"<h2>{escape(title)}</h2>", *content, "</section>"]


def _table(rows: Iterable[tuple[str, str]], caption: str = "") -> list[str]:
    lines = [f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text in rows]
    return ["<table>", f"<caption>{escape(caption)}</caption>" if caption else "", *lines, "</table>"]


def _pictures(*pictures: str) -> list[str]:
    if not all(pictures):
        return ["<p class=\"muted\">For pictures: <code>pip install 'pdpmean[plot]'</code></p>"]
    return ['<div class="pictures">', *pictures, "</div>"]


def _picture(panel: str, title: str, caption: str, *drawn: Any, height: float = 3.1) -> str:
    """A panel of `plots` with its title and caption; nothing without matplotlib."""
    try:
        from pdpmean import plots
    except MissingPackageError:
        return ""
    from pdpmean.svg import inline_svg

    draw = getattr(plots, f"draw_{panel}")
    picture = inline_svg(lambda axes: draw(axes, *drawn), name=panel, title=f"{title}. {caption}", height=height)
    return f"<figure>\n<h3>{escape(title)}</h3>\n{picture}<figcaption>{escape(caption)}</figcaption>\n</figure>"


def _words(command: str) -> str:
    """Word by word, so that no line ends within `--option`."""
    return "".join(f"<span>{escape(word)}</span>" if word.strip() else word for word in re.split(r"(\s+)", command))


def _percent(part: float) -> str:
    return f"{100 * part:g}\N{NO-BREAK SPACE}%"
