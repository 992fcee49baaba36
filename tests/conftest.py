"""What the tests share: the vectors, and the specs that they name. A new mechanism is found here and needs no test of its own."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from functools import cache
from math import comb, prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from deniable.client.frequency import FrequencySpec
from deniable.client.longitudinal import Longitudinal
from deniable.client.mean import MeanSpec
from deniable.contract.spec import MECHANISMS, spec_from_json
from tests.postgres import postgres, postgres_address  # noqa: F401  # fixtures

ROOT = Path(__file__).parent.parent
VECTORS = ROOT / "vectors"

settings.register_profile("house", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("house")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without looking for garbage: there is hardly any among half a million objects that stay, and it takes as long again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@cache
def vectors(name: str) -> dict[str, Any]:
    """One vector file; a mechanism without one fails here, by name."""
    return json.loads((VECTORS / f"{name}.json").read_text())


@cache
def all_cases() -> list[dict[str, Any]]:
    return [case for name in sorted(MECHANISMS) for case in vectors(name)["cases"]]


@cache
def all_specs() -> list[FrequencySpec]:
    """Every spec in the vectors, each once."""
    texts = dict.fromkeys(case["spec"] for case in all_cases())
    return [spec_from_json(text.encode()) for text in texts]


def frequency_specs() -> list[FrequencySpec]:
    """Those that count values."""
    return [spec for spec in all_specs() if isinstance(spec, FrequencySpec)]


def mean_specs() -> list[MeanSpec]:
    """Every spec for a mean that is asked once, each once."""
    names = sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, MeanSpec) and not issubclass(cls, Longitudinal))
    texts = dict.fromkeys(case["spec"] for name in names for case in vectors(name)["cases"])
    return [spec_from_json(text.encode()) for text in texts]


def some_values(spec: FrequencySpec, count: int) -> list[Any]:
    """Allowed values, the first and the last of the domain among them."""
    if spec.domain.listed:
        last = spec.domain.size - 1
        return [spec.domain.value(last * (i % 7) // 6) for i in range(count)]
    strings = ["", "a", "tea", "é" if spec.domain.kind == "text" else "e"]
    return [strings[i % 4] if spec.domain.kind == "text" else strings[i % 4].encode() for i in range(count)]


def asked_of(spec: FrequencySpec) -> Any:
    """What to ask about: None where the whole domain can be estimated, a short list where it cannot."""
    if spec.domain.listed and spec.domain.size <= 1 << 20:
        return None
    return sorted(set(some_values(spec, 7)))


def candidates_of(spec: FrequencySpec) -> Any:
    """What must be named before the reports are tallied."""
    return asked_of(spec) if spec.candidates_at_tally else None


def drawn_ways(spec: FrequencySpec) -> int:
    """In how many ways a device can draw what does not depend on its value, seeds aside."""
    columns = [column for column in spec.layout if column.drawn and column.limit < 1 << 64]
    return prod(comb(column.limit, column.count) if column.increasing else column.limit**column.count for column in columns)
