"""Task files: TOML as people write it, checked key by key and turned into the task that is published.

::

    name = "morning-drink"
    question = "What do you drink in the morning?"
    owner = "research@example.org"
    epsilon = 0.4
    start = 2026-12-01               # a date or time, UTC without an offset; left out: now
    end = 2027-01-01                 # or lasts = "30 days"
    period = "1 day"                 # left out: one period, the whole time
    answers = 7                      # per person, over the whole task; left out: 1
    answers_per_period = 1
    minimum_batch = 100              # fewer reports are not shown
    late = "1 hour"                  # how long late reports are accepted
    retention = "90 days"            # how long reports are kept after counting
    default = "water"                # sent by devices without an answer; left out: they send nothing, which the collector can see
    admission = "token"              # or "secret"; left out: everyone is counted, as often as they send
    seeds = "assigned"               # by tokens, for OLH and BLH; left out: every device draws its own
    people = 10_000                  # expected number; used to choose a mechanism
    note = "We publish the result."  # added to the privacy statement
    trust = "shuffle"                # with a table [shuffle]: see ``shuffle_file``; left out: "local"
    weak_privacy = true              # required if all answers of a person together cost more than epsilon = 6

    [domain]                         # or range = 10, integers = [0, 100], numbers = { low = 0, high = 120 }, yes_no = true, text = 16
    categories = ["tea", "coffee", "water"]

    [mechanism]                      # left out: the one with the smallest predicted error
    name = "GRR"

    [strata]                         # sent without noise with every report
    platform = ["phone", "web"]

Text, bytes and other domains too large to list need ``candidates = [...]`` in ``[domain]``, or a ``[search]`` with ``protocol``, its
settings, and ``round = "1 hour"``; without ``round``, an admin closes rounds. Sets, tables, ranges, places and models need a
``[protocol]`` with its ``name``, its settings and ``round`` (``protocol_table``). For several questions, of which each person answers one,
write ``[[questions]]`` with ``name``, ``domain`` and, if you like, ``mechanism`` and ``share``. Bytes are written in hex, as in
``bytes = 8``. For ``numbers`` the mean is estimated, or the distribution with SquareWave; limits may be times, and ``steps`` and ``clip``
refine the range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Any

from deniable.collect.tasks.limits import check_size, check_strength
from deniable.collect.tasks.protocol_table import TIMED, takes_domain
from deniable.collect.tasks.questionnaire import Questionnaire, read_asking
from deniable.collect.tasks.shuffle_file import read_shuffled, read_trust
from deniable.collect.tasks.spans import UNITS, moment_in_words, read_moment, read_span
from deniable.collect.tasks.statement import privacy_statement
from deniable.contract.admission import ASSIGNED, NO_ISSUER, TOKEN
from deniable.contract.assigned import seed_words
from deniable.contract.domain import Domain
from deniable.contract.mixing import SHUFFLE
from deniable.contract.probability import check_epsilon
from deniable.contract.spec import MECHANISMS
from deniable.contract.subsets import Subsets
from deniable.contract.survey import Survey
from deniable.contract.task import Task
from deniable.core.declared import check_names, read_toml
from deniable.core.declared_domain import read_value
from deniable.errors import DomainError, ParameterError

REQUIRED = ("name", "question", "owner", "epsilon")
PLAIN = ("answers", "answers_per_period", "minimum_batch", "admission", "seeds")
TIMES = ("start", "end", "lasts", "period", "late", "retention")
ASKED = ("domain", "mechanism", "questions", "search", "protocol")
OPTIONAL = (*TIMES, *PLAIN, "default", "people", "note", "strata", "weak_privacy", "trust", "model", "shuffle", *ASKED)
Issuer = Callable[[Task], bytes]
"""Makes or finds the token key of a draft."""
PEOPLE, MOST_PEOPLE = 100_000, 10**15
"""The default and the largest number of expected people."""


@dataclass(frozen=True)
class TaskFile:
    """The contents of a task file: the task, the expected number of people, and why it asks as it does."""

    task: Task
    people: int
    asking: Questionnaire


def read_task(toml: bytes, *, key: bytes, now: float, issuer: Issuer | None = None) -> Task:
    """Return the task of a TOML file for the collector with this public key; raise ParameterError naming what is wrong with it.

    ``issuer`` gives a task with tokens a key for them; without it, the task is a draft, which cannot be published.
    """
    task = read_task_file(toml, key=key, now=now).task
    return task if task.admission != TOKEN or issuer is None else replace(task, issuer=issuer(task))


def read_task_file(toml: bytes, *, key: bytes, now: float) -> TaskFile:
    """Return the same, with what only its author needs."""
    content = read_toml(toml, "task")
    check_names("task", content, REQUIRED, OPTIONAL)
    people = content.get("people", PEOPLE)
    if type(people) is not int or not 1 <= people <= MOST_PEOPLE:
        raise ParameterError(
            "people", people, allowed=f"an integer from 1 to {MOST_PEOPLE}", fix="set people to the number of reports you expect"
        )
    note = content.get("note", "")
    if not isinstance(note, str):
        raise ParameterError("note", note, allowed="text", fix="put the note in quotation marks")
    trust = read_trust(content)
    if trust == SHUFFLE:
        epsilon, asking, mixing = read_shuffled(content, people=people)
    else:
        epsilon = (
            inf if content["epsilon"] == inf else check_epsilon(content["epsilon"])
        )  # infinite: only the identity mechanism of tests takes it
        asking, mixing = read_asking(content, name=content["name"], epsilon=epsilon, people=people), None
    guarantee = asking.protocol.guarantee
    task = Task(
        name=content["name"],
        question=content["question"],
        owner=content["owner"],
        statement="...",  # generated below, from all the rest
        protocol=asking.protocol.canonical,
        epsilon=_each(epsilon, asking),
        key=key,
        rounds=not isinstance(asking.protocol, Survey),
        strata=_strata(content.get("strata", {})),
        default=_default(content, asking),
        issuer=NO_ISSUER if content.get("admission") == TOKEN else b"",
        model=trust,
        mixing=mixing,
        **_times(content, now),
        **{name: content[name] for name in PLAIN if name in content},
    )
    _check_answers(task, asking)
    _check_seeds(task, asking)
    check_size(task, asking.protocol)
    check_strength(task, content.get("weak_privacy", False))
    questions = len(asking.protocol.open().questions)
    return TaskFile(replace(task, statement=privacy_statement(task, guarantee, note=note, questions=questions)), people, asking)


def _each(epsilon: float, asking: Questionnaire) -> float:
    """Return the cost of one answer: less than epsilon if a protocol asks everyone in several rounds and splits epsilon among them."""
    cost = asking.protocol.guarantee.epsilon
    if cost == inf or cost > epsilon:  # then the file sets the number of answers
        return epsilon
    answers = ceil(round(cost / max(question.spec.epsilon for question in asking.protocol.open().questions), 9))
    return epsilon if answers == 1 else cost / answers  # sampling on the device may make it even cheaper


def _times(content: Mapping[str, Any], now: float) -> dict[str, Any]:
    if ("end" in content) == ("lasts" in content):
        given = sorted({"end", "lasts"} & set(content))
        raise ParameterError("end, lasts", given, allowed="one of the two", fix='write end = 2027-01-01 or lasts = "30 days"')
    start = read_moment("start", content["start"]) if "start" in content else int(now)
    end = read_moment("end", content["end"]) if "end" in content else start + read_span("lasts", content["lasts"])
    if end <= start:
        raise ParameterError("end", moment_in_words(end), allowed=f"after the start, {moment_in_words(start)}", fix="choose a later end")
    if end <= now:
        raise ParameterError("end", moment_in_words(end), allowed="a time in the future", fix="choose a later end")
    table = next((name for name in ("search", "protocol") if name in content), None)
    if table is not None:
        if "period" in content:
            allowed = f"no period with [{table}], which has rounds"
            raise ParameterError("period", content["period"], allowed=allowed, fix=f'write round = "1 hour" in [{table}]')
        said = content[table] if isinstance(content[table], Mapping) else {}
        period = read_span(TIMED, said[TIMED]) if TIMED in said else 0
    else:
        period = read_span("period", content["period"]) if "period" in content else end - start
    times = {"start": start, "end": end, "period": period}
    if "late" in content:
        times["late"] = read_span("late", content["late"])
    if "retention" in content:
        times["retention"] = read_span("retention", content["retention"], UNITS["day"])
    return times


def _strata(content: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    lists = list(content.values()) if isinstance(content, Mapping) else [None]
    if not isinstance(content, Mapping) or not all(
        isinstance(labels, list) and all(isinstance(x, str) for x in labels) for labels in lists
    ):
        raise ParameterError("strata", content, allowed="names with lists of labels", fix='write platform = ["phone", "web"], for example')
    return tuple((name, tuple(labels)) for name, labels in content.items())


def _default(content: Mapping[str, Any], asking: Questionnaire) -> Any:
    if "default" not in content:
        return None
    if "questions" in content:
        allowed = "a default only if everyone gets the same question"
        raise ParameterError("default", content["default"], allowed=allowed, fix="leave out default, or publish a task for each question")
    first: Any = asking.protocol
    domain: Domain | None = first.questions[0].spec.domain if isinstance(first, Survey) else getattr(first, "domain", None)
    if domain is None or isinstance(domain, Subsets) or not (isinstance(first, Survey) or takes_domain(type(first))):
        allowed = f"none with {first.kind}: a set may be empty, and a record is whole"
        raise ParameterError("default", content["default"], allowed=allowed, fix="leave out default: every device has an answer")
    try:
        default = read_value("default", domain, content["default"])
        if isinstance(first, Survey):
            first.questions[0].spec.check_value(default)
    except DomainError as error:
        fix = "choose one of the answers, or leave it out"
        raise ParameterError("default", content["default"], allowed=error.allowed, fix=fix) from error
    return default


def _check_seeds(task: Task, asking: Questionnaire) -> None:
    asked = asking.protocol.open().questions
    if task.seeds == ASSIGNED and not any(seed_words(question.spec) for question in asked):
        names = sorted({question.spec.mechanism for question in asked})
        able = sorted(name for name, cls in MECHANISMS.items() if cls.assignable)
        allowed = f"a mechanism whose reports contain a hash function: {', '.join(able)}"
        raise ParameterError("seeds", f"{task.seeds} for {', '.join(names)}", allowed=allowed, fix='choose name = "OLH" in [mechanism]')


def _check_answers(task: Task, asking: Questionnaire) -> None:
    """Raise unless ``answers`` is what is paid for and can be given: the statement shows people this number."""
    cost = asking.protocol.guarantee.epsilon
    if cost == inf > task.epsilon:
        raise ParameterError("epsilon", task.epsilon, allowed="inf for a mechanism that hides nothing", fix="choose another mechanism")
    least = 1 if cost == inf else ceil(round(cost / task.epsilon, 9))
    most = least if task.rounds else task.answers_per_period * task.period_count
    if task.answers < least or task.epsilon * task.answers < cost:
        raise ParameterError("answers", task.answers, allowed=f"{least}, the reports asked of each person", fix=f"write answers = {least}")
    if task.answers > most:
        why = "a search asks each person no more often" if task.rounds else "there are no more periods"
        fix = f"write answers = {most}" if task.rounds else 'add periods, such as period = "1 day"'
        raise ParameterError("answers", task.answers, allowed=f"at most {most}: {why}", fix=fix)
