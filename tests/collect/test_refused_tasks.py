"""Tasks that nobody could finish or answer are refused before they are published: by the file's reader, by `task check`, by a collector."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

import deniable as dn
from deniable.cli.app import command_line
from deniable.client.longitudinal import Longitudinal
from deniable.collect.analysis.answer import AskedQuestion
from deniable.collect.collector import Collector
from deniable.collect.tasks.limits import MOST_VALUES
from deniable.collect.tasks.task_file import read_task_file
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError, WireError
from deniable.shuffle import ShuffledHistogram
from deniable.tasks.graphs import Triangles
from tests.collect.crowd import NOON, survey_task
from tests.collect.test_rounds import SEARCH, search_task

SEARCHED = """
name = "words"
question = "Which word do you type most?"
owner = "research@example.org"
epsilon = 4
lasts = "30 days"
[domain]
text = 6
[search]
k = 10
oracle = "{oracle}"
"""
KEPT = [name for name, made in MECHANISMS.items() if issubclass(made, Longitudinal) and issubclass(made, dn.client.frequency.FrequencySpec)]


@pytest.mark.parametrize("oracle", ["BloomRR", *KEPT])
def test_a_search_that_cannot_be_finished_or_answered_is_no_task(oracle, tmp_path):
    file = tmp_path / "words.toml"
    file.write_text(SEARCHED.format(oracle=oracle))
    with pytest.raises(ParameterError, match=rf"^oracle: got .{oracle}: .* allowed: auto or one of \['BLH', ") as caught:
        read_task_file(file.read_bytes(), key=bytes(32), now=float(NOON))
    assert not any(name in caught.value.allowed for name in ("BloomRR", *KEPT, "'RR'"))
    if oracle == "BloomRR":
        assert "80.0 GiB of memory" in caught.value.received
    checked = CliRunner().invoke(command_line("task"), ["task", "check", str(file)])
    assert checked.exit_code == 2
    assert "oracle" in checked.stderr


@pytest.mark.parametrize("oracle", ["BloomRR", "LOLOHA"])
def test_a_collector_publishes_no_such_task_either(collector: Collector, oracle):
    content = parse_canonical(dn.PEM(domain=dn.Text(6), k=10, epsilon=3.0).canonical)
    with pytest.raises(WireError, match="a valid protocol; oracle: got"):
        search_task(collector, protocol=canonical_json(content | {"oracle": oracle}))
    assert collector.admission.tasks == {}


def test_a_collector_runs_the_devices_own_check(collector, monkeypatch):
    """Even for a protocol whose constructor forgot to."""
    monkeypatch.setattr("deniable.tasks.heavy_hitters.pem.check_feasible", lambda *_, **__: None)
    evil = replace(SEARCH, oracle="LOLOHA")
    with pytest.raises(dn.errors.ProtocolError, match="every value of the task can answer"):
        search_task(collector, protocol=evil.canonical)
    assert collector.admission.tasks == {}


def test_a_survey_about_more_values_than_a_page_can_show_is_no_task():
    text = SEARCHED.partition("[domain]")[0] + "[domain]\nrange = {}\n[mechanism]\nname = 'GRR'\n"
    assert read_task_file(text.format(MOST_VALUES).encode(), key=bytes(32), now=float(NOON)).task.name == "words"
    with pytest.raises(ParameterError, match=r"^domain: got '1,048,577 values'; allowed: at most 1,048,576"):
        read_task_file(text.format(MOST_VALUES + 1).encode(), key=bytes(32), now=float(NOON))


ASKED = {
    "text": 'text = 6\ncandidates = ["tea", "milk"]',
    "categories": 'categories = ["tea", "milk", "water"]',
    "yes or no": "yes_no = true",
    "a wide range": "range = 1_000_000",
    "numbers": "numbers = { low = 0, high = 10 }",
    "numbers in two steps": "numbers = { low = 0, high = 10, steps = 2 }",
}


@pytest.mark.parametrize("domain", ASKED.values(), ids=ASKED)
def test_an_unknown_mechanism_is_answered_by_those_that_the_domain_allows(domain):
    def read(name):
        text = f'{SEARCHED.partition("[domain]")[0]}mechanism = "{name}"\n[domain]\n{domain}\n'
        return read_task_file(text.encode(), key=bytes(32), now=float(NOON))

    with pytest.raises(ParameterError, match=r"^mechanism: got 'nope'; allowed: auto or one of ") as caught:
        read("nope")
    for name in MECHANISMS:
        if f"'{name}'" in caught.value.allowed:
            assert read(name).task.name == "words"
        elif "in all)" not in caught.value.allowed:  # else it may be one of those that the message leaves out
            with pytest.raises(ParameterError):
                read(name)


@pytest.mark.parametrize(("table", "name"), [("search", "protocol"), ("protocol", "name")])
def test_an_unknown_protocol_is_answered_by_local_ones(table, name):
    text = f'{SEARCHED.partition("[search]")[0]}[{table}]\n{name} = "{{}}"\n'
    with pytest.raises(ParameterError, match=r"^protocol: got 'nope'; allowed: .*one of ") as caught:
        read_task_file(text.format("nope").encode(), key=bytes(32), now=float(NOON))
    assert "TrieHH" not in caught.value.allowed
    with pytest.raises(ParameterError, match=r"TrieHH is central; use a local protocol, such as PEM: it needs true votes"):
        read_task_file(text.format("TrieHH").encode(), key=bytes(32), now=float(NOON))


def strata(*sizes):
    """A table of strata with so many labels each."""
    lines = (f"{name} = [{', '.join(repr(f'{name}{i}') for i in range(size))}]\n" for name, size in zip("abc", sizes, strict=False))
    return "[strata]\n" + "".join(lines)


MANY_COUNTERS = {
    "cohorts with bits": ('categories = ["tea", "milk"]\n[mechanism]\nname = "BloomRR"\nbits = 1024\ncohorts = 4096\n', (64, 64)),
    "later rounds": ('sets = { range = 40 }\n[protocol]\nname = "SVSM"\nk = 32768\n', (32, 32, 32)),
}


@pytest.mark.parametrize(("domain", "sizes"), MANY_COUNTERS.values(), ids=MANY_COUNTERS)
def test_counters_of_all_strata_in_any_round_have_a_limit(domain, sizes, tmp_path, collector):
    text = SEARCHED.partition("[domain]")[0] + f"[domain]\n{domain}"
    file = tmp_path / "words.toml"
    file.write_text(text + strata(*sizes))
    with pytest.raises(ParameterError, match=r"^strata: got '[\d,]+ counters in a (round|period)'; allowed: at most 67,108,864"):
        read_task_file(file.read_bytes(), key=bytes(32), now=float(NOON))
    checked = CliRunner().invoke(command_line("task"), ["task", "check", str(file)])
    assert checked.exit_code == 2
    assert "counters" in checked.stderr
    task = read_task_file(text.encode(), key=collector.registry.key, now=float(NOON)).task
    wide = replace(task, strata=tuple((name, tuple(map(str, range(size)))) for name, size in zip("abc", sizes, strict=False)))
    with pytest.raises(ParameterError, match=r"^strata: got '[\d,]+ counters"):
        collector.publish(wide)
    assert collector.admission.tasks == {}
    collector.publish(task)


def test_a_collector_publishes_no_survey_with_more_values_than_a_page_can_show(collector):
    survey = survey_task(collector.registry.key, dn.GRR(domain_size=MOST_VALUES + 1, epsilon=1.0))
    with pytest.raises(ParameterError, match=r"^domain: got '1,048,577 values'"):
        collector.publish(survey)


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        (ShuffledHistogram(domain_size=3, epsilon=1.0, delta=1e-6, n=200), r"ShuffledHistogram, of shuffle trust.*trust = \"shuffle\""),
        (Triangles(nodes=60, epsilon=1.0), r"Triangles, of local trust.*it needs named rows"),
    ],
)
def test_a_collector_publishes_no_promise_that_needs_others_to_be_kept(collector, protocol, words):
    """Every report would arrive with its sender, and the answer would say that a shuffler protects it."""
    base = survey_task(collector.registry.key, dn.RR(epsilon=3.0))
    task = replace(base, name="promised", protocol=protocol.canonical, rounds=True, period=0, answers=1)
    with pytest.raises(ParameterError, match=words):
        collector.publish(task)
    assert not collector.admission.tasks
    with pytest.raises(ParameterError, match=words):
        AskedQuestion.of(task, "found", None)  # a publication of somebody else's
