"""Documents that earlier releases signed or stored are read, and written again with the same bytes."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from deniable.accounting import event
from deniable.accounting.event import event_from_json
from deniable.collect.publication.verification import read_publication
from deniable.collect.sums.agreement import Agreement
from deniable.contract.batch import Manifest
from deniable.contract.canonical import canonical_json
from deniable.contract.mixing import Mixing
from deniable.contract.notice import KeyNotice
from deniable.contract.protocol import PROTOCOLS, protocol_from_json
from deniable.contract.public_log import LogEntry
from tests import documents
from tests.documents import GOLDEN

READERS = {
    "protocol": lambda data: protocol_from_json(data).canonical,
    "notice": lambda data: KeyNotice.from_json(data).canonical,
    "manifest": lambda data: Manifest.from_json(data).canonical,
    "mixing": lambda data: canonical_json(Mixing.from_json(json.loads(data)).to_json()),
    "record": lambda data: LogEntry(data, bytes(64)).content.canonical,
    "agreement": lambda data: Agreement.from_json(data).canonical,
    "shuffle": lambda data: protocol_from_json(data).canonical,
    "event": lambda data: event_from_json(json.loads(data)).canonical,
}
ROWS = [tuple(row) for row in json.loads(GOLDEN.read_text())]
SEVERAL_ROUNDS = {"AHEAD", "IndependentSegments", "KMeans", "LDPMiner", "LogisticRegression", "MultipleChannels", "PEM", "QuadTree"}
SEVERAL_ROUNDS |= {"NewWords", "RotatingModels", "SampledFactorization", "SVIM", "SVSM", "SegmentPairs", "TrieHH"}


@pytest.mark.parametrize("kind", READERS)
def test_what_was_written_is_read_and_written_the_same(kind):
    rows = [text.encode() for each, text in ROWS if each == kind]
    assert rows
    for data in rows:
        assert READERS[kind](data) == data


def test_every_kind_of_protocol_and_event_is_among_them():
    """Later states too, where a protocol has several rounds: they are signed inside the rounds of a task."""
    states = Counter(json.loads(text)["protocol"] for kind, text in ROWS if kind == "protocol")
    assert set(states) == set(PROTOCOLS.load())
    assert all(states[name] > 1 for name in SEVERAL_ROUNDS)
    named = {word for kind, text in ROWS if kind == "event" for word in text.split('"')}
    assert {name for name in event.EVENTS if not name.startswith("Shuffled")} <= named


def test_what_is_no_protocol_is_still_made_with_these_bytes():
    """Notices, manifests, agreements and events follow from their parts alone; a search may learn to choose better settings."""
    assert {(kind, data.decode()) for kind, data in documents.papers()} == {row for row in ROWS if row[0] != "protocol"}


@pytest.mark.parametrize("name", ["survey", "search"])
def test_publications_of_an_earlier_release_are_read(name):
    publication = read_publication(GOLDEN.parent / "collect" / f"publication-1-{name}")
    assert publication.task.rounds == (name == "search")
    assert sum(batch.reports for batch in publication.batches) == {"survey": 660, "search": 400}[name]
