"""Sources for tests and reproducible experiments. Never for protecting anyone: what can be replayed can be predicted."""

from deniable.testing.forking import ForkingSource, law_of
from deniable.testing.replay import ReplaySource

__all__ = ["ForkingSource", "ReplaySource", "law_of"]
