"""The questions of a task file: domains, mechanisms, questions or search, with every open choice resolved.

Whatever chooses or searches is imported on first use: a collector that publishes nothing starts without it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any, NamedTuple

from deniable.collect.tasks.protocol_table import read_protocol, read_search
from deniable.contract.encoder import Attribute, Encoder, Identity
from deniable.contract.numbers import Numbers
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question, read_share
from deniable.contract.spec import MECHANISMS, Spec
from deniable.contract.subsets import Subsets
from deniable.contract.survey import Survey
from deniable.core.declared import check_names, did_you_mean
from deniable.core.declared_domain import read_domain
from deniable.core.declared_protocol import make, settings_of
from deniable.errors import DeniableError, ParameterError, one_of

BESIDE = {
    "questions": ("move it into each of the [[questions]]", ("domain", "mechanism", "search", "protocol")),
    "search": ("leave it out, or choose the oracle = ... in [search]", ("mechanism", "protocol")),
    "protocol": ("leave it out: the protocol chooses its mechanisms", ("mechanism",)),
}
"""Keys that exclude each other, with the reason."""
RANGE = ("low", "high", "steps", "clip")
"""Parameters of mechanisms that a file sets in its domain."""
REPORT_BYTES = 1 << 16
"""The most bytes that a device sends for one answer."""


class Questionnaire(NamedTuple):
    """The protocol that asks, with a sentence for each question on why it asks this way."""

    protocol: Protocol
    reasons: tuple[str, ...]


def read_asking(content: Mapping[str, Any], *, name: str, epsilon: float, people: int) -> Questionnaire:
    """Return the protocol for ``[domain]`` and ``[mechanism]``, ``[[questions]]``, ``[domain]`` and ``[search]``, or ``[protocol]``."""
    for one, (fix, others) in BESIDE.items():
        for other in others:
            if one in content and other in content:
                raise ParameterError("task", other, allowed=f"no {other} together with {one}", fix=fix)
    for table, read in (("search", read_search), ("protocol", read_protocol)):
        if table in content:
            protocol, why = read(content, epsilon=epsilon, people=people)
            _check_reports(protocol.open().questions)
            return Questionnaire(protocol, (why,))
    if "questions" not in content:
        if "domain" not in content:
            raise ParameterError(
                "task", sorted(content), allowed="a task with [domain] or [[questions]]", fix="add [domain] with yes_no = true, for example"
            )
        question, why = _question(content, name, Identity(), Fraction(1), epsilon=epsilon, people=people)
        return Questionnaire(Survey((question,)), (why,))
    entries = content["questions"]
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, Mapping) for entry in entries):
        raise ParameterError("questions", entries, allowed="tables", fix="begin each with [[questions]]")
    found = []
    for number, entry in enumerate(entries):
        check_names(f"questions[{number}]", entry, ["name", "domain"], ["mechanism", "share"])
        share = read_share(entry["share"]) if "share" in entry else Fraction(1, len(entries))
        asked = int(people * share) or 1
        found.append(_question(entry, entry["name"], Attribute(entry["name"]), share, epsilon=epsilon, people=asked))
    return Questionnaire(Survey(tuple(question for question, _ in found)), tuple(f"{question.name}: {why}" for question, why in found))


def _question(
    content: Mapping[str, Any], name: str, encoder: Encoder, share: Fraction, *, epsilon: float, people: int
) -> tuple[Question, str]:
    from deniable.local.frequency.oracle import LARGEST_LISTING

    domain, candidates = read_domain(content["domain"])
    if isinstance(domain, Subsets):
        raise ParameterError(
            "domain",
            domain,
            allowed="sets together with a [protocol] that asks about them",
            fix='add [protocol] with name = "SVIM", for example',
        )
    asked = _range_of(content["domain"], domain) if isinstance(domain, Numbers) else {"domain": domain}
    spec, why = _mechanism(content.get("mechanism", "auto"), asked, candidates, epsilon, people)
    if candidates is None and not isinstance(domain, Numbers) and not (domain.listed and domain.size <= LARGEST_LISTING):
        allowed = f"a domain that can be listed, or candidates = [...]: {spec.mechanism} counts only values that are named"
        fix = 'name candidates = [...] in [domain], or let a [search] with protocol = "PEM" find them'
        raise ParameterError("domain", domain, allowed=allowed, fix=fix)
    question = Question(name=name, spec=spec, encoder=encoder, share=share, candidates=candidates)
    _check_reports([question])
    return question, why


def _check_reports(questions: Iterable[Question]) -> None:
    """Raise if the reports to a question are too long to send."""
    for spec in {question.spec for question in questions}:
        size = sum(column.row_bytes for column in spec.layout)
        if size > REPORT_BYTES:
            allowed, fix = f"reports of {REPORT_BYTES:,} bytes at most", 'write "auto" to choose one with small reports'
            raise ParameterError("mechanism", f"{spec.mechanism}, {size:,} bytes", allowed=allowed, fix=fix)


def _mechanism(content: object, asked: dict[str, Any], candidates: Any, epsilon: float, people: int) -> tuple[Spec, str]:
    """Return the mechanism and why; ``asked`` is a domain, or a range of numbers whose grid the mechanism chooses."""
    table = {"name": content} if isinstance(content, str) else content
    if not isinstance(table, Mapping):
        raise ParameterError(
            "mechanism", content, allowed="a name, or a table with name = ...", fix='write "auto" to let the collector choose one'
        )
    own = {key: value for key, value in table.items() if key != "name"}
    name = table.get("name", "auto")
    importlib.import_module("deniable.client")  # registers the mechanisms
    numeric = "low" in asked or isinstance(asked["domain"], Numbers)
    if name == "auto":
        from deniable.local.mean_choice import mean_oracle
        from deniable.local.oracle_choice import frequency_oracle

        check_names("mechanism", own, [], [])
        choose: Any = mean_oracle if numeric else frequency_oracle
        choice = choose(**asked, epsilon=epsilon, n=people)
        return choice.spec, choice.why
    fit = {each: cls for each, cls in MECHANISMS.items() if cls.numeric == numeric}
    if not isinstance(name, str) or name not in fit:
        known = list(_possible(fit, {**asked, "epsilon": epsilon}, candidates))
        other = "it counts values, as in integers = [0, 100]" if numeric else "it is for numbers = { low = 0, high = 100 }"
        fix = other if isinstance(name, str) and name in MECHANISMS else did_you_mean(name, known)
        raise ParameterError("mechanism", name, allowed=f"auto or {one_of(known)}", fix=fix)
    settings = [each for each in settings_of(MECHANISMS[name]) if not numeric or each not in RANGE]  # [domain] has those
    check_names(name, own, [], settings)
    return make(MECHANISMS[name], own, {**asked, "epsilon": epsilon}), f"{name}: named in the file"


def _range_of(content: Mapping[str, Any], domain: Numbers) -> dict[str, Any]:
    """Return the settings for a mechanism: the domain; or, without steps in the file, the range, and the mechanism chooses the grid."""
    if "steps" in content["numbers"]:
        return {"domain": domain}
    return {"low": domain.low, "high": domain.high, "clip": domain.clip}


def _possible(mechanisms: Mapping[str, type[Spec]], settled: dict[str, Any], candidates: Any) -> Iterator[str]:
    """Yield the names of the mechanisms that can ask what the file asks, without settings of their own."""
    for name, made in mechanisms.items():
        with suppress(DeniableError):
            question = Question(name=name, spec=make(made, {}, settled), candidates=candidates)
            _check_reports([question])
            Survey((question,))  # checks the work of finishing
            yield name
