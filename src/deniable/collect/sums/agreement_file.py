"""An agreement from the file in which somebody wrote it down.

::

    name = "admissions, week 46"
    values = ["flu", "rsv", "covid"]     # or length = 3
    unit = "person"                      # or "party": who is hidden by the noise
    epsilon = 1.0
    delta = 0.0                          # 0: discrete Laplace noise, otherwise Skellam
    honest = "2/3"                       # of the parties: they add their noise, keep it to themselves, stay to the end
    corrupt = "1/3"                      # may work with the aggregator
    lost = "0"                           # may drop out
    signed = true                        # false: for many parties, and an aggregator that keeps to the protocol
    hybrid = false                       # true: keys by X25519 and ML-KEM-768, against recordings and a later quantum computer

    [numbers]
    largest = 10_000                     # the most that any number of a party is, up or down
    norm_1 = 1                           # what one person changes in all numbers together; for "party": the most of all its numbers
    norm_2 = 1                           # the same in the Euclidean norm, which Skellam noise goes by; norm_1 if left out, for "person"
    bits = 0                             # after the point, for "party"

    [parties]
    north = "0f..."                      # what deniable party keys printed
    south = "3a..."
    west = "b2..."

The other engines need what a dealer made for them (``deniable deal``), and cannot be signed::

    engine = "paillier"                  # or "stream"; "masking" if left out

    [key]                                # the dealer's key.toml
    modulus = "c7..."
    base = "5d..."
    threshold = 2

    [decryptors]                         # for paillier: the committee, in the order of their key shares
    court = "77..."
    university = "e0..."
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deniable.collect.sums.agreement import PARTY, PERSON, Agreement, Bounds, Member
from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.source import SYSTEM, Source
from deniable.core.declared import read_settings, read_toml
from deniable.errors import ParameterError
from deniable.multiparty.engines import MASKING
from deniable.multiparty.private_sum import PrivateSum

Keys = dict[str, bytes]


@dataclass(frozen=True, kw_only=True)
class NumbersTable:
    """What a file says of the numbers of a party."""

    largest: float
    norm_1: float | None = None
    norm_2: float | None = None
    bits: int = 0


@dataclass(frozen=True, kw_only=True)
class AgreementFile:
    """All that a file says; what it may leave out has its usual value here."""

    name: str
    unit: str
    epsilon: float
    numbers: NumbersTable
    parties: Keys
    values: tuple[str, ...] | None = None
    length: int | None = None
    delta: float = 0.0
    honest: str = "4/5"
    corrupt: str = "1/10"
    lost: str = "1/10"
    signed: bool | None = None
    """If left out, true for masking, which alone can be."""
    hybrid: bool = False
    engine: str = MASKING
    key: dict[str, Any] | None = None
    decryptors: Keys | None = None

    def agreement(self, source: Source) -> Agreement:
        """The agreement, with a nonce of its own."""
        if self.unit not in (PARTY, PERSON):
            raise ParameterError("unit", self.unit, allowed=f"{PARTY!r} or {PERSON!r}", fix="say who is hidden by the noise")
        masking, length = self.engine == MASKING, self._length()
        dealt = not masking or self.key is not None or self.decryptors is not None
        bounds, parties = Bounds.of(self.unit, length, **vars(self.numbers)), _members(self.parties)
        same: dict[str, Any] = {"honest": self.honest, "epsilon": float(self.epsilon), "delta": float(self.delta)}
        return Agreement(
            name=self.name,
            nonce=draw_bytes(source, 16),
            parties=parties,
            length=length,
            values=self.values or (),
            unit=self.unit,
            word_bits=PrivateSum(parties=len(parties), codec=bounds.codec(self.unit, length), **same).word_bits,
            signed=masking if self.signed is None else self.signed,
            hybrid=self.hybrid,
            engine=self.engine,
            key=(self.key or {}) if dealt else None,
            decryptors=_members(self.decryptors or {}) if dealt else None,
            numbers=bounds,
            corrupt=self.corrupt,
            lost=self.lost,
            **same,
        )

    def _length(self) -> int:
        if (self.values is None) == (self.length is None):
            fix = "name the numbers, or say how many there are"
            raise ParameterError("values, length", "both or neither", allowed="one of them", fix=fix)
        if self.values == ():
            raise ParameterError("values", [], allowed="a list of names", fix='as in ["flu", "rsv"]')
        length = len(self.values or ()) if self.length is None else self.length
        if length < 1:
            raise ParameterError("length", length, allowed="an integer from 1 on", fix="the numbers of each party")
        return length


def read_agreement_file(data: bytes, name: str = "file", source: Source = SYSTEM) -> Agreement:
    """The agreement of a TOML file, with a nonce of its own; ParameterError naming what is wrong in it."""
    content = read_toml(data, name)
    return AgreementFile(**read_settings(AgreementFile, content, where=name, readers={bytes: _key})).agreement(source)


def _members(listed: Mapping[str, bytes]) -> tuple[Member, ...]:
    return tuple(Member(name, key) for name, key in listed.items())


def _key(name: str, text: Any) -> bytes:
    try:
        key = bytes.fromhex(text)
    except (TypeError, ValueError):
        key = b""
    if len(key) != 32:
        raise ParameterError(name, text, allowed="64 digits 0-9 and a-f", fix="what deniable party keys printed")
    return key
