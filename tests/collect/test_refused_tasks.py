"""Tasks that nobody could finish or answer are refused before they are published: by the file's reader, by `task check`, by a collector."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

import deniable as dn
from deniable.cli.app import command_line
from deniable.client.longitudinal import Longitudinal
from deniable.collect.collector import Collector
from deniable.collect.tasks.task_file import MOST_VALUES, read_task_file
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError, WireError
from tests.collect.crowd import NOON
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
    with pytest.raises(WireError, match="a valid PEM; oracle: got"):
        search_task(collector, protocol=canonical_json(content | {"oracle": oracle}))
    assert collector.admission.tasks == {}


def test_a_collector_runs_the_devices_own_check(collector, monkeypatch):
    """Even for a protocol whose constructor forgot to."""
    monkeypatch.setattr("deniable.tasks.heavy_hitters.pem.check_feasible", lambda *_, **__: None)
    evil = replace(SEARCH, oracle="LOLOHA")
    with pytest.raises(dn.errors.ProtocolError, match="what every value of the task can be asked"):
        search_task(collector, protocol=evil.canonical)
    assert collector.admission.tasks == {}


def test_a_survey_about_more_values_than_a_page_can_show_is_no_task():
    text = SEARCHED.partition("[domain]")[0] + "[domain]\nrange = {}\n[mechanism]\nname = 'GRR'\n"
    assert read_task_file(text.format(MOST_VALUES).encode(), key=bytes(32), now=float(NOON)).task.name == "words"
    with pytest.raises(ParameterError, match=r"^domain: got '1,048,577 values'; allowed: at most 1,048,576"):
        read_task_file(text.format(MOST_VALUES + 1).encode(), key=bytes(32), now=float(NOON))
