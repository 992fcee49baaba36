"""How one kind of estimate becomes plain data, and how that data is picked from and drawn: what an answer needs to know of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from deniable.contract.spec import Spec

if TYPE_CHECKING:
    from deniable.core.chart import Chart

LEVEL = 0.95


class Manner(ABC):
    """One kind of estimate. ``answer`` is always one question's part of the JSON, as it came from here or from a collector."""

    def tells(self, estimate: Any) -> bool:
        """Whether an estimate of this kind can be told in this manner."""
        return True

    def ready(self, estimate: Any) -> Any:
        """The estimate as it is shown, with everything computed that takes long."""
        return estimate

    @abstractmethod
    def estimate_json(self, name: str, estimate: Any) -> dict[str, Any]:
        """The estimate of a question as plain data, with ``rows``."""

    @abstractmethod
    def comparison_json(self, name: str, found: Any, alpha: float) -> dict[str, Any]:
        """The comparison of two as plain data, with ``rows``; ``alpha`` is this question's share."""

    @abstractmethod
    def picked(self, answer: Mapping[str, Any], k: int) -> list[dict[str, Any]]:
        """The k rows that say most, values read back."""

    @abstractmethod
    def chart(self, answer: Mapping[str, Any], k: int) -> Chart | None:
        """A chart of the k rows that say most; None where there is none."""

    @abstractmethod
    def scale(self, estimate: Any) -> float:
        """What estimates are compared with, where another machine has computed them: how large they can be."""


def head(name: str, spec: Spec) -> dict[str, Any]:
    """How one question was answered."""
    epsilon = spec.epsilon if isfinite(spec.epsilon) else None  # JSON has no infinity
    return {"question": name, "mechanism": spec.mechanism, "epsilon": epsilon, "spec": spec.digest.hex()}


def headline(answer: Mapping[str, Any]) -> str:
    """What one question's rows are, in a line."""
    n = f"{answer['n']:,}" if "n" in answer else f"{answer['n_before']:,} and {answer['n_after']:,}"
    epsilon = "infinite" if answer["epsilon"] is None else f"{answer['epsilon']:.4g}"
    return f"{answer['question']}: {n} reports, {answer['mechanism']}, epsilon = {epsilon}"
