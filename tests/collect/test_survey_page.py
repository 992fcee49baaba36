"""The survey page as the server writes it: a field for each domain, every state in words, and the client that it runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from fractions import Fraction

import pytest

from deniable.client import GRR, OLH, RR, OneBitMean, OneBitMeanPM, SignRR
from deniable.collect.dashboard import static_files
from deniable.collect.dashboard.answer_fields import SPREAD, asked_domains
from deniable.contract.domain import Bytes, Categories, IndexRange, Integers, Text
from deniable.contract.encoder import Attribute
from deniable.contract.question import Question
from deniable.contract.survey import Survey
from tests.collect.crowd import HOUR, NOON, survey_task
from tests.collect.looking import HOSTILE, Reader, get
from tests.collect.test_api import WORD, ask, publish
from tests.conftest import ROOT

MANY = Categories(*(f"answer {i}" for i in range(SPREAD + 1)))


def shown(site, *specs, name="asked", **rules):
    """The survey page of a task."""
    task = survey_task(site.collector.registry.key, *specs, name=name, **rules)
    site.collector.publish(task)
    return Reader(get(site, f"/tasks/{task.id.hex()}/answer").text)


@pytest.mark.parametrize(
    ("domain", "kind", "expected"),
    [
        (Categories("tea", "coffee", HOSTILE), "label", [("radio", "0"), ("radio", "1"), ("radio", "2")]),
        (IndexRange(2), "integer", [("radio", "1"), ("radio", "0")]),
        (Integers(-1, 1), "integer", [("radio", "-1"), ("radio", "0"), ("radio", "1")]),
        (MANY, "label", []),
        (Integers(0, 120), "integer", [("number", None)]),
        (Integers(0, 2**60), "integer", [("text", None)]),
        (Text(12), "text", [("text", None)]),
        (Bytes(4), "bytes", [("text", None)]),
    ],
)
def test_every_domain_has_a_field_of_its_own(site, domain, kind, expected):
    page = shown(site, OLH(domain=domain, epsilon=1.0), candidates=[0, 7] if domain.size > 2**32 and domain.listed else None)
    assert [(box["type"], box.get("value")) for box in page.all("input")] == expected
    field = next(tag for _, tag in page.tags if "data-answer" in tag)
    assert (field["data-kind"], field["data-attribute"]) == (kind, None)  # written without a value
    chosen = [option["value"] or "" for option in page.all("option")]
    assert chosen == (["", *map(str, range(SPREAD + 1))] if domain is MANY else [])
    assert all("required" in box for box in page.all("input") + page.all("select"))


def test_a_number_field_allows_what_the_mechanism_takes(site):
    """Signs are one of two, counters are whole, and other means take any number of the range."""
    signs = shown(site, SignRR(low=0, high=2, epsilon=1.0), name="signs")
    assert [(box["type"], box["value"]) for box in signs.all("input")] == [("radio", "0"), ("radio", "2")]
    fields = {spec: shown(site, spec(low=0, high=120, epsilon=1.0), name=spec.mechanism.lower()) for spec in (OneBitMeanPM, OneBitMean)}
    steps = {spec: [(box["type"], box["min"], box["max"], box["step"]) for box in page.all("input")] for spec, page in fields.items()}
    assert steps == {OneBitMeanPM: [("number", "0", "120", "1")], OneBitMean: [("number", "0", "120", "any")]}
    assert "Whole numbers from 0 to 120" in fields[OneBitMeanPM].text
    assert "Finite numbers from 0 to 120" in fields[OneBitMean].text


def test_nothing_is_chosen_beforehand(site):
    page = shown(site, GRR(domain=MANY, epsilon=1.0), strata=(("where", ("phone", "web")),))
    assert not [tag for _, tag in page.tags if "checked" in tag or "selected" in tag]


@pytest.mark.parametrize(("domain", "boxes"), [(Categories("tea", "coffee"), ["radio"] * 3), (Text(8), ["text", "checkbox"])])
def test_whoever_has_no_answer_can_say_so(site, domain, boxes):
    page = shown(site, OLH(domain=domain, epsilon=1.0), default="tea")
    assert [box["type"] for box in page.all("input")] == boxes
    assert "counts as 'tea'" in page.text


def test_several_attributes_are_asked_together_and_other_records_not_at_all(site):
    drink, smoker = GRR(domain=Categories("tea", "coffee"), epsilon=1.0), RR(epsilon=0.5)
    task = survey_task(site.collector.registry.key, drink, name="both")
    object.__setattr__(task, "protocol", Survey.of(drink=drink, smoker=smoker).canonical)
    site.collector.publish(task)
    page = Reader(get(site, f"/tasks/{task.id.hex()}/answer").text)
    assert [tag["data-attribute"] for _, tag in page.tags if "data-answer" in tag] == ["drink", "smoker"]
    assert "picks one at random" in page.text
    assert asked_domains(site.task) is None  # two questions about one value that fits only one of them
    unlike = Question(name="mixed", spec=drink, encoder=Attribute("drink"), share=Fraction(1, 2))
    plain = Question(name="plain", spec=smoker, share=Fraction(1, 2))
    object.__setattr__(task, "protocol", Survey((unlike, plain)).canonical)
    task.__dict__.pop("survey", None)
    assert asked_domains(task) is None
    assert "own app" in get(site, f"/tasks/{site.task.id.hex()}/answer").text


def test_a_search_is_asked_for_a_value_of_its_own_domain(site):
    assert publish(site, WORD).status_code == 201
    word = next(task["id"] for task in ask(site, "GET", "/v1/tasks").json() if task["name"] == "word")
    page = Reader(get(site, f"/tasks/{word}/answer").text)
    assert [box["type"] for box in page.all("input")] == ["text"]


@pytest.mark.parametrize(
    ("admission", "told"), [("open", ""), ("secret", "The secret that you were given"), ("token", "The code that you were given")]
)
def test_a_code_or_a_secret_is_asked_for_where_the_task_does(site, admission, told):
    toml = WORD.decode().replace("\n[", f'\nadmission = "{admission}"\n[', 1).encode() if admission != "open" else WORD
    assert publish(site, toml).status_code == 201
    word = next(task["id"] for task in ask(site, "GET", "/v1/tasks").json() if task["name"] == "word")
    text = Reader(get(site, f"/tasks/{word}/answer").text).text
    assert (told in text) if told else ("were given" not in text.partition("How this survey protects you")[0])


def test_every_state_is_told_and_only_an_open_task_has_a_form(site):
    task = survey_task(site.collector.registry.key, RR(epsilon=1.0), name="yes", start=NOON + HOUR, end=NOON + 25 * HOUR, answers=1)
    site.collector.publish(task)
    path = f"/tasks/{task.id.hex()}"
    early = get(site, f"{path}/answer").text
    assert "has not started yet" in early
    assert "<form" not in early.partition("<main")[2]
    assert f"{path}/answer" not in get(site, path).text
    site.clock.now = NOON + 2 * HOUR
    opened = get(site, f"{path}/answer").text
    assert 'id="answer-form"' in opened
    assert re.search(r"<noscript>.*Nothing was sent", opened)
    assert "74 times in 100" in opened  # e / (1 + e), rounded up
    assert f"{path}/answer" in get(site, path).text
    site.collector.close_task(task.id)
    closed = get(site, f"{path}/answer").text
    assert "takes no more answers" in closed
    assert "<form" not in closed.partition("<main")[2]


def test_a_task_that_hides_nothing_is_answered_by_nobody(site, identity):
    assert "hides nothing" in shown(site).text


def test_a_wheel_brings_the_client_along(tmp_path, monkeypatch):
    sources = {path.relative_to(ROOT / "clients/js/src").as_posix() for path in (ROOT / "clients" / "js" / "src").rglob("*.js")}
    assert set(static_files.client_files()) == sources  # a checkout
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    for folder in ("src/deniable/collect/dashboard", "clients/js/src"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "src" / "deniable" / "__init__.py", tmp_path / "src" / "deniable" / "__init__.py")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "built"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    (wheel,) = (tmp_path / "built").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "installed")
    monkeypatch.setattr(static_files, "PACKED", tmp_path / "installed" / "deniable" / "collect" / "dashboard" / "client")
    found = static_files.client_files.__wrapped__()
    assert {name: path.read_bytes() for name, path in found.items()} == {
        name: (ROOT / "clients" / "js" / "src" / name).read_bytes() for name in sources
    }
