"""Paillier keys for the tests. One of 512 bits, three of five to open: the mathematics of a real one, at a hundredth of its cost.

Agreements refuse it; for them there is one of 2,048 bits, two of three to open, from safe primes that everybody can read here.
"""

from __future__ import annotations

from deniable.multiparty.dealer import paillier_files
from deniable.multiparty.paillier.keys import deal_with, safe_prime
from deniable.testing import ReplaySource

SOURCE = ReplaySource.from_key("primes")
FIRST, SECOND = safe_prime(256, SOURCE), safe_prime(256, SOURCE)
PUBLIC, SHARES = deal_with(FIRST, SECOND, decryptors=5, threshold=3, source=SOURCE)
FIRST_LONG = int(
    "d3b73d94395129ff7eb44690ecf3c283b29e2350c33c201464ffef0b3e7f529e3f50d99a17538b7609b35d72646abd0f8e8f42b869d7b4712fa29ba864befdf0"
    "0c8cfe2e949678047538e6b80a6e634bd376046c323816ba68c1e7a39f82c6390ca20a64fcf03f9fc79e47a8c22261eee3b79ad24bb28e05ca1c2497b9a003c3",
    16,
)
SECOND_LONG = int(
    "c3feace5736488864ef978c40306ae34606fd5187918c1501aabd572aa6ee04998169d3d5c4bfaea2390f36977e3baed460bf2df379d6a4ddd02c011a74411d0"
    "8128b98616e22577de8d2e4390b974e8d98dfc34d817d519106f86c7e88b079fc0c6da33369dc6fd5c48feabab51e8fcc732832f7b25bdfe4dc665cc4323e297",
    16,
)


def long_files() -> dict[str, bytes]:
    """What a dealer hands out of the longer one."""
    return paillier_files(*deal_with(FIRST_LONG, SECOND_LONG, decryptors=3, threshold=2))
