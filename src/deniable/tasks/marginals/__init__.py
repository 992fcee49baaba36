"""How the columns of a table are related: marginals, association and conditional shares from one private report per person."""

from deniable.removed import explain_removed
from deniable.tasks.marginals.estimate import MarginalEstimate, TableEstimate
from deniable.tasks.marginals.protocol import Marginals, marginals

__all__ = ["MarginalEstimate", "Marginals", "TableEstimate", "marginals"]

explain_removed(__name__)
