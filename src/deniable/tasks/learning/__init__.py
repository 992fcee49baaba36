"""Learning from experts day by day, and models and clusters from people who each answer once, privately."""

from deniable.removed import explain_removed
from deniable.tasks.learning.clusters import ClusterEstimate
from deniable.tasks.learning.experts import WeightedMajority
from deniable.tasks.learning.k_means import KMeans
from deniable.tasks.learning.linear_model import LinearModel
from deniable.tasks.learning.logistic import LogisticRegression, RotatingModels
from deniable.tasks.learning.play import regret
from deniable.tasks.learning.tree_experts import TreeExperts
from deniable.tasks.learning.whole_gradients import WholeGradients

__all__ = ["ClusterEstimate", "KMeans", "LinearModel", "LogisticRegression", "RotatingModels", "TreeExperts", "WeightedMajority"]
__all__ += ["WholeGradients", "regret"]

explain_removed(__name__)
