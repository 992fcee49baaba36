"""One estimate: every result with an error has the one interval, table, test and chart, and every law can be saved."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import deniable
import deniable as dn
from deniable.core.chart import Chart, stacked
from deniable.core.estimate import Estimate
from deniable.core.figure import Figure, themed
from deniable.core.law import LAWS, Joined, Law
from deniable.core.measured import Measured
from deniable.core.normal import Normal
from deniable.core.saved import SavedEstimate
from deniable.core.saved_parts import HOMES
from deniable.core.table import Table
from deniable.core.vega import MARKS, draw
from deniable.core.vega_axes import number_axis
from deniable.errors import MissingExtra, ParameterError

SHARED = ("interval", "significant", "top", "stderr", "point", "to_arrow", "to_polars", "to_pandas", "to_csv", "to_json", "__repr__")
"""What no subclass may do in its own way."""
OWN_ROWS = {"Comparison", "SavedEstimate"}
"""Two sides, and what was read: their rows are not value, number, error, limits."""


def classes():
    for module in pkgutil.walk_packages(deniable.__path__, "deniable."):
        if module.name.startswith(("deniable.cli.", "deniable.collect.")):
            continue
        try:
            held = vars(importlib.import_module(module.name))
        except MissingExtra:  # an engine that is not installed here
            continue
        yield from (made for made in held.values() if inspect.isclass(made) and made.__module__ == module.name)


FOUND = sorted(set(classes()), key=lambda made: f"{made.__module__}.{made.__name__}")
ESTIMATES = [made for made in FOUND if issubclass(made, Estimate) and made is not Estimate]
KNOWN = [made for made in FOUND if issubclass(made, Law) and not inspect.isabstract(made)]


def test_there_is_one_signature_of_an_interval():
    text = "(self, level: 'float' = 0.95, *, simultaneous: 'bool' = False, population: 'bool' = False) -> 'tuple[Any, Any]'"
    assert str(inspect.signature(Estimate.interval)) == text
    apart = [made for made in FOUND if callable(getattr(made, "interval", None)) and not issubclass(made, Estimate)]
    assert apart == [Measured]  # the half of an estimate that is written in a table


@pytest.mark.parametrize("made", ESTIMATES, ids=lambda made: made.__name__)
def test_a_subclass_only_adds_verbs(made):
    assert [name for name in SHARED if name in vars(made)] == []
    assert "rows" not in vars(made) or made.__name__ in OWN_ROWS
    assert made.kind != Estimate.kind or made is SavedEstimate, "it needs a kind: what compare() compares"


def test_kinds_are_distinct():
    kinds = [made.kind for made in ESTIMATES if made is not SavedEstimate and "kind" in vars(made)]
    assert len(kinds) == len(set(kinds))


def plain(hint: Any) -> bool:
    """Whether values of a type can be saved: arrays, numbers, text, laws, and tuples of them."""
    if get_origin(hint) is tuple or get_args(hint):
        parts = [part for part in get_args(hint) if part is not ...]
        return get_origin(hint) is np.ndarray or all(map(plain, parts))
    return hint in (int, float, bool, str, Any, type(None), np.ndarray) or (isinstance(hint, type) and issubclass(hint, Law))


@pytest.mark.parametrize("made", KNOWN, ids=lambda made: made.__name__)
def test_a_law_is_data_or_settles_into_data(made):
    assert is_dataclass(made)
    hints = get_type_hints(made)
    saved = all(plain(hints[each.name]) for each in fields(made))
    assert saved or "settled" in vars(made), [each.name for each in fields(made) if not plain(hints[each.name])]


def test_laws_have_names_of_their_own_and_are_found_when_an_estimate_is_read():
    assert len({made.__name__ for made in KNOWN}) == len(KNOWN)
    for home in HOMES:
        importlib.import_module(home)
    assert {made for made in KNOWN if LAWS.get(made.__name__) is not made} == set()
    rooms = {".".join(made.__module__.split(".")[: 3 if ".tasks." in made.__module__ else 2]) for made in KNOWN}
    homes = {".".join(home.split(".")[: 3 if ".tasks." in home else 2]) for home in HOMES}
    assert rooms - {"deniable.tasks.enclosed", "deniable.tasks.people"} <= homes


@pytest.mark.parametrize("made", KNOWN, ids=lambda made: made.__name__)
def test_a_law_is_about_those_who_reported_and_a_change_about_those_they_are_drawn_from(made):
    for verb in (made.variance, made.limits):
        assert inspect.signature(verb).parameters["population"].default is made.__name__.endswith("Change")


@pytest.mark.parametrize("spec", [dn.OUE(domain_size=5, epsilon=1.0), dn.HRR(domain_size=5, epsilon=1.0)], ids=repr)
def test_the_noise_of_a_value_that_nobody_holds_is_what_its_mechanism_states(spec):
    people, noise = spec.estimate(spec.tally(spec.privatize([0] * 40))).law.unheld
    assert (people, noise) == (40, pytest.approx(spec.variance(n=1, f=0.0)))


def test_several_laws_after_one_another_say_of_each_number_what_its_own_law_says():
    sizes, drawn = (2, 1, 3), np.random.default_rng(0)
    laws = tuple(Normal(9, *drawn.uniform(1, 2, (3, size))) for size in sizes)
    joined, alphas = Joined(9, laws), drawn.uniform(0.01, 0.1, sum(sizes))
    parts = np.split(alphas, np.cumsum(sizes)[:-1])
    asked = {0.05: [0.05] * len(sizes), **{tuple(alphas): parts}}
    assert joined.point.tolist() == [number for law in laws for number in law.point]
    for alpha, each in asked.items():
        limits = [law.limits(part, population=True) for law, part in zip(laws, each, strict=True)]
        found = joined.limits(np.array(alpha), population=True)
        assert [side.tolist() for side in found] == [np.concatenate(sides).tolist() for sides in zip(*limits, strict=True)]
    order = [5, 0, 2, 3, 1]
    some = joined.select(np.array(order))
    for verb in ("point", "stderr"):
        assert getattr(some, verb).tolist() == getattr(joined, verb)[order].tolist()
    assert some.limits(0.1)[0].tolist() == joined.limits(0.1)[0][order].tolist()


# --- figures ---

ROWS = {
    "value": ["a", "b", "c"], "number": [1.0, 2.0, float("nan")], "low": [0.5, 1.5, 0.0], "high": [1.5, 2.5, 9.0], "group": ["x", "y", "x"],
    "west": [0.0, 1.0, 2.0], "south": [0.0] * 3, "east": [1.0, 2.0, 3.0], "north": [1.0] * 3, "count": [1.0] * 3, "stderr": [1.0] * 3,
}  # fmt: skip


@pytest.mark.parametrize("mark", sorted(MARKS))
def test_every_mark_is_valid_vega_lite(mark):
    import altair as alt

    rows = ROWS | ({"value": [0, 1, 2], "number": [1.0, 2.0, 3.0]} if mark in ("curve", "steps") else {})
    group = "group" if mark == "matrix" else ""
    figure = Figure(mark=mark, number="number", group=group, ends=(0.0, 0.0, 3.0, 1.0) if mark in ("map", "flows") else None)
    for theme in ("light", "dark"):
        spec = themed(draw(rows, figure), theme)
        alt.Chart.from_dict(spec)  # raises unless the schema of Vega-Lite accepts it
    if mark not in ("curve", "steps"):
        assert len(spec["data"]["values"]) == 2  # what is no number is not drawn


@pytest.mark.parametrize(("axis", "title"), [("", "number"), ("people", "people")])
def test_a_number_has_the_title_that_its_figure_gives_it_or_its_own_name(axis, title):
    assert number_axis("number", ROWS, Figure(mark="bars", number="number", axis=axis), zero=True)["title"] == title


def test_charts_below_one_another_keep_their_data():
    import altair as alt

    records = [[{"a": place}] for place in range(3)]
    plain, *drawn = [Chart(alt.Chart(alt.InlineData(values=rows)).mark_bar()) for rows in records]
    inline = Chart({"data": {"values": records[0]}, "mark": "bar"})
    for charts in ([plain, *drawn], [inline, *drawn], [inline, inline]):
        spec = stacked(charts).to_dict()
        alt.Chart.from_dict(spec)
        found = [each["data"].get("values") or spec["datasets"][each["data"]["name"]] for each in spec["vconcat"]]
        assert found == [records[0], *(records[1:] if drawn[0] in charts else [records[0]])]
        assert ("datasets" in spec) == (drawn[0] in charts)


def test_control_characters_never_reach_a_chart():
    rows = {"value": ["a\x1b[31m\n"], "number": [1.0]}
    assert draw(rows, Figure(mark="bars", number="number"))["data"]["values"][0]["value"] == repr("a\x1b[31m\n")


def test_a_table_without_a_figure_says_so():
    class Words(Table):
        def rows(self):
            return {"value": ["a"]}

        def headline(self):
            return "words"

        def order(self):
            return np.arange(1)

    with pytest.raises(ParameterError, match="figure"):
        Words().chart()
