"""Checks that every device answers a protocol's rounds, and that a collector has the memory and the time to close them.

Tasks never change once they are published. So whether devices refuse to answer, or a round cannot be closed, is found out when a protocol
is made, for this round and for those to come.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import fields
from typing import Any

from deniable.client.answerable import protocol_domain, takes_all
from deniable.client.frequency import FrequencySpec
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question
from deniable.contract.spec import MECHANISMS
from deniable.contract.work import check_work
from deniable.errors import DeniableError, ParameterError
from deniable.tasks.oracles import AUTO, SMALLEST


def check_feasible(protocol: Any, setting: str, *, fix: str, among: Collection[str] | None = None) -> None:
    """Raise ParameterError unless devices answer the protocol's round and a collector can close every round.

    ``setting`` is what makes the rounds as large as they are, and ``fix`` how to make them smaller. A protocol may have an ``oracle`` of
    its own, ``among`` some or all: if it is the oracle that does not work, the error lists those that do.
    """
    oracle = getattr(protocol, "oracle", AUTO)
    known = MECHANISMS if among is None else among
    if not isinstance(oracle, str) or (oracle != AUTO and (oracle not in known or not issubclass(MECHANISMS[oracle], FrequencySpec))):
        raise ParameterError("oracle", oracle, allowed=f"{AUTO} or one of {_fitting(protocol, known)}", fix=SMALLEST)
    try:
        _check(protocol, setting, fix)
    except ParameterError as error:
        if oracle == AUTO or not (fit := _fitting(protocol, known)):
            raise
        received = f"{oracle}: {error.received}"
        raise ParameterError("oracle", received, allowed=f"{AUTO} or one of {fit}", fix=SMALLEST) from error


def _fitting(protocol: Any, known: Iterable[str]) -> list[str]:
    """Return the oracles with which a collector can run a protocol with these settings."""
    return [name for name in sorted(known) if issubclass(MECHANISMS[name], FrequencySpec) and _fits(protocol, name)]


def _fits(protocol: Any, oracle: str) -> bool:
    twin = object.__new__(type(protocol))  # the same settings, resolved, without what was computed from them
    for each in fields(protocol):
        object.__setattr__(twin, each.name, getattr(protocol, each.name))
    object.__setattr__(twin, "oracle", oracle)
    try:
        _check(twin, "", "")
    except DeniableError:
        return False
    return True


def _check(protocol: Protocol, setting: str, fix: str) -> None:
    check_work(protocol.work(), setting, fix=fix)  # first: opening a round may be what is out of reach
    domain = protocol_domain(protocol.canonical)
    for question in protocol.open().questions:
        if not takes_all(question, domain):
            raise _unanswered(question)


def _unanswered(question: Question) -> ParameterError:
    allowed = "a mechanism with fresh noise that accepts every value, so that answering reveals nothing about the value"
    received = f"{question.spec.mechanism}, which no device answers in a round"
    return ParameterError(f"question {question.name!r}", received, allowed=allowed, fix="choose another mechanism")
