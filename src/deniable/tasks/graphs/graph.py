"""A simple undirected graph as one list per person, converted from and to ``networkx`` and ``scipy.sparse``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
import scipy

from deniable.errors import DomainError, MissingExtra, ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.graphs import count_triangles
from deniable.tasks.graphs.privacy import check_nodes


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Nodes 0 to n - 1 and the list of each: ``ties[starts[i] : starts[i + 1]]``, in ascending order.

    >>> graph = Graph.of([(0, 1), (1, 2), (0, 2), (2, 3)], nodes=5)
    >>> graph, graph.degrees.tolist(), graph.triangles, graph.stars(2)
    (Graph(5 nodes, 4 edges), [2, 2, 3, 1, 0], 1, 5)
    >>> graph.list_of(2).tolist(), graph.before(2).tolist()
    ([0, 1, 3], [0, 1])
    """

    starts: Array
    ties: Array
    labels: tuple[Any, ...] | None = None
    """The labels of the nodes in the original graph, if they were not 0 to n - 1."""

    @classmethod
    def of(cls, graph: Any, *, nodes: int | None = None) -> Graph:
        """Return the graph behind a ``networkx`` graph, a symmetric matrix of 0 and 1 (sparse or dense), or pairs with the number of nodes.

        Directed edges, loops, weights other than 1 and repeated edges are refused: they mean different things to different mechanisms.
        """
        if isinstance(graph, cls):
            return graph
        if hasattr(graph, "is_multigraph") and hasattr(graph, "adjacency"):
            return cls._from_networkx(graph)
        if scipy.sparse.issparse(graph) or (isinstance(graph, np.ndarray) and graph.ndim == 2 and nodes is None):
            return cls._from_matrix(scipy.sparse.csr_array(graph))
        if nodes is None:
            raise ParameterError("nodes", None, allowed="the number of nodes", fix="pass nodes=, since pairs leave out nodes without ties")
        return cls._from_pairs(graph, nodes)

    @classmethod
    def _from_pairs(cls, pairs: Any, nodes: int, labels: tuple[Any, ...] | None = None) -> Graph:
        check_nodes(nodes)
        if not hasattr(pairs, "__iter__") or isinstance(pairs, type):
            allowed = "a Graph, pairs of nodes, a matrix or a graph of networkx"
            raise ParameterError("graph", pairs, allowed=allowed, fix="make one with Graph.of([(0, 1), (1, 2)], nodes=3)")
        table = np.asarray(pairs if isinstance(pairs, np.ndarray) else list(pairs))
        if table.size == 0:
            table = np.zeros((0, 2), dtype=np.int64)
        if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "iu":
            raise DomainError("graph", f"shape {table.shape} of {table.dtype}", allowed="pairs of integers", fix="two nodes for each edge")
        table = table.astype(np.int64)
        bad = np.flatnonzero((table < 0).any(axis=1) | (table >= nodes).any(axis=1) | (table[:, 0] == table[:, 1]))
        if bad.size:
            place = int(bad[0])
            received = f"{tuple(table[place].tolist())} at position {place}"
            raise DomainError(
                "graph", received, allowed=f"two different nodes from 0 to {nodes - 1}", fix="remove loops and check the node numbers"
            )
        low, high = table.min(axis=1), table.max(axis=1)
        keys, counts = np.unique(low * nodes + high, return_counts=True)
        if keys.size < len(table):
            twice = divmod(int(keys[counts > 1][0]), nodes)
            raise DomainError(
                "graph", f"the edge {twice} twice", allowed="each edge once, in either direction", fix="remove repeated edges"
            )
        ends = np.concatenate([table, table[:, ::-1]])
        ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
        starts = np.concatenate([[0], np.cumsum(np.bincount(ends[:, 0], minlength=nodes))]).astype(np.int64)
        return cls(starts, np.ascontiguousarray(ends[:, 1]), labels)

    @classmethod
    def _from_matrix(cls, matrix: Any) -> Graph:
        if matrix.shape[0] != matrix.shape[1]:
            raise DomainError("graph", f"shape {matrix.shape}", allowed="a square matrix", fix="one row and one column for each node")
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if not np.all(matrix.data == 1):
            raise DomainError("graph", "entries other than 0 and 1", allowed="0 and 1", fix="drop the weights with (matrix != 0)")
        if (matrix.astype(np.int8) != matrix.T.astype(np.int8)).nnz:
            raise DomainError(
                "graph",
                "a matrix that is not symmetric",
                allowed="undirected edges",
                fix="make the matrix symmetric, for example with np.maximum(matrix, matrix.T)",
            )
        rows, columns = matrix.nonzero()
        loops = np.flatnonzero(rows == columns)
        if loops.size:
            raise DomainError("graph", f"a loop at node {int(rows[loops[0]])}", allowed="no loops", fix="set the diagonal to 0")
        return cls._from_pairs(np.stack([rows, columns], axis=1)[rows < columns], int(matrix.shape[0]))

    @classmethod
    def _from_networkx(cls, graph: Any) -> Graph:
        if graph.is_directed() or graph.is_multigraph():
            raise DomainError(
                "graph", type(graph).__name__, allowed="an undirected simple graph", fix="convert it with networkx.Graph(graph)"
            )
        labels = tuple(graph.nodes())
        place = {label: i for i, label in enumerate(labels)}
        pairs = [(place[a], place[b]) for a, b in graph.edges()]
        return cls._from_pairs(pairs, len(labels), None if labels == tuple(range(len(labels))) else labels)

    # --- what it is ---

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.starts) - 1

    @property
    def edges(self) -> int:
        """The number of undirected edges."""
        return len(self.ties) // 2

    @cached_property
    def degrees(self) -> Array:
        """The length of each person's list."""
        return np.diff(self.starts)

    @cached_property
    def before_degrees(self) -> Array:
        """How many nodes with smaller numbers are on each person's list."""
        owners = np.repeat(np.arange(self.nodes), self.degrees)
        return np.bincount(owners[self.ties < owners], minlength=self.nodes)

    def list_of(self, person: int) -> Array:
        """Return one person's list."""
        return np.asarray(self.ties[self.starts[person] : self.starts[person + 1]])

    def before(self, person: int) -> Array:
        """Return the nodes with smaller numbers on a person's list: what the person reports where only one end of a tie does."""
        mine = self.list_of(person)
        return np.asarray(mine[mine < person])

    def stars(self, k: int) -> int:
        """Return the number of k-stars: a node and k of its neighbors."""
        longest, counts = np.unique(self.degrees, return_counts=True)
        return sum(comb(int(degree), k) * int(count) for degree, count in zip(longest, counts, strict=True))

    @cached_property
    def triangles(self) -> int:
        """The number of triangles."""
        return int(count_triangles(self.starts, self.ties))

    # --- the way out ---

    def to_sparse(self) -> scipy.sparse.csr_array:
        """Return the matrix of 0 and 1."""
        ones = np.ones(len(self.ties), dtype=np.int8)
        return scipy.sparse.csr_array((ones, self.ties, self.starts), shape=(self.nodes, self.nodes))

    def to_networkx(self) -> Any:
        """Return a ``networkx.Graph`` with the original labels."""
        try:
            import networkx  # type: ignore[import-untyped]  # it has no types
        except ModuleNotFoundError as error:
            raise MissingExtra("Graph.to_networkx", "lab", error.name) from error
        names = self.labels or range(self.nodes)
        graph = networkx.Graph()
        graph.add_nodes_from(names)
        graph.add_edges_from((names[a], names[b]) for a, b in self.pairs.tolist())
        return graph

    @property
    def pairs(self) -> Array:
        """Return each edge once, the smaller node first."""
        owners = np.repeat(np.arange(self.nodes), self.degrees)
        return np.stack([owners, self.ties], axis=1)[owners < self.ties]

    def __repr__(self) -> str:
        return f"Graph({self.nodes:,} nodes, {self.edges:,} edges)"


def check_graph(graph: Any, nodes: int) -> Graph:
    """Return the graph if it has the announced number of nodes."""
    found = Graph.of(graph, nodes=nodes) if not isinstance(graph, Graph) and not hasattr(graph, "shape") else Graph.of(graph)
    if found.nodes != nodes:
        raise DomainError(
            "graph", f"{found.nodes} nodes", allowed=f"{nodes}, as was announced", fix="pass a graph with the announced number of people"
        )
    return found


def held_degrees(values: Any, nodes: int) -> Any:
    """Return each person's degree: from a graph of ``nodes`` people, or the column of degrees as given.

    >>> held_degrees([(0, 1), (1, 2)], 4).tolist(), held_degrees([1, 2, 1, 0], 4)
    ([1, 2, 1, 0], [1, 2, 1, 0])
    """
    if isinstance(values, list | tuple):
        is_graph = not values or hasattr(values[0], "__len__")  # pairs; none of them is a graph without ties
    else:
        is_graph = isinstance(values, Graph | set | frozenset) or scipy.sparse.issparse(values) or getattr(values, "ndim", 1) != 1
        is_graph = is_graph or hasattr(values, "adjacency") or not hasattr(values, "__len__")
    return check_graph(values, nodes).degrees if is_graph else values


def check_person(person: object, nodes: int) -> None:
    """Raise unless a node has this number. Devices check this before they look at their list, so a refusal reveals nothing."""
    if isinstance(person, bool) or not isinstance(person, int | np.integer) or not 0 <= person < nodes:
        raise ParameterError("person", person, allowed=f"an integer from 0 to {nodes - 1}", fix="pass the number of this person's node")


def check_list(ties: Any, nodes: int, person: int | None = None) -> Array:
    """Return one person's list in ascending order; DomainError if it is not a list of other nodes."""
    found = np.asarray(ties)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
        raise DomainError("ties", f"shape {found.shape} of {found.dtype}", allowed="whole numbers", fix="pass one number for each tie")
    found = np.sort(found.astype(np.int64))
    if found.size and (found[0] < 0 or found[-1] >= nodes or (found[1:] == found[:-1]).any() or (found == person).any()):
        fix = "remove loops and repeats, and check the node numbers"
        raise DomainError(
            "ties", "a list with loops, repeats or unknown nodes", allowed=f"different other nodes from 0 to {nodes - 1}", fix=fix
        )
    return found


def check_degrees(degree: Any, top: int) -> Array:
    """Return one or more degrees as 64-bit integers; DomainError if they are not degrees."""
    degrees = np.asarray(degree)
    if degrees.dtype.kind not in "iu":
        raise DomainError("degree", degrees.dtype.name, allowed="whole numbers", fix="count the entries of the list")
    bad = np.flatnonzero((degrees.ravel() < 0) | (degrees.ravel() > top))
    if bad.size:
        received = f"{degrees.ravel()[bad[0]]} at position {int(bad[0])}"
        raise DomainError(
            "degree", received, allowed=f"from 0 to {top}", fix="check the degrees: nobody is tied to themselves, or to anyone twice"
        )
    return degrees.astype(np.int64)
