"""Learning: from experts, day by day."""

from deniable.tasks.learning.experts import Play, WeightedMajority
from deniable.tasks.learning.tree_experts import TreeExperts

__all__ = ["Play", "TreeExperts", "WeightedMajority"]
