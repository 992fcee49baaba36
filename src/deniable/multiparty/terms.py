"""What everybody agrees on before a sum: who takes part, what is added up, and how many of them may fail or cheat.

The digest of the terms stands in every message, so that no two sums can be mixed. ``honest`` is the share gamma of the parties who add
their noise, keep it to themselves and stay to the end: privacy of the *result* rests on it, and a sum with fewer survivors is never opened.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.canonical import canonical_json
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.multiparty.graph import Degree, degree
from deniable.sealing.identity import public_key

WORDS = (32, 64)
LONGEST = 1 << 24
MOST_PARTIES = 1 << 16


@typed
@dataclass(frozen=True, kw_only=True, repr=False)
class SumTerms:
    """The terms of one sum of vectors of ``length`` integers modulo 2^``word_bits``.

    ``parties`` are Ed25519 public keys; a party's number is its place. ``corrupt`` and ``lost`` are the largest shares of parties who may
    collude with the aggregator and who may drop out; ``honest`` is what the noise is scaled for. All three are exact fractions in text.
    ``active`` protects against an aggregator that does not keep to the protocol: everybody is everybody's neighbor, messages are signed,
    and the survivors are agreed on before anything is opened. With ``hybrid`` masks rest on X25519 and on ML-KEM-768 together, so that
    what is recorded today stays closed to a quantum computer that comes later; only masks have this choice.
    ``label`` names the sum; it must never be used again with the same parties.
    """

    label: str
    parties: tuple[bytes, ...]
    length: int
    word_bits: int = 32
    corrupt: str = "1/10"
    lost: str = "1/10"
    honest: str = "4/5"
    active: bool = False
    hybrid: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not 1 <= len(self.label) <= 200:
            raise ParameterError("label", self.label, allowed="a text of 1 to 200 characters", fix="give a name that no other sum has")
        keys = isinstance(self.parties, tuple) and all(isinstance(key, bytes) and len(key) == 32 for key in self.parties)
        if not keys or not 2 <= len(self.parties) == len(set(self.parties)) <= MOST_PARTIES:
            allowed = f"a tuple of 2 to {MOST_PARTIES} different Ed25519 public keys"
            raise ParameterError("parties", type(self.parties).__name__, allowed=allowed, fix="collect the public key of every party")
        if type(self.length) is not int or not 1 <= self.length <= LONGEST:
            raise ParameterError(
                "length", self.length, allowed=f"an integer from 1 to {LONGEST}", fix="give the number of entries in each party's vector"
            )
        if self.word_bits not in WORDS:
            raise ParameterError("word_bits", self.word_bits, allowed=f"one of {WORDS}", fix="use 32, which is enough for most sums")
        for name in ("active", "hybrid"):
            if type(getattr(self, name)) is not bool:
                raise ParameterError(name, getattr(self, name), allowed="True or False", fix="write what all parties agreed on")
        for name in ("corrupt", "lost", "honest"):
            read_share(name, getattr(self, name))
        if self.least < 1 or sum(map(self.share, ("honest", "corrupt", "lost"))) > 1:
            received = (self.honest, self.corrupt, self.lost)
            allowed = "honest above 0, and shares that add up to at most 1"
            raise ParameterError("honest, corrupt, lost", received, allowed=allowed, fix="lower honest: noise grows with 1 / sqrt(honest)")

    def __repr__(self) -> str:  # without the keys, of which there may be thousands
        who = f"{len(self.parties):,} parties: honest {self.honest}, corrupt {self.corrupt}, lost {self.lost}"
        kinds = "".join(f", {name}" for name in ("active", "hybrid") if getattr(self, name))
        return f"<SumTerms {self.label!r}: {self.length:,} integers of {self.word_bits} bits, {who}{kinds}>"

    def share(self, name: str) -> Fraction:
        """The share of this name, as a number: ``honest``, ``corrupt`` or ``lost``."""
        return Fraction(getattr(self, name))

    @property
    def least(self) -> int:
        """The fewest survivors with whom the sum may be opened: the honest ones and all who may be corrupt."""
        return ceil((self.share("honest") + self.share("corrupt")) * len(self.parties))

    @cached_property
    def degree(self) -> Degree:
        """How many neighbors a party has, and how many of them recover its secrets; ParameterError if there is no such graph."""
        return degree(len(self.parties), corrupt=self.share("corrupt"), lost=self.share("lost"), complete=self.active)

    @cached_property
    def id(self) -> bytes:
        """SHA-256 of the canonical JSON: what stands in every message."""
        content: dict[str, Any] = {
            "version": 1,
            "label": self.label,
            "parties": [key.hex() for key in self.parties],
            "length": self.length,
            "word_bits": self.word_bits,
            "corrupt": self.corrupt,
            "lost": self.lost,
            "honest": self.honest,
            "active": self.active,
            **({"hybrid": True} if self.hybrid else {}),  # left out where it is off: so ids stay what they were before it was there
        }
        return hashlib.sha256(canonical_json(content)).digest()


def read_share(name: str, text: object) -> Fraction:
    """A share as it is written: a fraction in lowest terms, from 0 to 1."""
    try:
        share = Fraction(text) if isinstance(text, str) else Fraction(-1)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 <= share <= 1 or str(share) != text:
        raise ParameterError(name, text, allowed="a fraction in lowest terms from 0 to 1, in text", fix='write "1/10", say')
    return share


def as_words(vector: Any, terms: SumTerms) -> Array:
    """Integers modulo 2^word_bits; those that would be somebody else's after it are refused."""
    array = np.asarray(vector)
    if array.shape != (terms.length,) or array.dtype.kind not in "iu":
        raise ParameterError("vector", f"{array.dtype} {array.shape}", allowed=f"{terms.length} integers", fix="encode numbers first")
    half = 1 << (terms.word_bits - 1)
    if array.dtype.kind == "i" and array.size and not -half <= int(array.min()) <= int(array.max()) < half:
        raise ParameterError("vector", "an integer out of range", allowed=f"from -2^{terms.word_bits - 1} on", fix="use word_bits=64")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2 * half:
        raise ParameterError("vector", "an integer out of range", allowed=f"below 2^{terms.word_bits}", fix="use word_bits=64")
    return array.astype(f"<u{terms.word_bits // 8}")


def check_place(terms: SumTerms, number: int, identity: bytes) -> None:
    """ParameterError if this is not the place of the party's own key among the parties."""
    if type(number) is not int or not 0 <= number < len(terms.parties) or public_key(identity) != terms.parties[number]:
        allowed = "the place of the party's own key among the parties"
        raise ParameterError("number", number, allowed=allowed, fix="take the terms that name this party")
