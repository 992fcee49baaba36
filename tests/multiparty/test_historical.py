"""PASTE's protocols in their corrected form give what they say; their noise is refuted by its own law."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import gmpy2
import numpy as np
import pytest

from deniable.errors import ParameterError, WireError
from deniable.lab.audit.four_gaussians import FourGaussians
from deniable.multiparty.historical import DLPA, LABEL, AdditiveKey
from deniable.multiparty.paillier.keys import safe_prime
from deniable.testing import ReplaySource

SOURCE = ReplaySource.from_key("paste")
KEY = AdditiveKey.deal(safe_prime(192, SOURCE), safe_prime(192, SOURCE), 4, SOURCE)
NUMBERS = [3, -4, 10, 1]
MASKS = [5, 1 << 100, 77, 0]


def decrypted(ciphertext: int, masks: list[int]) -> int:
    return KEY.open([KEY.decryption_part(ciphertext, party, mask) for party, mask in enumerate(masks)])


def test_encrypt_sum_and_decrypt_sum():
    scheme = DLPA.deal(KEY, Fraction(2), SOURCE)
    assert decrypted(scheme.encrypt_sum(NUMBERS, MASKS, SOURCE), MASKS) == 10


def test_an_aggregator_that_shows_one_ciphertext_gets_nothing():
    """It asks for Decrypt-Sum of the first party's: out comes its number minus the others' masks."""
    alone = KEY.encrypt(NUMBERS[0] + MASKS[0], SOURCE)
    assert decrypted(alone, MASKS) == NUMBERS[0] - sum(MASKS[1:])


def test_sums_are_squared_under_encryption():
    scheme = DLPA.deal(KEY, Fraction(2), SOURCE)
    assert decrypted(scheme.encrypt_sum_squared(NUMBERS, MASKS, SOURCE), MASKS) == sum(NUMBERS) ** 2


def test_the_exponent_as_printed_gives_something_else():
    """Y_u a_u + b_u, without the minus that the slides lost."""
    scheme = DLPA.deal(KEY, Fraction(2), SOURCE)
    both = KEY.multiply([KEY.encrypt(y + a, SOURCE) for y, a in zip(NUMBERS, scheme._offsets, strict=True)])
    parts = zip(NUMBERS, scheme._offsets, scheme._turns, strict=True)
    answers = [gmpy2.powmod(both, (y * a + b) % KEY.modulus, KEY.square) for y, a, b in parts]
    assert decrypted(KEY.multiply([*answers, scheme._square]), [0] * 4) != sum(NUMBERS) ** 2


def test_all_parts_of_the_key_are_needed():
    ciphertext = KEY.encrypt(7, SOURCE)
    with pytest.raises(WireError, match="all of them"):
        KEY.open([KEY.decryption_part(ciphertext, party, 0) for party in range(3)])


def test_noisy_sums_have_the_variance_of_the_noise():
    """Laplace of scale 2 s^2 for the sum's variance s^2 = 4 * 2: variance 8 s^4 = 512, in 300 draws to 5 standard errors."""
    scheme = DLPA.deal(KEY, Fraction(2), SOURCE)
    drawn = [scheme.noisy_sum(NUMBERS, SOURCE) - sum(NUMBERS) for _ in range(300)]
    mean = sum(drawn) / 300
    variance = sum((value - mean) ** 2 for value in drawn) / 299
    assert variance == pytest.approx(512, rel=5 * (5 / 300) ** 0.5)
    assert abs(mean) < 5 * (512 / 300) ** 0.5


def test_it_is_labelled_and_promises_nothing():
    scheme = DLPA.deal(KEY, Fraction(2), SOURCE)
    assert scheme.guarantee.epsilon == inf
    assert scheme.guarantee.certificate == LABEL


@pytest.mark.parametrize(
    ("bits", "ratio", "deltas"),
    [
        (3, 1.71, (0.072, 0.023, 0.0015)),
        (4, 1.73, (0.071, 0.023, 0.0020)),
        (5, 1.78, (0.071, 0.022, 0.0024)),
        (6, 1.92, (0.071, 0.022, 0.0024)),
    ],
)
def test_the_noise_is_not_what_it_claims_at_any_precision(bits, ratio, deltas):
    audit = FourGaussians(2**bits / 2**0.5, 4**bits)
    assert audit.claimed == 1.0
    assert audit.worst_ratio == pytest.approx(ratio, abs=0.006)
    assert [audit.delta(epsilon) for epsilon in (1, 1.25, 1.5)] == pytest.approx(deltas, abs=6e-4)


@pytest.mark.parametrize(("sigma", "sensitivity", "ratio", "delta"), [(45.25, 4097, 2.56, 0.156), (22.6, 1022, 3.03, 0.196)])
def test_other_sensitivities_are_worse(sigma, sensitivity, ratio, delta):
    audit = FourGaussians(sigma, sensitivity)
    assert audit.worst_ratio == pytest.approx(ratio, abs=0.006)
    assert audit.delta(1.0) == pytest.approx(delta, abs=1e-3)


def test_the_audit_acquits_the_noise_that_is_claimed():
    """With the law of a discrete Laplace in its place: ratio and delta are what they should be."""
    audit = FourGaussians(4 / 2**0.5, 16)
    scale, middle = 16, len(audit.law) // 2
    laplace = [2.718281828459045 ** (-abs(place - middle) / scale) for place in range(len(audit.law))]
    object.__setattr__(audit, "law", np.array(laplace) / sum(laplace))
    assert audit.worst_ratio == pytest.approx(1.0, abs=1e-9)
    assert audit.delta(1.0) < 1e-12


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: AdditiveKey.deal(7, 7, 3),
        lambda: AdditiveKey.deal(11, 13, 1),
        lambda: DLPA.deal(KEY, Fraction(0)),
        lambda: DLPA.deal(KEY, Fraction(2), SOURCE).noisy_sum([1, 2]),
        lambda: FourGaussians(0.1, 5),
        lambda: FourGaussians(5.0, 0),
    ],
)
def test_mistakes_are_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()
