"""What the parties of a sum agree on, all of it under one id: who they are, what is added up, the noise, and who may fail or cheat.

An agreement is canonical JSON, made once by the aggregator and read by every party. Its digest is the label of the engine's ``SumTerms``,
whose own digest is the **id of the sum**: it stands in every message, so parties with different agreements, in an epsilon or a bound
say, cannot be brought into one sum. The nonce makes every sum another one, though everything else is as it was.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, sqrt
from typing import Any, Self

from deniable.contract.form import TABLE
from deniable.contract.guarantee import Guarantee
from deniable.contract.record import Document, Plain, wire
from deniable.errors import ParameterError
from deniable.multiparty.engines import MASKING, roles_of
from deniable.multiparty.fixed_point import FixedPoint
from deniable.multiparty.private_sum import PrivateSum
from deniable.multiparty.roles import Roles
from deniable.multiparty.terms import SumTerms

PARTY, PERSON = "party", "person"
UNITS = (PARTY, PERSON)
"""Who is hidden by the noise."""
LONGEST_NAME = 200


@dataclass(frozen=True)
class Member(Plain):
    """One of the parties or decryptors: a name for people, and its Ed25519 public key."""

    noun = "party"
    name: str
    key: bytes


@dataclass(frozen=True, kw_only=True)
class Bounds(Plain):
    """What bounds the numbers of a party, as in ``FixedPoint``."""

    noun = "numbers"
    largest: float
    norm_1: float
    norm_2: float
    bits: int

    @classmethod
    def of(cls, unit: str, length: int, *, largest: float, norm_1: float | None, norm_2: float | None, bits: int) -> Self:
        """The bounds of ``length`` numbers; what was left out follows from the rest, on the safe side."""
        if unit == PERSON:
            norm_1 = 1.0 if norm_1 is None else norm_1
            norm_2 = norm_1 if norm_2 is None else norm_2
        else:
            norm_1 = largest * length if norm_1 is None else norm_1
            norm_2 = min(norm_1, largest * sqrt(length)) if norm_2 is None else norm_2
        return cls(largest=float(largest), norm_1=float(norm_1), norm_2=float(norm_2), bits=bits)

    def codec(self, unit: str, length: int) -> FixedPoint:
        """How numbers become integers: those about persons are whole, and their norms bound what one person changes."""
        whole = unit == PERSON
        limits = {"largest": self.largest, "norm_1": self.norm_1, "norm_2": self.norm_2}
        return FixedPoint(length=length, bits=self.bits, whole=whole, of_people=whole, **limits)


@dataclass(frozen=True, kw_only=True)
class Agreement(Document):
    """One sum. ``values`` name its numbers, or are empty; ``key`` is the dealer's table. Masking needs no dealer and no decryptors."""

    noun = "agreement"
    version = 1
    name: str
    nonce: bytes
    parties: tuple[Member, ...]
    length: int
    values: tuple[str, ...]
    unit: str
    numbers: Bounds
    epsilon: float
    delta: float
    honest: str
    corrupt: str
    lost: str
    signed: bool
    word_bits: int
    hybrid: bool = field(default=False, metadata=wire(omit=False))
    engine: str = field(default=MASKING, metadata=wire(omit=MASKING))
    key: dict[str, Any] | None = field(default=None, metadata=wire(form=TABLE))
    decryptors: tuple[Member, ...] | None = None

    def __post_init__(self) -> None:
        names = [self.name, *(member.name for member in self.members), *self.values]
        if not all(isinstance(name, str) and 1 <= len(name) <= LONGEST_NAME and name.isprintable() for name in names):
            allowed = f"printable texts of 1 to {LONGEST_NAME} characters"
            raise ParameterError("names", "one that cannot be shown", allowed=allowed, fix="check the names of sum, parties and values")
        for what, listed in (("parties", [member.name for member in self.members]), ("values", list(self.values))):
            if len(set(listed)) < len(listed):
                raise ParameterError(what, "the same name twice", allowed="different names", fix="name each once")
        if len({member.key for member in self.members}) < len(self.members):
            fix = "who is a party and a decryptor has a folder and a key for each"
            raise ParameterError("parties", "the same key twice", allowed="different public keys", fix=fix)
        if self.unit not in UNITS:
            raise ParameterError("unit", self.unit, allowed=f"one of {UNITS}", fix="say who is hidden by the noise")
        if self.values and len(self.values) != self.length:
            raise ParameterError("values", len(self.values), allowed=f"{self.length} names", fix="one for each number")
        if len(self.nonce) != 16 or type(self.signed) is not bool or type(self.hybrid) is not bool:
            received = (self.signed, self.hybrid)
            raise ParameterError("nonce, signed, hybrid", received, allowed="16 bytes; true or false", fix="make agreements from files")
        if {self.engine == MASKING} != {self.key is None, self.decryptors is None}:
            raise ParameterError("key, decryptors", self.engine, allowed="none for masking", fix="leave them out, or name the engine")
        key = self.key or {}
        if not all(isinstance(part, str) or (type(part) is int and 0 <= part < 1 << 16) for part in (self.engine, *key.values())):
            raise ParameterError("engine, key", "others", allowed="texts, and small numbers", fix="as the dealer's key.toml has it")
        if self.word_bits < self.plan.word_bits:
            raise ParameterError("word_bits", self.word_bits, allowed=f"{self.plan.word_bits}", fix="the sum would wrap around")
        self.roles  # noqa: B018  # refuses what its engine cannot add up

    # --- what follows from it ---

    @cached_property
    def codec(self) -> FixedPoint:
        """How numbers become integers."""
        return self.numbers.codec(self.unit, self.length)

    @cached_property
    def plan(self) -> PrivateSum:
        """The noise, and what comes out."""
        return PrivateSum(parties=len(self.parties), honest=self.honest, codec=self.codec, epsilon=self.epsilon, delta=self.delta)

    @cached_property
    def terms(self) -> SumTerms:
        """What the engine goes by."""
        return SumTerms(
            label=hashlib.sha256(self.canonical).hexdigest(),
            parties=tuple(member.key for member in self.parties),
            length=self.length,
            word_bits=self.word_bits,
            corrupt=self.corrupt,
            lost=self.lost,
            honest=self.honest,
            active=self.signed,
            hybrid=self.hybrid,
        )

    @cached_property
    def roles(self) -> Roles:
        """The engine."""
        largest = self.codec.largest_step + ceil(self.plan.reach)
        return roles_of(self.engine, self.terms, self.key or {}, decryptors=len(self.decryptors or ()), largest=largest)

    @property
    def id(self) -> bytes:
        """The id of the sum, 32 bytes."""
        return self.roles.id

    @property
    def members(self) -> tuple[Member, ...]:
        """All who send messages, by their numbers: the parties, then the decryptors."""
        return self.parties + (self.decryptors or ())

    def place(self, key: bytes) -> int:
        """The number of the member with this key; ParameterError if it is none of them."""
        for number, member in enumerate(self.members):
            if member.key == key:
                return number
        raise ParameterError("party", key.hex(), allowed="one of the parties of this sum", fix="have its key added, and begin a new sum")

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        found, trusted = self.plan.guarantee, self.roles.trusted
        return replace(found, honest=f"{found.honest}; and {trusted}") if trusted else found


def described(agreement: Agreement) -> dict[str, Any]:
    """The agreement for people, by what it is about."""
    unit, who, bounds = agreement.unit, len(agreement.parties), agreement.numbers
    stderr = float(agreement.plan.stderr()[0])
    per = "one person changes them by" if unit == PERSON else "those of a party are"
    euclidean = f", and at most {bounds.norm_2:g} in the Euclidean norm" if agreement.delta > 0 else ""
    noise = f"epsilon = {agreement.epsilon:g}, delta = {agreement.delta:g}; each sum has a standard error of {stderr:,.4g}"
    losing = f"{agreement.lost} may be lost, and with fewer than {agreement.terms.least} of {who} parties nothing is opened"
    messages = "signed; the aggregator need not keep to the protocol" if agreement.signed else f"this needs {agreement.roles.trusted}"
    return {
        "sum": agreement.id.hex(),
        "name": agreement.name,
        "numbers": f"{agreement.length:,}, each at most {bounds.largest:g}; {per} at most {bounds.norm_1:g} in all{euclidean}",
        "values": ", ".join(agreement.values[:20]) + (", ..." if len(agreement.values) > 20 else "") or "not named",
        "noise": noise,
        "hidden": agreement.guarantee.unit,
        "parties": who,
        "assumed": f"{agreement.honest} honest to the end, {agreement.corrupt} may work with the aggregator, {losing}",
        "messages": messages + ("; keys by X25519 and ML-KEM-768" if agreement.hybrid else ""),
        "engine": agreement.engine + (f", key {agreement.roles.key_id.hex()}" if agreement.key else ""),
    }
