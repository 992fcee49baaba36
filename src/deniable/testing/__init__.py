"""Sources for tests and reproducible experiments. Never for protecting anyone: what can be replayed can be predicted."""

from deniable.testing.forking import ForkingSource, Undecided, law_of
from deniable.testing.replay import ReplaySource

__all__ = ["ForkingSource", "ReplaySource", "Undecided", "law_of"]
