"""Compatibility of a task with the earlier one of its name: silent changes of meaning are refused at publication.

A change keeps the meaning if people's answers stay comparable and the promise stays as strong: other dates, another owner, fewer answers,
shorter retention, or a larger minimum batch.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from deniable.collect.tasks.spans import span_in_words
from deniable.contract.canonical import parse_canonical, to_plain
from deniable.contract.mixing import Mixing
from deniable.contract.survey import Survey
from deniable.contract.task import Task
from deniable.errors import shorten

HARMLESS = ("owner", "statement", "start", "end", "late", "issuer")
"""Fields that may change in any direction. The statement says nothing that no other field does, but for its author's note; every task has
an issuer of its own."""
SAME = {
    "name": "the name",
    "question": "the question's text",
    "epsilon": "epsilon",
    "model": "the trust model",
    "rounds": "whether there are rounds",
    "admission": "who is counted",
    "seeds": "who chooses hash functions",
}
"""Fields that may not change, and what they are called."""
LOWERED_ONLY = {
    "answers": "the answers of a person",
    "answers_per_period": "the answers of a person in a period",
    "retention": "the days for which reports are kept",
}
"""Fields that may only be lowered."""
RAISED_ONLY = {"minimum_batch": "the smallest crowd that anything is shown about"}
"""Fields that may only be raised."""
SPECIAL = ("protocol", "strata", "default", "period", "key", "mixing")
"""Fields with an answer of their own, below."""


def changes_of_meaning(old: Task, new: Task) -> list[str]:
    """Return in words what would change a published task's meaning; empty if it may be published under the same name."""

    def pairs(names: dict[str, str]) -> list[tuple[str, Any, Any]]:
        return [(words, getattr(old, name), getattr(new, name)) for name, words in names.items()]

    special = [
        ("what a device sends without an answer", _default(old), _default(new)),
        ("the period", _period(old), _period(new)),
        ("the collector's key", old.key.hex(), new.key.hex()),
    ]
    return [
        *(_changed(*pair) for pair in pairs(SAME) if pair[1] != pair[2]),
        *_changes_of_protocol(parse_canonical(old.protocol), parse_canonical(new.protocol)),
        *_changes_of_strata(dict(old.strata), dict(new.strata)),
        *_changes_of_mixing(old.mixing, new.mixing),
        *(_changed(*pair) for pair in special if pair[1] != pair[2]),
        *(_changed(*pair) for pair in pairs(LOWERED_ONLY) if pair[1] < pair[2]),
        *(_changed(*pair) for pair in pairs(RAISED_ONLY) if pair[1] > pair[2]),
    ]


def _default(task: Task) -> object:
    return "nothing" if task.default is None else to_plain(task.default) if isinstance(task.default, bytes) else repr(task.default)


def _period(task: Task) -> str:
    if task.period == task.end - task.start and not task.rounds:
        return "the whole time"  # which may end later
    return span_in_words(task.period) if task.period else "until closed by hand"


def _changes_of_protocol(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    if old["protocol"] != new["protocol"]:
        return [_changed("the way of asking", old["protocol"], new["protocol"])]
    if old["protocol"] != Survey.kind:
        names = sorted(old.keys() | new.keys())
        return [_changed(f"the protocol's {name}", old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)]
    before, after = ({question["name"]: question for question in protocol["questions"]} for protocol in (old, new))
    if len(before) == len(after) == 1:  # a single question is identified by its task, whatever its name
        before, after = {"": next(iter(before.values()))}, {"": next(iter(after.values()))}
    changes = [f"the question {name!r} is gone" for name in before if name not in after]
    changes += [f"the question {name!r} is new" for name in after if name not in before]
    common = [name for name in before if name in after]
    if common != [name for name in after if name in before]:
        changes.append("the order of the questions")
    return changes + [change for name in common for change in _changes_of_question(name, before[name], after[name])]


def _changes_of_question(name: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    of = f" of {name!r}" if name else ""
    changes = []
    before, after = old["spec"], new["spec"]
    if before["parameters"]["domain"] != after["parameters"]["domain"]:
        changes.append(_changed(f"the domain{of}", *(question["spec"]["parameters"]["domain"] for question in (old, new))))
    if before["mechanism"] != after["mechanism"]:
        changes.append(_changed(f"the mechanism{of}", before["mechanism"], after["mechanism"]))
    else:
        for parameter in sorted(before["parameters"].keys() | after["parameters"].keys()):
            values = [spec["parameters"].get(parameter) for spec in (before, after)]
            if parameter != "domain" and values[0] != values[1]:
                changes.append(_changed(f"the mechanism's {parameter}{of}", *values))
        if before["parameters"] == after["parameters"] and before["thresholds"] != after["thresholds"]:
            changes.append(_changed(f"the mechanism's thresholds{of}", before["thresholds"], after["thresholds"]))
    for part in ("encoder", "share", "candidates"):
        if old.get(part) != new.get(part):
            changes.append(_changed(f"the {part}{of}", old.get(part), new.get(part)))
    return changes


def _changes_of_strata(old: dict[str, tuple[str, ...]], new: dict[str, tuple[str, ...]]) -> list[str]:
    changes = [_changed(f"the labels of {name}", old[name], new[name]) for name in old if name in new and old[name] != new[name]]
    changes += [f"{name} is no longer asked for" for name in old if name not in new]
    changes += [f"{name} is asked for, in the clear" for name in new if name not in old]
    return changes or (["the order of the strata"] if list(old) != list(new) else [])


def _changes_of_mixing(old: Mixing | None, new: Mixing | None) -> list[str]:
    """A claim may become stronger. Another shuffler is another party to be trusted; its address may change."""
    if old is None or new is None:
        return []  # another trust model, which SAME reports
    keys = [[relay.key.hex() for relay in mixing.shufflers] for mixing in (old, new)]
    weaker: list[tuple[str, object, object, bool]] = [
        ("the claim about a shuffled batch", old.epsilon, new.epsilon, old.epsilon < new.epsilon),
        ("the delta of a shuffled batch", old.delta, new.delta, old.delta < new.delta),
        ("the smallest batch that is shuffled", old.minimum, new.minimum, old.minimum > new.minimum),
        ("the share of people assumed honest", old.honest, new.honest, Fraction(old.honest) < Fraction(new.honest)),
        ("the shufflers' keys", keys[0], keys[1], keys[0] != keys[1]),
        ("the threshold of crowds", old.threshold, new.threshold, old.threshold != new.threshold),
    ]
    return [_changed(what, before, after) for what, before, after, differs in weaker if differs]


def _changed(what: str, old: object, new: object) -> str:
    return f"{what}: {_shown(old)} became {_shown(new)}"


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, dict | list | tuple):
        return _cut(json.dumps(value, ensure_ascii=False))
    return _cut(value) if isinstance(value, str) else shorten(value)


def _cut(text: str, limit: int = 80) -> str:
    """Text cut in the middle where it is long, since what changed may be at its end."""
    return text if len(text) <= limit else f"{text[: limit // 2 - 2]} ... {text[2 - limit // 2 :]}"
