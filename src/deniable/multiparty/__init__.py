"""Secure sums: many parties with private numbers learn only their noisy total, without a trusted server.

>>> import deniable as dn
>>> hospitals = dn.multiparty.Curators(3)
>>> print(hospitals.guarantee(1.0).honest)
the person's own curator, whatever the other 2 do together (computationally)
"""

from deniable.multiparty.curators import Curators as Curators
from deniable.multiparty.fixed_point import FixedPoint as FixedPoint
from deniable.multiparty.masking.aggregator import MaskingAggregator as MaskingAggregator
from deniable.multiparty.masking.party import MaskingParty as MaskingParty
from deniable.multiparty.noise import LaplaceShares as LaplaceShares
from deniable.multiparty.noise import SkellamShares as SkellamShares
from deniable.multiparty.private_sum import PrivateSum as PrivateSum
from deniable.multiparty.roles import run_sum as run_sum
from deniable.multiparty.terms import SumTerms as SumTerms
from deniable.sealing.identity import new_identity as new_identity
from deniable.sealing.identity import public_key as public_key
