"""Populations of other shapes: shape="any" against the best clip of the other shape; part of benchmarks/accuracy.py."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from profiles import Floats
from runs import Runs

from pdpmean import Choices, Randomness, estimate_mean

SHAPES: dict[str, tuple[Callable[[np.random.Generator, int], Floats], float, float]] = {
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0, 1.0),
    "log-normal(0, 1)": (
        lambda rng, n: rng.lognormal(size=n),
        math.exp(0.5),
        math.sqrt((math.e - 1) * math.e),
    ),
    "Student t3": (lambda rng, n: rng.standard_t(3, size=n), 0.0, math.sqrt(3)),
    "0 or 1, 20 % ones": (lambda rng, n: (rng.random(n) < 0.2).astype(np.float64), 0.2, 0.4),
    "90 % N(0,1), 10 % N(10,1)": (
        lambda rng, n: rng.standard_normal(n) + 10 * (rng.random(n) < 0.1),
        1.0,
        math.sqrt(10),
    ),
    "normal": (lambda rng, n: rng.standard_normal(n), 0.0, 1.0),
}
CLIPS = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0)
BUDGET = 0.1
MODELS: dict[str, dict[str, Any]] = {
    "bounded": {},
    "unbounded": {"model": "unbounded", "budget_range": (BUDGET / 2, 2 * BUDGET)},
}


def shape_table(quick: bool) -> list[str]:
    """shape="any" against the best clip of the other shape, chosen in hindsight; all in standard deviations."""
    lines = [
        "| population | model | n | total | any: bias | any: rms | any: 80 / 95 / 99 % | gaussian: rms | its warnings "
        "| best clip | its rms | no privacy |\n|" + "---|" * 12
    ]
    print(lines[0])
    sizes = ((50_000, 8),) if quick else ((50_000, 400), (200_000, 300), (1_000_000, 200))
    with ProcessPoolExecutor() as pool:
        rows = [(name, model, *size) for name in SHAPES for model in MODELS for size in sizes]
        for line in pool.map(_shape_row, *zip(*rows, strict=True)):
            lines.append(line)
            print(line, flush=True)
    return lines


def _shape_row(name: str, model: str, n: int, runs: int) -> str:
    warnings.simplefilter("ignore")
    draw, mean, std = SHAPES[name]
    rng, options = np.random.default_rng(n), MODELS[model]
    found, plain = Runs(), Runs()
    signed, sample_errors = [], []
    clipped: dict[float, list[float]] = {width: [] for width in CLIPS}
    for run in range(runs):
        values = draw(rng, n)
        sample_errors.append(values.mean() - mean)
        randomness = Randomness.seeded(run)
        estimate = estimate_mean(values, BUDGET, shape="any", randomness=randomness, **options)
        found.add(estimate, mean)
        signed.append(estimate.mean - mean)
        plain.add(estimate_mean(values, BUDGET, randomness=randomness, **options), mean)
        for width, errors in clipped.items():
            choices = Choices(clip_width=width, center_share=100 / n / BUDGET, scale_share=100 / n / BUDGET)
            found_with = estimate_mean(values, BUDGET, choices=choices, randomness=randomness, **options)
            errors.append(found_with.mean - mean)

    def in_stds(errors: list[float]) -> float:
        return math.sqrt(np.mean(np.square(errors))) / std

    rms = {width: in_stds(errors) for width, errors in clipped.items()}
    best = min(rms, key=lambda width: rms[width])
    coverage = " / ".join(f"{100 * part:.0f}" for part in found.coverage)
    parts = [
        name,
        model,
        f"{n:,}",
        f"{n * BUDGET:,.0f}",
        f"{np.mean(signed) / std:+.4f}",
        f"{in_stds(signed):.4f}",
        coverage,
        f"{in_stds(plain.errors):.4f}",
        f"{plain.warned / runs:.0%}",
        f"{best:g}",
        f"{rms[best]:.4f}",
        f"{in_stds(sample_errors):.4f}",
    ]
    return "| " + " | ".join(parts) + " |"
