"""Degrees, stars, triangles and synthetic graphs, where each person knows only their own ties and nobody's list is shown."""

from deniable.removed import explain_removed
from deniable.tasks.graphs.clipped_triangles import ClippedTriangles
from deniable.tasks.graphs.degree_estimate import DegreeEstimate
from deniable.tasks.graphs.degrees import Degrees
from deniable.tasks.graphs.graph import Graph
from deniable.tasks.graphs.ldpgen import LDPGen, SyntheticGraph
from deniable.tasks.graphs.node_degrees import NodeDegrees
from deniable.tasks.graphs.privacy import GraphGuarantee
from deniable.tasks.graphs.stars import ClippedStars
from deniable.tasks.graphs.triangles import Triangles

__all__ = [
    "ClippedStars",
    "ClippedTriangles",
    "DegreeEstimate",
    "Degrees",
    "Graph",
    "GraphGuarantee",
    "LDPGen",
    "NodeDegrees",
    "SyntheticGraph",
    "Triangles",
]

explain_removed(__name__)
