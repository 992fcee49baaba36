"""Write vectors/: for each mechanism, words in, report out; what must be refused; the primitives; the hash families; what else travels.

Vectors are normative: every implementation must replay them. Run this only to add cases; a changed case is a changed format.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from client_vectors import answerable, budget
from encoder_vectors import encoders
from longitudinal_vectors import longitudinal
from model_vectors import models
from notice_vectors import sealing
from numeric_vectors import EXAMPLES as NUMERIC
from rating_vectors import ratings
from set_vectors import sets
from spec_vectors import canonical, probability, specs
from task_vectors import envelopes, rounds, tasks
from text_vectors import texts
from token_vectors import signatures, tokens
from track_vectors import tracks
from verdict_vectors import verdicts

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
    HadamardResponse,
    SubsetSelection,
)
from deniable.client.frequency import FrequencySpec
from deniable.contract.canonical import to_plain
from deniable.contract.domain import Bytes, Categories, Integers, Text
from deniable.contract.hashing import HashFamily, public_function, string_key
from deniable.contract.source import ONE, Source
from deniable.testing import ReplaySource

FOLDER = Path(__file__).parents[2] / "vectors"
STRINGS = ["", "tea", "Tea", "naïve", "日本", "a" * 64]
LARGE = 2**64 - 1

EXAMPLES: dict[str, list[tuple[FrequencySpec, list[Any]]]] = {
    "RR": [
        (RR(epsilon=1.0), [0, 1]),
        (RR(epsilon=0.1, domain=Categories("no", "yes")), ["no", "yes"]),
        (RR.from_probabilities("3/4", "1/8"), [0, 1]),
    ],
    "GRR": [
        (GRR(domain_size=2, epsilon=1.0), [0, 1]),
        (GRR(domain_size=5, epsilon=0.5), [0, 2, 4]),
        (GRR(domain=Categories("red", "green", "blue"), epsilon=2.0), ["red", "blue"]),
        (GRR(domain=Integers(-3, 4), epsilon=1.0), [-3, 4]),
        (GRR(domain_size=1024, epsilon=4.0), [0, 1023]),
        (GRR(domain_size=2**20, epsilon=8.0), [0, 2**20 - 1]),
    ],
    "OUE": [
        (OUE(domain_size=2, epsilon=1.0), [0, 1]),
        (OUE(domain_size=5, epsilon=0.5), [0, 2, 4]),
        (OUE(domain=Categories("a", "b", "c", "d"), epsilon=2.0), ["a", "d"]),
        (OUE(domain_size=64, epsilon=1.0), [0, 63]),
        (OUE(domain_size=65, epsilon=1.0), [0, 63, 64]),
        (OUE(domain_size=200, epsilon=4.0), [0, 199]),
    ],
    "OLH": [
        (OLH(domain_size=2, epsilon=1.0), [0, 1]),
        (OLH(domain_size=5, epsilon=0.5), [0, 2, 4]),
        (OLH(domain_size=1024, epsilon=1.0, hash_range=7), [0, 1023]),
        (OLH(domain_size=2**32, epsilon=6.0), [0, 2**32 - 1]),
        (OLH(domain=Integers(0, LARGE), epsilon=1.0), [0, 2**32, LARGE]),
        (OLH(domain=Text(64), epsilon=2.0), ["", "tea", "日本"]),
        (OLH(domain=Bytes(8), epsilon=2.0), [b"", b"\x00\xff"]),
    ],
    "SUE": [
        (SUE(domain_size=2, epsilon=1.0), [0, 1]),
        (SUE(domain_size=5, epsilon=0.5), [0, 2, 4]),
        (SUE(domain=Categories("a", "b", "c", "d"), epsilon=2.0), ["a", "d"]),
        (SUE(domain_size=100, epsilon=4.0), [0, 99]),
    ],
    "THE": [
        (THE(domain_size=2, epsilon=1.0), [0, 1]),
        (THE(domain_size=5, epsilon=0.5), [0, 2, 4]),
        (THE(domain_size=70, epsilon=2.0, theta=0.75), [0, 69]),
    ],
    "BLH": [
        (BLH(domain_size=2, epsilon=1.0), [0, 1]),
        (BLH(domain_size=5, epsilon=0.5), [0, 2, 4]),
        (BLH(domain=Text(64), epsilon=2.0), ["", "日本"]),
    ],
    "HadamardResponse": [
        (HadamardResponse(domain_size=2, epsilon=1.0), [0, 1]),
        (HadamardResponse(domain_size=5, epsilon=0.5), [0, 2, 4]),
        (HadamardResponse(domain_size=6, epsilon=1.0, blocks=4), [0, 3, 5]),
        (HadamardResponse(domain=Categories("a", "b", "c", "d"), epsilon=2.0), ["a", "d"]),
        (HadamardResponse(domain_size=1000, epsilon=4.0), [0, 511, 999]),
    ],
    "HRR": [
        (HRR(domain_size=2, epsilon=1.0), [0, 1]),
        (HRR(domain_size=5, epsilon=0.5), [0, 2, 4]),
        (HRR(domain=Categories("a", "b", "c", "d"), epsilon=2.0), ["a", "d"]),
        (HRR(domain_size=1000, epsilon=1.0), [0, 511, 999]),
    ],
    "FLH": [
        (FLH(domain_size=2, epsilon=1.0, hashes=3), [0, 1]),
        (FLH(domain_size=5, epsilon=0.5, hashes=4, salt=7), [0, 2, 4]),
        (FLH(domain_size=1000, epsilon=1.0, hash_range=7), [0, 999]),
        (FLH(domain=Integers(0, LARGE), epsilon=1.0, hashes=100), [0, 2**32, LARGE]),
        (FLH(domain=Text(64), epsilon=2.0), ["", "tea", "日本"]),
    ],
    "CMS": [
        (CMS(domain_size=2, epsilon=1.0, hashes=3, width=3), [0, 1]),
        (CMS(domain_size=5, epsilon=0.5, hashes=2, width=5, salt=7), [0, 2, 4]),
        (CMS(domain_size=1000, epsilon=4.0, hashes=300, width=100), [0, 999]),
        (CMS(domain=Text(64), epsilon=2.0, hashes=16, width=64), ["", "日本"]),
    ],
    "HCMS": [
        (HCMS(domain_size=2, epsilon=1.0, hashes=3, width=4), [0, 1]),
        (HCMS(domain_size=5, epsilon=0.5, hashes=2, width=8, salt=7), [0, 2, 4]),
        (HCMS(domain_size=1000, epsilon=4.0), [0, 999]),
        (HCMS(domain=Text(64), epsilon=2.0, hashes=16, width=64), ["", "日本"]),
    ],
    "SHE": [
        (SHE(domain_size=2, epsilon=1.0), [0, 1]),
        (SHE(domain_size=3, epsilon=0.5), [0, 2]),
        (SHE(domain=Categories("a", "b", "c", "d"), epsilon=2.0, steps=2), ["a", "d"]),
        (SHE(domain_size=17, epsilon=7.5, steps=30), [0, 8, 16]),
    ],
    "DBitFlip": [
        (DBitFlip(domain_size=2, epsilon=1.0, bits=1), [0, 1]),
        (DBitFlip(domain_size=2, epsilon=1.0, bits=2), [0, 1]),
        (DBitFlip(domain_size=5, epsilon=0.5, bits=3), [0, 2, 4]),
        (DBitFlip(domain=Categories("a", "b", "c", "d"), epsilon=2.0, bits=1), ["a", "d"]),
        (DBitFlip(domain_size=128, epsilon=1.0), [0, 127]),
        (DBitFlip(domain_size=300, epsilon=4.0, bits=65), [0, 299]),
    ],
    "BloomRR": [
        (BloomRR(domain_size=2, epsilon=1.0, bits=4, hashes=1, cohorts=2), [0, 1]),
        (BloomRR(domain_size=5, epsilon=0.5, bits=6, hashes=2, cohorts=3, salt=7), [0, 2, 4]),
        (BloomRR(domain_size=50, epsilon=4.0), [0, 49]),
        (BloomRR(domain=Text(64), epsilon=2.0, bits=32, cohorts=16), ["", "tea", "日本"]),
    ],
    "SubsetSelection": [
        (SubsetSelection(domain_size=2, epsilon=1.0), [0, 1]),
        (SubsetSelection(domain_size=5, epsilon=0.5), [0, 2, 4]),
        (SubsetSelection(domain_size=8, epsilon=1.0, size=5), [0, 7]),
        (SubsetSelection(domain_size=64, epsilon=1.0), [0, 63]),
        (SubsetSelection(domain_size=65, epsilon=1.0), [0, 63, 64]),
        (SubsetSelection(domain_size=66, epsilon=0.1), [0, 65]),
        (SubsetSelection(domain_size=200, epsilon=4.0), [0, 100, 199]),
    ],
    "RWS": [
        (RWS(domain_size=2, epsilon=1.0), [0, 1]),
        (RWS(domain_size=3, epsilon=0.1), [0, 2]),
        (RWS(domain_size=8, epsilon=0.5), [0, 3, 7]),
        (RWS(domain=Categories("a", "b", "c", "d"), epsilon=2.0), ["a", "d"]),
        (RWS(domain_size=11, epsilon=1.0, size=7), [0, 10]),
        (RWS(domain_size=256, epsilon=1.0), [0, 255]),
        (RWS(domain=Integers(-500, 499), epsilon=4.0), [-500, 499]),
        (RWS(domain_size=4_294_967_291, epsilon=2.0), [0, 2**31, 4_294_967_290]),
    ],
    "PGR": [
        (PGR(domain_size=2, epsilon=1.0), [0, 1]),
        (PGR(domain_size=3, epsilon=2.0), [0, 2]),
        (PGR(domain_size=12, epsilon=0.5), [0, 1, 4, 11]),
        (PGR(domain=Categories("a", "b", "c", "d"), epsilon=1.0, order=2), ["a", "d"]),
        (PGR(domain_size=30, epsilon=1.0, order=5, dimension=3), [0, 5, 6, 29]),
        (PGR(domain_size=40, epsilon=0.1, order=2), [0, 30, 39]),
        (PGR(domain_size=100, epsilon=4.0), [0, 99]),
        (PGR(domain_size=1000, epsilon=1.0), [0, 363, 999]),
        (PGR(domain_size=300_000, epsilon=1.0), [0, 299_999]),
    ],
}


def main() -> None:
    """Write all files."""
    for name, examples in [*EXAMPLES.items(), *NUMERIC.items()]:
        cases = [
            case(spec, value, f"{name}/{i}/{value!r}/{j}")
            for i, (spec, values) in enumerate(examples)
            for value in values
            for j in range(4)
        ]
        reports = [bad for spec, _ in examples for bad in refused_reports(spec)]
        wrong = [bad for spec, _ in examples for bad in refused_specs(spec)]
        _write(name, {"mechanism": name, "cases": cases, "refused_reports": reports, "refused_specs": wrong})
    for name, content in longitudinal(case, refused_reports, refused_specs).items():
        _write(name, content)
    _write("source", {"cases": primitives()})
    strings = [[text, f"{string_key(text.encode()):016x}"] for text in STRINGS]
    _write("hashing", {"strings": strings, "symbols": symbols(), "public": public_symbols()})
    documents = (canonical, probability, specs, encoders, tasks, rounds, envelopes)
    for content in (*documents, sets, models, texts, tracks, ratings, budget, tokens, signatures, answerable, sealing, verdicts):
        _write(content.__name__, content())


def case(spec: FrequencySpec, value: Any, key: str) -> dict[str, Any]:
    """One report from a fixed stream, with exactly the words that it consumed."""
    source = ReplaySource.from_key(key)
    report = spec.randomize(value, source)
    return {
        "spec": spec.canonical.decode(),
        "digest": spec.digest.hex(),
        "value": to_plain(value),
        "words": [f"{word:016x}" for word in ReplaySource.from_key(key).words(source.consumed)],
        "report": spec.encode(report).hex(),
    }


def refused_reports(spec: FrequencySpec) -> list[dict[str, str]]:
    """Bytes that are not a report of this spec."""
    good = spec.encode(spec.randomize(_some_value(spec), ReplaySource.from_key("refused")))
    bad = {"truncated": good[:-1], "padded": good + b"\0"}
    last = spec.layout[-1]
    if last.packed and last.count % 8:
        bad["unused bits set"] = good[:-1] + bytes([good[-1] | 1 << last.count % 8])
    if last.ones is not None:
        bad["another number of members"] = bytes([good[0] ^ 1]) + good[1:]
    if not last.packed and last.limit < 1 << last.bits:
        bad["symbol out of range"] = good[: -last.row_bytes] + last.limit.to_bytes(last.row_bytes, "little")
    first = spec.layout[0]
    if first.increasing and first.count > 1:
        width = first.bits // 8
        bad["two items exchanged"] = good[width : 2 * width] + good[:width] + good[2 * width :]
        bad["an item twice"] = good[:width] + good[:width] + good[2 * width :]
    return [{"spec": spec.canonical.decode(), "why": why, "report": payload.hex()} for why, payload in bad.items()]


def refused_specs(spec: FrequencySpec) -> list[dict[str, str]]:
    """Specs that promise one thing and do another, or are not spelled canonically."""
    content = json.loads(spec.canonical)
    name, threshold = list(content["thresholds"].items())[-1]
    more = {**content, "thresholds": {**content["thresholds"], name: str(int(threshold) + 2**32)}}
    loose = {**content, "parameters": {**content["parameters"], "epsilon": content["parameters"]["epsilon"] + "0"}}
    float_ = {**content, "parameters": {**content["parameters"], "epsilon": spec.epsilon}}
    bad = {
        "another threshold than epsilon allows": more,
        "epsilon in another spelling": loose,
        "a float": float_,
        "an unknown parameter": {**content, "parameters": {**content["parameters"], "seed": 7}},
        "an unknown mechanism": {**content, "mechanism": "Identity"},
    }
    return [{"spec": json.dumps(item, sort_keys=True, separators=(",", ":"), ensure_ascii=False), "why": why} for why, item in bad.items()]


def primitives() -> list[dict[str, Any]]:
    """Each primitive on fixed streams, rejections and corner thresholds included."""
    thresholds = [0, 1, ONE // 4, ONE // 2, ONE - 1, ONE, 4961093570831980854]
    edge = [0, LARGE, ONE // 2, ONE // 2 - 1]
    found = [_primitive("bernoulli", [a], iter(edge[i:] + edge)) for a in thresholds for i in range(len(edge))]
    ratios = [(0, 1), (1, 1), (1, 3), (2, 3), (1, 2**80), (2**80 - 1, 2**80), (5, 7 * 2**64)]
    found += [_primitive("bernoulli_ratio", [a, b], iter(edge[i:] + edge)) for a, b in ratios for i in range(len(edge))]
    ties = [ONE // 3, ONE // 3, 0], [ONE // 3, ONE // 3, LARGE]  # 1/3 has the same digits in every word
    found += [_primitive("bernoulli_ratio", [1, 3], iter(words)) for words in ties]
    found += [_primitive("bernoulli_bits", [a, k], _words(f"bits/{a}/{k}")) for a in thresholds for k in (1, 63, 64, 65, 130)]
    found += [_primitive("below", [k], _words(f"below/{k}")) for k in (1, 2, 3, 1000, 2**33 + 1)]
    found += [_primitive("below", [3 * 2**62], iter([0, 2, 2**63 + 1, 5, 7])), _primitive("below", [3], iter([0, 1]))]  # rejected first
    tables = [[ONE // 2], [1], [LARGE], [1, 2, ONE // 4, ONE // 4 + 1, LARGE]]
    words = [sorted({0, LARGE, *table, *(entry - 1 for entry in table)}) for table in tables]  # on an entry, just below it, at the ends
    found += [_primitive("pick", table, iter([word])) for table, edges in zip(tables, words, strict=True) for word in edges]
    return found


def symbols() -> list[dict[str, Any]]:
    """Keys, seeds and the symbols they get."""
    found = []
    for key_bits, count in [(10, 4), (32, 3), (32, 1000), (64, 4), (64, 56)]:
        family = HashFamily(key_bits=key_bits, range=count)
        for i in range(6):
            source = ReplaySource.from_key(f"hash/{key_bits}/{count}/{i}")
            seed, key = source.words(family.seed_words), source.below(1 << key_bits)
            line = {"key_bits": key_bits, "range": count, "seed": [f"{word:016x}" for word in seed], "key": f"{key:016x}"}
            found.append({**line, "symbol": family.symbol(seed, key)})
    return found


def public_symbols() -> list[dict[str, Any]]:
    """The same for the shared functions that a salt and a number name."""
    found = []
    for key_bits, count in [(10, 4), (32, 1000), (64, 1024), (64, 7)]:
        family = HashFamily(key_bits=key_bits, range=count, shared=True)
        for i in range(6):
            key = ReplaySource.from_key(f"public/{key_bits}/{count}/{i}").below(1 << key_bits)
            line = {"key_bits": key_bits, "range": count, "salt": i // 2, "function": 1000 * i, "key": f"{key:016x}"}
            found.append({**line, "symbol": family.symbol(public_function(i // 2, 1000 * i), key)})
    return found


def _primitive(name: str, arguments: list[int], words: Any) -> dict[str, Any]:
    used: list[int] = []

    class Recorder(Source):
        def word(self) -> int:
            used.append(next(words))
            return used[-1]

    result = getattr(Recorder(), name)(*([arguments] if name == "pick" else arguments))  # pick takes a table
    line = {"primitive": name, "arguments": [str(a) for a in arguments], "words": [f"{word:016x}" for word in used]}
    return {**line, "result": str(int(result))}


def _words(key: str) -> Any:
    source = ReplaySource.from_key(key)
    return iter(source.word, None)


def _some_value(spec: FrequencySpec) -> Any:
    return spec.domain.value(0) if spec.domain.listed else ("x" if isinstance(spec.domain, Text) else b"x")


def _write(name: str, content: dict[str, Any]) -> None:
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
