"""The clone sum bounds the binary sum's delta and is not equal to it: the truth by all data sets, without the package's engines."""

from __future__ import annotations

import re
from math import exp

import numpy as np
import pytest
from scipy.stats import binom

import deniable as dn
from tests.conftest import ROOT


def true_delta(p: float, q: float, *, n: int, epsilon: float) -> float:
    """The largest divergence over how many of the other people hold 1; what the shuffler shows is how many ones there are."""
    largest = 0.0
    for holders in range(n):
        others = np.convolve(binom.pmf(np.arange(holders + 1), holders, p), binom.pmf(np.arange(n - holders), n - 1 - holders, q))
        one, zero = (np.convolve(others, [1 - truth, truth]) for truth in (p, q))
        largest = max(largest, *(float(np.maximum(a - exp(epsilon) * b, 0).sum()) for a, b in ((one, zero), (zero, one))))
    return largest


def test_the_bound_holds_and_what_the_page_says_about_it_is_true():
    delta = 1e-6
    protocol = dn.shuffle.ShuffledBinarySum(epsilon=1.0, delta=delta, n=1_000)
    truth = true_delta(float(protocol.spec.p), float(protocol.spec.q), n=1_000, epsilon=1.0)
    assert truth == pytest.approx(1.15e-7, rel=0.005)
    page = (ROOT / "docs" / "theory" / "shuffle-protocols.md").read_text()
    section = page.partition("## Binary sum")[2].partition("\n## ")[0]
    assert f"{truth:.3g}" in section, "the figure of the page is the largest over all data sets"
    assert f"{truth:.3g}".replace("e-07", "e-7") in (dn.shuffle.ShuffledBinarySum.__doc__ or "")


def test_no_sentence_of_the_shuffle_pages_takes_the_bound_for_the_truth():
    texts = [path.read_text() for path in (ROOT / "src" / "deniable" / "shuffle").glob("*.py")]
    texts += [(ROOT / "docs" / name).read_text() for name in ("index.md", "theory/shuffle-protocols.md", "theory/shuffle-amplification.md")]
    claim = re.compile(r"exact\s+for\s+it|exact\s+blanket|exact\s+engine|calibrated\s+exactly", re.IGNORECASE)
    assert [found for text in texts for found in claim.findall(text)] == []
