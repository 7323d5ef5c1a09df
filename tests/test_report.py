"""The HTML report: what it says, what it escapes, and how a browser shows it, narrow and wide, light and dark."""

from __future__ import annotations

import dataclasses
import html
import itertools
import os
import platform
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from browser import Browser, Page

from pdpmean import InvalidInputError, MeanEstimate, Randomness, __version__, estimate_mean, plot
from pdpmean.core.text import rounded
from pdpmean.results.grouped_estimate import GroupedEstimate
from pdpmean.results.mean_estimate import LevelMean
from pdpmean.show.report import report_html, write_report

TIERS = {0.1: 10_800, 0.5: 7_400, 1.0: 1_800}
COMMAND = "pdpmean estimate people.parquet --value hours --budget epsilon --report report.html"
EVIL = "<script>alert(1)</script> & \"quotes\" 'too' <img src=x onerror=alert(2)>"


def estimated(**options: Any) -> MeanEstimate:
    rng = np.random.default_rng(1)
    budgets = np.repeat(list(TIERS), list(TIERS.values()))
    result: MeanEstimate = estimate_mean(rng.normal(38, 6, budgets.size), budgets, **options)
    return result


@pytest.fixture(scope="module")
def simulated() -> MeanEstimate:
    return estimated(randomness=Randomness.seeded(1))


@pytest.fixture(scope="module")
def estimate() -> MeanEstimate:
    return estimated()


GROUPS = ["north", EVIL, "word" * 30, "東京", "$5 to $10", "few", 7]


@pytest.fixture(scope="module")
def grouped() -> GroupedEstimate:
    """Groups of 2500 people, but for one."""
    people = [2500 if group != "few" else 10 for group in GROUPS]
    by = np.repeat(np.array(GROUPS, dtype=object), people)
    values = np.random.default_rng(2).normal(38, 6, by.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimate_mean(values, 0.5, by=by, groups=GROUPS)


class Outline(HTMLParser):
    """What a page is made of; raises where an element is not closed in its place."""

    VOID = ("meta", "use", "path", "rect")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.text += data

    @property
    def words(self) -> str:
        """All text, in single spaces."""
        return " ".join(self.text.split())


# What it says


def test_the_answer_comes_with_its_interval_and_promise(estimate: MeanEstimate) -> None:
    words = Outline(report_html(estimate, command=COMMAND)).words
    low, high = (rounded(end, estimate.std) for end in estimate.interval())
    assert f"Mean {rounded(estimate.mean, estimate.std)}" in words
    assert f"With 95 % confidence, the mean of the population lies between {low} and {high}." in words
    assert "Each interval contains the mean of the population with the probability on its left." in words
    assert "Sampling error remains because they are only a sample of the population." in words
    assert estimate.guarantee in words
    assert estimate.whose_mean in words
    assert str(estimate.assumed) in words
    for name, size in estimate.error_parts.items():
        assert f"of which {name}{size:.3g}" in words
    assert COMMAND in words
    assert "NOT PRIVATE" not in words


def test_the_people_in_the_table_are_named_where_the_mean_is_theirs() -> None:
    page = Outline(report_html(estimated(target="people")))
    assert "the mean of the people in the table lies between" in page.words
    assert "Each interval contains the mean of the people in the table with the probability" in page.words
    assert "Sampling error remains only as far as people count differently" in page.words
    for of_a_population in ("the mean of the population", "sample of the population", "lower bound"):
        assert of_a_population not in page.words
    answers = np.arange(4000) % 5 < 2
    share = estimate_mean(answers, 0.5, target="people", randomness=Randomness.seeded(3))
    assert "the share among the people in the table lies between" in Outline(report_html(share)).words


def test_options_are_told(estimate: MeanEstimate, grouped: GroupedEstimate) -> None:
    for found in (estimate, grouped):
        words = Outline(report_html(found)).words
        assert "shapeany" in words
        assert "weightingauto" in words
        assert "targetpopulation" in words
        assert "missingsome" in words
    others = Outline(report_html(estimated(weighting="budgets", target="people", missing="none"))).words
    assert "weightingbudgets" in others
    assert "targetpeople" in others
    assert "missingnone" in others


def test_intervals_of_another_level_are_shown(estimate: MeanEstimate) -> None:
    words = Outline(report_html(estimate, level=0.9)).words
    low, high = (rounded(end, estimate.std) for end in estimate.interval(0.9))
    assert f"With 90 % confidence, the mean of the population lies between {low} and {high}." in words
    for level in (0.8, 0.9, 0.95, 0.99):
        assert f"{100 * level:g} % interval" in words
    with pytest.raises(InvalidInputError, match="level"):
        report_html(estimate, level=95)


def test_the_plan_is_shown(estimate: MeanEstimate) -> None:
    page = html.unescape(report_html(estimate))
    rows = [(name, text) for name, text in estimate.plan.rows() if name != "shares of the budget"]
    assert len(rows) > 8
    assert f"Here it is {estimate.plan.half_width(0.75):.4g} standard deviations" in page
    for name, text in rows:
        assert f'<th scope="row">{name}</th><td>{text}</td>' in page
    told = re.findall(r">([\d.]+)\N{NO-BREAK SPACE}%</td>", page)
    assert [float(part) for part in told] == [round(100 * float(share), 2) for share in estimate.plan.shares.values()]


def test_the_shares_of_groups_have_a_section_of_their_own(grouped: GroupedEstimate) -> None:
    words = Outline(report_html(grouped)).words
    assert grouped.guarantee + " How budgets were used A range means that groups differ." in words
    assert words.index("How budgets were used") < words.index("Share of every budget that was used to find")


def test_the_caption_of_weights_states_the_saturation() -> None:
    """The same saturation as in the picture, and none where everyone counts the same."""
    by_budgets = estimated(weighting="budgets")
    most = by_budgets.plan.saturation_in_words
    page = html.unescape(report_html(by_budgets))
    assert f"grows with their budget up to {most}; more budget adds nothing" in page
    assert "How much a person counts if values turn out not to depend on budgets" in report_html(estimated())
    assert f"saturation, {most}" in [line.get_label() for line in plot(by_budgets.plan).axes[1].lines]
    assert "Everyone counts the same, whatever they grant." in report_html(estimated(weighting="everyone"))


@pytest.mark.parametrize(
    "options",
    [
        {"model": "unbounded", "budget_range": (0.05, 1.0)},
        {},
        {"shape": "gaussian"},
        {"shape": "gaussian", "model": "unbounded", "budget_range": (0.05, 1.0), "bounds": (0.0, 100.0)},
        {"bounds": (0.0, None)},
        {"bounds": (0.0, 100.0)},
        {"model": "unbounded", "budget_range": (0.05, 1.0), "bounds": (0.0, 100.0)},
    ],
)
def test_every_step_has_words(options: dict[str, Any]) -> None:
    found = estimated(**options)
    words = Outline(report_html(found)).words
    assert words.count("%") >= len(found.plan.shares)
    assert f"model{found.plan.model.name}" in words
    assert ("budget range0.05 to 1" in words) == ("budget_range" in options)
    assert ("bounds0 to 100" in words) == (options.get("bounds") == (0.0, 100.0))
    assert ("bounds0 to unknown" in words) == (options.get("bounds") == (0.0, None))
    assert ("for a bell-shaped population" in words) == ("shape" in options)
    assert ("known bounds" in words) == (not found.plan.needs_locating)
    assert ("lower bound" in words) == found.plan.in_deviations


def test_versions_are_told_and_nothing_of_the_machine(estimate: MeanEstimate) -> None:
    page = report_html(estimate, command=COMMAND)
    for name, version in (("pdpmean", __version__), ("Python", platform.python_version()), ("numpy", np.__version__)):
        assert f'<th scope="row">{name}</th><td>{version}</td>' in page
    for private in (platform.node(), os.getcwd(), str(Path.home()), os.environ.get("USER")):
        assert not private or private == "/" or f">{private}<" not in page
    assert os.getcwd() not in page


def test_a_simulation_says_so_first(simulated: MeanEstimate) -> None:
    outline = Outline(report_html(simulated))
    body = outline.words.split("(pdpmean)", 1)
    assert body[0].startswith("NOT PRIVATE: Mean")
    assert body[1].strip().startswith("NOT PRIVATE.")
    assert "differential privacy" not in outline.words


def test_warnings_are_shown(estimate: MeanEstimate) -> None:
    warned = dataclasses.replace(estimate, warnings=("mean and median differ",))
    assert "Warning: mean and median differ." in Outline(report_html(warned)).words
    assert "Warning" not in Outline(report_html(estimate)).words


def test_the_same_page_from_the_same_estimate(estimate: MeanEstimate) -> None:
    first = report_html(estimate, command=COMMAND)
    with matplotlib.rc_context({"text.color": "white", "axes.facecolor": "black", "font.size": 30}):
        assert report_html(estimate, command=COMMAND) == first


def test_groups_are_a_table_and_a_picture(grouped: GroupedEstimate) -> None:
    page = report_html(grouped, level=0.9)
    assert "Mean in 7 groups" in Outline(page).words
    assert "Each interval contains its group's mean with 90 % confidence. 1 refused." in Outline(page).words
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in page.split("<tr>")]
    rows = {html.unescape(row[0]): row[1:] for row in cells if row}
    for group in set(GROUPS) - {"few"}:
        estimate = grouped[group]
        numbers = [f"{number:.2f}" for number in (estimate.mean, *estimate.interval(0.9))]
        assert rows[str(group)] == ["2,500", *numbers, f"{estimate.std:.3g}"]
    assert rows["few"] == [f"refused: {html.escape(grouped.refused['few'])}"]
    assert Outline(page).words.count("refused") == 3
    assert len(re.findall("<svg", page)) == 1
    assert grouped.guarantee in Outline(page).words
    assert ("model", rows["model"][0]) == ("model", "bounded")


def test_numbers_of_people_are_told_only_where_they_are_public() -> None:
    """In the unbounded model not even as the noisy census has them."""
    by = np.repeat(np.array(["a", "b"]), 2500)
    values = np.random.default_rng(2).normal(38, 6, by.size)
    unbounded: dict[str, Any] = {"model": "unbounded", "budget_range": (0.5, 1.0)}
    found = estimate_mean(values, 0.5, by=by, groups=["a", "b"], randomness=Randomness.seeded(3), **unbounded)
    head = re.findall(r'<th scope="col">(.*?)</th>', report_html(found))
    assert head[:2] == ["group", "mean"]
    assert "people" not in head


def test_the_title_names_the_column_and_shares_are_in_percent() -> None:
    frame = pd.DataFrame({"insured": np.where(np.arange(4000) % 5 < 2, "yes", "no"), "epsilon": 0.5})
    frame["region"] = np.where(np.arange(4000) < 2000, "north", "south")
    seeded: dict[str, Any] = {"randomness": Randomness.seeded(3)}
    columns: dict[str, Any] = {"value": "insured", "budget": "epsilon", "equals": "yes", **seeded}
    found = estimate_mean(frame, **columns)
    page = report_html(found)
    mean, low, high = (f"{rounded(100 * number, 100 * found.std)} %" for number in (found.mean, *found.interval()))
    assert f"<title>NOT PRIVATE: Share of insured = yes: {mean} (pdpmean)</title>" in page
    words = Outline(page).words
    assert f"With 95 % confidence, the share in the population lies between {low} and {high}." in words
    assert f"error (std){100 * found.std:.3g} percentage points" in words.replace("(std) ", "(std)")
    assert "as a percentage" not in words
    grouped = estimate_mean(frame, **columns, by="region", groups=["north", "south"])
    assert "<title>NOT PRIVATE: Share of insured = yes in 2 groups (pdpmean)</title>" in report_html(grouped)
    north = rounded(100 * grouped["north"].mean, 100 * grouped["north"].std)
    assert '<th scope="col">people</th><th scope="col">share</th>' in report_html(grouped)
    assert f"<td>2,000</td><td>{north} %</td>" in report_html(grouped)
    assert "As percentages" not in report_html(grouped)
    hours = estimate_mean(pd.Series(np.random.default_rng(1).normal(38, 6, 4000), name="hours"), 0.5, **seeded)
    assert f"<title>NOT PRIVATE: Mean of hours: {rounded(hours.mean, hours.std)} (pdpmean)</title>" in report_html(
        hours
    )


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_groups_without_an_answer_are_told_what_to_do_and_promise_nothing() -> None:
    by = np.repeat(np.array(["a", "b"]), 2500)
    values = np.where(by == "a", 7.0, np.random.default_rng(2).normal(38, 6, by.size))
    both, none = (
        estimate_mean(values, 0.5, by=by, groups=groups, randomness=Randomness.seeded(3))
        for groups in (["a", "b"], ["a"])
    )
    words = Outline(report_html(both)).words
    assert "Each interval contains its group's mean with 95 % confidence. 1 without an answer." in words
    assert f"What to do next: {both.advice[0]}. Before another run: {both.cost_of_another}." in words
    words = Outline(report_html(none)).words
    assert "Mean in 1 group No group has an answer. No answer: only one value" in words
    assert "Each interval" not in words


def test_groups_show_the_mean_by_budget_where_it_differs(grouped: GroupedEstimate) -> None:
    assert "share of people" not in report_html(grouped)
    levels = (LevelMean(0.1, 0.1, 0.25, 30.0, 0.5), LevelMean(0.5, 1.0, 0.75, 38.0, 0.1))
    differing = dataclasses.replace(grouped["north"], levels=levels, levels_differ=True)
    shown = report_html(dataclasses.replace(grouped, estimates=grouped.estimates | {"north": differing}))
    assert '<th scope="row">north</th><td>0.1</td><td>30.00 +- 0.5</td><td>25 %</td>' in shown
    assert '<th scope="row">north</th><td>0.5 to 1</td><td>38.00 +- 0.1</td><td>75 %</td>' in shown


def test_groups_between_0_and_1_are_also_shown_as_percentages() -> None:
    by = np.repeat(np.array(["a", "b"]), 2500)
    values = np.random.default_rng(2).random(by.size)
    found = estimate_mean(values, 0.5, by=by, groups=["a", "b"], bounds=(0, 1), randomness=Randomness.seeded(3))
    page = report_html(found)
    assert "<caption>As percentages</caption>" in page
    for group, estimate in found.items():
        mean, interval = estimate.in_percent(estimate.interval())
        assert f'<th scope="row">{group}</th><td>{mean}</td><td>{interval}</td>' in page


def test_groups_that_are_all_refused(grouped: GroupedEstimate) -> None:
    page = report_html(dataclasses.replace(grouped, groups=("few",), estimates={}))
    assert "Mean in 1 group" in Outline(page).words
    assert grouped.refused["few"] in Outline(page).words


# What it is made of


def test_everything_given_is_escaped(estimate: MeanEstimate) -> None:
    page = report_html(dataclasses.replace(estimate, warnings=(EVIL,)), command=EVIL)
    assert "<script" not in page
    assert "<img" not in page
    assert Outline(page).words.count(EVIL) == 2


def test_names_of_groups_are_escaped(grouped: GroupedEstimate) -> None:
    page = report_html(grouped)
    assert "<script" not in page
    assert "<img" not in page
    assert EVIL in Outline(page).words


def test_nothing_is_fetched_and_nothing_runs(estimate: MeanEstimate) -> None:
    page = report_html(estimate, command=COMMAND)
    outline = Outline(page)
    assert "://" not in page
    assert "@import" not in page
    assert {tag for tag, _ in outline.tags}.isdisjoint({"script", "img", "link", "iframe", "object", "embed", "a"})
    for _, attributes in outline.tags:
        assert not any(name.startswith("on") or name == "src" for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
    (policy,) = (attributes for _, attributes in outline.tags if "http-equiv" in attributes)
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_names_in_the_page_are_unique_and_lead_somewhere(estimate: MeanEstimate) -> None:
    page = report_html(estimate)
    ids = [attributes["id"] for _, attributes in Outline(page).tags if "id" in attributes]
    assert len(ids) > 100
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'url\(#([^)]*)\)|href="#([^"]*)"|aria-labelledby="([^"]*)"', page))
    for match in re.finditer(r'(?:url\(#|href="#|aria-labelledby=")([^)"]*)', page):
        assert match[1] in ids


def test_pictures_have_a_role_and_a_title(estimate: MeanEstimate) -> None:
    page = report_html(estimate)
    pictures = [attributes for tag, attributes in Outline(page).tags if tag == "svg"]
    assert len(pictures) == 4
    assert all(attributes["role"] == "img" for attributes in pictures)
    titles = re.findall(r'<svg [^>]*aria-labelledby="([^"]*)"[^>]*><title id="([^"]*)">([^<]+)</title>', page)
    assert len(titles) == 4
    assert all(label == name and len(title) > 40 for label, name, title in titles)
    assert not re.search(r"#[0-9a-f]{6}", page[page.index("<body") :]), "a colour that does not follow the page"


def test_headings_descend(estimate: MeanEstimate) -> None:
    levels = [int(tag[1]) for tag, _ in Outline(report_html(estimate)).tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_without_matplotlib_there_are_no_pictures() -> None:
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import pdpmean\n"
        "from pdpmean.show.report import report_html\n"
        "values, seed = [float(i % 97) for i in range(5000)], pdpmean.Randomness.seeded(1)\n"
        "print(report_html(pdpmean.estimate_mean(values, 0.5, randomness=seed)))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "<svg" not in run.stdout
    assert Outline(run.stdout).words.count("For pictures: pip install matplotlib") == 2


# How it is written


def test_a_report_is_written_whole(estimate: MeanEstimate, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("before")
    with pytest.raises(InvalidInputError, match="already exists"):
        write_report(estimate, path, command=COMMAND)
    assert path.read_text() == "before"
    write_report(estimate, path, command=COMMAND, overwrite=True)
    assert path.read_text(encoding="utf-8") == report_html(estimate, command=COMMAND)
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_that_cannot_be_written_leaves_nothing(
    estimate: MeanEstimate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidInputError, match=r"cannot write .*missing/report\.html: No such file"):
        write_report(estimate, tmp_path / "missing" / "report.html")
    path = tmp_path / "report.html"
    path.write_text("before")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InvalidInputError, match="No space left on device"):
        write_report(estimate, path, overwrite=True)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_text_that_is_no_unicode_is_written(estimate: MeanEstimate, tmp_path: Path) -> None:
    write_report(estimate, tmp_path / "report.html", command="estimate \udce9.csv")
    assert "estimate" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_path_in_the_place_of_the_estimate_is_told(estimate: MeanEstimate, tmp_path: Path) -> None:
    swapped: Any = write_report
    usage = r"an estimate and the path of a file, write_report\(estimate, 'report.html'\)"
    with pytest.raises(InvalidInputError, match=rf"{usage}; got \w*Path and MeanEstimate$"):
        swapped(tmp_path / "report.html", estimate)
    with pytest.raises(InvalidInputError, match=rf"{usage}; got MeanEstimate and MeanEstimate$"):
        swapped(estimate, estimate)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["report", "report.pdf", "report.html.txt", ".html"])
def test_a_report_ends_as_a_page(estimate: MeanEstimate, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(InvalidInputError, match=rf"cannot write .*{re.escape(name)}: it must end in \.html, \.htm$"):
        write_report(estimate, path)
    assert list(tmp_path.iterdir()) == []


def test_a_page_may_have_a_short_ending(estimate: MeanEstimate, tmp_path: Path) -> None:
    path = tmp_path / "report.HTM"
    write_report(estimate, str(path))
    assert path.read_text(encoding="utf-8") == report_html(estimate)


# How a browser shows it


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    started = Browser(tmp_path_factory.mktemp("chromium"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def report(simulated: MeanEstimate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with all there can be: a banner, a warning, long words, another level."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    warned = dataclasses.replace(simulated, warnings=("mean and median differ: use shape='any'",))
    write_report(warned, path, command=f"{COMMAND} --title {'x' * 300} {EVIL}", level=0.9)
    return path


@pytest.fixture(scope="module")
def groups_report(grouped: GroupedEstimate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "groups.html"
    write_report(grouped, path, command=COMMAND)
    return path


# Luminance and contrast as defined by WCAG 2; the background is that of the nearest element which has one.
CONTRASTS = """(() => {
    const numbers = colour => colour.match(/[\\d.]+/g).map(Number)
    const channel = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
    const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b)
    const background = element => {
        const own = numbers(getComputedStyle(element).backgroundColor)
        return own.length < 4 || own[3] > 0 ? own : background(element.parentElement)
    }
    const has_text = element => [...element.childNodes].some(node => node.nodeType == 3 && node.data.trim())
    const texts = [...document.querySelectorAll('main :not(title)')].filter(has_text)
    return texts.map(element => {
        const style = getComputedStyle(element)
        const ink = luminance(numbers(element.tagName == 'text' ? style.fill : style.color))
        const page = luminance(background(element))
        return [element.textContent, (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05)]
    })
})()"""

# Boxes of the texts in each picture, relative to it.
TEXTS = """[...document.querySelectorAll('svg')].map(svg => {
    const frame = svg.getBoundingClientRect()
    return [frame.width, frame.height, [...svg.querySelectorAll('text')].map(text => {
        const box = text.getBoundingClientRect(), x = frame.left, y = frame.top
        return [text.textContent, box.left - x, box.top - y, box.right - x, box.bottom - y]
    })]
})"""

EVERY = pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1440, "light"), (1440, "dark")])


def lightness(page: Page) -> float:
    """How light the page's ground is, from 0 to 255."""
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return float(np.mean([int(part) for part in re.findall(r"\d+", colour)[:3]]))


@EVERY
@pytest.mark.parametrize("kind", ["report", "groups_report"])
def test_the_page_fits_the_window_in_both_colour_schemes(
    browser: Browser, request: pytest.FixtureRequest, kind: str, width: int, scheme: str
) -> None:
    path: Path = request.getfixturevalue(kind)
    with browser.page(path, width=width, scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == width, "it overflows"
        assert page.evaluate("document.querySelector('h1').innerText").startswith("Mean")
        assert (lightness(page) > 240) == (scheme == "light")
        contrasts = page.evaluate(CONTRASTS)
        assert len(contrasts) > 50
        assert [(text, contrast) for text, contrast in contrasts if contrast < 4.5] == []
        check_pictures(page.evaluate(TEXTS), 4 if kind == "report" else 1)
        assert page.requests() == [path.as_uri()]
        assert page.complaints() == []
        assert page.screenshot().startswith(b"\x89PNG")


def check_pictures(pictures: list[Any], count: int) -> None:
    """Every text lies within its picture, is large enough, and overlaps no other."""
    assert len(pictures) == count
    for wide, high, texts in pictures:
        assert len(texts) >= 6
        for text, left, top, right, bottom in texts:
            assert -1 <= left < right <= wide + 1, text
            assert -1 <= top < bottom <= high + 1, text
            assert bottom - top > 9, text
        for i, (text, left, top, right, bottom) in enumerate(texts):
            for other, begins, above, ends, below in texts[:i]:
                assert right <= begins or ends <= left or bottom <= above + 2 or below <= top + 2, (text, other)


def test_the_page_prints_in_black_on_white(browser: Browser, report: Path) -> None:
    with browser.page(report, width=794, scheme="dark", media="print") as page:
        assert lightness(page) == 255
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert page.evaluate("document.documentElement.scrollWidth") == 794
        printed = page.pdf()
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 4


def test_what_is_measured_can_fail(browser: Browser, report: Path, tmp_path: Path) -> None:
    """The measures above find a page that is too wide, too pale, asks for something, and runs something."""
    text = report.read_text(encoding="utf-8")
    worse = tmp_path / "worse.html"
    worse.write_text(
        text.replace("--ink: #1b1d21", "--ink: #bbbbbb").replace(
            "</main>", '<div style="width: 500px">wide</div><img src="missing.png"><script>1</script></main>'
        ),
        encoding="utf-8",
    )
    with browser.page(worse, width=390, scheme="light") as page:
        assert page.evaluate("document.documentElement.scrollWidth") > 390
        assert min(contrast for _, contrast in page.evaluate(CONTRASTS)) < 4.5
        assert len(page.complaints()) >= 2, "the policy has not stopped the image and the script"
