"""Protocols in a task file: a ``[protocol]`` by its name in the registry, or a ``[search]``, with their settings.

What searching needs is imported when it is first needed: a collector that publishes nothing starts without.
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
from deniable.errors import ParameterError

TIMED = "round"
"""How long a round takes: the task's to say, not the protocol's."""
SEARCHES = "deniable.tasks.heavy_hitters."
"""Where the protocols live that find values which nobody listed."""
MOST_BITS, MOST_ROUNDS = 18, 512


def read_protocol(content: Mapping[str, Any], *, epsilon: float, people: int) -> tuple[Protocol, str]:
    """The protocol behind ``protocol = "HaarHRR"`` or a table ``[protocol]``, and why it is asked in this way."""
    table = {"name": content["protocol"]} if isinstance(content["protocol"], str) else content["protocol"]
    if not isinstance(table, Mapping) or "name" not in table:
        allowed = "a name, or a table with name = ... and its settings"
        raise ParameterError("protocol", content["protocol"], allowed=allowed, fix='as in protocol = "HaarHRR"')
    made = _named(table["name"])
    own = {key: value for key, value in table.items() if key not in ("name", TIMED)}
    protocol = _first_state(made, own, content, epsilon, people)
    chosen = getattr(protocol, "why", "")  # where a part of it was left open
    return protocol, f"{made.kind}: named in the file{'; ' * bool(chosen)}{chosen}"


def read_search(content: Mapping[str, Any], *, epsilon: float, people: int) -> tuple[Protocol, str]:
    """The protocol behind a table ``[search]``: one of those that find values which nobody listed."""
    search = content["search"]
    if not isinstance(search, Mapping) or "domain" not in content:
        raise ParameterError("search", search, allowed="a table, beside a [domain]", fix="say what is searched, as in text = 16")
    name = search.get("protocol", "auto")
    searches = {kind: made for kind, made in PROTOCOLS.load(name).items() if made.__module__.startswith(SEARCHES)}
    if name not in ("auto", *searches):
        known = _local(searches)
        raise ParameterError("protocol", name, allowed=f"auto or one of {known}", fix=did_you_mean(name, known))
    why = f"{name}: named in the file" if name != "auto" else "PEM: the usual search"
    own = {key: value for key, value in search.items() if key not in ("protocol", TIMED)}
    return _first_state(_named("PEM" if name == "auto" else name), own, content, epsilon, people), why


def takes_domain(made: type[Protocol]) -> bool:
    """Whether people answer with values of a ``[domain]``, and not with records or points that a protocol describes otherwise."""
    return any(field.name == "domain" for field in fields(made))  # type: ignore[arg-type]  # every protocol is a dataclass


def _local(found: Mapping[str, type[Protocol]]) -> list[str]:
    """The names of the protocols that a collector can ask with."""
    return sorted(kind for kind, made in found.items() if made.trust == LOCAL and not made.needs and kind != Survey.kind)


def _named(name: object) -> type[Protocol]:
    found: Mapping[str, type[Protocol]] = PROTOCOLS.load(name)
    known = _local(found)
    if isinstance(name, str) and name in known:
        return found[name]
    raise ParameterError("protocol", name, allowed=f"one of {known}", fix=_instead(name, found) or did_you_mean(name, known))


def _instead(name: object, found: Mapping[str, type[Protocol]]) -> str:
    """What to do with a name that the library has, though no collector can ask with it; "" for other names."""
    if name == Survey.kind:
        return "leave it out: a survey is a [domain], or [[questions]]"
    if isinstance(name, str) and name in found:
        model, needs = found[name].trust, found[name].needs
        if model == SHUFFLE:
            return f'ask [[questions]] with trust = "shuffle": {name} is for a batch in Python'
        instead = "run it in Python" if model == LOCAL else f"{name} is {model}; use a local protocol, such as PEM"
        return f"{instead}: it needs {needs}"
    for module in pkgutil.iter_modules(importlib.import_module("deniable.tasks").__path__, "deniable.tasks."):
        if name in getattr(importlib.import_module(module.name), "__all__", ()):
            return f"use {module.name}.{name} in Python: it is no protocol that asks people in rounds"
    return ""


def _first_state(made: type[Protocol], own: Mapping[str, Any], content: Mapping[str, Any], epsilon: float, people: int) -> Protocol:
    """A protocol in its first state, which a collector can open and read back."""
    settled: dict[str, Any] = {"epsilon": epsilon, "people": people}
    takes = takes_domain(made)
    if takes != ("domain" in content):
        allowed = f"a [domain] beside {made.kind}" if takes else f"no [domain] beside {made.kind}"
        fix = 'say what an answer may be, as in integers = [0, 100] or sets = { categories = ["tea", "milk"] }'
        raise ParameterError("domain", content.get("domain"), allowed=allowed, fix=fix if takes else "its own settings say what is asked")
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
        raise ParameterError("domain", domain, allowed=allowed, fix='sets are written sets = { categories = ["tea", "milk"] }')
    if candidates is not None:
        allowed = f"none in a search or another protocol, such as {made.kind}"
        raise ParameterError("candidates", candidates, allowed=allowed, fix="leave them out, or leave out the protocol to count them")
    if isinstance(domain, Numbers) and made.__module__.startswith("deniable.tasks.heavy_hitters"):
        raise ParameterError("domain", domain, allowed="values that can be frequent", fix="leave out [search] for the mean of numbers")
    return domain


def _check_size(protocol: Any) -> None:
    """Refuse a search whose rounds no collector could open: devices fetch the prefixes that a round asks about."""
    from deniable.tasks.heavy_hitters.pem import PEM
    from deniable.tasks.heavy_hitters.prefixes import LARGEST_LIST

    for name in ("k", "keep"):
        if getattr(protocol, name, 1) > LARGEST_LIST:
            raise ParameterError(name, getattr(protocol, name), allowed=f"at most {LARGEST_LIST}", fix="search for fewer values")
    if isinstance(protocol, PEM):
        steps = [after - before for before, after in pairwise(protocol.lengths)]
        bits = max(protocol.lengths[0], *(step + protocol.keep.bit_length() for step in steps), 0)
        if bits > MOST_BITS:
            fix = "search for fewer values, or in shorter steps: step_bits = 8"
            raise ParameterError("step_bits", bits, allowed=f"rounds about at most 2^{MOST_BITS} prefixes", fix=fix)
        if len(protocol.lengths) * protocol.rounds > MOST_ROUNDS:
            rounds = len(protocol.lengths) * protocol.rounds
            raise ParameterError("domain", f"{rounds} rounds", allowed=f"at most {MOST_ROUNDS}", fix="shorten the values")
