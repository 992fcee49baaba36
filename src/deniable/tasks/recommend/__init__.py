"""What people would like: ratings that never leave their devices, and a model of the items that everybody helps to fit."""

from deniable.tasks.recommend.factorization import MatrixFactorization
from deniable.tasks.recommend.ratings import Ratings
from deniable.tasks.recommend.recommender import Recommender

__all__ = ["MatrixFactorization", "Ratings", "Recommender"]
