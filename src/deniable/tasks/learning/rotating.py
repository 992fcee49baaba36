"""Several models at once, in the manner of Snap's system: each person gets one of them at random, and what comes back replaces one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar

from deniable.contract.arguments import typed
from deniable.tasks.learning.logistic import LogisticRegression, Noise, Weights


@typed
@dataclass(frozen=True, kw_only=True)
class RotatingModels(LogisticRegression):
    """Keep k logistic models; people get one of them at random, and each updated model replaces one of the k at random.

    In each round people are split over models and coordinates, so whose data moved which model is chance, drawn on their own devices. A
    model is moved by all who got it, not by one person: a single private answer is nearly all noise. Which model is replaced follows from
    the reports themselves, so that anyone who counts them again finds the same models.

    Guarantee: as ``LogisticRegression``, epsilon-local, everybody reports once. The slides give none ("epsilon = ???"): k models that take
    turns hide nothing by themselves, since the collector knows which it sent.

    Estimator: the mean of the models at the end. Models that were replaced took their people's answers with them: with k = 20 about a
    third of each round's answers is lost, and as many models stay as they were. The error of the mean is stated as if all models had the
    same noise, since some descend from one: it is never too small.

    >>> fit = RotatingModels(features={"age": (0, 120)}, label="ill", epsilon=2.0, models=3, rounds=4)
    >>> len(fit.open().questions), fit.open().questions[2].name, fit.guarantee.epsilon
    (6, 'model 2, intercept', 2.0)

    References: Pihur, Korolova, Liu, Sankuratripati, Yung, Huang, Zeng 2018 (draw and discard).
    """

    models: int = 20
    most_models: ClassVar[int] = 100

    def replaced(self, weights: Weights, noise: Noise, tallies: Mapping[str, Any]) -> tuple[Weights, Noise]:
        """Each updated model, one after the other, takes a random place, which the ``tallies`` decide.

        Who was there is gone, and where none comes the old one stays.
        """
        kept = list(zip(self.state.weights, self.state.noise, strict=True))
        state = sha256(b"".join(tallies[question.name].to_bytes() for question in self.open().questions)).digest()
        for model in range(self.models):
            word = int.from_bytes(sha256(state + model.to_bytes(4, "big")).digest(), "big")
            kept[word % self.models] = (weights[model], noise[model])  # 2^256 over 100: no place is favored by more than 2^-249
        return tuple(each for each, _ in kept), tuple(each for _, each in kept)
