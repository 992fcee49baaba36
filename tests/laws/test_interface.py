"""The interface of a mechanism, complete for every registered one: what it says of itself in Python, and the same in the browser client.

``tests/exact/test_mechanism_figures.py`` compares the figures that planners use with the exact laws.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest

from deniable.client.frequency import FrequencySpec
from deniable.client.longitudinal import Longitudinal
from deniable.client.mean import MeanSpec
from deniable.contract.assigned import Assigned, seed_words
from deniable.contract.spec import MECHANISMS
from deniable.core.set_bits import chance_of
from deniable.core.tally import Tally
from deniable.errors import DomainError
from deniable.local.mean_choice import preferred_means
from deniable.local.oracle_choice import preferred
from deniable.testing import ReplaySource
from tests.conftest import ROOT, all_specs, drawn_ways, some_values
from tests.services import needed

NAMES = sorted(MECHANISMS)
SPECS = [MECHANISMS[name].example() for name in NAMES]
SPECS += [spec for name in NAMES for spec in [spec for spec in all_specs() if spec.mechanism == name][:2]]
SPECS += [spec for spec in all_specs() if not spec.domain.listed and spec not in SPECS]
each_spec = pytest.mark.parametrize("spec", SPECS, ids=repr)
EXAMPLES = [spec for spec in SPECS[: len(NAMES)] if not spec.seed_words]
"""Those whose laws can be listed without a seed."""
each_example = pytest.mark.parametrize("spec", EXAMPLES, ids=repr)
FEW = 64


def listed(spec):
    """Some values of the domain; of numbers also some between grid points."""
    domain = spec.domain
    if not domain.listed:
        return some_values(spec, 4)
    values = [domain.value(key) for key in sorted({*range(min(domain.size, FEW)), domain.size - 1})]
    if spec.numeric and not domain.times:
        values += [domain.start + domain.width * share for share in (Fraction(1, 3), Fraction(99, 100))]
    return values


def takes(spec, value):
    """Whether a device has a report for a value, as it turns out."""
    try:
        spec.randomize(value, ReplaySource.from_key("takes"))
    except DomainError:
        return False
    return True


# --- what anything wants to know of a mechanism ---


@each_spec
def test_what_can_be_answered_is_what_the_mechanism_says(spec):
    """It is what task files check, what rounds may ask, and what the survey page has fields for."""
    taken = {}
    for value in listed(spec):
        taken[value] = takes(spec, value)
        if taken[value]:
            spec.check_value(value)
        else:
            with pytest.raises(DomainError):
                spec.check_value(value)
    if spec.choices is not None:
        assert {value for value, can in taken.items() if can} == set(spec.choices)
    elif spec.whole:
        assert all(can == (Fraction(value).denominator == 1) for value, can in taken.items())
    else:
        assert all(taken.values())
    assert spec.answers_all == (all(taken.values()) and spec.guarantee.unit == "one report")
    assert bool(spec.how_sent) == spec.numeric


@each_spec
def test_a_token_assigns_the_words_that_a_report_begins_with_or_none(spec):
    count = seed_words(spec)
    assert count == (spec.seed_words if spec.assignable else 0)
    if count:
        words = tuple(range(7, 7 + count))
        report = spec.randomize(some_values(spec, 1)[0], Assigned(words, ReplaySource.from_key("assigned")))
        assert report[0] == words
        assert spec.layout[0].drawn
        assert spec.layout[0].count == count
        assert spec.guarantee.unit == "one report"  # a permanent answer's seed stays


@each_example
def test_what_is_drawn_without_looking_is_uniform_whatever_people_hold(spec):
    """Integrity tests count it, and the survey page takes it as given."""
    places = [place for place, column in enumerate(spec.layout) if column.drawn]
    if not places:
        return
    for value in listed(spec):
        chances = {}
        for report, weight in spec.law(value).items():
            drawn = tuple(report[place] for place in places)
            chances[drawn] = chances.get(drawn, 0) + weight
        assert len(chances) == drawn_ways(spec)
        assert set(chances.values()) == {Fraction(1, drawn_ways(spec))}


@each_example
def test_numbers_of_set_bits_follow_the_laws_that_the_mechanism_gives(spec):
    columns = [place for place, column in enumerate(spec.layout) if column.packed and column.count > 1]
    laws = spec.popcount_laws
    if not laws or not columns:
        assert not laws  # laws without bits would be nonsense
        return
    counts = np.arange(spec.layout[columns[0]].count + 1)
    low, high = (bound([chance_of(law, counts, "pmf") for law in laws], axis=0) for bound in (np.min, np.max))
    for value in listed(spec):
        found = np.zeros(counts.size)
        for report, weight in spec.law(value).items():
            found[(report[columns[0]] if len(spec.layout) > 1 else report).bit_count()] += float(weight)
        assert np.all(found >= low - 1e-12)
        assert np.all(found <= high + 1e-12)


@each_example
def test_a_tally_has_the_counters_and_the_largest_count_that_the_mechanism_says(spec):
    values = listed(spec) if spec.answers_all else [value for value in listed(spec) if takes(spec, value)]
    tally: Tally = spec.tally(spec.privatize(values[:1], source=ReplaySource.from_key("one")))
    assert tally.counters.size == spec.counters(spec.domain.size)
    assert np.abs(tally.counters).max() <= spec.largest_count


@each_spec
def test_costs_and_claims_are_figures(spec):
    assert spec.report_bits >= 1
    assert spec.report_epsilon <= spec.report_claim <= spec.epsilon
    assert spec.ways >= spec.outputs
    assert spec.finishing(3).steps >= 0
    mean = spec.mean_spec
    assert (mean is not None) == spec.numeric
    if mean is not None:
        assert mean.variance(n=1) == pytest.approx(spec.variance(n=1))
    else:
        assert spec.device_words >= 1
        assert spec.tally_steps(10, 3) >= 10
        assert 1 <= spec.most_supported <= spec.domain_size
        assert 0 < spec.best_guess < 1
    assert spec.lists_pairs == isinstance(spec, FrequencySpec)
    assert not spec.fair_coin or spec.outputs == 2
    report = spec.randomize(next(value for value in listed(spec) if takes(spec, value)), ReplaySource.from_key("event"))
    hash(spec.event(report, (0, 1)))


def test_what_auto_may_choose_has_a_place_of_its_own():
    for family, names in ((FrequencySpec, preferred()), (MeanSpec, preferred_means())):
        places = [MECHANISMS[name].preference for name in names]
        assert places == sorted(set(places))
        assert all(issubclass(MECHANISMS[name], family) for name in names)
    assert preferred_means() == ["OneBitMean", "Piecewise", "Hybrid", "DiscreteLaplace"]


# --- the same in the browser client ---

ASK = """
import { MECHANISMS, specFromJson } from "./src/index.js";
let text = "";
for await (const part of process.stdin) text += part;
const said = [];
for (const { spec: canonical, reports, keys } of JSON.parse(text)) {
  const spec = specFromJson(canonical);
  const read = reports.map((report) => spec.decode(Uint8Array.from(Buffer.from(report, "hex"))));
  const laws = read.map((report) => spec.law(report));
  const weights = (law) => Promise.all(keys.map(async (key) => (await law.weight(BigInt(key))).map(String)));
  said.push({
    laws: await Promise.all(laws.map(async (law) => law && { common: law.common, weights: await weights(law) })),
    whyNoLaw: spec.whyNoLaw,
    words: await Promise.all(read.map((report) => spec.words(report))),
    answersAll: spec.answersAll,
    memoized: spec.memoized,
    assignedWords: spec.assignedWords,
    drawn: spec.layout.filter(({ drawn }) => drawn).map(({ name }) => name),
  });
}
console.log(JSON.stringify({ said, own: [...MECHANISMS.keys()] }));
"""


@pytest.fixture(scope="module")
def client():
    """What the client says of every spec, by its canonical JSON, and the mechanisms that it has."""
    node = shutil.which("node")
    needed(node, "node is not installed (on Debian: apt-get install nodejs npm)")
    asked = {}
    for spec in SPECS:
        values = [value for value in listed(spec) if takes(spec, value)][:3]
        reports = [spec.encode(spec.randomize(value, ReplaySource.from_key(f"js {i}"))).hex() for i, value in enumerate(values)]
        keys = [str(spec.domain.key(value)) for value in values]
        asked[spec.canonical.decode()] = {"spec": spec.canonical.decode(), "reports": reports, "keys": keys}
    command = [node, "--input-type=module", "-e", ASK]
    done = subprocess.run(
        command, cwd=ROOT / "clients" / "js", input=json.dumps(list(asked.values())), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert set(content["own"]) == set(NAMES)
    return dict(zip(asked, content["said"], strict=True))


@each_spec
def test_the_client_gives_a_law_or_says_why_not(spec, client):
    """``test_client_laws.py`` compares the laws with Python's, fraction by fraction."""
    said = client[spec.canonical.decode()]
    assert bool(said["whyNoLaw"]) == isinstance(spec, Longitudinal)
    for law in said["laws"]:
        assert (law is None) == bool(said["whyNoLaw"])
        if law is not None:
            weights = [Fraction(int(n), int(d)) for n, d in law["weights"]]
            assert min(weights) > 0
            assert max(weights) / min(weights) <= exp(spec.epsilon) * (1 + 1e-9)
            assert law["common"] <= 0


@each_spec
def test_the_client_puts_every_report_into_words(spec, client):
    for words in client[spec.canonical.decode()]["words"]:
        assert words
        for part in words:
            if isinstance(part, str):
                assert part
            else:
                assert part["values"] or part["none"]
                assert all(0 <= key < spec.domain.size for key in part["values"])


@each_spec
def test_the_client_says_the_same_of_a_mechanism(spec, client):
    said = client[spec.canonical.decode()]
    assert said["answersAll"] == spec.answers_all
    assert said["memoized"] == isinstance(spec, Longitudinal)
    assert said["assignedWords"] == seed_words(spec)
    assert said["drawn"] == [column.name for column in spec.layout if column.drawn]


# --- nothing elsewhere is keyed by a mechanism ---

SOURCE = ROOT / "src" / "deniable"
ROOMS = ("client", "local", "lab/experiments")
"""Where mechanisms are made, and where experiments name those that they compare."""
BASES = {
    "Spec",
    "ExactSpec",
    "FrequencySpec",
    "NumericSpec",
    "MeanSpec",
    "PureProtocol",
    "LinearProtocol",
    "LongitudinalSpec",
    "Longitudinal",
}
"""Families: each is an interface that others need in full, as planners need that of a mechanism that counts values."""


def concrete():
    """The names of all mechanisms, and of the classes that they have in common below the families."""
    classes = {cls.__name__ for name in NAMES for cls in MECHANISMS[name].__mro__ if cls.__module__.startswith("deniable.client")}
    return classes - BASES


def judged(tree):
    """What a module looks at: classes in ``isinstance`` and the like, and texts, in comparisons and lists of texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
            yield from (part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name))
        elif isinstance(node, ast.Compare):
            yield from (part.id for part in node.comparators if isinstance(part, ast.Name))
            yield from texts([node.left, *node.comparators])
        elif isinstance(node, ast.Dict):
            yield from texts([key for key in node.keys if key is not None])
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            yield from texts(node.elts)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("remove", "index", "get", "count"):
            yield from texts(node.args)


def texts(nodes):
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def exported(tree):
    """The names in ``__all__``, which are no table."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return set(texts(getattr(node.value, "elts", [])))
    return set()


def namesakes(tree):
    """Names that a module defines or imports from elsewhere: they may share their name with a mechanism."""
    imports = [
        node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("deniable.client")
    ]
    classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    return classes | {alias.name for node in imports for alias in node.names}


def test_no_module_outside_their_rooms_asks_which_mechanism_it_has():
    names, found = concrete(), {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith(ROOMS) or place == "__init__.py":
            continue
        tree = ast.parse(path.read_text())
        if keyed := (set(judged(tree)) & names) - exported(tree) - namesakes(tree):
            found[place] = keyed
    assert found == {}


def test_a_module_that_asks_is_found():
    """The evil twins: an isinstance, a comparison of names, a table, a list, a removal."""
    twins = (
        "isinstance(spec, GRR)",
        "isinstance(spec, FrequencySpec | OLH)",
        "issubclass(cls, UnaryEncoding)",
        "type(spec) is RR",
        'spec.mechanism == "GRR"',
        'spec.mechanism in ("OLH", "BLH")',
        '{"OUE": 1}',
        'frozenset({"SignRR"})',
        'names.remove("SignRR")',
    )
    assert all(set(judged(ast.parse(twin))) & concrete() for twin in twins)


@pytest.mark.parametrize("folder", ["clients/js/src", "src/deniable/collect/dashboard/assets"])
def test_no_script_outside_their_folder_names_a_mechanism(folder):
    scripts = [path for path in (ROOT / folder).rglob("*.js") if "mechanisms" not in path.parts]
    assert scripts
    for path, name in product(scripts, NAMES):
        text = path.read_text()
        assert not any(named in text for named in (f'"{name}"', f"'{name}'", f"instanceof {name}", f"  {name}:", f".{name} =")), path
