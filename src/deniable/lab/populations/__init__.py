"""Crowds to practice on: each is a law that people's values are drawn from, with the truth known exactly.

They are not private data: a crowd is drawn from random words by a table of thresholds, and the same words give the same crowd again.
"""

from deniable.lab.populations.base import POPULATIONS as POPULATIONS
from deniable.lab.populations.base import Population as Population
from deniable.lab.populations.composed import Mixture as Mixture
from deniable.lab.populations.composed import Multinomial as Multinomial
from deniable.lab.populations.composed import Typical as Typical
from deniable.lab.populations.integers import Geometric as Geometric
from deniable.lab.populations.integers import Poisson as Poisson
from deniable.lab.populations.integers import RoundedNormal as RoundedNormal
from deniable.lab.populations.integers import Uniform as Uniform
from deniable.lab.populations.integers import Zipf as Zipf
from deniable.lab.populations.observed import FileColumn as FileColumn
from deniable.lab.populations.observed import Words as Words
