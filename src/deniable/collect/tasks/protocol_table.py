"""Protocols in a task file: a ``[protocol]`` by its registered name, or a ``[search]``, with their settings.

Searches are imported on first use: a collector that publishes nothing starts without them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise
from typing import Any, get_type_hints

from deniable.contract.mixing import LOCAL, SHUFFLE
from deniable.contract.numbers import Numbers
from deniable.contract.protocol import PROTOCOLS, Protocol
from deniable.contract.subsets import Subsets
from deniable.contract.survey import Survey
from deniable.core.declared import did_you_mean, explained
from deniable.core.declared_domain import read_domain
from deniable.core.declared_protocol import make, read_settings
from deniable.errors import ParameterError, one_of

TIMED = "round"
"""The length of a round: a setting of the task, not of the protocol."""
SEARCHES = "deniable.tasks.heavy_hitters."
"""The package of protocols that find values without a list."""
MOST_BITS, MOST_ROUNDS = 18, 512


def read_protocol(content: Mapping[str, Any], *, epsilon: float, people: int) -> tuple[Protocol, str]:
    """Return the protocol of ``protocol = "HaarHRR"`` or a table ``[protocol]``, and the reason for choosing it."""
    table = {"name": content["protocol"]} if isinstance(content["protocol"], str) else content["protocol"]
    if not isinstance(table, Mapping) or "name" not in table:
        allowed = "a name, or a table with name = ... and its settings"
        raise ParameterError("protocol", content["protocol"], allowed=allowed, fix='write protocol = "HaarHRR", for example')
    made = _named(table["name"])
    own = {key: value for key, value in table.items() if key not in ("name", TIMED)}
    protocol = _first_state(made, own, content, epsilon, people)
    chosen = getattr(protocol, "why", "")  # where the file leaves a part of it open
    return protocol, f"{made.kind}: named in the file{'; ' * bool(chosen)}{chosen}"


def read_search(content: Mapping[str, Any], *, epsilon: float, people: int) -> tuple[Protocol, str]:
    """Return the protocol of a table ``[search]``, which finds frequent values without a list."""
    search = content["search"]
    if not isinstance(search, Mapping) or "domain" not in content:
        raise ParameterError(
            "search", search, allowed="a table, together with a [domain]", fix="add [domain] with the values to search, such as text = 16"
        )
    name = search.get("protocol", "auto")
    searches = {kind: made for kind, made in PROTOCOLS.load(name).items() if made.__module__.startswith(SEARCHES)}
    if name not in ("auto", *searches):
        known = _local(searches)
        raise ParameterError("protocol", name, allowed=f"auto or one of {known}", fix=did_you_mean(name, known))
    why = f"{name}: named in the file" if name != "auto" else "PEM: the usual search"
    own = {key: value for key, value in search.items() if key not in ("protocol", TIMED)}
    return _first_state(_named("PEM" if name == "auto" else name), own, content, epsilon, people), why


def takes_domain(made: type[Protocol]) -> bool:
    """Return True if people answer with values of a ``[domain]``, not with records or points that the protocol itself describes."""
    return any(field.name == "domain" for field in fields(made))  # type: ignore[arg-type]  # every protocol is a dataclass


def _local(found: Mapping[str, type[Protocol]]) -> list[str]:
    """Return the names of the protocols that a collector can run."""
    return sorted(kind for kind, made in found.items() if made.trust == LOCAL and not made.needs and kind != Survey.kind)


def _named(name: object) -> type[Protocol]:
    found: Mapping[str, type[Protocol]] = PROTOCOLS.load(name)
    known = _local(found)
    if isinstance(name, str) and name in known:
        return found[name]
    raise ParameterError("protocol", name, allowed=one_of(known), fix=_instead(name, found) or did_you_mean(name, known))


def _instead(name: object, found: Mapping[str, type[Protocol]]) -> str:
    """Return what to do about a name that the library has but that no collector can run; "" for other names."""
    if name == Survey.kind:
        return "leave it out: for a survey, write [domain] or [[questions]]"
    if isinstance(name, str) and name in found:
        model, needs = found[name].trust, found[name].needs
        if model == SHUFFLE:
            return f'ask [[questions]] with trust = "shuffle": {name} is for a batch in Python'
        instead = "run it in Python" if model == LOCAL else f"{name} is {model}; use a local protocol, such as PEM"
        return f"{instead}: it needs {needs}"
    for module in pkgutil.iter_modules(importlib.import_module("deniable.tasks").__path__, "deniable.tasks."):
        if name in getattr(importlib.import_module(module.name), "__all__", ()):
            return f"use {module.name}.{name} in Python: it is not a protocol that asks in rounds"
    return ""


def _first_state(made: type[Protocol], own: Mapping[str, Any], content: Mapping[str, Any], epsilon: float, people: int) -> Protocol:
    """Return a protocol in its initial state, checked to open."""
    settled: dict[str, Any] = {"epsilon": epsilon, "people": people}
    takes = takes_domain(made)
    if takes != ("domain" in content):
        allowed = f"a [domain] with {made.kind}" if takes else f"no [domain] with {made.kind}"
        fix = 'add a [domain] with the possible answers, such as integers = [0, 100] or sets = { categories = ["tea", "milk"] }'
        raise ParameterError("domain", content.get("domain"), allowed=allowed, fix=fix if takes else "describe the answers in [protocol]")
    if takes:
        settled["domain"] = _domain_of(made, content["domain"])
    protocol: Protocol = make(made, read_settings(made, own), settled)
    _check_size(protocol)
    with explained(made.kind, own):
        protocol.open()
    return protocol


def _domain_of(made: type[Protocol], content: object) -> Any:
    domain, candidates = read_domain(content)
    if isinstance(domain, Subsets) != (get_type_hints(made)["domain"] is Subsets):
        allowed = f"single values, which {made.kind} asks about" if isinstance(domain, Subsets) else f"sets, which {made.kind} asks about"
        raise ParameterError(
            "domain",
            domain,
            allowed=allowed,
            fix='write sets = { categories = ["tea", "milk"] } for sets, and categories = [...] for single values',
        )
    if candidates is not None:
        allowed = f"none in a search or another protocol, such as {made.kind}"
        raise ParameterError(
            "candidates", candidates, allowed=allowed, fix="leave out the candidates; or leave out the protocol to count them"
        )
    if isinstance(domain, Numbers) and made.__module__.startswith("deniable.tasks.heavy_hitters"):
        raise ParameterError(
            "domain", domain, allowed="values that can be frequent", fix="leave out [search] to estimate the mean of numbers"
        )
    return domain


def _check_size(protocol: Any) -> None:
    """Raise if the rounds of a search would be too large: devices fetch all prefixes of a round."""
    from deniable.tasks.heavy_hitters.pem import PEM
    from deniable.tasks.heavy_hitters.prefixes import LARGEST_LIST

    for name in ("k", "keep"):
        if getattr(protocol, name, 1) > LARGEST_LIST:
            raise ParameterError(name, getattr(protocol, name), allowed=f"at most {LARGEST_LIST}", fix=f"lower {name}")
    if isinstance(protocol, PEM):
        steps = [after - before for before, after in pairwise(protocol.lengths)]
        bits = max(protocol.lengths[0], *(step + protocol.keep.bit_length() for step in steps), 0)
        if bits > MOST_BITS:
            fix = "lower k or keep, or write step_bits = 8 for shorter steps"
            raise ParameterError("step_bits", bits, allowed=f"rounds about at most 2^{MOST_BITS} prefixes", fix=fix)
        if len(protocol.lengths) * protocol.rounds > MOST_ROUNDS:
            rounds = len(protocol.lengths) * protocol.rounds
            raise ParameterError("domain", f"{rounds} rounds", allowed=f"at most {MOST_ROUNDS}", fix="use a domain with shorter values")
