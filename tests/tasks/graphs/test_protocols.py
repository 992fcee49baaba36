"""Ties as protocols: what is written and read, what can be asked in rounds, and what runs in memory alone."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.contract.lines import Interval
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.contract.question import Question, Round
from deniable.contract.task import OpenedRound
from deniable.core.run import ask
from deniable.core.saved import estimate_from_json
from deniable.errors import DomainError, ParameterError, ProtocolError
from deniable.tasks.graphs import ClippedStars, ClippedTriangles, Degrees, Graph, LDPGen, NodeDegrees, Triangles
from deniable.testing import ReplaySource
from tests.client.fake import Device, FakeCollector, rounds_task

FRIENDS = Graph.of(nx.powerlaw_cluster_graph(70, 9, 0.9, seed=7))
ASKED = NodeDegrees(nodes=70, epsilon=2.0)
ALONE = {
    "degrees": Degrees(nodes=70, epsilon=1.5),
    "triangles": Triangles(nodes=70, epsilon=2.0, sample=0.5),
    "clipped triangles": ClippedTriangles(nodes=70, epsilon=2.0, sample=1, shares=(0.25, 0.25, 0.5)),
    "clipped stars": ClippedStars(nodes=70, epsilon=2.0, k=2),
    "synthetic graph": LDPGen(nodes=70, epsilon=2.0, groups=3, share=0.25),
}
STEPS = {"degrees": 2, "triangles": 2, "clipped triangles": 3, "clipped stars": 3, "synthetic graph": 3}


def replay(key):
    return ReplaySource.from_key(f"ties/{key}")


# --- in memory alone ---


@pytest.mark.parametrize("name", ALONE)
def test_a_run_in_memory_says_how_far_it_is_and_follows_from_its_source(name):
    protocol, seen = ALONE[name], []
    found = protocol.run(FRIENDS, source=replay(name), progress=lambda *steps: seen.append(steps))
    assert seen == [(done + 1, STEPS[name]) for done in range(STEPS[name])]
    again = protocol_from_json(protocol.canonical).run(FRIENDS, source=replay(name))
    assert again.point.tolist() == found.point.tolist()


@pytest.mark.parametrize("name", ["degrees", "clipped stars"])
def test_degrees_may_be_given_without_the_graph(name):
    found = ALONE[name].run(FRIENDS, source=replay(name))
    for held in (FRIENDS.degrees, FRIENDS.degrees.tolist()):
        assert ALONE[name].run(held, source=replay(name)).point.tolist() == found.point.tolist()
    for wrong in ([1, 2], [*FRIENDS.degrees.tolist()[1:], 70], [*FRIENDS.degrees.tolist()[1:], -1]):
        with pytest.raises(DomainError):
            ALONE[name].run(wrong)


# --- asked in a round ---


def test_a_round_asks_for_the_class_of_a_number():
    (question,) = ASKED.open().questions
    assert question.encoder == Interval(dn.Integers(0, 69), ASKED.starts)
    assert (question.epsilon, question.guarantee.model, ASKED.scale) == (2.0, "local", 1)
    classes = [question.encoder.encode(degree, source=None) for degree in range(70)]
    assert classes == question.encoder.encode_many(np.arange(70), None).tolist()
    assert [ASKED.labels[place] for place in (classes[0], classes[5], classes[69])] == ["0", "4 to 5", "64 to 69"]


@pytest.mark.parametrize("starts", [None, (0, 1, 10), tuple(range(70))], ids=["usual", "few", "every number"])
def test_reports_one_by_one_give_the_same_tally_and_estimate(starts):
    protocol = NodeDegrees(nodes=70, epsilon=2.0, starts=starts) if starts else ASKED
    crowd = ask(protocol, FRIENDS.degrees, source=replay("tally"))
    source, (question,) = replay("tally"), protocol.open().questions
    singly = question.spec.tally([question.answer(int(degree), source) for degree in FRIENDS.degrees])
    assert crowd == {question.name: singly}
    found = protocol.run(FRIENDS, source=replay("tally"))
    assert found.counts.tolist() == protocol.close({question.name: singly}).counts.tolist()
    assert found.values == protocol.labels
    assert found.guarantee == protocol.guarantee
    saved = estimate_from_json(found.to_json())
    assert (list(saved.values), saved.guarantee.exposed) == (list(protocol.labels), protocol.guarantee.exposed)


def test_a_crowd_is_a_graph_or_a_column():
    expected = ASKED.run(FRIENDS, source=replay("crowd")).counts.tolist()
    held = FRIENDS.degrees
    for crowd in (FRIENDS.to_networkx(), FRIENDS.to_sparse(), FRIENDS.pairs.tolist(), held, held.tolist(), pa.array(held)):
        assert ASKED.run(crowd, source=replay("crowd")).counts.tolist() == expected
    assert ASKED.run([], source=replay("none")).n == 70  # a graph without ties
    assert ASKED.run(np.zeros(0, dtype=int)).n == 0
    for wrong in ([0, 70], [-1], ["many"], np.array([0.5]), 3, nx.path_graph(4)):
        with pytest.raises((DomainError, ParameterError)):
            ASKED.run(wrong)


def test_counts_are_off_by_what_they_say():
    """100 crowds of 70 people: mean and spread of the standardized error of each class; alpha = 1e-6 over all of them."""
    protocol, runs, source = NodeDegrees(nodes=70, epsilon=2.0, starts=(0, 11, 20)), 100, replay("errors")
    truth = np.bincount(np.searchsorted([0, 11, 20], FRIENDS.degrees, side="right") - 1, minlength=3)
    found = [protocol.run(FRIENDS, source=source) for _ in range(runs)]
    z = np.array([(each.counts - truth) / each.stderr for each in found])
    assert np.abs(z.mean(axis=0)).max() < 5.2 / np.sqrt(runs)
    assert 0.45 < z.var(axis=0).min() <= z.var(axis=0).max() < 1.9


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        ({"nodes": 1}, "starts"),
        ({"nodes": 0}, "nodes"),
        ({"nodes": 5, "starts": (0,)}, "starts"),
        ({"nodes": 5, "starts": (1, 2)}, "starts"),
        ({"nodes": 5, "starts": (0, 2, 2)}, "starts"),
        ({"nodes": 5, "starts": (0, 5)}, "starts"),
        ({"nodes": 5, "starts": ()}, "starts"),
        ({"nodes": 5, "oracle": "RAPPOR"}, "oracle"),
        ({"nodes": 5, "oracle": "nothing"}, "oracle"),
        ({"nodes": 5, "epsilon": 0.0}, "epsilon"),
    ],
    ids=range(10),
)
def test_settings_that_nobody_can_answer_are_refused(settings, parameter):
    with pytest.raises(ParameterError) as caught:
        NodeDegrees(**{"epsilon": 1.0} | settings)
    assert caught.value.parameter == parameter


# --- what a device makes of it ---


def device(question, value):
    """What a device that agreed to ``ASKED`` does with a question, whatever the collector opened."""
    task = rounds_task(protocol=ASKED.canonical, epsilon=2.0)
    collector = FakeCollector(task)
    collector.rounds[task.id.hex()] = OpenedRound(task=task.id, number=0, scale=1, round=Round((question,)), state=bytes(32))
    return Device(collector, task, source=replay("device")).report(value)


def test_a_device_answers_every_number_of_ties():
    for degree in (0, 1, 35, 69):
        assert device(ASKED.open().questions[0], degree).state == "sent"


def test_a_device_refuses_what_singles_out_or_costs_more_whatever_it_holds():
    """Twins: classes that leave out large numbers, a mechanism without the last class, and more epsilon than people agreed to."""
    (question,) = ASKED.open().questions
    narrow = Interval(dn.Integers(0, 59), (0, 1, 10))
    twins = [
        replace(question, encoder=narrow, spec=dn.GRR(domain_size=3, epsilon=2.0)),
        replace(question, spec=dn.GRR(domain_size=question.encoder.inputs - 1, epsilon=2.0)),
        replace(question, spec=dn.GRR(domain_size=question.encoder.inputs, epsilon=2.5)),
        Question(name="the number itself", spec=dn.GRR(domain=dn.Integers(0, 59), epsilon=2.0)),
    ]
    for twin in twins:
        for degree in (0, 35, 69):
            with pytest.raises(ProtocolError, match="do not answer it"):
                device(twin, degree)


def test_the_promise_says_what_a_tie_costs():
    said = ASKED.guarantee.statement()
    assert "No list makes any report of a person more than 7.39 times as likely" in said
    assert "a tie beyond epsilon = 4, against anyone who sees both people's reports" in said
    assert isinstance(ASKED, Protocol)
    assert not ASKED.needs
