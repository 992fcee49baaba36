"""What a task file asks: its domains, mechanisms, questions or search, with everything resolved that was left open.

What choosing and searching need is imported when it is first needed: a collector that publishes nothing starts without.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from deniable.client.numeric import NumericSpec
from deniable.collect.tasks.number_asking import RANGE, point_in_time, range_of, read_numbers
from deniable.contract.domain import Bytes, Categories, Domain, IndexRange, Integers, Text
from deniable.contract.encoder import Attribute, Encoder, Identity
from deniable.contract.numbers import Numbers
from deniable.contract.protocol import PROTOCOLS, Protocol
from deniable.contract.question import Question, read_share
from deniable.contract.spec import MECHANISMS, Spec
from deniable.contract.survey import Survey
from deniable.core.declared import check_names, did_you_mean
from deniable.errors import ParameterError

KINDS = ("categories", "range", "integers", "text", "bytes", "yes_no", "numbers")
SETTLED = {"epsilon", "domain", "domain_size", "people"}
"""What stands elsewhere in the file."""
STATE = {"stage", "candidates", "repetition", "found", "lengths", "prefixes", "frequent_segments"}
"""What searches learn on their way; they begin without."""
MOST_BITS, MOST_ROUNDS = 18, 512
REPORT_BYTES = 1 << 16
"""What a device sends at most for one answer."""


class Asking(NamedTuple):
    """What is asked, and in a sentence for each question why it is asked in this way."""

    protocol: Protocol
    reasons: tuple[str, ...]


def read_asking(content: Mapping[str, Any], *, name: str, epsilon: float, people: int) -> Asking:
    """The protocol behind ``[domain]`` and ``[mechanism]``, ``[[questions]]``, or ``[domain]`` and ``[search]``."""
    for one, other in (("questions", "domain"), ("questions", "mechanism"), ("questions", "search"), ("search", "mechanism")):
        if one in content and other in content:
            fix = "a search has an oracle = ... of its own" if one == "search" else "a question has its own domain and mechanism"
            raise ParameterError("task", other, allowed=f"no {other} beside {one}", fix=fix)
    if "search" in content:
        return _search(content, epsilon, people)
    if "questions" not in content:
        if "domain" not in content:
            raise ParameterError("task", sorted(content), allowed="a task with [domain] or [[questions]]", fix="as in yes_no = true")
        question, why = _question(content, name, Identity(), Fraction(1), epsilon=epsilon, people=people)
        return Asking(Survey((question,)), (why,))
    entries = content["questions"]
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, Mapping) for entry in entries):
        raise ParameterError("questions", entries, allowed="tables", fix="begin each with [[questions]]")
    found = []
    for number, entry in enumerate(entries):
        check_names(f"questions[{number}]", entry, ["name", "domain"], ["mechanism", "share"])
        share = read_share(entry["share"]) if "share" in entry else Fraction(1, len(entries))
        asked = int(people * share) or 1
        found.append(_question(entry, entry["name"], Attribute(entry["name"]), share, epsilon=epsilon, people=asked))
    return Asking(Survey(tuple(question for question, _ in found)), tuple(f"{question.name}: {why}" for question, why in found))


def read_domain(content: object) -> tuple[Domain, tuple[Any, ...] | None]:
    """A domain, and the candidates that are named for it.

    >>> read_domain({"text": 8, "candidates": ["tea", "mate"]})
    (Text(max_length=8), ('tea', 'mate'))
    """
    if not isinstance(content, Mapping):
        raise ParameterError("domain", content, allowed="a table", fix='as in [domain] and then categories = ["tea", "coffee"]')
    check_names("domain", content, [], [*KINDS, "candidates"])
    kinds = [kind for kind in KINDS if kind in content]
    if len(kinds) != 1:
        raise ParameterError("domain", kinds, allowed=f"one of {list(KINDS)}", fix="say what an answer may be, in one way")
    kind, value = kinds[0], content[kinds[0]]
    domain: Domain
    if kind == "categories":
        domain = Categories(*_list(kind, value, 'as in categories = ["tea", "coffee"]'))
    elif kind == "integers":
        bounds = _list(kind, value, "as in integers = [0, 100]")
        if len(bounds) != 2:
            raise ParameterError(kind, value, allowed="the lowest and the highest", fix="as in integers = [0, 100]")
        domain = Integers(*bounds)
    elif kind == "yes_no":
        if value is not True:
            raise ParameterError(kind, value, allowed="true", fix="leave it out if it is no such question")
        domain = IndexRange(2)
    elif kind == "numbers":
        domain = read_numbers(value)
    else:
        made: Any = {"range": IndexRange, "text": Text, "bytes": Bytes}[kind]
        domain = made(value)
    if "candidates" not in content:
        return domain, None
    if isinstance(domain, Numbers):
        raise ParameterError("candidates", content["candidates"], allowed="none for numbers", fix="count values with integers = [0, 100]")
    named = _list("candidates", content["candidates"], 'as in candidates = ["tea", "mate"]')
    return domain, tuple(read_value("candidates", domain, value) for value in named)


def read_value(parameter: str, domain: Domain, value: Any) -> Any:
    """A value as a task carries it: bytes are written in hex, yes and no as true and false, points in time as TOML does."""
    if isinstance(domain, Bytes) and not isinstance(domain, Text):
        try:
            value = bytes.fromhex(value)
        except (TypeError, ValueError) as error:
            raise ParameterError(parameter, value, allowed="bytes in hex", fix='as in "00ff"') from error
    value = point_in_time(value) if isinstance(domain, Numbers) else value
    domain.key(value)  # DomainError if it is not allowed
    return int(value) if isinstance(value, bool) else value


def _question(
    content: Mapping[str, Any], name: str, encoder: Encoder, share: Fraction, *, epsilon: float, people: int
) -> tuple[Question, str]:
    from deniable.local.frequency.oracle import LARGEST_LISTING

    domain, candidates = read_domain(content["domain"])
    asked = range_of(content["domain"], domain) if isinstance(domain, Numbers) else {"domain": domain}
    spec, why = _mechanism(content.get("mechanism", "auto"), asked, epsilon, people)
    if candidates is None and not isinstance(domain, Numbers) and not (domain.listed and domain.size <= LARGEST_LISTING):
        allowed = f"a domain that can be listed, or candidates = [...]: {spec.mechanism} cannot say what nobody named"
        fix = 'name candidates = [...] in [domain], or let a [search] with protocol = "PEM" find them'
        raise ParameterError("domain", domain, allowed=allowed, fix=fix)
    size = sum(column.row_bytes for column in spec.layout)
    if size > REPORT_BYTES:
        fix = 'mechanism = "auto" finds one with small reports'
        raise ParameterError(
            "mechanism", f"{spec.mechanism}, {size:,} bytes", allowed=f"reports of {REPORT_BYTES:,} bytes at most", fix=fix
        )
    return Question(name=name, spec=spec, encoder=encoder, share=share, candidates=candidates), why


def _mechanism(content: object, asked: dict[str, Any], epsilon: float, people: int) -> tuple[Spec, str]:
    """``asked`` is a domain, or the range of numbers whose grid is left to the mechanism."""
    table = {"name": content} if isinstance(content, str) else content
    if not isinstance(table, Mapping):
        raise ParameterError("mechanism", content, allowed="a name, or a table with name = ...", fix='"auto" chooses one')
    own = {key: value for key, value in table.items() if key != "name"}
    name = table.get("name", "auto")
    importlib.import_module("deniable.client")  # registers the mechanisms
    numeric = "low" in asked or isinstance(asked["domain"], Numbers)
    if name == "auto":
        from deniable.local.choose import frequency_oracle
        from deniable.local.choose_mean import mean_oracle

        check_names("mechanism", own, [], [])
        choose: Any = mean_oracle if numeric else frequency_oracle
        choice = choose(**asked, epsilon=epsilon, n=people)
        return choice.spec, choice.why
    known = [each for each, cls in MECHANISMS.items() if issubclass(cls, NumericSpec) == numeric]
    if not isinstance(name, str) or name not in known:
        other = "it counts values, as in integers = [0, 100]" if numeric else "it is for numbers = { low = 0, high = 100 }"
        fix = other if isinstance(name, str) and name in MECHANISMS else did_you_mean(name, known)
        raise ParameterError("mechanism", name, allowed=f"auto or one of {known}", fix=fix)
    settings = [each for each in _settings(MECHANISMS[name]) if not numeric or each not in RANGE]  # which stands in [domain]
    check_names(name, own, [], settings)
    return _make(MECHANISMS[name], own, {**asked, "epsilon": epsilon}), f"{name}: named in the file"


def _search(content: Mapping[str, Any], epsilon: float, people: int) -> Asking:
    search = content["search"]
    if not isinstance(search, Mapping) or "domain" not in content:
        raise ParameterError("search", search, allowed="a table, beside a [domain]", fix="say what is searched, as in text = 16")
    domain, candidates = read_domain(content["domain"])
    if isinstance(domain, Numbers):
        raise ParameterError("domain", domain, allowed="values that can be frequent", fix="leave out [search] for the mean of numbers")
    if candidates is not None:
        raise ParameterError("candidates", candidates, allowed="none in a search", fix="leave out [search] to count them")
    known = dir(importlib.import_module("deniable.tasks.heavy_hitters"))  # the searches, which this registers; other protocols are none
    name = search.get("protocol", "auto")
    if name not in ("auto", *known):
        raise ParameterError("protocol", name, allowed=f"auto or one of {known}", fix=did_you_mean(name, known))
    why = f"{name}: named in the file" if name != "auto" else "PEM: the usual search"
    name = "PEM" if name == "auto" else name
    made: Any = PROTOCOLS[name]
    own = {key: value for key, value in search.items() if key not in ("protocol", "round")}
    needed = [field.name for field in fields(made) if field.default is MISSING and field.name not in SETTLED | {"bits"}]
    check_names(name, own, needed, [each for each in _settings(made) if each != "bits"])  # the domain says how long values are
    protocol = _make(made, own, {"domain": domain, "epsilon": epsilon, "people": people})
    _check_size(protocol)
    return Asking(protocol, (why,))


def _check_size(protocol: Any) -> None:
    """Refuse a search whose rounds no collector could open: devices fetch the prefixes that a round asks about."""
    from deniable.tasks.heavy_hitters.pem import PEM
    from deniable.tasks.heavy_hitters.searching import LARGEST_LIST

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


def _settings(made: Any) -> list[str]:
    return [field.name for field in fields(made) if field.name not in SETTLED | STATE]


def _make(made: Any, settings: dict[str, Any], settled: dict[str, Any]) -> Any:
    taken = {field.name for field in fields(made)}
    try:
        return made(**settings, **{name: value for name, value in settled.items() if name in taken})
    except (TypeError, ValueError, ArithmeticError) as error:  # a setting of another type than the mechanism thought of
        raise ParameterError(made.__name__, settings, allowed="settings of the right type", fix=str(error)) from error


def _list(parameter: str, value: object, fix: str) -> list[Any]:
    if not isinstance(value, list):
        raise ParameterError(parameter, value, allowed="a list", fix=fix)
    return value
