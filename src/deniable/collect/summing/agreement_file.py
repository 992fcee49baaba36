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

    [numbers]
    largest = 10_000                     # the most that any number of a party is, up or down
    norm_1 = 1                           # what one person changes in all numbers together; for "party": the most of all its numbers
    bits = 0                             # after the point, for "party"

    [parties]
    north = "0f..."                      # what deniable party keys printed
    south = "3a..."
    west = "b2..."
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from deniable.collect.summing.agreement import PARTY, PERSON, Agreement, Member
from deniable.collect.summing.counts import Counts
from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.source import SYSTEM, Source
from deniable.core.declared import check_names, read_toml
from deniable.errors import ParameterError
from deniable.multiparty.fixed_point import FixedPoint
from deniable.multiparty.private_sum import PrivateSum

_OPTIONAL = ("values", "length", "delta", "honest", "corrupt", "lost", "signed")
USUAL: dict[str, Any] = {"delta": 0.0, "honest": "4/5", "corrupt": "1/10", "lost": "1/10", "signed": True}
"""What is taken if it is left out."""


def read_agreement_file(data: bytes, name: str = "file", source: Source = SYSTEM) -> Agreement:
    """The agreement of a TOML file, with a nonce of its own; ParameterError naming what is wrong in it."""
    content = read_toml(data, name)
    check_names(name, content, ("name", "unit", "epsilon", "numbers", "parties"), _OPTIONAL)
    numbers, parties = content["numbers"], content["parties"]
    if not isinstance(numbers, dict) or not isinstance(parties, dict):
        raise ParameterError("numbers, parties", "something else", allowed="two tables", fix="begin them with [numbers] and [parties]")
    check_names("numbers", numbers, ("largest",), ("norm_1", "norm_2", "bits"))
    if ("values" in content) == ("length" in content):
        raise ParameterError("values, length", "both or neither", allowed="one of them", fix="name the numbers, or say how many there are")
    values = content.get("values", [])
    if not isinstance(values, list) or ("values" in content and not values):
        raise ParameterError("values", values, allowed="a list of names", fix='as in ["flu", "rsv"]')
    length, unit = content.get("length", len(values)), content["unit"]
    if unit not in (PARTY, PERSON):
        raise ParameterError("unit", unit, allowed=f"{PARTY!r} or {PERSON!r}", fix="say who is hidden by the noise")
    chosen = USUAL | {name: content[name] for name in USUAL if name in content}
    bounds = _bounds(numbers, unit, length)
    codec = (Counts if unit == PERSON else FixedPoint)(length=length, **bounds)
    members = tuple(Member(party, _key(party, key)) for party, key in parties.items())
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
        **bounds,
        **chosen,
    )


def _bounds(numbers: dict[str, Any], unit: str, length: Any) -> dict[str, Any]:
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
    return {"largest": largest, "norm_1": norm_1, "norm_2": norm_2, "bits": numbers.get("bits", 0)}


def _real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(name, value, allowed="a number", fix="write it without quotation marks")
    return float(value)


def _key(party: str, text: Any) -> bytes:
    try:
        key = bytes.fromhex(text)
    except (TypeError, ValueError):
        key = b""
    if len(key) != 32:
        raise ParameterError(f"parties.{party}", text, allowed="64 digits 0-9 and a-f", fix="what deniable party keys printed")
    return key
