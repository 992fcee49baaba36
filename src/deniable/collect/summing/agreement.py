"""What the parties of a sum agree on, all of it under one id: who they are, what is added up, the noise, and who may fail or cheat.

An agreement is canonical JSON, made once by the aggregator and read by every party. Its digest is the label of the engine's ``Terms``,
whose own digest is the **id of the sum**: it stands in every message, so parties who were told different things, an epsilon or a bound
among them, cannot be brought into one sum. The nonce makes every sum another one, though everything else is as it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple

from deniable.contract.canonical import canonical_json, parse_canonical, read_object
from deniable.contract.guarantee import Guarantee
from deniable.errors import ParameterError, WireError
from deniable.multiparty.engines import MASKING, roles_of
from deniable.multiparty.fixed_point import FixedPoint
from deniable.multiparty.private_sum import PrivateSum
from deniable.multiparty.roles import Roles
from deniable.multiparty.terms import Terms

PARTY, PERSON = "party", "person"
UNITS = (PARTY, PERSON)
"""Who is hidden by the noise."""
LONGEST_NAME = 200
_NAMES = frozenset(("version", "name", "nonce", "parties", "length", "values", "unit", "numbers", "epsilon", "delta"))
_MORE = frozenset(("honest", "corrupt", "lost", "signed", "word_bits"))
_OTHER_ENGINE = frozenset(("engine", "key", "decryptors"))
"""Left out in sums by masking, as ``hybrid`` is where it is off."""


class Member(NamedTuple):
    """One of the parties or decryptors: a name for people, and its Ed25519 public key."""

    name: str
    key: bytes


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """One sum. ``values`` name its numbers, or are empty; bounds are those of ``FixedPoint``; ``key`` is the dealer's table."""

    name: str
    nonce: bytes
    parties: tuple[Member, ...]
    length: int
    values: tuple[str, ...]
    unit: str
    largest: float
    norm_1: float
    norm_2: float
    bits: int
    epsilon: float
    delta: float
    honest: str
    corrupt: str
    lost: str
    signed: bool
    word_bits: int
    hybrid: bool = False
    engine: str = MASKING
    key: dict[str, Any] = field(default_factory=dict)
    decryptors: tuple[Member, ...] = ()

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
        if not all(isinstance(part, str) or (type(part) is int and 0 <= part < 1 << 16) for part in (self.engine, *self.key.values())):
            raise ParameterError("engine, key", "others", allowed="texts, and small numbers", fix="as the dealer's key.toml has it")
        if self.word_bits < self.plan.word_bits:
            raise ParameterError("word_bits", self.word_bits, allowed=f"{self.plan.word_bits}", fix="the sum would wrap around")
        self.roles  # noqa: B018  # refuses what its engine cannot add up

    # --- what follows from it ---

    @cached_property
    def codec(self) -> FixedPoint:
        """How numbers become integers."""
        bounds = {"largest": self.largest, "norm_1": self.norm_1, "norm_2": self.norm_2, "bits": self.bits}
        return codec_for(self.unit, self.length, bounds)

    @cached_property
    def plan(self) -> PrivateSum:
        """The noise, and what comes out."""
        return PrivateSum(parties=len(self.parties), honest=self.honest, codec=self.codec, epsilon=self.epsilon, delta=self.delta)

    @cached_property
    def terms(self) -> Terms:
        """What the engine goes by."""
        return Terms(
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
        return roles_of(self.engine, self.terms, self.key, decryptors=len(self.decryptors), largest=largest)

    @property
    def id(self) -> bytes:
        """The id of the sum, 32 bytes."""
        return self.roles.id

    @property
    def members(self) -> tuple[Member, ...]:
        """All who send messages, by their numbers: the parties, then the decryptors."""
        return self.parties + self.decryptors

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

    # --- as bytes ---

    @cached_property
    def canonical(self) -> bytes:
        """The agreement as it is published."""
        return canonical_json(
            {
                "version": 1,
                "name": self.name,
                "nonce": self.nonce.hex(),
                "parties": _listed(self.parties),
                "length": self.length,
                "values": list(self.values),
                "unit": self.unit,
                "numbers": {
                    "largest": repr(self.largest),
                    "norm_1": repr(self.norm_1),
                    "norm_2": repr(self.norm_2),
                    "bits": self.bits,
                },
                "epsilon": repr(self.epsilon),
                "delta": repr(self.delta),
                "honest": self.honest,
                "corrupt": self.corrupt,
                "lost": self.lost,
                "signed": self.signed,
                "word_bits": self.word_bits,
                **({"hybrid": True} if self.hybrid else {}),
                **({"engine": self.engine, "key": self.key, "decryptors": _listed(self.decryptors)} if self.engine != MASKING else {}),
            }
        )

    @classmethod
    def from_json(cls, data: bytes) -> Agreement:
        """The agreement behind published bytes; WireError if they are none, ParameterError if nobody could keep it."""
        content = read_object("agreement", parse_canonical(data), set(_NAMES | _MORE), _OTHER_ENGINE | {"hybrid"})
        numbers = read_object("numbers", content.pop("numbers"), {"largest", "norm_1", "norm_2", "bits"})
        if content.pop("version") != 1:
            raise WireError("agreement", "another version", allowed="version 1", fix="upgrade deniable")
        try:
            content |= {
                "parties": _members(content["parties"]),
                "decryptors": _members(content.get("decryptors", ())),
                "key": dict(content.get("key", {})),
                "nonce": bytes.fromhex(content["nonce"]),
                "values": tuple(content["values"]),
                "bits": numbers.pop("bits"),
                **{name: float(text) for name, text in numbers.items()},
                **{name: float(content[name]) for name in ("epsilon", "delta")},
            }
            found = cls(**content)
        except (ValueError, TypeError, AttributeError) as error:
            raise WireError("agreement", f"{len(data)} bytes", allowed="what the aggregator made", fix="send it unchanged") from error
        if found.canonical != data:
            raise WireError("agreement", f"{len(data)} bytes", allowed="each number in its one spelling", fix="send it unchanged")
        return found


def _listed(members: Iterable[Member]) -> list[dict[str, str]]:
    return [{"name": member.name, "key": member.key.hex()} for member in members]


def _members(rows: Iterable[object]) -> tuple[Member, ...]:
    found = [read_object("party", row, {"name", "key"}) for row in rows]
    return tuple(Member(row["name"], bytes.fromhex(row["key"])) for row in found)


def codec_for(unit: str, length: int, bounds: dict[str, Any]) -> FixedPoint:
    """How numbers become integers: those about persons are whole, and their norms bound what one person changes."""
    return FixedPoint(length=length, **bounds, whole=unit == PERSON, of_people=unit == PERSON)


def described(agreement: Agreement) -> dict[str, Any]:
    """The agreement for people, by what it is about."""
    unit, who = agreement.unit, len(agreement.parties)
    stderr = float(agreement.plan.stderr()[0])
    per = "one person changes them by" if unit == PERSON else "those of a party are"
    euclidean = f", and at most {agreement.norm_2:g} in the Euclidean norm" if agreement.delta > 0 else ""
    noise = f"epsilon = {agreement.epsilon:g}, delta = {agreement.delta:g}; each sum has a standard error of {stderr:,.4g}"
    losing = f"{agreement.lost} may be lost, and with fewer than {agreement.terms.least} of {who} parties nothing is opened"
    messages = "signed; the aggregator need not keep to the protocol" if agreement.signed else f"this needs {agreement.roles.trusted}"
    return {
        "sum": agreement.id.hex(),
        "name": agreement.name,
        "numbers": f"{agreement.length:,}, each at most {agreement.largest:g}; {per} at most {agreement.norm_1:g} in all{euclidean}",
        "values": ", ".join(agreement.values[:20]) + (", ..." if len(agreement.values) > 20 else "") or "not named",
        "noise": noise,
        "hidden": agreement.guarantee.unit,
        "parties": who,
        "assumed": f"{agreement.honest} honest to the end, {agreement.corrupt} may work with the aggregator, {losing}",
        "messages": messages + ("; keys by X25519 and ML-KEM-768" if agreement.hybrid else ""),
        "engine": agreement.engine + (f", key {agreement.roles.key_id.hex()}" if agreement.key else ""),
    }
