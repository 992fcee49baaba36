"""The spec: one mechanism with its parameters, as a value.

A spec is frozen, comparable and serializable; its identity is the digest of its canonical JSON, and it *is* the
configuration of a task. Randomizing needs only the standard library; ``privatize``, ``tally`` and ``estimate`` are done by
the bulk half that the analyst's packages register for the same class.
"""

from __future__ import annotations

import hashlib
import importlib
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform

from deniable.contract.arguments import typed
from deniable.contract.domain import Domain
from deniable.contract.figures import Figures
from deniable.contract.guarantee import Guarantee
from deniable.contract.law import OutputLaw
from deniable.contract.record import Document
from deniable.contract.registry import Mechanisms
from deniable.contract.source import SYSTEM, Source
from deniable.contract.wire import Layout, decode_report, encode_report
from deniable.errors import MissingExtra, ParameterError

SpecType = TypeVar("SpecType", bound="Spec")
BulkType = TypeVar("BulkType")

MECHANISMS = Mechanisms()
"""Every mechanism by its name. Specs are read through this table, and only files on its shelf are ever loaded for a name found in data."""

_BULK: dict[type, Callable[[Any], BulkHalf]] = {}
_BULK_PACKAGES = ("deniable.local",)


class BulkHalf(Protocol):
    """What the analyst's packages provide for a mechanism: the same law, for many people at once."""

    def privatize(self, values: Any, source: Source | None) -> Any:
        """As ``Spec.privatize``."""

    def tally(self, reports: Any, candidates: Any) -> Any:
        """As ``Spec.tally``: of these reports, about these candidates."""

    def estimate(self, tally: Any, candidates: Any) -> Any:
        """As ``Spec.estimate``: from this tally, about these candidates."""


class Spec(Figures, Document):
    """One mechanism with its parameters. Its thresholds travel along, so that a device can check them against epsilon.

    ``candidates`` are the values to ask about: all of a listed domain if left out. Where reports are looked at once for each of them
    (``candidates_at_tally``) they are given to ``tally``, elsewhere to ``estimate``.
    """

    noun = "spec"
    registry = MECHANISMS
    body = "parameters"
    derived = ("thresholds",)
    mechanism: ClassVar[str]
    candidates_at_tally: ClassVar[bool] = False
    """Whether a report must be looked at once for each candidate, so that they are needed before the reports are gone."""

    numeric: ClassVar[bool] = False
    """True if it randomizes a number of a range, and the result is about the range; False if it counts values."""
    assignable: ClassVar[bool] = False
    """True if a report begins with a seed that is drawn for it alone, so that a token can assign it."""
    whole: ClassVar[bool] = False
    """True if it takes only the whole numbers of its range."""
    lists_pairs: ClassVar[bool] = False
    """True if a shuffler's certificate may read the laws of all pairs of inputs; otherwise it goes by epsilon alone."""

    domain: Domain
    epsilon: float

    # --- the device's half: the standard library is enough ---

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The columns of a report."""

    @abstractmethod
    def randomize(self, value: Any, source: Source = SYSTEM) -> Any:
        """Return one person's report about the ``value`` that the person holds."""

    @abstractmethod
    def law(self, value: Any, *, seed: tuple[int, ...] = ()) -> OutputLaw[Any]:
        """Return the exact output law for a value, given the public seed where the mechanism has one."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised to a person who sends one report."""

    @property
    @abstractmethod
    def thresholds(self) -> dict[str, int]:
        """The integers over 2^64 that decide every draw; they travel with the spec and are checked on arrival."""

    def epsilon_after(self, sampling: int) -> float:
        """Return what a report costs behind an encoder that draws no input with a probability above 1 / ``sampling``.

        That is epsilon, unless a mechanism's law is known to gain by it.
        """
        return self.epsilon

    @classmethod
    def epsilon_before(cls, epsilon: float, sampling: int) -> float:
        """Return the largest epsilon of this mechanism that costs ``epsilon`` after an encoder with this ``sampling``.

        The inverse of ``epsilon_after``.
        """
        return epsilon

    def paid_answers(self, answers: int, values: int) -> int:
        """Return for how many of so many ``answers`` a person who holds so many different ``values`` over time pays epsilon, at most.

        For all of them, unless a mechanism draws its noise once and reuses it.
        """
        return answers

    def encode(self, report: Any) -> bytes:
        """Return one report as bytes."""
        return encode_report(self.layout, report)

    def decode(self, payload: bytes) -> Any:
        """Return the report behind its payload, the bytes that ``encode`` gave; WireError unless they are well formed."""
        return decode_report(self.layout, payload)

    # --- identity ---

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the canonical JSON: the name under which reports, tallies and tasks refer to this spec."""
        return hashlib.sha256(self.canonical).digest()

    # --- the analyst's half ---

    @cached_property
    def _bulk(self) -> BulkHalf:
        return _bulk_half(type(self))(self)

    def privatize(self, values: Any, *, source: Source | None = None) -> Any:
        """Return many people's reports at once, as a columnar batch. ``source`` is for replaying fixed words in tests."""
        return self._bulk.privatize(values, source)

    def tally(self, reports: Any, *, candidates: Any = None) -> Any:
        """Return the integer sufficient statistics of a batch of ``reports``; tallies add up."""
        return self._bulk.tally(reports, candidates)

    def estimate(self, tally: Any, *, candidates: Any = None) -> Any:
        """Return what the ``tally`` says about the crowd, with its error."""
        return self._bulk.estimate(tally, candidates)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def mechanism(cls: type[SpecType]) -> type[SpecType]:
    """Class decorator: a frozen keyword-only dataclass that checks its types, registered under the class's name."""
    made = typed(dataclass(frozen=True, kw_only=True, repr=False)(cls))
    made.mechanism = made.__name__
    MECHANISMS[made.__name__] = made
    return made


def bulk_half(spec_class: type) -> Callable[[type[BulkType]], type[BulkType]]:
    """Class decorator: the decorated class is the bulk half of the mechanism ``spec_class``."""

    def register(cls: type[BulkType]) -> type[BulkType]:
        _BULK[spec_class] = cls  # type: ignore[assignment]  # the constructor's signature is checked where it is called
        return cls

    return register


def spec_from_json(data: bytes) -> Spec:
    """Return the spec behind ``data``, its canonical JSON; WireError if there is none.

    >>> from deniable.client import GRR
    >>> spec_from_json(GRR(domain_size=4, epsilon=1.0).canonical)
    GRR(domain_size=4, epsilon=1.0)
    """
    return Spec.from_json(data)


def _bulk_half(spec_class: type) -> Callable[[Any], BulkHalf]:
    for package in _BULK_PACKAGES:
        try:
            importlib.import_module(package)  # registers its bulk halves; contract knows only the name
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("deniable"):
                raise
            raise MissingExtra("bulk analysis", "analysis", error.name) from error
    if spec_class not in _BULK:  # a subclass may randomize differently: it does not inherit its parent's kernels
        name, allowed = spec_class.__name__, "a mechanism with a bulk half of its own"
        raise ParameterError("mechanism", name, allowed=allowed, fix="register one with bulk_half(...)")
    return _BULK[spec_class]
