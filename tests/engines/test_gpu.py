"""Where there is no graphics processor: what is said about it. Counts are compared by ``benchmarks/gpu.py``, before it times anything."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from deniable.client import GRR, OLH
from deniable.engines import gpu
from deniable.errors import MissingExtra, ParameterError

SPEC = OLH(domain_size=8, epsilon=1.0)


class NoDriverError(RuntimeError):
    """What CuPy raises where no driver is installed."""


def without_driver():
    raise NoDriverError("cudaErrorNoDevice: no CUDA-capable device is detected")


def cupy_with(count):
    runtime = SimpleNamespace(CUDARuntimeError=NoDriverError, getDeviceCount=count)
    return SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))


def test_without_cupy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingExtra, match=r'pip install "\.\[gpu\]"'):
        gpu.tally(SPEC.privatize([1, 2]), SPEC)


@pytest.mark.parametrize("count", [without_driver, lambda: 0], ids=["no driver", "no device"])
def test_without_a_device_the_processor_is_named(monkeypatch, count):
    monkeypatch.setitem(sys.modules, "cupy", cupy_with(count))
    with pytest.raises(ParameterError, match=r"a machine with a CUDA device.*spec\.tally"):
        gpu.tally(SPEC.privatize([1, 2]), SPEC)


def test_what_needs_no_device_is_sent_back():
    spec = GRR(domain_size=3, epsilon=1.0)
    with pytest.raises(ParameterError, match="OLH, BLH, LOLOHA"):
        gpu.tally(spec.privatize([0, 1]), spec)


def test_counts_from_a_device_become_the_tally_of_the_processor(monkeypatch):
    """All but the kernel: a stand-in counts by the definition, one pair at a time."""

    def by_definition(seeds, symbols, hash_range, keys):
        pairs = [(tuple(map(int, seed)), int(symbol)) for seed, symbol in zip(seeds, symbols, strict=True)]
        return [sum(SPEC.family.symbol(seed, int(key)) == symbol for seed, symbol in pairs) for key in keys]

    monkeypatch.setitem(sys.modules, "cupy", cupy_with(lambda: 1))
    monkeypatch.setattr(gpu, "count_supports", by_definition)
    reports = SPEC.privatize([1, 2, 2, 7] * 50)
    assert gpu.tally(reports, SPEC).to_bytes() == SPEC.tally(reports).to_bytes()
    assert gpu.tally(reports, SPEC, candidates=[7, 2]).to_bytes() == SPEC.tally(reports, candidates=[7, 2]).to_bytes()
