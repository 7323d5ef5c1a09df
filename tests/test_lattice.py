"""The doubles as ordered integers: keys, measures in exact integers, and the shapes of the three lattices."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statistical.laws import assert_accepts_and_rejects, chi_square, uniform

from pdpmean import Randomness
from pdpmean.laws import lattice as lattices
from pdpmean.laws.lattice import Lattice, double_of, everywhere, keys_of, linear, positive

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 2.0**-1074
doubles = st.floats(allow_nan=False, allow_infinity=False)
SMALL = Lattice((-5, 0, 3, 10), (2, 7, 1))


def key(number: float) -> int:
    return int(keys_of(np.array([number]))[0])


# Keys


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0.0, 0),
        (-0.0, 0),
        (SMALLEST, 1),
        (-SMALLEST, -1),
        (2.0**-1022, 2**52),  # the first normal double: all 2**52 - 1 subnormals and 0 lie below
        (1.0, 1023 * 2**52),
        (-2.0, -1024 * 2**52),
        (LARGEST, 2047 * 2**52 - 1),
        (math.inf, 2047 * 2**52),
        (-math.inf, -2047 * 2**52),
    ],
)
def test_known_keys(number: float, expected: int) -> None:
    assert key(number) == expected


@given(doubles, doubles)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_keys_are_ordered_as_the_doubles(one: float, other: float) -> None:
    assert (key(one) < key(other)) == (one < other)
    assert (key(one) == key(other)) == (one == other)


@given(doubles)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_key_leads_back_to_its_double_and_to_its_neighbours(number: float) -> None:
    assert double_of(key(number)) == number
    if abs(number) < LARGEST:
        assert double_of(key(number) + 1) == math.nextafter(number, math.inf)
        assert double_of(key(number) - 1) == math.nextafter(number, -math.inf)


def test_keys_of_a_slice_with_gaps() -> None:
    numbers = np.array([3.0, -1.0, 5.0, -7.0])[::2]
    assert keys_of(numbers).tolist() == [key(3.0), key(5.0)]


# Measures


def test_below_and_total_by_hand() -> None:
    # -5 to -1 twice each, 0 to 2 seven times each, 3 to 9 once each: 10 + 21 + 7.
    assert SMALL.total == 38
    assert [SMALL.below(k) for k in (-9, -5, -4, -1, 0, 1, 3, 4, 9, 10, 12)] == [0, 0, 2, 8, 10, 17, 31, 32, 37, 38, 38]


def test_key_at_covers_every_position_as_often_as_its_multiplicity() -> None:
    found = [SMALL.key_at(position) for position in range(SMALL.total)]
    expected = [k for k in range(-5, 10) for _ in range(2 if k < 0 else 7 if k < 3 else 1)]
    assert found == expected


@pytest.mark.parametrize("lattice", [everywhere(), positive(), linear(-3.0, 1e5), SMALL])
def test_key_at_inverts_below(lattice: Lattice) -> None:
    randomness = Randomness.seeded(1)
    borders = [k for start in lattice.starts for k in (start - 1, start, start + 1)]
    inside = [lattice.key_at(randomness.below(lattice.total)) for _ in range(200)]
    for k in (k for k in borders + inside if lattice.starts[0] <= k < lattice.starts[-1]):
        assert lattice.key_at(lattice.below(k)) == k
        assert lattice.key_at(lattice.below(k + 1) - 1) == k
    assert lattice.below(lattice.starts[-1]) == lattice.total


@pytest.mark.parametrize("lattice", [everywhere(), positive(), linear(-3.0, 1e5), linear(-1e300, -1e-300), SMALL])
def test_log_measures_against_exact_integers(lattice: Lattice) -> None:
    randomness = Randomness.seeded(2)
    chosen = [lattice.key_at(randomness.below(lattice.total)) for _ in range(300)]
    ends = [lattice.starts[0], lattice.starts[-1]]
    keys = sorted([*ends, *chosen, *(k + 1 for k in chosen), *lattice.starts])  # with gaps of 0 and 1 among them
    # Twice more: gaps over several borders at once, and all of it in one.
    for some in (keys, keys[:1] + keys[5:-5:40] + keys[-1:], ends):
        borders = np.array(some, dtype=np.int64)
        logs = lattice.log_measures(borders[:-1], borders[1:])
        for log, (low, high) in zip(logs.tolist(), pairwise(some), strict=True):
            measure = lattice.below(high) - lattice.below(low)
            assert log == (-math.inf if measure == 0 else pytest.approx(math.log(measure), rel=0, abs=2.0**-40))


# Round numbers

# On small lattices, one key in so many is round, and 0 counts so many times more; as shipped it is 2**42 and 2**56.
ROUND, ZERO = 4, 7
SMALL_LATTICES = [
    SMALL,
    Lattice((-5, 0, 3, 10), (2, 0, 1)),
    Lattice((-9, -8, 0, 1, 4, 5), (3, 1, 2, 5, 1)),
    Lattice((4, 5), (7,)),
]


@pytest.fixture
def few_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattices, "_ROUND", ROUND)
    monkeypatch.setattr(lattices, "_ZERO", ZERO)


def multiplicity(lattice: Lattice, k: int) -> int:
    """How often a key counts, as documented: a round one so many times more, and 0 more than that."""
    piece = max(index for index, start in enumerate(lattice.starts) if start <= k)
    own = [*lattice.multiplicities, 0][piece]
    return own * (1 + ROUND * (k % ROUND == 0) + ZERO * (k == 0)) if lattice.with_round else own


def all_counted(lattice: Lattice) -> list[int]:
    """Every key, as often as it counts."""
    return [k for k in range(lattice.starts[0], lattice.starts[-1]) for _ in range(multiplicity(lattice, k))]


@pytest.mark.usefixtures("few_round")
@pytest.mark.parametrize("lattice", SMALL_LATTICES)
def test_every_position_of_a_lattice_with_round_numbers(lattice: Lattice) -> None:
    """Round keys at the ends of pieces and inside, negative ones and 0, and pieces that count nothing."""
    preferring = lattice.with_round_numbers()
    counted = all_counted(preferring)
    assert preferring.total == len(counted)
    assert [preferring.key_at(position) for position in range(preferring.total)] == counted
    for k in range(lattice.starts[0] - 2, lattice.starts[-1] + 3):
        assert preferring.below(k) == sum(other < k for other in counted)


@pytest.mark.usefixtures("few_round")
@pytest.mark.parametrize("lattice", SMALL_LATTICES)
def test_log_measures_with_round_numbers_against_every_pair_of_keys(lattice: Lattice) -> None:
    preferring = lattice.with_round_numbers()
    keys = range(lattice.starts[0], lattice.starts[-1] + 1)
    pairs = [(low, high) for low in keys for high in keys if low <= high]
    lows, highs = (np.array(ends, dtype=np.int64) for ends in zip(*pairs, strict=True))
    measures = [preferring.below(high) - preferring.below(low) for low, high in pairs]
    with np.errstate(divide="ignore"):
        assert preferring.log_measures(lows, highs) == pytest.approx(np.log(measures), rel=0, abs=2.0**-40)


@pytest.mark.parametrize("lattice", [everywhere(), positive()])
def test_half_of_the_measure_is_that_of_round_numbers(lattice: Lattice) -> None:
    """But for 0; whole numbers to 2048 are round, as are their halves, and numbers next to them are not."""
    preferring = lattice.with_round_numbers()
    zero = preferring.below(1) - preferring.below(0)
    assert zero == (1 + 2**42 + 2**56) * (lattice.below(1) - lattice.below(0))
    assert 0.04 < zero / preferring.total < 0.1
    assert preferring.total - zero == pytest.approx(2 * lattice.total, rel=1e-3)
    for number in (1.0, 2.0, 37.0, 2047.0, 0.5, 18.5, 1e3, 2.0**60):
        for k, times in [(key(number), 2**42 + 1), (key(number) + 1, 1)]:
            assert preferring.below(k + 1) - preferring.below(k) == times * (lattice.below(k + 1) - lattice.below(k))
    for number in (2049.0, 0.1, 1e-3):
        assert key(number) % 2**42


@pytest.mark.parametrize("lattice", [everywhere(), positive(), everywhere().within(-3.0, 1e5)])
def test_round_numbers_of_large_lattices(lattice: Lattice) -> None:
    """`key_at` inverts `below`, and logarithms are those of the exact measures, at round keys, borders and anywhere."""
    preferring, source = lattice.with_round_numbers(), Randomness.seeded(3)
    inside = [preferring.key_at(source.below(preferring.total)) for _ in range(200)]
    borders = [k for start in lattice.starts for k in (start - 1, start, start + 1)]
    chosen = [k for k in inside + borders if lattice.starts[0] <= k < lattice.starts[-1]]
    assert sum(k % 2**42 == 0 for k in inside) > 60
    for k in chosen:
        assert preferring.key_at(preferring.below(k)) == k
        assert preferring.key_at(preferring.below(k + 1) - 1) == k
    ends = np.array(sorted([*chosen, *(k + 1 for k in chosen)]), dtype=np.int64)
    logs = preferring.log_measures(ends[:-1], ends[1:])
    for log, (low, high) in zip(logs.tolist(), pairwise(ends.tolist()), strict=True):
        measure = preferring.below(high) - preferring.below(low)
        assert log == (-math.inf if measure == 0 else pytest.approx(math.log(measure), rel=0, abs=2.0**-40))


# What lies between two numbers


@pytest.mark.parametrize("first", range(-7, 13))
def test_within_is_the_same_measure_and_nothing_outside(first: int) -> None:
    """Exhaustively, on the lattice of a few of the smallest doubles."""
    for last in range(max(first, -5), 13):
        if first > 9:
            continue
        part = SMALL.within(double_of(first), double_of(last))
        low, high = max(first, -5), min(last, 9)
        assert (part.starts[0], part.starts[-1]) == (low, high + 1)
        assert part.total == SMALL.below(high + 1) - SMALL.below(low)
        for k in range(-8, 14):
            inside = min(max(k, low), high + 1)
            assert part.below(k) == SMALL.below(inside) - SMALL.below(low)
        assert [part.key_at(position) for position in range(part.total)] == [
            k for k in range(low, high + 1) for _ in range(multiplicity(SMALL, k))
        ]


@pytest.mark.parametrize("with_round", [False, True])
def test_within_infinite_ends_is_everything(with_round: bool) -> None:
    lattice = everywhere().with_round_numbers() if with_round else everywhere()
    assert lattice.within(-math.inf, math.inf) == lattice
    above = lattice.within(0.0, math.inf)
    assert (above.starts[0], above.starts[-1], above.with_round) == (0, lattice.starts[-1], with_round)
    below = lattice.within(-math.inf, 0.0)
    assert below.total + above.total == lattice.total + (lattice.below(1) - lattice.below(0))


# All doubles


def test_everywhere_is_symmetric_about_zero() -> None:
    lattice = everywhere()
    assert lattice.starts[0] == key(-LARGEST)
    assert lattice.starts[-1] == key(LARGEST) + 1
    for number in (SMALLEST, 1e-300, 2.0**-24, 0.3, 1.0, 2.0**25, 1e17, 1e300, LARGEST):
        k = key(number)
        assert lattice.below(-k + 1) == lattice.total - lattice.below(k)
    assert lattice.total == 2 * positive().total - positive().multiplicities[0]  # zero counts once


def test_ordinary_numbers_come_first() -> None:
    # 4 times more for each of the limits 24, 48, 96, 192 that the exponent stays within.
    for exponent, expected in [(0, 256), (24, 256), (-24, 256), (25, 64), (-25, 64), (96, 16), (97, 4), (193, 1)]:
        for number in (2.0**exponent, math.nextafter(2.0 ** (exponent + 1), 0)):
            k = key(number)
            assert positive().below(k + 1) - positive().below(k) == expected
            assert everywhere().below(-k + 1) - everywhere().below(-k) == expected


def test_zero_is_an_ordinary_number() -> None:
    # As are the 2**40 smallest doubles about it; the next ones are the least ordinary of all.
    for k, expected in [(0, 256), (1, 256), (2**40 - 1, 256), (2**40, 1), (2**52, 1)]:
        assert positive().below(k + 1) - positive().below(k) == expected
        assert everywhere().below(-k + 1) - everywhere().below(-k) == expected
        assert everywhere().below(k + 1) - everywhere().below(k) == expected


def test_positive_starts_at_zero() -> None:
    assert positive().starts[0] == 0
    assert positive().key_at(0) == 0
    assert double_of(positive().key_at(positive().total - 1)) == LARGEST


# bounds


BOUNDS = [
    (0.0, 1.0),
    (-1.0, 1.0),
    (-3.0, 1e5),
    (-7.5, -2.5),
    (-100.0, 0.0),
    (1e-3, 3.0),
    (1e300, 1.5e300),
    (5.0, 6.0),
]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_linear_measures_length(low: float, high: float) -> None:
    lattice = linear(low, high)
    assert (lattice.starts[0], lattice.starts[-1]) == (key(low), key(high) + 1)
    for part in np.linspace(0, 1, 33).tolist():
        number = low + part * (high - low)
        # 2**-30 of the widest binade, a thousand binades deep, is all that is not in proportion: below 1e-5.
        assert lattice.below(key(number)) / lattice.total == pytest.approx(part, abs=1e-5)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 1e5), (-7.5, -2.5)])
def test_linear_is_uniform(low: float, high: float) -> None:
    cells = 16

    def draw(lattice: Lattice, seed: int) -> list[int]:
        randomness = Randomness.seeded(seed)
        numbers = [double_of(lattice.key_at(randomness.below(lattice.total))) for _ in range(4000)]
        assert all(low <= number <= high for number in numbers)
        return [min(int((number - low) / (high - low) * cells), cells - 1) for number in numbers]

    by_keys = Lattice((key(low), key(high) + 1), (1,))
    assert_accepts_and_rejects(
        lambda sample: chi_square(sample, uniform(cells)),
        draw(linear(low, high), 3),
        {"every double alike": draw(by_keys, 3)},
    )


@pytest.mark.parametrize("number", [0.0, 5.0, -5.0, SMALLEST, -1e300, 1.0])
def test_a_support_of_one_point(number: float) -> None:
    lattice = linear(number, number)
    assert double_of(lattice.key_at(0)) == double_of(lattice.key_at(lattice.total - 1)) == number


def test_a_support_of_two_points() -> None:
    after = math.nextafter(1.5, 2.0)
    lattice = linear(1.5, after)
    assert {double_of(lattice.key_at(position)) for position in (0, lattice.total - 1)} == {1.5, after}
    assert lattice.below(key(after)) * 2 == lattice.total


def test_negative_supports_mirror_positive_ones() -> None:
    right, left = linear(0.25, 3.0), linear(-3.0, -0.25)
    assert right.total == left.total
    for number in (0.25, 0.5, 0.7, 1.0, 2.0, 3.0):
        assert left.below(1 - key(number)) == left.total - right.below(key(number))


@pytest.mark.parametrize("exponent", [-1060, -1030, -1020, -1000])
def test_tiny_supports_measure_length(exponent: int) -> None:
    # Subnormals are all equally wide, so each must count the same: half the length is half the measure.
    lattice = linear(0.0, 2.0**exponent)
    for part in (0.25, 0.5, 0.75):
        assert lattice.below(key(part * 2.0**exponent)) / lattice.total == pytest.approx(part, abs=1e-3)


@pytest.mark.parametrize(("low", "high"), [(-LARGEST, LARGEST), (0.0, LARGEST), (1e308, LARGEST)])
def test_supports_up_to_the_largest_double(low: float, high: float) -> None:
    lattice = linear(low, high)
    middle = low / 2 + high / 2
    assert lattice.below(key(middle)) / lattice.total == pytest.approx(0.5, abs=1e-5)
