"""The collector under attack for longer: what ``tests/system`` shows a few times, hundreds of times; ten minutes on two idle cores."""

# ruff: noqa: S101  # tests assert; this folder is outside of tests/

from __future__ import annotations

from pathlib import Path

import pytest
from tests.postgres import postgres, postgres_address  # noqa: F401  # fixtures
from tests.system.conftest import Server, identity, server  # noqa: F401  # fixtures
from tests.system.load import HOUR, UNIQUE, Crowd, audit, wait_for
from tests.system.test_concurrency import send_the_same_id
from tests.system.test_kill import IN_A_ROUND, IN_A_SEAL, die_between_rounds, die_in_seals, kill_under_load
from tests.system.test_two_collectors import kill_one_of_two, pair  # noqa: F401  # a fixture

KILLS = 200
TIMES = 20
"""Deaths at each point of the program."""


def test_two_hundred_kills(tmp_path: Path) -> None:
    kill_under_load(tmp_path, KILLS)


@pytest.mark.parametrize("point", IN_A_SEAL)
def test_every_point_of_a_seal(point: str, tmp_path: Path) -> None:
    die_in_seals(tmp_path, [point], TIMES)


@pytest.mark.parametrize("point", IN_A_ROUND)
def test_every_point_between_two_rounds(point: str, tmp_path: Path) -> None:
    die_between_rounds(tmp_path, [point] * TIMES)


def test_the_same_id_at_once_a_thousand_times(server: Server) -> None:  # noqa: F811  # the fixture
    send_the_same_id(server, 1000)


def test_two_collectors_killed_by_turns(pair: tuple[Server, Server]) -> None:  # noqa: F811  # the fixture
    kill_one_of_two(pair, 40)


def test_two_hundred_periods_by_a_clock_that_jumps(server: Server) -> None:  # noqa: F811  # the fixture
    """Every period is sealed by the collector itself while devices send; every tenth time, the clock goes back before it goes on."""
    admin = server.token("admin")
    task = server.task(UNIQUE.replace("30 days", "1 minute"), admin)
    with Crowd(task, server.url, devices=4, batch=5) as crowd:
        for period in range(200):
            server.ahead(period * HOUR)
            crowd.period = period
            crowd.wait(20)
            if period % 10 == 9:
                server.ahead((period - 24) * HOUR)
                crowd.wait_until(lambda: "too_early" in crowd.refused.values())
        server.ahead(200 * HOUR)
        crowd.period = 200
    wait_for(lambda: {state for period, state in server.states().items() if period < 200} == {"sealed"})
    assert server.seal(task.id, 200, admin).status == 204
    assert set(crowd.refused.values()) <= {"too_early", "too_late", "sealed"}
    assert server.stop() == 0
    audit(server.store, crowd)
