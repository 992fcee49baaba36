"""What every protocol keeps, whichever it is: protocols are found in the registry, each with the examples of ``tests/documents.py``.

A protocol that joins the registry gets an example there, with a crowd, and the laws below hold for it or the test fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

import pyarrow as pa
import pytest
from pyarrow import parquet

from deniable.client import GRR, RR
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.domain import Categories
from deniable.contract.protocol import PROTOCOLS, Protocol, State, protocol_from_json
from deniable.contract.record import RESOLVED
from deniable.contract.survey import Survey
from deniable.core.answers import Answers
from deniable.core.declared_protocol import settings_of
from deniable.core.estimate import Estimate
from deniable.core.tally import Tally
from deniable.engines import local
from deniable.engines.partition import answer, merge_answers
from deniable.errors import ProtocolError, WireError
from deniable.tasks.heavy_hitters import TrieHH
from deniable.tasks.heavy_hitters.trie_hh import Trie
from deniable.testing import ReplaySource
from tests.documents import protocols, walked

ASKED = Survey.of(drink=GRR(domain=Categories("no", "yes"), epsilon=1.0), smoker=RR(epsilon=0.5))
RESULTS = {Survey.kind: Answers, TrieHH.kind: Trie}
OTHERS = (True, 7, "x", [], {})
"""A value of every type that canonical JSON has."""

SETTINGS = {
    "AHEAD": "branching oracle",
    "Hierarchy": "branching oracle",
    "IndependentSegments": "holdout k keep most oracle segments",
    "KMeans": "clip clusters features rounds start",
    "LDPMiner": "k length split",
    "LogisticRegression": "classes clip features label models rounds step",
    "MultipleChannels": "channel_bits holdout k oracle salt",
    "PEM": "allocation groups holdout k keep oracle rounds step_bits",
    "QuadTree": "adaptive box depth levels oracle outside",
    "RotatingModels": "classes clip features label models rounds step",
    "SVIM": "k longest oracle projection shares",
    "SVSM": "k longest oracle projection shares",
    "SampledFactorization": "clip high items low rank rounds",
    "SegmentPairs": "holdout k keep most oracle segments",
    "TreeHist": "k keep oracle salt step_bits threshold",
    "TrieHH": "delta levels",
}
"""What files can say of the protocols that have states, or fields that follow from others."""


def examples() -> Iterator[tuple[str, Protocol, Any]]:
    """The first two examples of each kind."""
    seen: dict[str, int] = {}
    for name, protocol, values in protocols():
        seen[name] = seen.get(name, 0) + 1
        if seen[name] <= 2:
            yield f"{name}-{seen[name]}", protocol, values
    yield "Survey-asked", ASKED, {"drink": ["no", "yes"] * 100, "smoker": [0, 1] * 100}


EXAMPLES = {name: (protocol, values) for name, protocol, values in examples()}
each = pytest.mark.parametrize("name", EXAMPLES)


@cache
def walk(name: str) -> tuple[list[Protocol], list[Any], Any]:
    """The protocol in every state, what closed each of them, and the result."""
    protocol, values = EXAMPLES[name]
    if values is None:  # nobody has named the words to look for
        return [protocol], [], None
    *steps, (result, _) = walked(protocol, values, ReplaySource.from_key(name))
    return [state for state, _ in steps], [tallies for _, tallies in steps if tallies is not None], result


def settings(protocol: Any) -> dict[str, Any]:
    return {field.name: getattr(protocol, field.name) for field in fields(protocol) if field.name != "state"}


def test_every_protocol_has_an_example():
    assert {protocol.kind for protocol, _ in EXAMPLES.values()} == set(PROTOCOLS.load())


# --- writing and reading ---


@each
def test_every_state_is_read_as_it_was_written(name):
    for state in walk(name)[0]:
        again = protocol_from_json(state.canonical)
        assert (type(again), again, again.canonical) == (type(state), state, state.canonical)
        assert again.guarantee == state.guarantee
        assert state.needs or again.open() == state.open()


@each
def test_damaged_json_is_refused(name):
    for state in walk(name)[0]:
        content = parse_canonical(state.canonical)
        with pytest.raises(WireError):
            protocol_from_json(state.canonical[:-1])
        with pytest.raises(WireError):
            protocol_from_json(state.canonical.replace(b":", b": ", 1))
        for key, value in content.items():
            for other in OTHERS:
                if type(other) is not type(value):
                    with pytest.raises(WireError):
                        protocol_from_json(canonical_json(content | {key: other}))
            rest = canonical_json({name: kept for name, kept in content.items() if name != key})
            if key in optional(type(state)):  # without it, this is another state, or none
                with suppress(WireError):
                    assert protocol_from_json(rest).canonical == rest
            else:
                with pytest.raises(WireError):
                    protocol_from_json(rest)
        with pytest.raises(WireError):
            protocol_from_json(canonical_json(content | {"more": 1}))


def optional(record: Any) -> set[str]:
    """The names in JSON that are left out where there is nothing to write, those of the state among them."""
    hints, found = get_type_hints(record), set()
    for field in fields(record):
        hint = hints[field.name]
        if NoneType in get_args(hint):
            found.add(field.metadata.get("name") or field.name)
        if isinstance(hint, type) and issubclass(hint, State):
            found |= optional(hint)
    return found


# --- rounds ---


@each
def test_closing_gives_the_same_settings_in_another_state_or_a_result(name):
    states, _, result = walk(name)
    assert len({state.canonical for state in states}) == len(states)
    for state in states:
        assert type(state) is type(states[0])
        assert settings(state) == settings(states[0])
    if EXAMPLES[name][1] is not None:
        assert isinstance(result, RESULTS.get(states[0].kind, Estimate))
        assert result.guarantee == states[0].guarantee


@each
def test_the_promise_is_the_same_in_every_state(name):
    states, _, _ = walk(name)
    assert {state.guarantee for state in states} == {states[0].guarantee}
    assert {state.scale for state in states} == {states[0].scale}  # a ticket is drawn once


@each
def test_a_stored_round_is_closed_alike(name):
    """The protocol and its tallies are written and read between the last report and the result."""
    states, tallies, result = walk(name)
    for state, told, after in zip(states, tallies, [*states[1:], result], strict=False):
        stored = {asked: Tally.from_bytes(tally.to_bytes()) if isinstance(tally, Tally) else tally for asked, tally in told.items()}
        again = protocol_from_json(state.canonical).close(stored)
        if isinstance(after, Protocol):
            assert again.canonical == after.canonical
        else:
            tables = [dict(found) if isinstance(found, Answers) else {"": found} for found in (again, after)]
            assert all(tables[0][name].to_arrow() == tables[1][name].to_arrow() for name in tables[1])


def held_in_file(values: Any) -> tuple[pa.Table, str | list[str]]:
    """A crowd's values as the columns of a table, one person in each row, and the names to ask for."""
    if isinstance(values, dict):
        return pa.table(values), list(values)
    rated = isinstance(values, list) and isinstance(values[0], dict)
    return pa.table({"held": pa.array(values, pa.map_(pa.int64(), pa.float64())) if rated else pa.array(values)}), "held"


@pytest.mark.parametrize("name", [name for name, (protocol, values) in EXAMPLES.items() if values is not None and not protocol.needs])
def test_people_in_a_file_answer_as_people_in_memory_do(name, tmp_path):
    protocol, values = EXAMPLES[name]
    table, columns = held_in_file(values)
    parquet.write_table(table, tmp_path / "people.parquet")
    key = name.encode()
    state: Any = protocol
    while isinstance(state, Protocol):
        state = state.close(merge_answers([answer(state, values, key=key, partition=0)]))
    found = local.run(protocol, tmp_path / "people.parquet", columns, key=key)
    tables = [dict(each) if isinstance(each, Answers) else {"": each} for each in (found, state)]
    assert all(tables[0][asked].to_json() == tables[1][asked].to_json() for asked in tables[1])
    first = [answer(protocol, held, key=key, partition=0) for held in (values, protocol.read(values))]
    assert first[0] == first[1]


@each
def test_a_round_is_not_closed_without_its_tallies(name):
    for state in walk(name)[0]:
        for missing in ({}, {"nothing": None}):
            with pytest.raises(ProtocolError):
                state.close(missing)


@each
def test_what_no_round_asks_for_is_said_when_one_is_opened(name):
    for state in walk(name)[0]:
        if state.needs:
            with pytest.raises(ProtocolError) as refused:
                state.open()
            assert state.needs in str(refused.value)
        else:
            assert state.open().questions


# --- settings and state ---


@each
def test_a_protocol_of_several_rounds_has_a_state_that_can_be_taken_out(name):
    """What rounds have taught is in the state alone: with the first state, any later protocol is the one that was begun."""
    first, *later = walk(name)[0]
    if not hasattr(first, "state"):
        assert not later
        return
    begun = type(first.state)()
    assert isinstance(begun, State)
    assert replace(first, state=begun).state == first.state
    for protocol in later:
        assert protocol.state != first.state
        for fresh in (begun, first.state):
            assert replace(protocol, state=fresh).canonical == first.canonical
        assert replace(protocol_from_json(protocol.canonical), state=first.state).canonical == first.canonical


@pytest.mark.parametrize("name", sorted(PROTOCOLS.load()))
def test_files_say_settings_and_neither_states_nor_what_follows_from_settings(name):
    made = PROTOCOLS[name]
    assert is_dataclass(made)
    hints = get_type_hints(made)
    said = set(settings_of(made))
    assert "state" not in said
    assert not said & {field.name for field in fields(made) if field.metadata == RESOLVED}
    state = hints.get("state")
    if state is not None:
        assert issubclass(state, State)
        assert not said & {field.name for field in fields(state)}
        assert state() == state()


def test_what_files_could_say_they_can_say_still():
    said = {name: " ".join(sorted(settings_of(PROTOCOLS.load()[name]))) for name in SETTINGS}
    assert said == SETTINGS
