"""Whatever is passed for a parameter of a public function or constructor: a result, or an error of deniable that says what is allowed."""

from __future__ import annotations

import contextlib
import inspect
import io
import resource
import signal
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from deniable.errors import DeniableError
from tests.test_public_names import ROOMS, full_name, parameters, public
from tests.usability.valid_calls import ELSEWHERE, RESULTS, Call, by_hand, from_docstring

SECONDS, MEMORY = 5, 2 << 30
"""Of processor time and beyond what is used already: far more than any of these calls needs."""


class Thing:
    """No type that anything declares."""

    def __repr__(self) -> str:
        return "<a thing>"


class Count(int):
    """A class where a value is expected. As a function it takes anything: what a function of the caller raises is the caller's."""

    def __new__(cls, *_: object, **__: object) -> Count:
        return super().__new__(cls)


WRONG = {
    **{"text": "x", "bytes": b"x", "None": None, "list": [], "mixed list": ["a", 3], "dict": {}, "thing": Thing(), "True": True},
    **{"-1": -1, "0": 0, "1.5": 1.5, "NaN": float("nan"), "infinity": float("inf"), "2^70": 2**70, "10^400": 10**400},
    **{
        "complex": 1j,
        "class": Count,
        "long text": "x" * 1_000_000,
        "table": np.zeros((2, 2)),
        "objects": np.array([None, 1], dtype=object),
    },
    "generator": (number for number in range(0)),
}


class LateError(Exception):
    """A call that does not come back."""


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Within a few seconds and some memory, with nothing printed and warnings as errors: a call that needs more ends in an exception."""

    def ring(*_: object) -> None:
        raise LateError

    before = signal.signal(signal.SIGVTALRM, ring)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as numbers:
        used = int(numbers.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGVTALRM, before)


def called(room: str) -> list[Any]:
    """The public names of a room that users call."""
    return [
        value
        for value in public()[room]
        if parameters(value)
        and not (inspect.isclass(value) and issubclass(value, BaseException))
        and (room, value.__qualname__) not in RESULTS
        and (room, full_name(value).partition(".")[2]) not in ELSEWHERE
    ]


def mistakes(value: Any, call: Call) -> Iterator[str]:
    """What ends otherwise than it should, for every parameter and every wrong value."""
    signature = inspect.signature(value)
    try:
        with bounded():
            value(*call[0], **call[1])
    except Exception as error:
        yield f"{full_name(value)}: the call that should be valid: {type(error).__name__}: {error}"[:300]
        return
    for parameter in parameters(value):
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        for name, wrong in WRONG.items():
            bound = signature.bind(*call[0], **call[1])
            bound.arguments[parameter.name] = (wrong,) if parameter.kind is parameter.VAR_POSITIONAL else wrong
            try:
                with bounded():
                    value(*bound.args, **bound.kwargs)
            except DeniableError:
                continue
            except Exception as error:
                yield f"{full_name(value)}({parameter.name}={name}): {type(error).__name__}: {error}"[:200]


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    return by_hand(tmp_path_factory.mktemp("calls"))


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "errors"])  # what makes the errors is not made for users
def test_a_wrong_value_is_refused_by_an_error_of_deniable(room, known, tmp_path, monkeypatch):
    found, silent = [], []
    for number, value in enumerate(called(room)):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))  # a text may be a path, too
        call = known.get(full_name(value)) or from_docstring(value)
        if call is None:
            silent.append(full_name(value))
            continue
        found += mistakes(value, call)
    assert not silent, f"no valid call of {silent}: add an example to the docstring, or one to valid_calls.by_hand"
    assert not found, "\n" + "\n".join(found)


def test_results_and_calls_by_hand_are_names_that_there_are():
    names = {(room, value.__qualname__) for room, values in public().items() for value in values}
    assert names >= RESULTS
