"""How far Polya noise strays: the law of what a crowd's noise shares and rounding add up to, read off for intervals."""

from __future__ import annotations

from math import ceil, log

import numpy as np

EXACT_FROM = 1e-9
"""Smaller probabilities are bounded by Chernoff's inequality: a Fourier transform is no longer accurate there."""


def reach_of(ratio: float, shape: float, rounding: float, alpha: float) -> float:
    """How far the noise strays with probability alpha at most: the difference of two negative binomials, and a normal variable on top.

    ``shape`` = 1 is discrete Laplace noise. ``rounding`` is the variance of the normal variable, which stands for many independent
    roundings, each by less than a step. Rounded up to whole steps.

    >>> reach_of(0.9, 1.0, 0.0, 0.05), reach_of(0.9, 1.0, 0.0, 1e-12)
    (28.0, 305.0)
    """
    scale = -1 / log(ratio)
    if alpha < EXACT_FROM:
        s = np.linspace(0.005, 0.995, 199) / scale
        logs = 2 * log(1 - ratio) - np.log(1 - ratio * np.exp(s)) - np.log(1 - ratio * np.exp(-s))
        return float(ceil(np.min((shape * logs + s**2 * rounding / 2 + log(2 / alpha)) / s)))
    size = 1 << ceil((60 + 8 * shape) * scale + 20 * rounding**0.5 + 64).bit_length()
    angles = 2 * np.pi * np.arange(size // 2 + 1) / size
    spectrum = ((1 - ratio) ** 2 / (1 - 2 * ratio * np.cos(angles) + ratio**2)) ** shape * np.exp(-rounding * angles**2 / 2)
    masses = np.maximum(np.fft.irfft(spectrum, size)[1 : size // 2], 0.0)
    beyond = 2 * np.cumsum(masses[::-1])[::-1]  # P(|z| >= j) at j - 1
    return float(np.argmax(beyond <= alpha * (1 - 1e-9)))
