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

from math import sqrt
from typing import Any

from deniable.collect.summing.agreement import PARTY, PERSON, Agreement, Bounds, Member, codec_for
from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.source import SYSTEM, Source
from deniable.core.declared import check_names, read_toml
from deniable.errors import ParameterError
from deniable.multiparty.engines import MASKING
from deniable.multiparty.private_sum import PrivateSum

_OPTIONAL = ("values", "length", "delta", "honest", "corrupt", "lost", "signed", "hybrid", "engine", "key", "decryptors")
USUAL: dict[str, Any] = {
    "delta": 0.0,
    "honest": "4/5",
    "corrupt": "1/10",
    "lost": "1/10",
    "signed": True,
    "hybrid": False,
    "engine": MASKING,
}
"""What is taken if it is left out."""


def read_agreement_file(data: bytes, name: str = "file", source: Source = SYSTEM) -> Agreement:
    """The agreement of a TOML file, with a nonce of its own; ParameterError naming what is wrong in it."""
    content = read_toml(data, name)
    check_names(name, content, ("name", "unit", "epsilon", "numbers", "parties"), _OPTIONAL)
    numbers, parties = content["numbers"], content["parties"]
    if not isinstance(numbers, dict) or not isinstance(parties, dict):
        raise ParameterError("numbers, parties", "something else", allowed="two tables", fix="begin them with [numbers] and [parties]")
    dealt = content.get("engine", MASKING) != MASKING or "key" in content or "decryptors" in content
    key, decryptors = content.get("key", {}), content.get("decryptors", {})
    if not isinstance(key, dict) or not isinstance(decryptors, dict):
        raise ParameterError("key, decryptors", "something else", allowed="two tables", fix="begin them with [key] and [decryptors]")
    check_names("numbers", numbers, ("largest",), ("norm_1", "norm_2", "bits"))
    if ("values" in content) == ("length" in content):
        raise ParameterError("values, length", "both or neither", allowed="one of them", fix="name the numbers, or say how many there are")
    values = content.get("values", [])
    if not isinstance(values, list) or ("values" in content and not values):
        raise ParameterError("values", values, allowed="a list of names", fix='as in ["flu", "rsv"]')
    length, unit = content.get("length", len(values)), content["unit"]
    if unit not in (PARTY, PERSON):
        raise ParameterError("unit", unit, allowed=f"{PARTY!r} or {PERSON!r}", fix="say who is hidden by the noise")
    usual = USUAL | {"signed": content.get("engine", MASKING) == MASKING}
    chosen = usual | {name: content[name] for name in USUAL if name in content}
    bounds = _bounds(numbers, unit, length)
    codec = codec_for(unit, length, bounds)
    members = _members("parties", parties)
    epsilon, delta = _real("epsilon", content["epsilon"]), _real("delta", chosen.pop("delta"))
    plan = PrivateSum(parties=len(members), honest=chosen["honest"], codec=codec, epsilon=epsilon, delta=delta)
    return Agreement(
        name=content["name"],
        nonce=draw_bytes(source, 16),
        parties=members,
        length=length,
        values=tuple(values),
        unit=unit,
        epsilon=epsilon,
        delta=delta,
        word_bits=plan.word_bits,
        key=key if dealt else None,
        decryptors=_members("decryptors", decryptors) if dealt else None,
        numbers=bounds,
        **chosen,
    )


def _bounds(numbers: dict[str, Any], unit: str, length: Any) -> Bounds:
    """What bounds the numbers; what was left out follows from the rest, on the safe side."""
    if type(length) is not int or length < 1:
        raise ParameterError("length", length, allowed="an integer from 1 on", fix="the numbers of each party")
    largest = _real("largest", numbers["largest"])
    if unit == PERSON:
        norm_1 = _real("norm_1", numbers.get("norm_1", 1))
        norm_2 = _real("norm_2", numbers.get("norm_2", norm_1))
    else:
        norm_1 = _real("norm_1", numbers.get("norm_1", largest * length))
        norm_2 = _real("norm_2", numbers.get("norm_2", min(norm_1, largest * sqrt(length))))
    return Bounds(largest=largest, norm_1=norm_1, norm_2=norm_2, bits=numbers.get("bits", 0))


def _real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(name, value, allowed="a number", fix="write it without quotation marks")
    return float(value)


def _members(table: str, listed: dict[str, Any]) -> tuple[Member, ...]:
    return tuple(Member(name, _key(f"{table}.{name}", key)) for name, key in listed.items())


def _key(name: str, text: Any) -> bytes:
    try:
        key = bytes.fromhex(text)
    except (TypeError, ValueError):
        key = b""
    if len(key) != 32:
        raise ParameterError(name, text, allowed="64 digits 0-9 and a-f", fix="what deniable party keys printed")
    return key
