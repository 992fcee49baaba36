"""Privacy from a crowd: what n randomized reports are worth once a shuffler has hidden who sent which.

>>> import deniable as dn
>>> round(dn.shuffle.amplify(epsilon0=1.0, n=10_000, delta=1e-6).epsilon, 4)
0.053
"""

from deniable.shuffle.amplification import amplify as amplify
from deniable.shuffle.amplification import local_epsilon_for as local_epsilon_for
from deniable.shuffle.amplification import people_for as people_for
from deniable.shuffle.event import Shuffled as Shuffled
