"""Graphs in and out, what is refused, and that many people at once are served as one by one."""

from __future__ import annotations

import sys
from functools import partial

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from deniable.errors import DomainError, MissingExtra, ParameterError
from deniable.tasks.graphs import ClippedStars, ClippedTriangles, Degrees, Graph, LDPGen, NodeDegrees, Triangles
from deniable.tasks.graphs.clipped_triangles import FirstRound
from deniable.tasks.graphs.noisy import NoisyGraph
from deniable.testing import ReplaySource

KARATE = nx.karate_club_graph()
FRIENDS = Graph.of(nx.powerlaw_cluster_graph(70, 9, 0.9, seed=7))


def replay(key):
    return ReplaySource.from_key(f"graphs/{key}")


def test_networkx_and_scipy_in_and_out():
    names = nx.relabel_nodes(nx.les_miserables_graph(), lambda name: f"<{name}>")
    names.add_node("nobody's friend")
    graph = Graph.of(names)
    assert (graph.nodes, graph.edges) == (names.number_of_nodes(), names.number_of_edges())
    assert graph.triangles == sum(nx.triangles(names).values()) // 3
    assert dict(zip(graph.labels, graph.degrees.tolist(), strict=True)) == dict(names.degree())
    back = graph.to_networkx()
    assert set(back.nodes) == set(names.nodes)
    assert {frozenset(edge) for edge in back.edges} == {frozenset(edge) for edge in names.edges}
    matrix = graph.to_sparse()
    for form in (matrix, matrix.toarray(), sparse.coo_array(matrix), graph):
        again = Graph.of(form)
        assert np.array_equal(again.starts, graph.starts)
        assert np.array_equal(again.ties, graph.ties)
    assert Graph.of(graph.pairs, nodes=graph.nodes).stars(3) == sum(d * (d - 1) * (d - 2) // 6 for _, d in names.degree())
    assert graph.before_degrees.sum() == graph.edges


@pytest.mark.parametrize(
    ("graph", "nodes", "told"),
    [
        (nx.DiGraph([(0, 1)]), None, "undirected"),
        (nx.MultiGraph([(0, 1)]), None, "simple"),
        (nx.Graph([(0, 0)]), None, "two different nodes"),
        (np.array([[0, 1], [0, 0]]), None, "symmetric"),
        (np.array([[1, 0], [0, 0]]), None, "loop"),
        (np.array([[0, 2], [2, 0]]), None, "0 and 1"),
        (np.zeros((2, 3)), None, "square"),
        ([(0, 1), (1, 0)], 2, "twice"),
        ([(0, 7)], 2, "from 0 to 1"),
        ([(-1, 0)], 2, "from 0 to 1"),
        ([(0.5, 1.0)], 2, "pairs of integers"),
        ([(0, 1)], None, "nodes="),
        ([], 0, "from 1 to"),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_what_is_no_simple_graph_is_refused(graph, nodes, told):
    with pytest.raises((DomainError, ParameterError), match=told):
        Graph.of(graph, nodes=nodes)


def test_without_networkx_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtra, match=r"\.\[lab\]"):
        FRIENDS.to_networkx()


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: Degrees(nodes=0, epsilon=1.0), "nodes"),
        (lambda: Degrees(nodes=5, epsilon=-1.0), "epsilon"),
        (lambda: Degrees(nodes=5, epsilon=1.0).randomize(5), "degree"),
        (lambda: Degrees(nodes=5, epsilon=1.0).run(KARATE), "graph"),
        (lambda: Degrees(nodes=5, epsilon=1.0).estimate([0.5]), "reports"),
        (lambda: NodeDegrees(nodes=1, epsilon=1.0), "starts"),
        (lambda: NodeDegrees(nodes=5, epsilon=1.0, starts=(1, 2)), "starts"),
        (lambda: Triangles(nodes=10**6, epsilon=1.0), "nodes"),
        (lambda: Triangles(nodes=5, epsilon=1.0, sample=0), "sample"),
        (lambda: Triangles(nodes=5, epsilon=1.0).estimate(Triangles(nodes=5, epsilon=2.0).privatize(Graph.of([], nodes=5))), "noisy"),
        (lambda: ClippedTriangles(nodes=5, epsilon=1.0, shares=(0.5, 0.5, 0.5)), "shares"),
        (lambda: ClippedStars(nodes=5, epsilon=1.0, k=0), "k"),
        (lambda: LDPGen(nodes=5, epsilon=1.0, groups=0), "groups"),
        (lambda: ClippedTriangles(nodes=30_000, epsilon=0.001), "scale"),
        (lambda: ClippedTriangles(nodes=5, epsilon=1.0).randomize_second(4, [0, 1], -1, None), "bound"),
        (lambda: ClippedStars(nodes=5, epsilon=1.0, k=2).randomize_second(4, 0), "bound"),
        (lambda: ClippedStars(nodes=60_000, epsilon=0.00001, k=3), "scale"),
    ],
    ids=range(17),
)
def test_bad_parameters_are_named(make, parameter):
    with pytest.raises((ParameterError, DomainError)) as caught:
        make()
    assert caught.value.parameter == parameter


# --- what a collector sends is checked before the list is read ---

MANY = 130
LISTS = ([], [0, 1], [0, 7, 64, 128])
WORDS = np.zeros((MANY, 3), dtype=np.uint64)


def sent(rows, bound=3, person=129):
    mechanism = ClippedTriangles(nodes=MANY, epsilon=1.0)
    return lambda mine: mechanism.randomize_second(person, mine, bound, NoisyGraph(mechanism.coin, rows))


def grouped(groups, turn=1):
    return lambda mine: LDPGen(nodes=MANY, epsilon=1.0, groups=4).randomize(mine, groups, turn)


def one_wrong(value, kind=np.int64):
    groups = np.zeros(MANY, dtype=kind)
    groups[7] = value
    return groups


@pytest.mark.parametrize(
    ("device", "parameter"),
    [
        (sent(WORDS[:100]), "noisy"),
        (sent(WORDS[:, :2]), "noisy"),
        (sent(WORDS.astype(np.uint32)), "noisy"),
        (sent(WORDS.tolist()), "noisy"),
        (sent(WORDS, bound=MANY), "bound"),
        (sent(WORDS, bound=3.0), "bound"),
        (sent(WORDS, person=MANY), "person"),
        (lambda mine: ClippedTriangles(nodes=MANY, epsilon=1.0).randomize_first(-1, mine), "person"),
        (lambda mine: Triangles(nodes=MANY, epsilon=1.0).randomize(MANY, mine), "person"),
        (grouped(one_wrong(9)), "groups"),
        (grouped(one_wrong(-1)), "groups"),
        (grouped(one_wrong(0.5, float)), "groups"),
        (grouped(one_wrong(1)[:100]), "groups"),
        (grouped(one_wrong(1).tolist()), "groups"),
        (grouped(one_wrong(1), turn=-1), "turn"),
        (lambda mine: ClippedStars(nodes=MANY, epsilon=1.0, k=2).randomize_second(len(mine), MANY), "bound"),
    ],
    ids=range(16),
)
def test_a_device_refuses_what_a_collector_sends_whatever_is_on_its_list(device, parameter):
    """A device that failed only with friend 7 would tell who has that friend: by its silence. The list is not even looked at."""
    for mine in (*LISTS, None if parameter != "bound" else [5]):
        with pytest.raises((ParameterError, DomainError)) as caught:
            device(mine)
        assert caught.value.parameter == parameter


@pytest.mark.parametrize("mine", [[-1], [3, 3], [MANY], [129], [0.5], [[1]]], ids=range(6))
def test_what_is_no_list_is_refused_and_not_shown(mine):
    first = ClippedTriangles(nodes=MANY, epsilon=1.0)
    for device in (sent(WORDS), partial(Triangles(nodes=MANY, epsilon=1.0).randomize, 129), partial(first.randomize_first, 129)):
        with pytest.raises(DomainError, match="ties"):
            device(mine)
    if mine != [129]:  # whose list it is does not matter to groups
        with pytest.raises(DomainError, match="ties"):
            grouped(one_wrong(1))(mine)


# --- many at once ---


def test_noise_is_added_to_the_answers_and_nothing_else():
    degrees = Degrees(nodes=70, epsilon=0.5)
    bulk, scalar, alone = replay("degrees"), replay("degrees"), replay("degrees")
    one_by_one = [degrees.randomize(int(degree), scalar) for degree in FRIENDS.degrees]
    assert degrees.privatize(FRIENDS, source=bulk).tolist() == one_by_one
    assert one_by_one == [int(degree) + degrees.noise.noise.draw(alone) for degree in FRIENDS.degrees]
    made, groups = LDPGen(nodes=70, epsilon=1.0, groups=3), np.arange(70) % 3
    for turn in (0, 1):
        bulk, scalar = replay(turn), replay(turn)
        rows = made.privatize(FRIENDS, groups, turn, source=bulk)
        assert rows.tolist() == [made.randomize(FRIENDS.list_of(i), groups, turn, scalar).tolist() for i in range(70)]


@pytest.mark.parametrize("sample", [1.0, 0.1])
def test_randomized_lists_are_those_of_single_people(sample):
    mechanism = Triangles(nodes=70, epsilon=1.0, sample=sample)
    bulk, scalar = replay("bits"), replay("bits")
    noisy = mechanism.privatize(FRIENDS, source=bulk)
    sent = [mechanism.randomize(i, FRIENDS.list_of(i), scalar) for i in range(70)]
    assert np.array_equal(mechanism.gather(sent).rows, noisy.rows)
    for i, bits in enumerate(sent):
        assert [noisy.has(i, j) for j in range(i)] == [noisy.has(j, i) for j in range(i)] == [bool(bits >> j & 1) for j in range(i)]
        assert not noisy.has(i, i)
    assert noisy.degrees.sum() % 2 == 0
    for wrong in ([*sent[:-1], 1 << 69], [*sent[:-1], -1], sent[:-1]):
        with pytest.raises(DomainError, match="reports"):
            mechanism.gather(wrong)


@pytest.mark.parametrize("sample", [1.0, 0.001], ids=["every bit", "few bits"])
def test_counts_of_the_second_round_are_those_of_single_people(sample):
    """With few bits the second limit is 1, and some of a dense noisy graph's people are above it."""
    mechanism = ClippedTriangles(nodes=70, epsilon=2.0, sample=sample)
    first = mechanism.first_round(FRIENDS, source=replay("first"))
    if sample < 1:
        object.__setattr__(first, "noisy", Triangles(nodes=70, epsilon=1.0).privatize(FRIENDS, source=replay("dense")))
        object.__setattr__(first, "noisy", NoisyGraph(mechanism.coin, first.noisy.rows | first.noisy.rows[::-1]))  # rows that disagree
    answers = mechanism.answers(FRIENDS, first)
    singly = [mechanism.answer_second(i, FRIENDS.list_of(i), int(first.bounds[i]), first.noisy) for i in range(70)]
    assert answers.tolist() == singly
    assert len(np.unique(first.bounds)) > 2
    bound, source = int(first.bounds[69]), replay("second")
    told = mechanism.randomize_second(69, FRIENDS.list_of(69), bound, first.noisy, replay("second"))
    assert told == singly[69] + mechanism.noise(bound).noise.draw(source)
    for wrong in (FirstRound(first.lengths, first.bounds[:-1], first.noisy), FirstRound(first.lengths, first.bounds * 70, first.noisy)):
        with pytest.raises(ParameterError, match="bounds"):
            mechanism.second_round(FRIENDS, wrong)
