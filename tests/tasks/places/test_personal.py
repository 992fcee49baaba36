"""Personal privacy: the promise holds exactly for every declaration, looser twins are caught, and counts are right with their errors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from math import e

import numpy as np
import pytest
from scipy import stats

from deniable.contract.probability import exp_below
from deniable.contract.protocol import protocol_from_json
from deniable.errors import DomainError, ParameterError, ProtocolError, WireError
from deniable.tasks.places import PersonalPlaces, Taxonomy
from deniable.tasks.places.region_groups import grouped
from deniable.testing import ReplaySource, law_of

TOWN = Taxonomy(["north/hill/top", "north/hill/foot", "north/mill", "south/lake", "south/port"])
DECLARED = {
    ("everywhere", 0.5): 40,
    ("everywhere", 1.0): 30,
    ("north", 1.0): 20,
    ("north", 2.0): 25,
    ("north/hill", 0.7): 10,
    ("south", 3.0): 15,
    ("south/port", 1.0): 5,
}
ALPHA = 1e-6


def crowd_of(places, regions, epsilons):
    return {"place": places, "region": regions, "epsilon": epsilons}


def answer(asking, place, region, epsilon, source):
    return asking.answer(place, region, epsilon, source)


def kept(asking):
    """Whether every declaration is honored, by the exact laws of everything that a device sends, for any two places in the region."""
    for region, epsilon in asking.declared:
        start, end = TOWN.span(region)
        laws = [law_of(partial(answer, asking, place, region, epsilon)) for place in TOWN.leaves[start:end]]
        for one, other in product(laws, laws):
            ratio = one.ratio(other)
            if ratio is None or ratio > exp_below(epsilon):
                return False
    return True


@pytest.mark.parametrize("most", [1, 2, 4, 6])
@pytest.mark.parametrize("oracle", ["GRR", "OUE"])
def test_every_declaration_is_honored_exactly(most, oracle):
    asking = PersonalPlaces(taxonomy=TOWN, declared=DECLARED, most=most, oracle=oracle)
    assert sum(spec is not None for spec in asking.specs) == most
    assert [group.region for group, spec in zip(asking.groups, asking.specs, strict=True) if spec is None] == ["south/port"]
    assert sum(group.people for group in asking.groups) == 145
    assert kept(asking)


def test_a_twin_that_takes_the_largest_epsilon_of_a_group_is_caught():
    asking = PersonalPlaces(taxonomy=TOWN, declared=DECLARED, most=3, oracle="GRR")
    evil = PersonalPlaces(taxonomy=TOWN, declared=DECLARED, most=3, oracle="GRR")
    loose = tuple(replace(group, epsilon=max(epsilon for _, epsilon in group.declared)) for group in asking.groups)
    evil.__dict__["groups"] = loose  # what a cached property keeps
    assert kept(asking)
    assert not kept(evil)


def test_a_twin_that_chooses_the_region_by_the_place_is_caught():
    """Whoever answers about the smallest region around them tells which one it is: the region must not depend on the place."""

    class Finer(PersonalPlaces, abstract=True):
        def answer(self, place, region, epsilon, source):
            half = place.split("/")[0]
            return super().answer(place, half if region == "everywhere" else region, 1.0, source)

    declared = {("everywhere", 1.0): 10, ("north", 1.0): 10, ("south", 1.0): 10}
    assert kept(PersonalPlaces(taxonomy=TOWN, declared=declared, oracle="GRR"))
    assert not kept(Finer(taxonomy=TOWN, declared=declared, oracle="GRR"))


def test_groups_only_ever_protect_more_and_joining_is_cheap():
    draw = np.random.default_rng(2)
    leaves = [f"{a}/{b}/{c}" for a, b, c in product("wxyz", "123", "pq")]
    world = Taxonomy(leaves)
    declared = {
        (world.nodes[draw.integers(len(world.nodes))], float(draw.choice([0.5, 1.0, 2.0]))): int(draw.integers(1, 900)) for _ in range(60)
    }
    for most in (4, 16):
        groups = grouped(world, declared, most)
        assert sum(np.subtract(*world.span(group.region)) < -1 for group in groups) <= most
        assert sorted(pair for group in groups for pair in group.declared) == sorted(declared)
        for group in groups:
            low, high = world.span(group.region)
            for region, epsilon in group.declared:
                start, end = world.span(region)
                assert low <= start < end <= high
                assert group.epsilon <= epsilon
            assert group.people == sum(declared[pair] for pair in group.declared)


def town_crowd(n):
    """Places, and declarations that do not depend on more than the half of the town that people live in."""
    draw = np.random.default_rng(9)
    leaves = draw.choice(5, n, p=[0.1, 0.15, 0.25, 0.35, 0.15])
    halves = np.where(leaves < 3, TOWN.nodes.index("north"), TOWN.nodes.index("south"))
    careful = draw.random(n) < 0.4
    return leaves, np.where(careful, 0, halves), np.where(draw.random(n) < 0.5, 1.0, 2.0)


def test_counts_err_as_stated_and_declared_regions_do_not_err():
    """150 runs: the sum of squared scores at 1e-6, and a twin with half of the stated error is caught."""
    leaves, regions, epsilons = town_crowd(4000)
    asking = PersonalPlaces.of(TOWN, regions, epsilons, oracle="GRR")
    assert len(asking.groups) == 6
    scores, halves = [], []
    for run in range(150):
        found = asking.run(crowd_of(leaves, regions, epsilons), source=ReplaySource.from_key(f"town {run}"))
        scores.append((found.counts[3] - np.count_nonzero(leaves == 3)) / found.stderr[3])
        halves.append(found.count("south"))
    limits = stats.chi2(150).ppf([ALPHA / 2, 1 - ALPHA / 2])
    assert limits[0] < np.square(scores).sum() < limits[1] < np.square(scores).sum() / 0.5**2
    assert found.count("everywhere").value == pytest.approx(4000)
    assert found.count("everywhere").stderr == pytest.approx(0, abs=1e-6)
    assert found.counts.sum() == pytest.approx(4000)
    assert repr(found)
    everyone = PersonalPlaces(taxonomy=TOWN, declared={("everywhere", 1.0): 4000}, oracle="GRR")
    plain = everyone.run(crowd_of(leaves, np.zeros(4000, dtype=int), np.ones(4000)), source=ReplaySource.from_key("plain"))
    assert halves[0].stderr < 0.7 * plain.count("south").stderr  # what people do not mind telling is worth a lot


def test_whoever_tells_all_is_counted_exactly():
    places = ["south/port"] * 7 + ["south/lake"] * 5
    asking = PersonalPlaces.of(TOWN, places, [1.0] * 12)
    found = asking.run(crowd_of(places, places, [1.0] * 12))
    assert dict(zip(TOWN.leaves, found.counts.tolist(), strict=True))["south/port"] == 7
    assert found.stderr.tolist() == [0.0] * 5
    assert asking.answer("south/port", "south/port", 1.0) == (asking.group_of("south/port", 1.0), None)
    empty = PersonalPlaces.of(TOWN, [], []).run(crowd_of([], [], []))
    assert (empty.n, empty.counts.tolist()) == (0, [0.0] * 5)


def test_check_values_of_one_group():
    """GRR over 8 places at epsilon 1: p = .27971, and a place with nobody errs by (d - 2 + e) / (e - 1)^2 for each person."""
    flat = Taxonomy([f"place {place}" for place in range(8)])
    asking = PersonalPlaces(taxonomy=flat, declared={("everywhere", 1.0): 1000}, oracle="GRR")
    assert float(asking.specs[0].p) == pytest.approx(0.27971, abs=1e-5)
    found = asking.run(crowd_of(np.zeros(1000, dtype=int), np.zeros(1000, dtype=int), np.ones(1000)), source=ReplaySource.from_key("flat"))
    assert np.median(found.stderr) ** 2 == pytest.approx(1000 * (6 + e) / (e - 1) ** 2, rel=0.15)  # of estimated counts near zero


def test_the_statement_says_what_is_relaxed():
    asking = PersonalPlaces(taxonomy=TOWN, declared=DECLARED)
    told = asking.statement("north", 2.0)
    assert "epsilon = 2" in told
    assert "inside 'north'" in told
    assert "weaker than full local privacy" in told
    assert "The region is public" in told
    assert asking.guarantee_for("north", 2.0).epsilon == 2.0


def test_what_was_not_declared_is_refused():
    asking = PersonalPlaces(taxonomy=TOWN, declared=DECLARED)
    with pytest.raises(DomainError, match=r"place: got 'south/lake'.*'north'"):
        asking.answer("south/lake", "north", 1.0)
    with pytest.raises(DomainError, match=r"places\[1\]"):
        asking.run(crowd_of(["north/mill", "south/lake"], ["north", "north"], [1.0, 1.0]))
    with pytest.raises(ParameterError, match="declared"):
        asking.answer("south/lake", "south", 1.5)
    with pytest.raises(ParameterError, match="region"):
        PersonalPlaces(taxonomy=TOWN, declared={("east", 1.0): 3})
    with pytest.raises(DomainError, match="epsilons"):
        PersonalPlaces.of(TOWN, ["north"], [1.0, 2.0])
    with pytest.raises(ParameterError, match="list of epsilons"):
        PersonalPlaces.of(TOWN, ["north"] * 600, np.linspace(1, 2, 600)).groups  # noqa: B018  # made when it is looked at
    with pytest.raises(ParameterError, match="epsilon"):
        PersonalPlaces.of(TOWN, ["north"] * 2, [1.0, np.nan])
    with pytest.raises(ProtocolError, match="tallies"):
        asking.estimate({})


def test_declarations_are_written_and_read_back_and_no_round_asks_them():
    asking = PersonalPlaces(taxonomy=TOWN, declared=DECLARED, most=3)
    again = protocol_from_json(asking.canonical)
    assert (again, again.groups, again.guarantee) == (asking, asking.groups, asking.guarantee)
    assert asking.guarantee.epsilon == 3.0  # the largest that anyone declared
    shuffled = PersonalPlaces(taxonomy=TOWN, declared=dict(reversed(DECLARED.items())), most=3)
    assert shuffled.canonical == asking.canonical
    first = b'["everywhere","0.5",40]'
    for damaged in (
        b'["nowhere","0.5",40]',
        b'["everywhere","0.5",-1]',
        b'["everywhere","0",40]',
        b'["everywhere","0.5"]',
        first + b"," + first,
    ):
        with pytest.raises(WireError):
            protocol_from_json(asking.canonical.replace(first, damaged))
    with pytest.raises(ProtocolError, match="the region and epsilon they declared"):
        asking.open()


def test_a_run_reports_how_far_it_has_come():
    steps, asking = [], PersonalPlaces(taxonomy=TOWN, declared={("north", 1.0): 2, ("south", 1.0): 1}, oracle="GRR")
    crowd = crowd_of(["north/mill", "north/mill", "south/lake"], ["north", "north", "south"], [1.0] * 3)
    asking.run(crowd, source=ReplaySource.from_key("steps"), progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 2), (2, 2)]
    with pytest.raises(DomainError, match="attribute 'region'"):
        asking.run({"place": ["north/mill"], "epsilon": [1.0]})


@pytest.mark.parametrize("leaves", [[], ["a", "a"], ["a", "a/b"], ["a//b"], ["everywhere/x"], "abc"], ids=str)
def test_what_is_no_taxonomy_is_refused(leaves):
    with pytest.raises(ParameterError, match="leaves"):
        Taxonomy(leaves)


@pytest.mark.parametrize(("region", "epsilon"), [("north", "x"), ("north", None), (["north"], 1.0), ("north", 10**400)], ids=str)
def test_declarations_of_other_types_are_refused(region, epsilon):
    asking = PersonalPlaces(taxonomy=TOWN, declared=DECLARED)
    for ask in (partial(asking.answer, "north/mill"), asking.guarantee_for, asking.group_of):
        with pytest.raises(ParameterError):
            ask(region, epsilon)
