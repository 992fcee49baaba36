"""Sources for tests and reproducible experiments. Never for protecting anyone: what can be replayed can be predicted."""

from deniable.contract.enumeration import ForkingSource, law_of
from deniable.contract.replay import ReplaySource

__all__ = ["ForkingSource", "ReplaySource", "law_of"]
