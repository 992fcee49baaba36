"""Protocols as methods of experiments: any that asks about the values that people hold, by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, get_type_hints

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.mixing import MODELS
from deniable.contract.protocol import PROTOCOLS, Protocol
from deniable.contract.source import Source
from deniable.contract.subsets import Subsets
from deniable.core.declared import check_names, did_you_mean, settings_of
from deniable.core.declared_protocol import make
from deniable.errors import ParameterError
from deniable.lab.methods import Method, label_of, parameters_of
from deniable.lab.metrics import check_k, most_frequent
from deniable.lab.outcome import Outcome, distinct
from deniable.lab.populations.base import Population

Predict = Callable[[str, Population, float, int], float | None]
OF_THE_GRID = ("epsilon", "people", "n", "k")
"""What an experiment says for all protocols alike."""
DOMAINS = {"domain", "domain_size", "bits"}
"""The ways to say what people may hold."""


@cache  # every cell of an experiment asks
def known_protocols(*, sets: bool = False) -> dict[str, type[Protocol]]:
    """The protocols that ask about values of a domain, or about sets of them."""
    about = {}
    for kind, made in PROTOCOLS.load().items():
        hint = get_type_hints(made).get("domain") if any(field.name == "domain" for field in fields(made)) else None
        if hint is not None and (hint is Subsets) == sets:
            about[kind] = made
    return about


def named_protocol(name: object, *, sets: bool = False) -> type[Protocol]:
    """One of them by its name; ParameterError for any other."""
    known = known_protocols(sets=sets)
    if not isinstance(name, str) or name not in known:
        raise ParameterError("protocol", name, allowed=f"one of {sorted(known)}", fix=did_you_mean(name, known))
    return known[name]


def protocol_of(name: str, parameters: Mapping[str, Any], settled: Mapping[str, Any], *, sets: bool = False) -> Protocol:
    """The protocol of a name with its parameters, and with whatever it takes of what the experiment says."""
    kept = DOMAINS if DOMAINS & set(parameters) else set()
    rest = {key: value for key, value in settled.items() if key not in parameters and key not in kept}
    found: Protocol = make(named_protocol(name, sets=sets), parameters, rest)
    return found


@typed
@dataclass(frozen=True)
class ProtocolRun(Method):
    """A protocol by its name. The grid says epsilon and the number of people, and the population the domain unless the parameters do.

    Counts are those of every value; a search counts nobody for a value that it does not find. With ``k`` there is also a list of the most
    frequent values. A search lists its strongest candidates before the test that drops noise (``ranked``), since papers measure lists of k
    values, significant or not. ``predict`` is what theory or a reference expects of a metric, or None.

    >>> from deniable.lab.populations import Zipf
    >>> ProtocolRun("Hierarchy", {"branching": 4}).setup(Zipf(1.1, 64), 1.0, 1000).widths
    (16, 4, 1)
    """

    protocol: str
    """The protocol's name."""
    parameters: Any = ()
    label: str = ""
    """The name in tables and charts; if left out, the protocol's."""
    k: int | None = None
    predict: Predict | None = None

    def __post_init__(self) -> None:
        made = named_protocol(self.protocol)
        object.__setattr__(self, "parameters", parameters_of(self.parameters))
        domains = DOMAINS & {field.name for field in fields(made)}  # type: ignore[arg-type]  # every protocol is a dataclass
        check_names("parameters", dict(self.parameters), [], sorted({*settings_of(made, OF_THE_GRID), *domains}))
        if self.k is not None:
            check_k(self.k)
        if not self.label:
            object.__setattr__(self, "label", label_of(self.protocol, self.parameters))

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> Protocol:
        told: dict[str, Any] = {"domain": population.domain, "epsilon": epsilon, "people": n, "n": n}
        if self.k is not None:
            told["k"] = self.k
        protocol = protocol_of(self.protocol, dict(self.parameters), told)
        if "salt" in dict(self.parameters) or not hasattr(protocol, "salt"):
            return protocol
        # Other public hash functions in every repetition, or their luck would be everyone's. A search derives several salts from one.
        return replace(protocol, salt=repetition << 32)  # type: ignore[type-var]  # every protocol is a dataclass

    def run(self, setup: Protocol, values: Any, source: Source) -> Outcome:
        held, truth = distinct(values)
        result = setup.run(values, source=source)
        named = [value.item() if isinstance(value, np.generic) else value for value in result.ranked.values]
        if "counts" not in self.gives:
            return Outcome(held, truth, None, self.k, named[: self.k])
        told, true = dict(zip(named, result.ranked.counts, strict=True)), dict(zip(held, truth, strict=True))
        every = sorted({*held, *named})
        counts = np.array([told.get(value, 0.0) for value in every])
        found = None
        if self.k is not None:
            found = most_frequent(named, result.counts, self.k, source) if result.screening is None else named[: self.k]
        return Outcome(every, np.array([true.get(value, 0) for value in every]), counts, self.k, found)

    @property
    def gives(self) -> set[str]:
        counted = named_protocol(self.protocol).trust in MODELS  # a trie of true votes has no counts
        return ({"list"} if self.k else set()) | ({"counts"} if counted else set())

    def identity(self) -> str:
        return repr((self.label, self.k))

    def expected(self, metric: str, outcome: Outcome, population: Population, epsilon: float, n: int) -> float | None:
        return None if self.predict is None else self.predict(metric, population, epsilon, n)
