"""A curator who is trusted with the data answers with noise: exact, and charged by the events of ``accounting``.

>>> import deniable as dn
>>> count = dn.central.Laplace(epsilon=1.0, sensitivity=1, neighbors="add-remove")
>>> isinstance(count.release(1000), int), round(count.stderr, 2)
(True, 1.36)
"""

from deniable.central.binary_tree import BinaryTreeCounter as BinaryTreeCounter
from deniable.central.exact_noise import ExactNoise as ExactNoise
from deniable.central.gaussian import Gaussian as Gaussian
from deniable.central.laplace import Laplace as Laplace
from deniable.central.local_gaussian import LocalGaussianHistogram as LocalGaussianHistogram
from deniable.central.noisy_max import NoisyMax as NoisyMax
from deniable.central.questions import share_of as share_of
from deniable.central.selection import ExponentialMechanism as ExponentialMechanism
from deniable.central.selection import PermuteAndFlip as PermuteAndFlip
from deniable.central.session import Session as Session
from deniable.central.side_by_side import side_by_side as side_by_side
from deniable.central.sparse_vector import SparseVector as SparseVector
from deniable.central.square_root import SquareRootCounter as SquareRootCounter
