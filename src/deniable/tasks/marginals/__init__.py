"""How the columns of a table go together: marginals, association and conditional shares from one private report a person."""

from deniable.tasks.marginals.asking import marginals
from deniable.tasks.marginals.association import Association
from deniable.tasks.marginals.conditional import ConditionalShares
from deniable.tasks.marginals.estimate import MarginalEstimate, TableEstimate
from deniable.tasks.marginals.protocol import Marginals
from deniable.tasks.marginals.reconstruct import Reconstruction

__all__ = ["Association", "ConditionalShares", "MarginalEstimate", "Marginals", "Reconstruction", "TableEstimate", "marginals"]
