"""The three engines behind one interface (``roles``): masks between parties, a committee that opens ciphertexts, and streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from deniable.contract.source import Source
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.multiparty import dealer
from deniable.multiparty.masking import layout
from deniable.multiparty.masking.aggregator import MaskingAggregator
from deniable.multiparty.masking.party import MaskingParty
from deniable.multiparty.masking.secrets import KEY_BYTES
from deniable.multiparty.masking.side import keys_bytes, row_bytes
from deniable.multiparty.message import HEADER, SIGNATURE_BYTES
from deniable.multiparty.paillier import roles as paillier
from deniable.multiparty.paillier.aggregator import PaillierAggregator
from deniable.multiparty.paillier.encryption import WORTH, Encryptor
from deniable.multiparty.paillier.keys import KeyShare, PublicKey
from deniable.multiparty.paillier.packing import Packing
from deniable.multiparty.roles import Aggregator, Party, Roles
from deniable.multiparty.stream import shi
from deniable.multiparty.stream.group import POINT_BYTES
from deniable.multiparty.terms import SumTerms

MASKING, PAILLIER, STREAM = "masking", dealer.PAILLIER, dealer.STREAM


@dataclass(frozen=True)
class MaskingRoles:
    """Those of a masked sum."""

    terms: SumTerms
    key_id: ClassVar[bytes] = b""
    counted: ClassVar[int] = layout.MASKED
    steps: ClassVar[Mapping[int, str]] = {
        layout.ADVERTISE: "keys",
        layout.SHARES: "shares",
        layout.MASKED: "vectors",
        layout.AGREED: "agreement",
        layout.REVEALED: "opening",
    }

    def __post_init__(self) -> None:
        self.terms.degree  # noqa: B018  # refuses shares for which there is no graph

    @property
    def id(self) -> bytes:
        return self.terms.id

    @property
    def largest(self) -> int:
        neighbors = self.terms.degree.neighbors
        shares = KEY_BYTES + (4 + row_bytes(self.terms, 0, 1)) * neighbors  # of the first party, whose rows are the longest
        bodies = (keys_bytes(self.terms), shares, self.terms.length * self.terms.word_bits // 8, 37 * neighbors)
        return HEADER.size + max(bodies) + SIGNATURE_BYTES

    @property
    def trusted(self) -> str:
        return "" if self.terms.active else "an aggregator that follows the protocol"

    def aggregator(self, secret: bytes, saved: bytes | None = None) -> Aggregator:
        return MaskingAggregator.resume(saved, terms=self.terms) if saved else MaskingAggregator(self.terms)

    def party(self, number: int, identity: bytes, secret: bytes, vector: Callable[[], Array], source: Source) -> Party:
        return MaskingParty(self.terms, number, identity, vector(), source)

    def resume(self, saved: bytes, number: int, identity: bytes, secret: bytes, source: Source) -> Party:
        return MaskingParty.resume(saved, terms=self.terms, identity=identity, source=source)


@dataclass(frozen=True)
class PaillierRoles:
    """Those of a sum under encryption, the committee's among them. ``largest_number`` bounds what a party adds, noise included."""

    terms: SumTerms
    key: PublicKey
    largest_number: int
    counted: ClassVar[int] = paillier.ENCRYPTED
    steps: ClassVar[Mapping[int, str]] = {paillier.ENCRYPTED: "vectors", paillier.OPENED: "opening"}

    @cached_property
    def agreement(self) -> paillier.PaillierAgreement:
        """What the roles go by: slots are as wide as the sum of all parties needs, and no wider."""
        parties = len(self.terms.parties)
        width = (parties * self.largest_number).bit_length() + 1
        packing = Packing(self.key.bits, self.terms.length, parties, self.largest_number, width)
        return paillier.PaillierAgreement(self.terms, self.key, packing)

    @property
    def id(self) -> bytes:
        return self.agreement.id

    @cached_property
    def key_id(self) -> bytes:
        return dealer.paillier_id(self.key)

    @property
    def largest(self) -> int:
        return HEADER.size + self.agreement.packing.plaintexts * self.key.cipher_bytes

    @property
    def trusted(self) -> str:
        few = f"fewer than {self.key.threshold} of {self.key.decryptors} decryptors who work together"
        return f"an aggregator that follows the protocol, {few}, and a dealer who forgot the key"

    def aggregator(self, secret: bytes, saved: bytes | None = None) -> Aggregator:
        return PaillierAggregator.resume(saved, agreement=self.agreement) if saved else PaillierAggregator(self.agreement)

    def party(self, number: int, identity: bytes, secret: bytes, vector: Callable[[], Array], source: Source) -> Party:
        if number in self.agreement.committee:
            return paillier.Decryptor(self.agreement, self._share(number, secret))
        return paillier.PaillierParty(self.agreement, number, identity, self._encryptor, vector(), source)

    def resume(self, saved: bytes, number: int, identity: bytes, secret: bytes, source: Source) -> Party:
        if number in self.agreement.committee:
            return paillier.Decryptor.resume(saved, agreement=self.agreement, share=self._share(number, secret))
        parts: dict[str, Any] = {"agreement": self.agreement, "identity": identity, "encryptor": self._encryptor, "source": source}
        return paillier.PaillierParty.resume(saved, **parts)

    @cached_property
    def _encryptor(self) -> Encryptor:
        return Encryptor(self.key, few=self.agreement.packing.plaintexts < WORTH)

    def _share(self, number: int, secret: bytes) -> KeyShare:
        place = self.agreement.committee.index(number) + 1
        return KeyShare(self.key, place, dealer.read_secret(secret, PAILLIER, self.key_id, place))


@dataclass(frozen=True)
class StreamRoles:
    """Those of one period of a stream. Its points are hashed from the id of the sum: two sums share none, and cannot be subtracted."""

    terms: SumTerms
    key_id: bytes
    largest_number: int
    counted: ClassVar[int] = shi.SENT
    steps: ClassVar[Mapping[int, str]] = {shi.SENT: "vectors"}

    def __post_init__(self) -> None:
        if self.terms.active or self.terms.least < len(self.terms.parties):
            allowed = "signed = False, lost = 0, and honest and corrupt that add up to 1"
            raise ParameterError("signed, honest, corrupt, lost", "others", allowed=allowed, fix='write "2/3", "1/3" and "0", say')
        self.period  # noqa: B018  # refuses sums that are too large to be found

    @cached_property
    def period(self) -> shi.StreamTerms:
        """What the roles go by."""
        return shi.StreamTerms(self.terms.id, len(self.terms.parties), self.terms.length, self.largest_number)

    @property
    def id(self) -> bytes:
        return self.terms.id

    @property
    def largest(self) -> int:
        return HEADER.size + 4 + POINT_BYTES * self.terms.length

    @property
    def trusted(self) -> str:
        return "a dealer who forgot the secrets"

    def aggregator(self, secret: bytes, saved: bytes | None = None) -> Aggregator:
        own = self._secret(secret, 0)
        return shi.StreamAggregator.resume(saved, terms=self.period, secret=own) if saved else shi.StreamAggregator(self.period, own)

    def party(self, number: int, identity: bytes, secret: bytes, vector: Callable[[], Array], source: Source) -> Party:
        found = shi.StreamParty(self.period, number, self._secret(secret, number + 1))
        found.send(0, vector())
        return found

    def resume(self, saved: bytes, number: int, identity: bytes, secret: bytes, source: Source) -> Party:
        return shi.StreamParty.resume(saved, terms=self.period, secret=self._secret(secret, number + 1))

    def _secret(self, secret: bytes, place: int) -> int:
        return dealer.read_secret(secret, STREAM, self.key_id, place, parties=len(self.terms.parties))


def roles_of(engine: str, terms: SumTerms, key: Mapping[str, Any], *, decryptors: int, largest: int) -> Roles:
    """The roles of an engine; ParameterError if this cannot be a sum of it."""
    if engine not in (MASKING, PAILLIER, STREAM):
        raise ParameterError("engine", engine, allowed=f"one of {(MASKING, PAILLIER, STREAM)}", fix="use masking, unless you know why not")
    if (engine != PAILLIER and decryptors) or (engine == MASKING and key):
        raise ParameterError(
            "key, decryptors", "given", allowed="none with this engine", fix="leave them out, or name the engine that takes them"
        )
    if engine == MASKING:
        return MaskingRoles(terms)
    if terms.hybrid:
        raise ParameterError("hybrid", True, allowed="False with this engine", fix="leave hybrid out: only masking has this choice")
    if engine == STREAM:
        return StreamRoles(terms, dealer.read_stream_key(key, len(terms.parties)), largest)
    found = PaillierRoles(terms, dealer.read_paillier_key(key, decryptors), largest)
    found.agreement  # noqa: B018  # refuses what cannot be packed
    return found
