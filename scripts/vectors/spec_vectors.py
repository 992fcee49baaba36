"""The vectors beneath and around the mechanisms: canonical JSON, exact numbers, and specs at the limits of their parameters.

Part of ``make_vectors``. A case says what must come out; what is listed under ``refused`` must be refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from math import ceil
from typing import Any
from unittest.mock import patch

from numeric_vectors import MAKERS as NUMERIC
from numeric_vectors import bad_parameters, bad_ranges

from deniable.client import (
    BLH,
    CMS,
    FLH,
    GRR,
    HCMS,
    HRR,
    OLH,
    OUE,
    PGR,
    RR,
    RWS,
    SHE,
    SUE,
    THE,
    BloomRR,
    DBitFlip,
    DiscreteLaplace,
    HadamardResponse,
    OneBitMean,
    SignRR,
    SubsetSelection,
)
from deniable.contract.canonical import canonical_json, number, parse_canonical
from deniable.contract.domain import Bytes, Domain, IndexRange, Integers, Text
from deniable.contract.numbers import Numbers
from deniable.contract.probability import exp_above, exp_below, log_above
from deniable.contract.source import ONE
from deniable.contract.spec import Spec
from deniable.errors import DeniableError

LARGE = 2**64 - 1
EPSILONS = [1e-8, 1e-5, 0.001, 0.1, 0.3, 1 / 3, 0.9999999999999999, 1.0, 2.5, 7.77, 16.0, 20.5, 24.0, 29.0, 30.0]


def canonical() -> dict[str, Any]:
    """Texts that are canonical, and bytes that are not."""
    good: list[Any] = [
        {}, [], "", True, False, 0, -7, 2**53 - 1, 1 - 2**53, {"a": [], "b": {"c": ""}}, "naïve 日本 \U0001f600",
        "\u007f\u0080\u2028\u2029",
        '"\\/\b\f\n\r\t\u0000\u001f', {"": 1, "A": 2, "a": 3, "\uffff": 4, "\U0001f600": 5}, {"10": 1, "9": 2, "__proto__": 3}, "2" * 400,
    ]  # fmt: skip
    bad: dict[str, bytes] = {
        "nothing": b"", "null": b"null", "null inside": b'{"a":null}', "a float": b"1.0", "an exponent": b"1e2", "minus zero": b"-0",
        "2^53": b"9007199254740992", "-2^53": b"-9007199254740992", "a long integer": b"1" * 400, "white space": b'{"a": 1}',
        "a space before": b" 1", "a line end after": b"1\n", "names out of order": b'{"b":1,"a":2}', "a name twice": b'{"a":1,"a":1}',
        "names in the order of UTF-16": '{"\U0001f600":5,"\uffff":4}'.encode(), "numbers as names, by size": b'{"9":2,"10":1}',
        "a byte order mark": b"\xef\xbb\xbf1", "not UTF-8": b'"\xff"', "overlong UTF-8": b'"\xc0\xaf"', "half a surrogate": b'"\\ud800"',
        "half a surrogate in UTF-8": b'"\xed\xa0\x80"', "an escaped letter": b'"\\u0061"', "an escaped slash": b'"\\/"',
        "an escape in capitals": b'"\\u001F"', "a long escape": b'"\\u000a"', "a raw control character": b'"\n"', "two values": b"1 2",
        "truncated": b'{"a":1', "a comma too many": b"[1,]", "an apostrophe": b"'a'", "NaN": b"NaN", "infinity": b"-Infinity",
        "a leading zero": b"01", "a plus": b"+1", "a comment": b"1//",
    }  # fmt: skip
    refused = [{"why": why, "bytes": data.hex()} for why, data in bad.items()]
    return {"cases": [canonical_json(value).decode() for value in good], "refused": refused}


def probability() -> dict[str, Any]:
    """Exponentials and logarithms, as exactly as thresholds need them."""
    shares = [Fraction(1), Fraction(1, 2), Fraction(1, 7), Fraction(-1, 128), Fraction(-31, 100), Fraction(-61855, 200_000)]
    powers = [
        {"epsilon": repr(epsilon), "share": str(share), "below": str(exp_below(epsilon, share)), "above": str(exp_above(epsilon, share))}
        for epsilon in EPSILONS
        for share in shares
    ]
    ratios = [
        Fraction(3),
        Fraction(ONE + 1, ONE),
        Fraction(10**9 + 1, 10**9),
        Fraction(7, 2),
        Fraction(ONE - 1),
        Fraction(1),
        Fraction(1, 2),
    ]
    ratios += [exp_below(epsilon) for epsilon in EPSILONS] + [exp_above(epsilon, Fraction(1)) for epsilon in EPSILONS]
    return {"powers": powers, "logarithms": [{"ratio": str(ratio), "above": repr(log_above(ratio))} for ratio in ratios]}


MAKERS: list[Callable[[float], Spec]] = [
    lambda epsilon: RR(epsilon=epsilon),
    lambda epsilon: GRR(domain_size=3, epsilon=epsilon),
    lambda epsilon: GRR(domain_size=2**26, epsilon=epsilon),
    lambda epsilon: OUE(domain_size=9, epsilon=epsilon),
    lambda epsilon: SUE(domain_size=9, epsilon=epsilon),
    lambda epsilon: THE(domain_size=9, epsilon=epsilon),
    lambda epsilon: THE(domain_size=9, epsilon=epsilon, theta=0.9999999999999999),
    lambda epsilon: SHE(domain_size=3, epsilon=epsilon),
    lambda epsilon: OLH(domain=Text(9), epsilon=epsilon, hash_range=5),
    lambda epsilon: OLH(domain_size=ONE, epsilon=epsilon),
    lambda epsilon: BLH(domain=Bytes(9), epsilon=epsilon),
    lambda epsilon: FLH(domain=Text(9), epsilon=epsilon, salt=LARGE),
    lambda epsilon: CMS(domain=Text(9), epsilon=epsilon, hashes=7, width=9),
    lambda epsilon: HCMS(domain=Integers(-(2**63), 2**63 - 1), epsilon=epsilon, hashes=7, width=16, salt=2**53),
    lambda epsilon: HRR(domain_size=9, epsilon=epsilon),
    lambda epsilon: HadamardResponse(domain_size=9, epsilon=epsilon),
    lambda epsilon: HadamardResponse(domain_size=9, epsilon=epsilon, blocks=16),
    lambda epsilon: PGR(domain_size=9, epsilon=epsilon),
    lambda epsilon: RWS(domain_size=9, epsilon=epsilon),
    lambda epsilon: DBitFlip(domain_size=9, epsilon=epsilon, bits=1),
    lambda epsilon: DBitFlip(domain_size=9, epsilon=epsilon, bits=9),
    lambda epsilon: BloomRR(domain=Text(9), epsilon=epsilon, bits=9, hashes=5, cohorts=3, salt=LARGE),
    lambda epsilon: SubsetSelection(domain_size=9, epsilon=epsilon),
]


def specs() -> dict[str, Any]:
    """Each mechanism over the whole range of epsilon, and what its parameters may not be."""
    cases, refused = [], []
    for make in (*MAKERS, *NUMERIC):
        for epsilon in EPSILONS:
            try:
                spec = make(epsilon)
            except DeniableError:  # refused: written down as if it were not, where the mechanism can say its thresholds at all
                try:
                    with patch("deniable.client.frequency.check_resolution"), patch("deniable.client.numeric.check_resolution"):
                        refused.append({"why": "probabilities of too few digits", "spec": make(epsilon).canonical.decode()})
                except DeniableError:
                    continue
            else:
                cases.append({"spec": spec.canonical.decode(), "digest": spec.digest.hex()})
    return {"cases": cases, "refused": refused + _refused_parameters() + _refused_coins() + _refused_domains()}


def _refused_parameters() -> list[dict[str, str]]:
    bad: list[tuple[Spec, dict[str, Any]]] = [
        (GRR(domain_size=4, epsilon=1.0), {"epsilon": 1}),
        (GRR(domain_size=4, epsilon=1.0), {"epsilon": "1"}),
        (OLH(domain_size=9, epsilon=1.0), {"hash_range": 1}),
        (OLH(domain_size=9, epsilon=1.0), {"hash_range": 2**31 + 1}),
        (OLH(domain_size=9, epsilon=1.0), {"hash_range": "4.0"}),
        (OLH(domain_size=9, epsilon=1.0), {"hash_range": True}),
        (BLH(domain_size=9, epsilon=1.0), {"hash_range": 3}),
        (FLH(domain_size=9, epsilon=1.0), {"hashes": 0}),
        (FLH(domain_size=9, epsilon=1.0), {"hashes": 2**20 + 1}),
        (FLH(domain_size=9, epsilon=1.0, hashes=9), {"salt": str(ONE)}),
        (FLH(domain_size=9, epsilon=1.0, hashes=9), {"salt": "7"}),
        (FLH(domain_size=9, epsilon=1.0, hashes=9), {"salt": str(2**53 - 1)}),
        (FLH(domain_size=9, epsilon=1.0, hashes=9), {"salt": -1}),
        (CMS(domain_size=9, epsilon=1.0), {"width": 1}),
        (CMS(domain_size=9, epsilon=1.0), {"hashes": 2**20, "width": 2**9}),
        (HCMS(domain_size=9, epsilon=1.0), {"width": 1000}),
        (BloomRR(domain_size=9, epsilon=1.0), {"cohorts": 2**16, "bits": 2**16}),
        (BloomRR(domain_size=9, epsilon=1.0), {"hashes": 33}),
        (SubsetSelection(domain_size=9, epsilon=1.0), {"size": 9}),
        (SubsetSelection(domain_size=9, epsilon=1.0), {"size": 0}),
        (RWS(domain_size=9, epsilon=1.0), {"size": 11}),
        (PGR(domain_size=9, epsilon=1.0), {"order": 4}),
        (PGR(domain_size=9, epsilon=1.0), {"order": 2, "dimension": 2}),
        (PGR(domain_size=9, epsilon=1.0), {"order": 2, "dimension": 29}),
        (HadamardResponse(domain_size=9, epsilon=1.0), {"blocks": 3}),
        (HadamardResponse(domain_size=9, epsilon=1.0), {"blocks": 32}),
        (DBitFlip(domain_size=9, epsilon=1.0), {"bits": 10}),
        (SHE(domain_size=3, epsilon=1.0), {"steps": 63}),
        (SHE(domain_size=3, epsilon=1.0), {"steps": 2**13 + 2}),
        (THE(domain_size=3, epsilon=1.0), {"theta": "0.5"}),
        (THE(domain_size=3, epsilon=1.0), {"theta": "0.750"}),
        (THE(domain_size=3, epsilon=1.0), {"theta": 1}),
        *bad_parameters(),
    ]
    found = []
    for spec, change in bad:
        content = parse_canonical(spec.canonical)
        changed = {**content, "parameters": {**content["parameters"], **change}, "thresholds": _thresholds(spec, change)}
        found.append({"why": f"{spec.mechanism} with {change}", "spec": canonical_json(changed).decode()})
        name = next(iter(change))
        less = {**content, "parameters": {key: value for key, value in content["parameters"].items() if key != name}}
        found.append({"why": f"{spec.mechanism} without {name}", "spec": canonical_json(less).decode()})
    return found


def _thresholds(spec: Spec, change: dict[str, Any]) -> Any:
    """The thresholds that fit the changed parameters, where they can be computed: then nothing but the parameter itself is wrong."""
    change = {name: float(value) if isinstance(value, str) and "." in value else value for name, value in change.items()}
    other: Spec = object.__new__(type(spec))  # past all checks
    other.__dict__.update({field.name: getattr(spec, field.name) for field in fields(spec)} | change)  # type: ignore[arg-type]  # a dataclass
    try:
        return {name: number(value) for name, value in other.thresholds.items()}
    except (TypeError, ValueError, ArithmeticError, DeniableError):
        return parse_canonical(spec.canonical)["thresholds"]


def _refused_coins() -> list[dict[str, str]]:
    """RR takes any coin that keeps its epsilon and is not much better."""
    keep, lie = 13485650502877570762, 4961093570831980854
    often = 9 * ONE // 10
    seldom = ceil(often / exp_below(1.0))  # as often is to seldom, so is e^epsilon to 1
    coins = {
        "one step beyond epsilon": {"yes_if_true": str(keep + 1), "yes_if_false": str(lie)},
        "one step beyond epsilon on the other side": {"yes_if_true": str(keep), "yes_if_false": str(lie - 1)},
        "epsilon for yes and more for no": {"yes_if_true": str(often), "yes_if_false": str(seldom)},
        "epsilon for no and more for yes": {"yes_if_true": str(ONE - seldom), "yes_if_false": str(ONE - often)},
        "much less than epsilon": {"yes_if_true": str(keep - 2**40), "yes_if_false": str(lie)},
        "a coin that says nothing": {"yes_if_true": str(ONE // 2), "yes_if_false": str(ONE // 2)},
        "sides exchanged": {"yes_if_true": str(lie), "yes_if_false": str(keep)},
        "certainty": {"yes_if_true": str(ONE), "yes_if_false": str(lie)},
        "impossibility": {"yes_if_true": str(keep), "yes_if_false": 0},
        "a negative side": {"yes_if_true": str(keep), "yes_if_false": -1},
        "one side": {"yes_if_true": str(keep)},
        "three sides": {"yes_if_true": str(keep), "yes_if_false": str(lie), "keep": str(keep)},
        "another spelling": {"yes_if_true": f"0{keep}", "yes_if_false": str(lie)},
        "a list": [str(keep), str(lie)],
    }
    content = parse_canonical(RR(epsilon=1.0).canonical)
    return [{"why": why, "spec": canonical_json({**content, "thresholds": coin}).decode()} for why, coin in coins.items()]


def _refused_domains() -> list[dict[str, str]]:
    """Domains that are none, and domains that a mechanism cannot list."""
    plain: list[tuple[Spec, Any]] = [(OLH(domain_size=4, epsilon=1.0), domain) for domain in _bad_domains()]
    listed: list[tuple[Spec, Domain]] = [
        (RR(epsilon=1.0), IndexRange(3)),
        (GRR(domain_size=4, epsilon=1.0), IndexRange(2**26 + 1)),
        (GRR(domain_size=4, epsilon=1.0), Text(4)),
        (OUE(domain_size=4, epsilon=1.0), IndexRange(2**24 + 1)),
        (RWS(domain_size=4, epsilon=1.0), IndexRange(2**32)),
        (HRR(domain_size=4, epsilon=1.0), Bytes(4)),
        (OneBitMean(low=0, high=1, epsilon=1.0), IndexRange(2)),
        (SignRR(epsilon=1.0), Numbers(-1, 1, steps=2)),
        (DiscreteLaplace(low=0, high=1, epsilon=1.0), Numbers(0, 1, steps=1338)),
    ]
    plain += [(spec, domain.to_json()) for spec, domain in listed]
    found = []
    for spec, domain in plain:
        content = parse_canonical(spec.canonical)
        text = canonical_json({**content, "parameters": {**content["parameters"], "domain": domain}}).decode()
        found.append({"why": f"{spec.mechanism} on {domain}", "spec": text})
    return found


def _bad_domains() -> list[Any]:
    sizes: list[Any] = [1, "4", "4.0", True, str(ONE + 1)]
    labels: list[Any] = [["a"], ["a", "a", "b", "c"], "abcd", [1, 2, 3, 4]]
    bounds: list[tuple[Any, Any]] = [(4, 4), (7, 4), (1, str(ONE)), (str(-(2**63) - 1), 0), (0, str(ONE)), (-1, str(LARGE))]
    found: list[Any] = [4, "4", [], {"size": 4}, {"kind": "index"}, {"kind": "index", "labels": [], "size": 4}]
    found += [{"kind": "index", "size": size} for size in sizes]
    found += [{"kind": "categories", "labels": names} for names in labels]
    found += [{"kind": "integers", "low": low, "high": high} for low, high in bounds]
    found += bad_ranges()
    return [*found, {"kind": "text", "max_length": 0}, {"kind": "text", "max_length": 65_536}, {"kind": "words", "max_length": 4}]
