"""What is promised to a person, as data and in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A privacy promise with everything that it depends on.

    ``neighbors`` is the relation under which epsilon holds; ``honest`` names whoever must behave for it to hold;
    ``certificate`` says how it is known: ``"exact law"`` means that every output probability is an integer over 2^64 and
    that the worst ratio was compared with e^epsilon in exact arithmetic.

    >>> print(Guarantee(epsilon=1.0, unit="one report").statement())
    Whatever one report says, it is at most 2.72 times as likely under any other true answer (epsilon = 1, local model).
    The noise is added on the person's own device: nobody else, the collector included, has to be trusted.
    Not protected: that the person took part, and what several reports of the same person reveal together (their epsilons add up).
    """

    epsilon: float
    delta: float = 0.0
    model: str = "local"
    unit: str = "one report"
    neighbors: str = "any two inputs of one person"
    honest: str = "the person's own device"
    certificate: str = "exact law"

    def statement(self) -> str:
        """The promise in plain words: what is protected, against whom, and what is not."""
        return (
            f"Whatever {self.unit} says, it is at most {exp(self.epsilon):.3g} times as likely under any other true answer "
            f"(epsilon = {self.epsilon:.4g}, {self.model} model).\n"
            "The noise is added on the person's own device: nobody else, the collector included, has to be trusted.\n"
            "Not protected: that the person took part, and what several reports of the same person reveal together "
            "(their epsilons add up)."
        )
