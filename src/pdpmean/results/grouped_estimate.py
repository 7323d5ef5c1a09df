"""`GroupedEstimate`: one estimate per group, or the reason why there is none."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pdpmean.core.checks import check_probability
from pdpmean.core.html import as_html
from pdpmean.core.interval import interval_content
from pdpmean.core.promise import Promise
from pdpmean.core.text import as_table, rounded, short
from pdpmean.laws.error_law import ErrorLaw, intervals
from pdpmean.results.mean_estimate import MeanEstimate

__all__ = ["LEVEL_HEAD", "GroupedEstimate"]

LEVEL_HEAD = ("group", "budget", "mean +- error (std)", "share of people")  # over `GroupedEstimate.level_rows`

_NAMED = 5  # the number of groups that a warning names before it says "and 7 more"
_NO_RECORDS = "there are no records"  # how a refusal begins if a group has none; see `planning/make.py`
_SPELLING = "Is the name of the group spelled as in the data? Case matters"


@dataclass(frozen=True, repr=False)
class GroupedEstimate(Mapping[Any, MeanEstimate]):
    """The estimates of the requested groups, in the order of the request; `refused` says why some have none.

    A mapping from group to `MeanEstimate`. `to_arrow` and `to_pandas` give one row per group.
    """

    groups: tuple[Hashable, ...]
    """The requested groups."""
    estimates: dict[Hashable, MeanEstimate]
    """The estimate of each group that has one."""
    refused: dict[Hashable, str]
    """Why each of the other groups was refused."""
    promise: Promise
    """What is guaranteed, to whom, and what it cost."""
    budget_warnings: tuple[str, ...] = ()
    """What to know about the budgets of all groups, as far as it is public."""

    @classmethod
    def of(
        cls,
        groups: tuple[Hashable, ...],
        estimates: Sequence[MeanEstimate | None],
        outcomes: Sequence[object],
        promise: Promise,
        budget_warnings: tuple[str, ...] = (),
    ) -> GroupedEstimate:
        """The result for these groups, given the estimate of each, or its refusal among the outcomes of planning."""
        by_group = {group: estimate for group, estimate in zip(groups, estimates, strict=True) if estimate}
        refused = {
            group: _with_hint(str(outcome), promise)
            for group, outcome in zip(groups, outcomes, strict=True)
            if group not in by_group
        }
        return cls(groups, by_group, refused, promise, budget_warnings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about budgets, then those of all estimates, each with the groups it is about."""
        of_groups = _with_groups({group: estimate.warnings for group, estimate in self.estimates.items()})
        return (*self.budget_warnings, *of_groups)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Why some groups have no answer although numbers were released for them, each with its groups."""
        return _with_groups({group: estimate.contradictions for group, estimate in self.estimates.items()})

    @property
    def holds_if(self) -> tuple[str, ...]:
        """The conditions on which the intervals hold, each once: of unseen subgroups, the largest over all groups."""
        answers = {group: self.estimates[group] for group in self.answered}
        tails = [answer.assumed for answer in answers.values() if answer.assumed]
        worst = max(tails, key=lambda one: one.smallest_visible, default=None)
        unseen = worst.holds_if("subgroup", "a group") if worst else None
        return tuple(
            _each_once({group: unseen if answer.assumed else answer.holds_if for group, answer in answers.items()})
        )

    @property
    def advice(self) -> tuple[str, ...]:
        """What would help the groups that have no answer although numbers were released, each with its groups."""
        return _with_groups({group: estimate.advice for group, estimate in self.estimates.items()})

    @property
    def cost_of_another(self) -> str:
        """What to know before another run, in words."""
        of_refused = ". People in refused groups have spent less, or nothing" * bool(self.refused)
        return f"{self.promise.cost_of_another}{of_refused}"

    @property
    def answered(self) -> tuple[Hashable, ...]:
        """The groups that have an answer: neither refused nor contradicted."""
        return tuple(group for group, estimate in self.estimates.items() if not estimate.contradicted)

    @property
    def guarantee(self) -> str:
        """What is guaranteed, and to whom, in words."""
        return str(self.promise)

    @property
    def private(self) -> bool:
        """Whether the randomness protects anyone."""
        return self.promise.private

    def __getitem__(self, group: Any) -> MeanEstimate:
        if group in self.refused:
            raise KeyError(f"{group!r} has no estimate: {self.refused[group]}")
        return self.estimates[group]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """One row per group, as plain numbers and words; numbers are None for a group without an answer."""
        answered = set(self.answered)
        ends = {group: interval for group, interval in self.intervals(level).items() if group in answered}
        return [self._row(group, *ends.get(group, (None, None))) for group in self.groups]

    def intervals(self, level: float = 0.95) -> dict[Hashable, tuple[float, float]]:
        """The interval of each group that has an estimate: `MeanEstimate.interval`, but computed for all at once."""
        check_probability("level", level)
        laws = [estimate.law for estimate in self.estimates.values()]
        mixtures = iter(intervals([law for law in laws if isinstance(law, ErrorLaw)], level))
        ends = [next(mixtures) if isinstance(law, ErrorLaw) else law.interval(level) for law in laws]
        return dict(zip(self.estimates, ends, strict=True))

    def _row(self, group: Hashable, low: float | None, high: float | None) -> dict[str, Any]:
        estimate = self.estimates.get(group)
        return {
            "group": group,
            "mean": None if estimate is None or estimate.contradicted else estimate.mean,
            "low": low,
            "high": high,
            "std": estimate and estimate.std,
            "noise_std": estimate and estimate.noise_std,
            "sampling_std": estimate and estimate.sampling_std,
            "tails_std": estimate and estimate.tails_std,
            "scale": estimate and estimate.scale,
            "missing": estimate and estimate.missing,
            "refused": self.refused.get(group),
            "contradiction": "; ".join(estimate.contradictions) or None if estimate else None,
            "advice": "; ".join(estimate.advice) or None if estimate else None,
            "warning": "; ".join(estimate.warnings) or None if estimate else None,
        }

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON, with intervals at this confidence level."""
        return {
            "groups": [_with_interval(row, level) | self._levels(row["group"]) for row in self.rows(level)],
            "holds_if": list(self.holds_if),
            "warnings": list(self.warnings),
            "private": self.private,
            "guarantee": self.guarantee,
            "shares": {str(group): estimate.shares for group, estimate in self.estimates.items()},
            "plan": {str(group): estimate.plan.expectations for group, estimate in self.estimates.items()},
            **self.promise.to_dict(),
        }

    def to_arrow(self, level: float = 0.95) -> Any:
        """An Arrow table, one row per group."""
        import pyarrow as pa

        numbers = ("mean", "low", "high", "std", "noise_std", "sampling_std", "tails_std", "scale", "missing")
        rows = self.rows(level)
        columns: dict[str, Any] = {"group": pa.array([row["group"] for row in rows])}
        columns |= {name: pa.array([row[name] for row in rows], pa.float64()) for name in numbers}
        texts = ("refused", "contradiction", "advice", "warning")
        columns |= {name: pa.array([row[name] for row in rows], pa.string()) for name in texts}
        return pa.table(columns)

    def to_pandas(self, level: float = 0.95) -> Any:
        """A pandas frame, one row per group."""
        return self.to_arrow(level).to_pandas()

    def _levels(self, group: Hashable) -> dict[str, Any]:
        """The mean by budget in a group, as plain numbers; no levels if it was refused."""
        estimate = self.estimates.get(group)
        return {
            "levels": [level.to_dict() for level in estimate.levels] if estimate else [],
            "levels_differ": estimate is not None and estimate.levels_differ,
        }

    def level_rows(self) -> list[tuple[str, ...]]:
        """Rows of text: the mean by budget in the groups whose levels differ; `LEVEL_HEAD` names the columns."""
        return [
            (str(group), level.in_words, level.mean_in_words, level.share_in_words)
            for group in self.answered
            if self.estimates[group].levels_differ
            for level in self.estimates[group].levels
        ]

    def _cells(self, level: float = 0.95) -> list[tuple[str, ...]]:
        """The table that is printed: a head, and one row of texts per group."""
        percentage = ("as a percentage",) * any(estimate.is_between_0_and_1 for estimate in self.estimates.values())
        head = ("group", "mean", f"{100 * level:.6g} % interval", *percentage, "error (std)", "")
        ends = self.intervals(level)
        return [head, *(self._line(group, ends.get(group), len(head)) for group in self.groups)]

    def _line(self, group: Hashable, ends: tuple[float, float] | None, width: int) -> tuple[str, ...]:
        """The row of a group, with this many cells."""
        estimate = self.estimates.get(group)
        if estimate is None or ends is None or estimate.contradicted:
            reason = "NO ANSWER" if estimate else "refused"
            return str(group), "-", *[""] * (width - 3), reason
        low, high = (rounded(end, estimate.std) for end in ends)
        mean = rounded(estimate.mean, estimate.std)
        percentage = (", ".join(estimate.in_percent(ends)),) * estimate.is_between_0_and_1
        mark = "warning" * bool(estimate.warnings)
        return str(group), mean, f"{low} to {high}", *percentage, short(estimate.std), mark

    def _conditions(self) -> list[str]:
        """The conditions on which the intervals hold, directly below the table."""
        return [f"holds if: {text}" for text in self.holds_if]

    def _notes(self) -> list[str]:
        """Why groups have no answer, what would help, and warnings: each text once, with the groups it is about."""
        refused = tuple(_few(list(_with_groups({group: (text,) for group, text in self.refused.items()})), "others"))
        kinds = {
            "refused": refused,
            "NO ANSWER": self.contradictions,
            "what to do next": self.advice,
            "before another run": (self.cost_of_another,) if self.contradictions else (),
            "warning": self.warnings,
        }
        return [f"{kind}: {text}" for kind, texts in kinds.items() for text in texts]

    def _facts(self) -> list[str]:
        """What to know about the answers, below the table: each text once, with its groups unless it is about all."""
        answers = {group: self.estimates[group] for group in self.answered}
        rows: dict[str, Mapping[Hashable, str | None]] = {
            "bounds": {group: dict(answer.assumed_rows()).get("bounds") for group, answer in answers.items()},
            "missing": _missing_in_words(answers),
            "assumed": {group: str(answer.assumed) if answer.assumed else None for group, answer in answers.items()},
            "whose mean": {group: answer.whose_mean for group, answer in answers.items()},
        }
        return [f"{name}: {text}" for name, texts in rows.items() for text in _each_once(texts)]

    def __repr__(self) -> str:
        contradicted = len(self.estimates) - len(self.answered)
        marks = f", {len(self.refused)} refused" * bool(self.refused)
        marks += f", {contradicted} contradicted" * bool(contradicted) + ", NOT PRIVATE" * (not self.private)
        return f"<GroupedEstimate of {len(self.groups)} groups{marks}>"

    def __str__(self) -> str:
        return self.text()

    def text(self, level: float = 0.95) -> str:
        """One aligned line per group, with intervals at this confidence level."""
        banner = [] if self.private else ["NOT PRIVATE: seeded randomness, for simulation only", ""]
        table = as_table(self._cells(level), right_from=5)
        spending = self.promise.spending
        cost = [f"Cost: {spending}", ""] if spending else []
        below = [*_paragraph(self._notes()), *_paragraph(self._facts()), *cost, textwrap.fill(self.guarantee, 100)]
        rows = self.level_rows()
        by_level = [as_table([LEVEL_HEAD, *rows], right_from=len(LEVEL_HEAD)), ""] if rows else []
        return "\n".join([*banner, table, "", *_paragraph(self._conditions()), *by_level, *below])

    def _repr_html_(self) -> str:
        head, *body = self._cells()
        sentences = [f"{text}." for text in (*self._conditions(), *self._notes(), *self._facts())]
        rows = self.level_rows()
        by_level = as_html(rows, LEVEL_HEAD) if rows else ""
        return as_html(body, head, " ".join([*sentences, self.guarantee])) + by_level


def _with_interval(row: dict[str, Any], level: float) -> dict[str, Any]:
    """The row with its interval as one object instead of two ends, as JSON has it."""
    others = {name: entry for name, entry in row.items() if name not in ("group", "mean", "low", "high")}
    interval = interval_content(row["low"], row["high"], level)
    return {"group": row["group"], "mean": row["mean"], "interval": interval, **others}


def _with_hint(refusal: str, promise: Promise) -> str:
    """The refusal of a group, with a hint on spelling if the group has no records.

    In the unbounded model this is private, so every refusal has the hint.
    """
    if promise.model.budgets_are_public and not refusal.startswith(_NO_RECORDS):
        return refusal
    return f"{refusal}. {_SPELLING}"


def _paragraph(texts: list[str]) -> list[str]:
    """The texts, wrapped, and an empty line after them; nothing if there are none."""
    lines = [textwrap.fill(text, 100, subsequent_indent="  ") for text in texts]
    return [*lines, ""] if lines else []


def _missing_in_words(answers: Mapping[Hashable, MeanEstimate]) -> dict[Hashable, str | None]:
    """How many values are missing in each group; where none may be, one text for all: less than the largest bound."""
    texts = {group: dict(answer.missing_rows()).get("missing") for group, answer in answers.items()}
    unseen = {
        group: answer.missing_at_most or answer.missing or 0.0
        for group, answer in answers.items()
        if texts[group] and not answer.missing_is_seen
    }
    return texts | dict.fromkeys(unseen, texts[max(unseen, key=lambda group: unseen[group])]) if unseen else texts


def _each_once(texts: Mapping[Hashable, str | None]) -> list[str]:
    """Each text once, with its groups unless it is about all."""
    if len(distinct := set(texts.values())) == 1:
        return [text for text in distinct if text]
    return _few(list(_with_groups({group: (text,) for group, text in texts.items() if text})), "others")


def _with_groups(texts: Mapping[Hashable, tuple[str, ...]]) -> tuple[str, ...]:
    """Each text once, with the groups that it is about."""
    groups_by_text: dict[str, list[str]] = {}
    for group, group_texts in texts.items():
        for text in group_texts:
            groups_by_text.setdefault(text, []).append(str(group))
    return tuple(f"{text} (groups: {', '.join(_few(groups))})" for text, groups in groups_by_text.items())


def _few(texts: list[str], others: str = "more") -> list[str]:
    """The first few texts, followed by how many others there are."""
    return texts if len(texts) <= _NAMED else [*texts[:_NAMED], f"and {len(texts) - _NAMED} {others}"]
