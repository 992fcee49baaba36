"""Exact noise on a grid, added to each entry of an answer: what Laplace and Gaussian do alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from deniable.central.exact_noise import ExactNoise
from deniable.central.grid import from_steps, rational, to_steps
from deniable.contract.source import SYSTEM, Source


class AdditiveNoise(ABC):
    """A curator's answers in steps of a grid, with noise from an exact law on all of them."""

    grid: float | Fraction
    entries: int | None
    _single: ClassVar[bool]
    """Whether one number off the grid is accepted without ``entries``."""

    @cached_property
    def step(self) -> Fraction:
        """The grid as the exact number that it is."""
        return rational("grid", self.grid)

    @property
    @abstractmethod
    def noise(self) -> ExactNoise:
        """The exact law, in steps."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Of each entry, in squared units of the answer."""

    def release(self, values: Any, *, source: Source | None = None) -> Any:
        """The answer with noise, on the grid: an integer stays one if the grid is of integers. Each call is one more ``event``."""
        steps = to_steps(values, self.step, self.entries, single=self._single)
        if steps.ndim:
            noise = self.noise.draws(steps.size, source).reshape(steps.shape)
        else:
            noise = np.array(self.noise.draw(source or SYSTEM), dtype=np.int64)
        return from_steps(steps + noise, self.step, whole=np.asarray(values).dtype.kind != "f")

    def probability(self, k: int, bits: int = 128) -> tuple[Fraction, Fraction]:
        """Two fractions, 2^-bits apart at most, with the probability that the noise is k steps between them."""
        return self.noise.probability(k, bits)

    @property
    def stderr(self) -> float:
        """The standard error of each entry."""
        return float(self.variance**0.5)
