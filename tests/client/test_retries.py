"""One policy for all who send again: what is waited for, how long, and when it ends."""

from __future__ import annotations

import pytest

from deniable.client.retries import Retries, trouble_of
from deniable.client.transport import Response, TransportError
from deniable.testing import ReplaySource


class Time:
    """A clock that goes on only while somebody sleeps or a request takes its time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def busy(**headers: str) -> Response:
    return Response(503, {name.replace("_", "-"): value for name, value in headers.items()}, b"")


def patient(time: Time, patience: float, **means) -> Retries:
    source = ReplaySource([0] * 100)
    return Retries(attempts=None, patience=patience, longest=30.0, sleep=time.sleep, clock=lambda: time.now, source=source, **means)


def test_someone_with_patience_tries_until_it_ends():
    """The last wait is cut short, so that the last attempt is made when the time is over."""
    time = Time()
    assert patient(time, 100.0).answer(busy) == busy()
    assert time.slept == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 8.5]
    assert time.now == 100.0


@pytest.mark.parametrize(("asked", "slept"), [("7", 7.0), ("30", 30.0), ("3600", 30.0), ("9" * 400, 30.0)])
def test_someone_with_patience_comes_again_after_the_longest_wait(asked, slept):
    time, answers = Time(), iter([busy(retry_after=asked), Response(200, {}, b"")])
    assert patient(time, 100.0).answer(lambda: next(answers)).status == 200
    assert time.slept == [slept]


def test_patience_may_end_while_somebody_is_told():
    """A slow terminal, or a process that was stopped: one more attempt, and no wait below zero."""
    time, asked = Time(), []

    def say(*_) -> None:
        time.now += 20.0

    def request() -> Response:
        asked.append(time.now)
        return busy()

    assert patient(time, 10.0, say=say).answer(request) == busy()
    assert (time.slept, asked) == ([0.0], [0.0, 20.0])


def test_what_is_waited_for_is_said_once_with_the_time_that_is_left():
    time, said = Time(), []
    found = iter([OSError(), TransportError("GET /", "IncompleteRead", allowed="an answer", fix="wait"), busy(), Response(204, {}, b"")])

    def request() -> Response:
        time.now += 10.0
        answer = next(found)
        if isinstance(answer, OSError):
            raise answer
        return answer

    patient(time, 100.0, peer="the aggregator", say=lambda *what: said.append(what)).answer(request)
    assert said == [("no answer from the aggregator (OSError)", 90.0), ("the aggregator answers", 0.0)]


def test_every_attempt_hears_how_long_it_may_take():
    time, bounds = Time(), []

    def request() -> Response:
        time.now += bounds[-1] / 2
        raise TimeoutError

    with pytest.raises(TimeoutError):
        patient(time, 10.0, bound=bounds.append).answer(request)
    assert bounds[:2] == [10.0, 4.5]
    assert bounds[-1] == 1.0  # at least


def test_what_is_wrong_is_told_in_a_few_words():
    cut = TransportError("GET /", "IncompleteRead", allowed="an answer", fix="wait")
    words = [trouble_of(failed) for failed in (busy(), cut, ConnectionRefusedError())]
    assert words == ["status 503", "IncompleteRead", "ConnectionRefusedError"]
