"""Recommendations: a model of items that everyone helps to fit, while ratings never leave people's devices."""

from deniable.core.ratings import Ratings
from deniable.tasks.recommend.factorization import MatrixFactorization
from deniable.tasks.recommend.recommender import Recommender
from deniable.tasks.recommend.sampled import SampledFactorization

__all__ = ["MatrixFactorization", "Ratings", "Recommender", "SampledFactorization"]
