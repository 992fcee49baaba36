"""The fields of the survey page: one for each question, fit for its domain, with the attributes that the page's script reads.

People choose labels by number: the client sends the label from the task that it has verified, not the text of the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import Any

from deniable.client.answerable import task_domain
from deniable.collect.dashboard.html import Element, element, quoted
from deniable.collect.dashboard.words import label
from deniable.collect.tasks.protocol_table import takes_domain
from deniable.contract.admission import SECRET, TOKEN
from deniable.contract.canonical import parse_canonical
from deniable.contract.domain import Bytes, Categories, Domain, IndexRange, Integers, Text
from deniable.contract.encoder import Attribute, Identity
from deniable.contract.numbers import Numbers
from deniable.contract.protocol import PROTOCOLS
from deniable.contract.spec import Spec
from deniable.contract.task import Task
from deniable.errors import shorten

SPREAD = 12
"""The most answers shown as radio buttons; more of them become a drop-down list."""
ASKED = (Categories, IndexRange, Integers, Bytes, Numbers)
"""Domains that a page has fields for."""
SAFE = (1 << 53) - 1
"""Beyond it, a browser's number field rounds."""


def asked_domains(task: Task) -> dict[str, Domain] | None:
    """Return the domains to ask for, by attribute name (empty for a single value); None if the page cannot ask for them."""
    found: dict[str, Domain] = {}
    if task.rounds:  # records and places are described by their protocol, and an app makes the answer from what it holds
        found = {"": task_domain(task)} if takes_domain(PROTOCOLS.load()[parse_canonical(task.protocol)["protocol"]]) else {}
    else:
        questions = task.survey.questions
        domains = {question.spec.domain for question in questions}
        if all(isinstance(question.encoder, Attribute) for question in questions):
            found = {question.encoder.name: question.spec.domain for question in questions if isinstance(question.encoder, Attribute)}
        elif len(domains) == 1 and all(isinstance(question.encoder, Identity) for question in questions):
            found = {"": domains.pop()}
    return found if found and all(isinstance(domain, ASKED) for domain in found.values()) else None


def answer_fields(task: Task, domains: dict[str, Domain]) -> list[Element]:
    """Return one field for each domain."""
    fits = [_Fit(domain, _specs(task, name)) for name, domain in domains.items()]
    if len(domains) > 1:
        return [
            _field(f"answer-{place}", quoted(name), fit, name, None) for place, (name, fit) in enumerate(zip(domains, fits, strict=True))
        ]
    (name,) = domains
    return [_field("answer-0", "Choose one" if fits[0].is_spread else "Your answer", fits[0], name, task.default)]


def _specs(task: Task, attribute: str) -> tuple[Spec, ...]:
    """Return the mechanisms that answer for this attribute: some take only a few values of the domain, or whole numbers only."""
    questions = () if task.rounds else task.survey.questions
    return tuple(
        question.spec for question in questions if not isinstance(question.encoder, Attribute) or question.encoder.name == attribute
    )


def stratum_choices(task: Task) -> list[Element]:
    """Return a list for each stratum. Nothing is preselected, because the label is sent without noise."""
    fields = []
    for place, (name, labels) in enumerate(task.strata):
        identity = f"stratum-{place}"
        options = [element("option", "choose", value=""), *(element("option", text, value=i) for i, text in enumerate(labels))]
        select = element("select", *options, id=identity, required=True, data_stratum=place)
        fields.append(element("div", element("label", quoted(name), ", sent without noise", for_=identity), select, class_="field"))
    return fields


def admission_field(task: Task) -> Element | None:
    """Return the field for a code or a secret, if the task asks for one."""
    told = {SECRET: "The secret that you were given", TOKEN: "The code that you were given"}.get(task.admission)
    if told is None:
        return None
    box = element(
        "input", type="text", id="admission", required=True, maxlength=200, autocomplete="off", spellcheck="false", data_admission=True
    )
    return element("div", element("label", told, for_="admission"), box, class_="field", id="admission-field")


@dataclass(frozen=True)
class _Fit:
    """The values that a field allows: those of the domain that all mechanisms take."""

    domain: Domain
    specs: tuple[Spec, ...]

    @cached_property
    def choices(self) -> list[tuple[str, str]] | None:
        """Values of the field and their texts, where they are few enough to be listed."""
        domain = self.domain
        few = next((spec.choices for spec in self.specs if spec.choices is not None), None)
        if few is not None and isinstance(domain, Numbers) and not domain.times:  # a time is typed, in the browser's zone
            return [(str(number), str(number)) for number in map(_shown, few)]
        return _choices(domain)

    @property
    def whole(self) -> bool:
        """True if only whole numbers are taken."""
        return any(spec.whole for spec in self.specs)

    @property
    def is_spread(self) -> bool:
        """True if all answers are shown as radio buttons."""
        return self.choices is not None and len(self.choices) <= SPREAD

    @property
    def limits(self) -> dict[str, object]:
        """The attributes that let the browser check the field."""
        return _limits(self.domain) | ({"step": 1} if self.whole else {})

    @property
    def hint(self) -> str:
        """What people may type, in words."""
        told = _hint(self.domain)
        return told.replace("Finite numbers", "Whole numbers") if self.whole else told


def _field(identity: str, told: Element | str, fit: _Fit, attribute: str, default: object) -> Element:
    about = {"data_answer": True, "data_attribute": attribute, "data_kind": _kind(fit.domain)}
    choices = fit.choices
    if choices is not None and fit.is_spread:
        if default is not None:
            choices = [*choices, ("none", _no_answer(default))]
        spread = [_radio(identity, place, value, text) for place, (value, text) in enumerate(choices)]
        return element("fieldset", element("legend", told), *spread, class_="answers", **about)
    if choices is not None:
        options = [element("option", "choose", value=""), *(element("option", text, value=value) for value, text in choices)]
        inside = element("select", *options, id=identity, required=True)
    else:
        inside = element("input", id=identity, required=True, autocomplete="off", aria_describedby=f"{identity}-hint", **fit.limits)
    hint = element("p", fit.hint, class_="note", id=f"{identity}-hint") if choices is None else None
    none = _radio_or_box(identity, default) if default is not None else []
    return element("div", element("label", told, for_=identity), inside, hint, *none, class_="field", **about)


def _radio(identity: str, place: int, value: str, text: str) -> Element:
    own = f"{identity}-{place}"
    box = element("input", type="radio", name=identity, id=own, value=value, required=True)
    return element("div", box, element("label", quoted(text), for_=own), class_="option")


def _radio_or_box(identity: str, default: object) -> list[Element]:
    own = f"{identity}-none"
    box = element("input", type="checkbox", id=own, data_none=True)
    return [element("div", box, element("label", _no_answer(default), for_=own), class_="option")]


def _no_answer(default: object) -> str:
    return f"I have no answer (counts as {default if isinstance(default, datetime) else shorten(default)})"


def _kind(domain: Domain) -> str:
    """Return how the script reads the field."""
    if isinstance(domain, Categories):
        return "label"
    if isinstance(domain, Numbers):
        return ("clock" if domain.low.tzinfo is None else "time") if domain.times else "number"
    return "text" if isinstance(domain, Text) else "bytes" if isinstance(domain, Bytes) else "integer"


def _choices(domain: Domain) -> list[tuple[str, str]] | None:
    """Values of the field and their texts, where they are few enough to be listed."""
    if isinstance(domain, Categories):
        return [(str(place), label(text)) for place, text in enumerate(domain.labels)]
    if isinstance(domain, IndexRange) and domain.size == 2:
        return [("1", "yes"), ("0", "no")]
    if isinstance(domain, IndexRange | Integers) and domain.size <= SPREAD:
        return [(str(domain.value(key)), str(domain.value(key))) for key in range(domain.size)]
    return None


def _limits(domain: Domain) -> dict[str, object]:
    if isinstance(domain, Text):
        return {"type": "text", "maxlength": domain.max_length}
    if isinstance(domain, Bytes):
        return {"type": "text", "pattern": "([0-9a-f]{2})*", "maxlength": 2 * domain.max_length, "spellcheck": "false"}
    if isinstance(domain, Numbers):
        return _number_limits(domain)
    low, high = (domain.value(key) for key in (0, domain.size - 1))
    if all(abs(int(str(end))) <= SAFE for end in (low, high)):
        return {"type": "number", "min": low, "max": high, "step": 1}
    return {"type": "text", "inputmode": "numeric", "pattern": "-?[0-9]+"}


def _number_limits(domain: Numbers) -> dict[str, object]:
    """Return the attributes of a field for numbers or times. Clipped values may be out of range; times are typed in the browser's zone."""
    field: dict[str, object] = {"type": "datetime-local" if domain.times else "number", "step": "any"}
    if domain.clip or (domain.times and domain.low.tzinfo is not None):
        return field
    if domain.times:
        low, high = (bound.isoformat(timespec="minutes") for bound in (domain.low, domain.high))
        return (
            field | {"min": low, "max": high}
            if not any(bound.second or bound.microsecond for bound in (domain.low, domain.high))
            else field
        )
    low, high = _shown(domain.low), _shown(domain.high)
    return field | {"min": low, "max": high}


def _shown(number: Any) -> int | float:
    """Return a number as a browser writes it."""
    return int(number) if number.denominator == 1 else float(number)


def _hint(domain: Domain) -> str:
    if isinstance(domain, Bytes) and not isinstance(domain, Text):
        return f"Hexadecimal digits, at most {domain.max_length} bytes."
    if isinstance(domain, Numbers) and domain.times and domain.low.tzinfo is not None:
        ends = [bound.isoformat(sep=" ", timespec="minutes").replace("+00:00", " UTC") for bound in (domain.low, domain.high)]
        outside = " (times outside count as the nearest end)" if domain.clip else ""
        return f"A time in your device's time zone, from {ends[0]} to {ends[1]}{outside}."
    described = "".join(chain(domain.describe()[:1].upper(), domain.describe()[1:]))
    return f"{described}."
