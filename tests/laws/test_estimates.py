"""What every estimate keeps, whatever it is about: classes and laws are found in the package, each with a maker in ``estimates.py``.

A class or a law that joins the package gets a maker there, and the laws below hold for it or a test fails. The tests of the rooms check
what is true of one kind: that its numbers are right, and its own verbs.
"""

from __future__ import annotations

import importlib
import inspect
import io
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from html import escape
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest

import deniable
from deniable.contract.guarantee import Guarantee
from deniable.core.comparison import Comparison
from deniable.core.estimate import Estimate
from deniable.core.law import Law
from deniable.core.saved import estimate_from_json
from deniable.errors import MergeError, MissingExtra, ParameterError
from tests.laws.estimates import MAKERS, made

LEVELS = (0.5, 0.8, 0.95, 0.999)
ALPHAS = (0.001, 0.05, 0.3)
NO_INTERVAL = {"decoded", "postprocessed", "synthetic graph", "topics", "clusters", "linear model", "recommender", "play", "reconstruction"}
ONE_LEVEL = {"curators quantiles"}
INTERVALS = [name for name in MAKERS if name not in NO_INTERVAL | ONE_LEVEL]
NOBODY = {"supports of nobody", "mean of nobody"}
JOINT_ERROR = {"items", "sets"}
"""Limits that hold together give one share of the error to how many lists were cut, which is about all values at once."""
NO_POPULATION = {"association", "table", "change between periods", "degrees", "edges", "few triangles"}
"""Of these, nothing is known about people like those who reported."""
SAME_FOR_A_POPULATION = {
    *("change of counts", "change of few", "change of means", "change of times", "distribution from counts", "distribution of times"),
    *("some of a distribution", "items", "sets", "rules", "new words", "word pairs", "next words", "words after one"),
    *("vector of a survey", "mean of times", "curators count", "curators mean", "counter", "sum of curators", "mean of curators"),
    *("noisy series", "sum of shares", "supports of nobody", "mean of nobody"),
}
"""Limits that are about a sample anyway, or about a table that is everybody. Others are wider for everyone like these people."""
MOVED = {
    "search",
    "largest values",
    "sets",
    "decoded",
    "rules",
    "new words",
    "topics",
    "ranges of a tree",
    "moves",
    "next words",
    "words after one",
}
"""Each crowd has values of its own, or an order of its own."""
each = pytest.mark.parametrize("name", MAKERS)
each_with_intervals = pytest.mark.parametrize("name", INTERVALS)
each_of_several = pytest.mark.parametrize("name", [name for name in MAKERS if name not in NOBODY])


def classes() -> Iterator[type]:
    """Every class that the package defines, but for those of processes."""
    for module in pkgutil.walk_packages(deniable.__path__, "deniable."):
        if module.name.startswith(("deniable.cli.", "deniable.collect.")):
            continue
        with suppress(MissingExtra):  # an engine that is not installed here
            held = vars(importlib.import_module(module.name))
            yield from (found for found in held.values() if inspect.isclass(found) and found.__module__ == module.name)


def with_parts(estimate: Estimate) -> Iterator[Estimate]:
    yield estimate
    for part in estimate.parts.values():
        yield from with_parts(part)


def laws_within(law: Law) -> Iterator[str]:
    """The names of a law, settled or not, and of the laws that it is made of."""
    for form in (law, law.settled()):
        yield type(form).__name__
        for part in vars(form).values():
            for inner in part if isinstance(part, tuple) else [part]:
                if isinstance(inner, Law):
                    yield from laws_within(inner)


def number(cell: Any) -> float:
    """A cell as a float, a point in time or a distance of two in seconds."""
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    if isinstance(cell, str):
        cell = datetime.fromisoformat(cell)
    return cell.timestamp() if isinstance(cell, date) else float("nan") if cell is None else float(cell)


def numbers(cells: Any) -> Any:
    return np.array([number(cell) for cell in (cells if isinstance(cells, list | tuple | np.ndarray) else [cells])])


def finite(cells: list[Any]) -> Any:
    """Numbers that are known, the smallest first."""
    found = numbers(cells)
    return np.sort(found[np.isfinite(found)])


def alike(first: Any, second: Any) -> bool:
    """Whether numbers are the same, but for rounding: times are whole microseconds."""
    return bool(np.allclose(numbers(first), numbers(second), rtol=1e-9, atol=1e-6 if near_times(first, second) else 1e-9, equal_nan=True))


def near_times(*sides: Any) -> bool:
    return any(isinstance(cell, date | timedelta) for side in sides for cell in (side if isinstance(side, list) else [side]))


def limits_of(estimate: Estimate, level: float, **options: bool) -> tuple[Any, Any]:
    low, high = estimate.interval(level, **options)
    return numbers(low), numbers(high)


def inside(inner: tuple[Any, Any], outer: tuple[Any, Any]) -> bool:
    """Whether limits lie within others, but for rounding."""
    slack = 1e-9 * (1 + np.abs(np.nan_to_num(np.stack(inner), posinf=0, neginf=0)))
    return bool(np.all(outer[0] <= inner[0] + slack[0]) and np.all(inner[1] <= outer[1] + slack[1]))


# --- there is a maker for each ---


def test_every_class_and_every_law_has_a_maker():
    found = [estimate for name in MAKERS for estimate in with_parts(made(name))]
    seen = {type(estimate).__name__ for estimate in found} | {name for estimate in found for name in laws_within(estimate.law)}
    there = {found.__name__ for found in classes() if issubclass(found, Estimate | Law) and not inspect.isabstract(found)}
    assert sorted(there - seen) == [], "add a maker to tests/laws/estimates.py"
    assert {name for name in MAKERS if made(name).law.why} == NO_INTERVAL
    assert {name for name in MAKERS if made(name).law.level is not None} == ONE_LEVEL
    assert {name for name in MAKERS if list(made(name).values) != list(made(name, 1).values)} <= MOVED


# --- intervals and tests ---


@each_with_intervals
def test_intervals_are_nested_and_wider_together_and_for_a_population(name):
    estimate, before = made(name), None
    for level in LEVELS:
        alone, together = limits_of(estimate, level), limits_of(estimate, level, simultaneous=True)
        assert np.all(alone[0] <= alone[1])
        assert before is None or inside(before, alone)
        before = alone
        assert inside(alone, together)
        if name not in JOINT_ERROR:  # Bonferroni, or more where no normal law holds so far out
            assert inside(limits_of(estimate, 1 - (1 - level) / estimate.family_size), together)
        if name in NO_POPULATION:
            with pytest.raises(ParameterError, match="population"):
                estimate.interval(level, population=True)
            continue
        drawn = limits_of(estimate, level, population=True)
        wider = np.nan_to_num(drawn[1] - drawn[0] - alone[1] + alone[0])
        assert np.all(wider >= -1e-9)
        assert level != 0.8 or np.any(wider > 1e-9) == (name not in SAME_FOR_A_POPULATION)
    widths = [np.sum(np.minimum(high - low, 1e12)) for low, high in (limits_of(estimate, 0.5), before)]
    assert widths[0] < widths[1] or name in NOBODY


@each_with_intervals
def test_intervals_that_hold_together_are_wider(name):
    estimate = made(name)
    (low, high), (lowest, highest) = limits_of(estimate, 0.8), limits_of(estimate, 0.8, simultaneous=True)
    assert (np.any(lowest < low) or np.any(highest > high)) == (estimate.family_size > 1 and name not in NOBODY)


@each_with_intervals
def test_a_value_is_significant_where_its_simultaneous_interval_is_above_zero(name):
    estimate = made(name)
    family, plain = estimate.family_size, Estimate(values=estimate.values, law=estimate.law, about="", family_size=estimate.family_size)
    for alpha in ALPHAS:
        assert estimate.significant(alpha).tolist() == (plain.interval(1 - alpha, simultaneous=True)[0] > 0).tolist()
    stepwise = estimate.significant(0.05, "benjamini-yekutieli")
    share = 0.05 / family / np.sum(1 / np.arange(1, family + 1))
    assert stepwise.tolist() == (plain.law.limits(share * max(int(stepwise.sum()), 1), family=family)[0] > 0).tolist()
    with pytest.raises(ParameterError, match="method"):
        estimate.significant(method="holm")


@each_with_intervals
def test_p_is_alpha_where_the_interval_ends_at_zero(name):
    """For a change p may be smaller, by a sharper test, but never larger."""
    estimate = made(name)
    change, p_values = isinstance(estimate, Comparison), np.asarray(estimate.law.p_values)
    assert np.all((p_values >= 0) & (p_values <= 1))
    for alpha in ALPHAS:
        low, high = estimate.law.limits(alpha, family=0 if change else 1)
        excluded = (low > 0) | (high < 0)
        assert np.all(p_values[excluded] <= alpha * (1 + 1e-6))
        assert change or np.all(p_values[~excluded] >= alpha * (1 - 1e-6))


@pytest.mark.parametrize("name", sorted(NO_INTERVAL))
def test_where_no_interval_is_known_every_view_says_why(name):
    estimate = made(name)
    for ask in (estimate.interval, estimate.significant, lambda: estimate.compare(estimate)):
        with pytest.raises(ParameterError) as refused:
            ask()
        assert estimate.law.why in str(refused.value)
    title = estimate.chart().to_dict()["title"]
    assert estimate.law.why in "\n".join([title["text"], *title["subtitle"]])
    for text in (estimate.headline(), repr(estimate), repr(estimate_from_json(estimate.to_json()))):
        assert estimate.law.why in text


@each
def test_levels_that_are_none_or_unknown_are_refused(name):
    estimate = made(name)
    for wrong in (0, 1, -0.5, "high", True, *([0.42] if name in ONE_LEVEL else [])):
        with pytest.raises(ParameterError):
            estimate.interval(wrong)
    for wrong in (0, 1, -0.5, "high", True):
        with pytest.raises(ParameterError):
            estimate.significant(wrong)
    if name in ONE_LEVEL:
        level = estimate.law.level
        assert inside(limits_of(estimate, level), limits_of(estimate, level, simultaneous=True))


# --- parts of an estimate ---


@each_of_several
def test_only_lists_are_cut_and_a_search_keeps_what_it_ranked(name):
    estimate = made(name)
    strongest = [estimate.values[place] for place in estimate.order()[:1]]
    assert len(estimate.top().values) == min(10, len(estimate.values))
    assert estimate.shortened(len(estimate.values)) is estimate
    if estimate.listed and len(estimate.values) > 1:
        assert list(estimate.shortened(1).values) == strongest
    else:
        assert estimate.shortened(1) is estimate
    if estimate.screening is None:
        assert estimate.ranked is estimate
    else:
        assert set(estimate.values) <= set(estimate.ranked.values)


@each
def test_some_values_keep_their_limits_and_what_holds_together_stays_about_all(name):
    estimate, last = made(name), len(made(name).values) - 1
    top = np.argsort(-estimate.point, kind="stable")[:2].tolist()
    picks = [(estimate.select([last, 0]), [last, 0]), (estimate.top(2), top)] if last else [(estimate.top(2), [0])]
    for some, at in picks:
        assert list(some.values) == [estimate.values[i] for i in at]
        assert alike(some.point, estimate.point[at])
        if last:
            assert alike(list(some.stderr), [list(estimate.stderr)[i] for i in at])
        assert some.family_size == estimate.family_size
        if name in INTERVALS:
            for options in ({}, {"simultaneous": True}):
                mine, theirs = limits_of(some, 0.9, **options), limits_of(estimate, 0.9, **options)
                theirs = theirs[0][at], theirs[1][at]
                assert inside(mine, theirs)
                assert inside(theirs, mine) or name in JOINT_ERROR
        assert {len(cells) for cells in some.rows().values()} == {len(at)}
        assert repr(some).startswith(some.headline())
    for wrong in (0, -1, True, 1.5, "2"):
        with pytest.raises(ParameterError, match="k"):
            estimate.top(wrong)
    for wrong in ([last + 1], [0.5], "0", [True]):
        with pytest.raises(ParameterError, match="positions"):
            estimate.select(wrong)


@each
def test_one_value_by_itself_has_the_number_that_it_had(name):
    estimate, last = made(name), len(made(name).values) - 1
    only = estimate.only(estimate.values[last])
    shown = [estimate._shown(estimate.point)] if estimate.single else list(estimate._shown(estimate.point))
    assert alike(only.value, shown[last])
    assert only.single
    if name in INTERVALS:
        low, high = limits_of(estimate, 0.9)
        assert alike(limits_of(only, 0.9)[0], low[last])
        assert alike(limits_of(only, 0.9)[1], high[last])
    with pytest.raises(ParameterError, match="value"):
        estimate.only("nobody asked about this")


# --- comparisons ---


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in NO_INTERVAL | MOVED | {"mean of nobody"}])
def test_a_change_is_the_second_less_the_first(name):
    first, second = made(name), made(name, 1)
    change, back = first.compare(second), second.compare(first)
    assert isinstance(change, Comparison)
    assert change.headline().startswith("Comparison of ")
    rows, sides = change.rows(), [side.mean if side.kind == "distribution" else side for side in (first, second)]
    assert [change.first, change.second] == sides
    for column, side in zip(("before", "after"), sides, strict=True):
        shown = side.rows()
        assert alike(list(rows[column]), list(shown["frequency" if change.law.changed in shown else side.quantity]))
    moved = numbers(list(rows["after"])) - numbers(list(rows["before"]))
    times = {"atol": 2e-6} if near_times(list(rows["after"]), list(rows["change"])) else {"atol": 1e-9}
    assert np.allclose(moved, numbers(list(rows["change"])), **times)
    assert np.allclose(moved, numbers(change.difference), **times)
    assert alike(-numbers(back.difference), numbers(change.difference))
    assert np.all(change.adjusted >= np.minimum(change.p_values, 1.0) - 1e-12)
    for alpha in (0.05, 0.5):
        up, down = change.risen(alpha), change.fallen(alpha)
        assert sorted(map(str, up + down)) == sorted(map(str, change.changed(alpha)))
        assert all(moved[list(change.values).index(value)] > 0 for value in up)
        assert (back.fallen(alpha), back.risen(alpha)) == (up, down)
    if name in INTERVALS:
        (low, high), (other_low, other_high) = limits_of(change, 0.9), limits_of(back, 0.9)
        assert np.allclose(low, -other_high, **times)
        assert np.allclose(high, -other_low, **times)
        assert np.all((low <= moved + 1e-6) & (moved <= high + 1e-6))
        nothing = first.compare(first)
        assert np.all(nothing.p_values > 0.99)
        assert nothing.changed() == []
    read = estimate_from_json(json.dumps(first.to_json())).compare(estimate_from_json(json.dumps(second.to_json())))
    assert read.rows().keys() == rows.keys()
    assert all(alike(list(cells), list(rows[column])) for column, cells in read.rows().items() if column != "value")
    assert (read.covers, read.figures()) == (change.covers, change.figures())


@each
def test_what_cannot_be_compared_is_refused(name):
    estimate = made(name)
    other = made("supports" if estimate.kind != "frequency" else "mean")
    for wrong in (other, 5, None, estimate.point):
        with pytest.raises(ParameterError, match="same kind"):
            estimate.compare(wrong)
    if name in INTERVALS and len(estimate.values) > 1 and "distribution" not in name:  # these compare their means
        with pytest.raises(MergeError, match="the same values"):
            estimate.compare(estimate.top(1))


# --- tables and texts ---


@each
def test_the_same_rows_everywhere(name, tmp_path):
    estimate = made(name)
    rows, arrow = estimate.rows(), estimate.to_arrow()
    assert arrow.column_names == estimate.to_polars().columns == list(estimate.to_pandas().columns) == list(rows)
    assert arrow.num_rows == len(estimate.values)
    for column, cells in rows.items():
        plain = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
        assert [str(cell) for cell in arrow[column].to_pylist()] == [str(list(cell) if isinstance(cell, tuple) else cell) for cell in plain]
    assert estimate.to_csv(tmp_path / "rows.csv") is None
    assert (tmp_path / "rows.csv").read_text() == estimate.to_csv()
    read = pl.read_csv(io.StringIO(estimate.to_csv()))
    assert (read.columns, read.height) == (list(rows), len(estimate.values))
    if name in NO_INTERVAL:
        return
    options = {"simultaneous": estimate.together}
    low, high = estimate.interval(estimate.shown_level, **options)
    assert alike(list(rows["low"]), low)
    assert alike(list(rows["high"]), high)
    if "stderr" in rows:
        assert alike(list(rows["stderr"]), estimate.stderr)
    if estimate.picked and "significant" in rows:
        assert list(rows["significant"]) == estimate.significant().tolist()


@each
def test_text_and_html_show_the_headline_and_the_first_rows(name):
    estimate = made(name)
    text, html = repr(estimate), estimate._repr_html_()
    head, lines = estimate.cells()
    assert text.startswith(estimate.headline() + "\n")
    assert len(lines) == min(len(estimate.values), estimate.shown) or estimate.brief() is not None
    table = text.removeprefix(estimate.headline() + "\n").split("\n")
    assert len(table) >= 1 + len(lines)
    for shown, cells in zip(table, [head, *lines], strict=False):
        assert all(cell in shown for cell in cells)
        assert all(f">{escape(cell)}</t" in html for cell in cells)
    assert all(note in text and escape(note) in html for note in estimate.notes())
    assert escape(estimate.headline()) in html
    assert not [sign for sign in text if not sign.isprintable() and sign != "\n"]
    assert estimate.about in text or isinstance(estimate, Comparison)


@each
def test_the_declared_figures_are_valid_and_show_the_numbers(name):
    estimate = made(name)
    rows, figures = estimate.rows(), estimate.figures()
    drawn = estimate.chart(max(len(estimate.values), 1)).to_dict()
    alt.Chart.from_dict(drawn)  # raises unless the schema of Vega-Lite accepts it
    assert figures
    for figure, spec in zip(figures, drawn.get("vconcat", [drawn]), strict=True):
        assert figure.number in rows
        assert figure.group in ("", *rows)
        records = spec["data"]["values"]
        assert records or name in NOBODY
        limits = ["low", "high"] if figure.interval and figure.mark != "steps" else []
        for column in [each for each in (figure.number, *limits) if each in rows]:
            drawn_here, real = finite([record[column] for record in records]), finite(list(rows[column]))
            if figure.mark == "steps":  # a histogram adds up neighbors
                assert drawn_here.sum() == pytest.approx(real.sum())
            elif figure.mark == "flows" or name == "degrees":  # the largest; and the curve ends where hardly anybody is
                assert column != figure.number or np.isin(drawn_here.round(9), real.round(9)).all()
            else:
                assert np.allclose(drawn_here, np.maximum(real, 0) if figure.mark == "map" else real, rtol=1e-9, atol=2e-3)
    assert estimate.chart(title="mine").to_dict()["title"]["text"] == "mine"
    if estimate.listed and name not in NOBODY:
        (only,) = estimate.chart(1).to_dict()["data"]["values"]
        first = estimate.order()[0]
        assert number(only[figures[0].number]) == pytest.approx(number(list(rows[figures[0].number])[first]), abs=2e-3)


# --- saved estimates ---


@each
def test_what_is_saved_answers_as_before(name):
    estimate = made(name)
    told = json.dumps(estimate.to_json(), allow_nan=False)
    read, settled = estimate_from_json(told), estimate.settled()
    assert read.to_json() == json.loads(told)
    assert np.array_equal(json.loads(told)["n"], np.asarray(estimate.n).tolist())
    assert (repr(read), read._repr_html_()) == (repr(settled), settled._repr_html_())
    assert (list(read.values), read.kind, read.family_size) == (list(estimate.values), estimate.kind, estimate.family_size)
    promise = estimate.guarantee
    told_of = {field: getattr(promise, field) for field in Guarantee.__dataclass_fields__} if promise else {}
    local = None if told_of.get("local_epsilon") == np.inf else told_of.get("local_epsilon")  # without the shuffler nothing is promised
    assert read.guarantee == (promise and Guarantee(**told_of | {"local_epsilon": local}))
    assert np.array_equal(np.asarray(read.n, dtype=object), np.asarray(estimate.n, dtype=object))
    assert alike(read.stderr, settled.stderr)
    assert set(read.parts) == set(settled.parts)
    assert read.chart().to_dict() == settled.chart().to_dict() or name == "degrees"  # these end their curve where hardly anybody is
    if name not in NOBODY:  # what is infinite is null in columns
        assert {column: list(map(str, cells)) for column, cells in read.rows().items()} == {
            column: list(map(str, cells)) for column, cells in settled.rows().items()
        }
    if name in NO_INTERVAL:
        assert not {"low", "high"} & set(estimate.rows()) or name == "postprocessed"  # which shows those of its raw counts
        assert "95 %" not in repr(estimate) or name == "postprocessed"
        return
    for level in [estimate.law.level] if name in ONE_LEVEL else LEVELS:
        assert "distribution" in name or inside(limits_of(estimate, level), limits_of(settled, level))  # a live one draws its errors anew
        for options in ({}, {"simultaneous": True}):
            (low, high), (known_low, known_high) = read.interval(level, **options), settled.interval(level, **options)
            assert type(low) is type(known_low)
            assert alike(low, known_low)
            assert alike(high, known_high)
    assert read.significant(0.1).tolist() == settled.significant(0.1).tolist()


def test_a_process_that_has_just_begun_reads_them_all(tmp_path):
    path = tmp_path / "saved.json"
    path.write_text(json.dumps({name: made(name).to_json() for name in MAKERS}))
    code = (
        "import json, sys; from deniable.core.saved import estimate_from_json; saved = json.load(open(sys.argv[1]));"
        "print(json.dumps({name: repr(estimate_from_json(plain)) for name, plain in saved.items()}))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {name: repr(made(name).settled()) for name in MAKERS}
