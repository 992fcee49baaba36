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
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform

from deniable.contract.arguments import typed
from deniable.contract.canonical import canonical_json, number, parse_canonical, read_number, read_object
from deniable.contract.domain import Domain
from deniable.contract.domain_json import domain_from_json
from deniable.contract.figures import Figures
from deniable.contract.form import Form
from deniable.contract.guarantee import Guarantee
from deniable.contract.law import Law
from deniable.contract.mechanisms import Mechanisms
from deniable.contract.source import SYSTEM, Source
from deniable.contract.wire import Layout, decode_report, encode_report
from deniable.errors import DeniableError, MissingExtra, ParameterError, WireError

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


class Spec(Figures):
    """One mechanism with its parameters.

    ``candidates`` are the values to ask about: all of a listed domain if left out. Where reports are looked at once for each of them
    (``candidates_at_tally``) they are given to ``tally``, elsewhere to ``estimate``.
    """

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

    form: ClassVar[Form]
    """How a spec stands in a question: thresholds travel along, so it is more than its fields."""

    domain: Domain
    epsilon: float

    # --- the device's half: the standard library is enough ---

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The columns of a report."""

    @abstractmethod
    def randomize(self, value: Any, source: Source = SYSTEM) -> Any:
        """One person's report about the ``value`` that the person holds."""

    @abstractmethod
    def law(self, value: Any, *, seed: tuple[int, ...] = ()) -> Law[Any]:
        """The exact output law for a value, given the public seed where the mechanism has one."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised to a person who sends one report."""

    @property
    @abstractmethod
    def thresholds(self) -> dict[str, int]:
        """The integers over 2^64 that decide every draw; they travel with the spec and are checked on arrival."""

    def epsilon_after(self, sampling: int) -> float:
        """What a report costs behind an encoder that draws no input with a probability above 1 / ``sampling``.

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
        """For how many of so many ``answers`` a person who holds so many different ``values`` over time pays epsilon, at most.

        For all of them, unless a mechanism draws its noise once and reuses it.
        """
        return answers

    def encode(self, report: Any) -> bytes:
        """One report as bytes."""
        return encode_report(self.layout, report)

    def decode(self, payload: bytes) -> Any:
        """One report from its payload, the bytes that ``encode`` gave; WireError unless they are well formed."""
        return decode_report(self.layout, payload)

    # --- identity ---

    @cached_property
    def canonical(self) -> bytes:
        """The canonical JSON of this spec."""
        parameters = {f.name: getattr(self, f.name) for f in fields(self) if f.metadata.get("travels", True)}  # type: ignore[arg-type]  # every spec is a dataclass
        return canonical_json(
            {
                "mechanism": self.mechanism,
                "parameters": {name: _write(value) for name, value in parameters.items() if value is not None},
                "thresholds": {name: number(value) for name, value in self.thresholds.items()},
            }
        )

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the canonical JSON: the name under which reports, tallies and tasks refer to this spec."""
        return hashlib.sha256(self.canonical).digest()

    @classmethod
    def from_parameters(cls: type[SpecType], parameters: dict[str, Any], thresholds: dict[str, int]) -> SpecType:
        """The spec behind its parameters, if the thresholds that came along are the ones that epsilon allows."""
        spec = cls(**parameters)
        if spec.thresholds != thresholds:
            raise WireError("thresholds", thresholds, allowed=f"{spec.thresholds} for these parameters", fix="publish the spec again")
        return spec

    # --- the analyst's half ---

    @cached_property
    def _bulk(self) -> BulkHalf:
        return _bulk_half(type(self))(self)

    def privatize(self, values: Any, *, source: Source | None = None) -> Any:
        """Many people's reports at once, as a columnar batch. ``source`` is for replaying fixed words in tests."""
        return self._bulk.privatize(values, source)

    def tally(self, reports: Any, *, candidates: Any = None) -> Any:
        """The integer sufficient statistics of a batch of ``reports``; tallies add up."""
        return self._bulk.tally(reports, candidates)

    def estimate(self, tally: Any, *, candidates: Any = None) -> Any:
        """What the ``tally`` says about the crowd, with its error."""
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
    """The spec behind ``data``, its canonical JSON; WireError if there is none.

    >>> from deniable.client import GRR
    >>> spec_from_json(GRR(domain_size=4, epsilon=1.0).canonical)
    GRR(domain_size=4, epsilon=1.0)
    """
    if not isinstance(data, bytes):
        raise WireError("spec", data, allowed="bytes, as they were published", fix="pass spec.canonical, or encode the text")
    importlib.import_module("deniable.client")  # registers the mechanisms; contract knows only the name
    content = read_object("spec", parse_canonical(data), {"mechanism", "parameters", "thresholds"})
    cls = MECHANISMS.named(content["mechanism"])
    allowed = {f.name for f in fields(cls) if f.metadata.get("travels", True)}  # type: ignore[arg-type]  # every spec is a dataclass
    raw = read_object("parameters", content["parameters"], set(), frozenset(allowed))
    limits = content["thresholds"] if isinstance(content["thresholds"], dict) else {}
    try:
        parameters = {key: _read(key, value) for key, value in raw.items()}
        spec = cls.from_parameters(parameters, {key: read_number(key, value) for key, value in limits.items()})
    except WireError:
        raise
    except (DeniableError, TypeError, ValueError, ArithmeticError) as error:
        raise WireError("spec", data, allowed=f"valid parameters of {cls.__name__}", fix=str(error)) from error
    if spec.canonical != data:
        raise WireError("spec", data, allowed="the canonical form", fix="publish the spec again")
    return spec


Spec.form = Form(lambda spec: parse_canonical(spec.canonical), lambda _, data: spec_from_json(canonical_json(data)))


def _write(value: object) -> object:
    if isinstance(value, Domain):
        return value.to_json()
    if isinstance(value, float):
        return repr(value)  # the shortest decimal that reads back as the same float
    return number(value) if isinstance(value, int) else value


def _read(name: str, value: object) -> object:
    if isinstance(value, dict):
        return domain_from_json(value)
    if isinstance(value, str) and not value.lstrip("-").isdigit():  # a decimal: the repr of a float is never digits alone
        try:
            return float(value)
        except ValueError as error:
            raise WireError(name, value, allowed="a decimal string", fix='write it as in "1.0"') from error
    return read_number(name, value)


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
