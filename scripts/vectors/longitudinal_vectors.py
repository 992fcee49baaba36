"""The vectors of the mechanisms that answer again and again: words in, report out, and histories with what a device keeps in between.

Part of ``make_vectors``, which passes the functions that make a single case. A history says, for each value in turn, whether its answer was
known (and free), what was drawn and must be kept, and the report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deniable.client import LOLOHA, RAPPOR, DBitFlipPM, LongitudinalGRR, LongitudinalUnary, OneBitMeanPM
from deniable.client.diary import Diary
from deniable.client.longitudinal import Longitudinal
from deniable.contract.canonical import to_plain
from deniable.contract.domain import Categories, Integers, Text
from deniable.testing import ReplaySource

LARGE = 2**64 - 1
Case = Callable[[Any, Any, str], dict[str, Any]]
Refused = Callable[[Any], list[dict[str, str]]]

EXAMPLES: dict[str, list[tuple[Longitudinal, list[Any]]]] = {
    "LongitudinalGRR": [
        (LongitudinalGRR(domain_size=2, epsilon=2.0, first_epsilon=1.0), [0, 1]),
        (LongitudinalGRR(domain_size=5, epsilon=1.0), [0, 2, 4]),
        (LongitudinalGRR(domain=Categories("red", "green", "blue"), epsilon=4.0, first_epsilon=0.3), ["red", "blue"]),
        (LongitudinalGRR(domain_size=1024, epsilon=8.0, first_epsilon=7.0), [0, 1023]),
    ],
    "LongitudinalUnary": [
        (LongitudinalUnary(domain_size=2, epsilon=2.0, first_epsilon=1.0), [0, 1]),
        (LongitudinalUnary(domain_size=5, epsilon=1.0, optimized=0), [0, 2, 4]),
        (LongitudinalUnary(domain=Categories("a", "b", "c", "d"), epsilon=4.0, first_epsilon=0.3, optimized=2), ["a", "d"]),
        (LongitudinalUnary(domain_size=65, epsilon=2.0, first_epsilon=0.5, optimized=3), [0, 63, 64]),
        (LongitudinalUnary(domain_size=200, epsilon=4.0, first_epsilon=2.0), [0, 199]),
    ],
    "LOLOHA": [
        (LOLOHA(domain_size=2, epsilon=2.0, first_epsilon=1.0, hash_range=2), [0, 1]),
        (LOLOHA(domain_size=5, epsilon=1.0), [0, 2, 4]),
        (LOLOHA(domain_size=1024, epsilon=4.0, first_epsilon=2.0), [0, 1023]),
        (LOLOHA(domain=Integers(0, LARGE), epsilon=2.0, first_epsilon=1.5), [0, 2**32, LARGE]),
        (LOLOHA(domain=Text(64), epsilon=2.0), ["", "tea", "日本"]),
    ],
    "DBitFlipPM": [
        (DBitFlipPM(domain_size=2, epsilon=1.0, bits=1), [0, 1]),
        (DBitFlipPM(domain_size=5, epsilon=1.0, bits=3, first_epsilon=0.5), [0, 2, 4]),
        (DBitFlipPM.with_gamma("1/5", domain=Categories("a", "b", "c", "d"), epsilon=1.0, bits=1), ["a", "d"]),
        (DBitFlipPM(domain_size=32, epsilon=2.0, bits=4), [0, 31]),
        (DBitFlipPM(domain_size=300, epsilon=4.0, bits=65, first_epsilon=3.0), [0, 299]),
    ],
    "OneBitMeanPM": [
        (OneBitMeanPM(low=0, high=100, epsilon=1.0), [0, 37, 100]),
        (OneBitMeanPM.with_gamma("1/5", low=0, high=21600, epsilon=1.0), [0, 1, 21600]),
        (OneBitMeanPM(low=-30, high=30, steps=4, epsilon=2.0, first_epsilon=0.5), [-30, 8, 30]),
        (OneBitMeanPM(low=0, high=2**40, epsilon=2.0, first_epsilon=0.5), [0, 2**39 + 1, 2**40]),
        (OneBitMeanPM(low=-1, high=2**53 - 1, epsilon=1.0), [-1, 2**52, 2**53 - 1]),
    ],
    "RAPPOR": [
        (RAPPOR(domain_size=2, epsilon=2.0, bits=4, hashes=1, cohorts=2), [0, 1]),
        (RAPPOR.from_probabilities(f="1/2", p="1/2", q="3/4", domain_size=5, bits=6, hashes=2, cohorts=3, salt=7), [0, 2, 4]),
        (RAPPOR.from_probabilities(f=0.5, p=0.25, q=0.75, domain=Text(64), bits=32, hashes=2, cohorts=16), ["", "tea", "日本"]),
        (RAPPOR(domain_size=50, epsilon=4.0, first_epsilon=1.0), [0, 49]),
    ],
}


def longitudinal(case: Case, refused_reports: Refused, refused_specs: Refused) -> dict[str, dict[str, Any]]:
    """The content of each file, by mechanism. The name of the mechanism stands under ``longitudinal``."""
    files = {}
    for name, examples in EXAMPLES.items():
        files[name] = {
            "longitudinal": name,
            "cases": [
                case(spec, value, f"{name}/{i}/{value!r}/{j}")
                for i, (spec, values) in enumerate(examples)
                for value in values
                for j in range(3)
            ],
            "histories": [
                history(spec, [values[0], values[-1], values[0]], f"{name}/{i}/again") for i, (spec, values) in enumerate(examples)
            ],
            "refused_reports": [bad for spec, _ in examples for bad in refused_reports(spec)],
            "refused_specs": [bad for spec, _ in examples for bad in _refused(spec, refused_specs)],
        }
    return files


def _refused(spec: Longitudinal, refused_specs: Refused) -> list[dict[str, str]]:
    """RAPPOR takes any coin that keeps its epsilons and is not much better: there, a little less noise is what must be refused."""
    found = refused_specs(spec)
    if isinstance(spec, RAPPOR):
        rise = spec.thresholds["raise_again"]
        bolder = spec.canonical.decode().replace(f'"raise_again":"{rise}"', f'"raise_again":"{rise - 2**32}"')
        found[0] = {"spec": bolder, "why": "less noise than epsilon allows"}
    return found


def history(spec: Longitudinal, values: list[Any], key: str) -> dict[str, Any]:
    """One device, asked several times."""
    source, kept, steps = ReplaySource.from_key(key), dict[str, bytes](), []
    for value in values:
        diary = Diary(spec, value)
        diary.open(kept)
        known, report = diary.known, diary.report(source)
        drawn = {name: content.hex() for name, content in diary.drawn.items()}
        steps.append({"value": to_plain(value), "known": known, "drawn": drawn, "report": spec.encode(report).hex()})
        kept |= diary.drawn
    words = [f"{word:016x}" for word in ReplaySource.from_key(key).words(source.consumed)]
    return {"spec": spec.canonical.decode(), "words": words, "steps": steps}
