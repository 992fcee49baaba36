"""What people would like: ratings that never leave their devices, and a model of the items that everybody helps to fit."""

from deniable.core.ratings import Ratings
from deniable.tasks.recommend.factorization import MatrixFactorization
from deniable.tasks.recommend.recommender import Recommender
from deniable.tasks.recommend.sampled import SampledFactorization

__all__ = ["MatrixFactorization", "Ratings", "Recommender", "SampledFactorization"]
