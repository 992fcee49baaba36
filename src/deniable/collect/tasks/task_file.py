"""The task as people write it: a TOML file, checked name by name and turned into the task that is published.

::

    name = "morning-drink"
    question = "What do you drink in the morning?"
    owner = "research@example.org"
    epsilon = 0.4
    start = 2026-12-01               # a date or time, UTC without an offset; left out: now
    end = 2027-01-01                 # or lasts = "30 days"
    period = "1 day"                 # left out: one period, the whole time
    answers = 7                      # of one person, ever; left out: 1
    answers_per_period = 1
    minimum_batch = 100              # nothing is shown about fewer people
    late = "1 hour"                  # reports are taken so long after their period
    retention = "90 days"            # reports are kept so long after they were counted
    default = "water"                # what a device sends without an answer; left out: nothing, and that shows
    admission = "token"              # or "secret"; left out: everybody is counted, as often as they send
    seeds = "assigned"               # by tokens, to OLH and BLH; left out: every device draws its own
    people = 10_000                  # expected; for choosing a mechanism
    note = "We publish the result."  # added to the privacy statement
    trust = "shuffle"                # with a table [shuffle]: see ``shuffle_file``; left out: "local"
    weak_privacy = true              # needed where all answers of a person together are worth more than epsilon = 6

    [domain]                         # or range = 10, integers = [0, 100], numbers = { low = 0, high = 120 }, yes_no = true, text = 16
    categories = ["tea", "coffee", "water"]

    [mechanism]                      # left out: the one with the smallest predicted error
    name = "GRR"

    [strata]                         # sent in the clear with every report
    platform = ["phone", "web"]

Text, bytes and other domains too large to list need ``candidates = [...]`` in ``[domain]``, or a ``[search]`` with ``protocol``, its
settings, and ``round = "1 hour"``; without that, rounds are closed by hand. Sets, tables, ranges, places and models are asked about by a
``[protocol]`` with its ``name``, its settings and ``round`` (``protocol_table``). Several questions, of which each person answers one, are
``[[questions]]`` with ``name``, ``domain``, and where wanted ``mechanism`` and ``share``. Bytes are written in hex, as in ``bytes = 8``.
Of ``numbers`` the mean is estimated, or with SquareWave the distribution; ends may be points in time, ``steps`` and ``clip`` say more.
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
from deniable.errors import ParameterError

REQUIRED = ("name", "question", "owner", "epsilon")
PLAIN = ("answers", "answers_per_period", "minimum_batch", "admission", "seeds")
TIMES = ("start", "end", "lasts", "period", "late", "retention")
ASKED = ("domain", "mechanism", "questions", "search", "protocol")
OPTIONAL = (*TIMES, *PLAIN, "default", "people", "note", "strata", "weak_privacy", "trust", "model", "shuffle", *ASKED)
Issuer = Callable[[Task], bytes]
"""Makes or finds the key for the tokens of a draft."""
PEOPLE, MOST_PEOPLE = 100_000, 10**15
"""How many are expected where the file does not say, and at most."""


@dataclass(frozen=True)
class TaskFile:
    """What a task file comes to: the task, how many people it expects, and why it asks as it does."""

    task: Task
    people: int
    asking: Questionnaire


def read_task(toml: bytes, *, key: bytes, now: float, issuer: Issuer | None = None) -> Task:
    """The task behind a TOML file, for the collector with this public key; ParameterError naming what is wrong with it.

    A task with tokens gets a key for them from ``issuer``; without that it is a draft, which cannot be published.
    """
    task = read_task_file(toml, key=key, now=now).task
    return task if task.admission != TOKEN or issuer is None else replace(task, issuer=issuer(task))


def read_task_file(toml: bytes, *, key: bytes, now: float) -> TaskFile:
    """The same, with what only its author needs."""
    content = read_toml(toml, "task")
    check_names("task", content, REQUIRED, OPTIONAL)
    people = content.get("people", PEOPLE)
    if type(people) is not int or not 1 <= people <= MOST_PEOPLE:
        raise ParameterError("people", people, allowed=f"an integer from 1 to {MOST_PEOPLE}", fix="say how many reports you expect")
    note = content.get("note", "")
    if not isinstance(note, str):
        raise ParameterError("note", note, allowed="text", fix="put it in quotation marks")
    trust = read_trust(content)
    if trust == SHUFFLE:
        epsilon, asking, mixing = read_shuffled(content, people=people)
    else:
        epsilon = inf if content["epsilon"] == inf else check_epsilon(content["epsilon"])  # infinite: only the identity of tests takes it
        asking, mixing = read_asking(content, name=content["name"], epsilon=epsilon, people=people), None
    guarantee = asking.protocol.guarantee
    task = Task(
        name=content["name"],
        question=content["question"],
        owner=content["owner"],
        statement="...",  # made below, from all the rest
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
    """What one answer costs: less than was said, where a protocol asks everybody in several rounds and splits epsilon among them."""
    cost = asking.protocol.guarantee.epsilon
    if cost == inf or cost > epsilon:  # then the file says how many answers there are
        return epsilon
    answers = ceil(round(cost / max(question.spec.epsilon for question in asking.protocol.open().questions), 9))
    return epsilon if answers == 1 else cost / answers  # sampling on the device may make it cheaper still


def _times(content: Mapping[str, Any], now: float) -> dict[str, Any]:
    if ("end" in content) == ("lasts" in content):
        given = sorted({"end", "lasts"} & set(content))
        raise ParameterError("end, lasts", given, allowed="one of the two", fix='as in end = 2027-01-01 or lasts = "30 days"')
    start = read_moment("start", content["start"]) if "start" in content else int(now)
    end = read_moment("end", content["end"]) if "end" in content else start + read_span("lasts", content["lasts"])
    if end <= start:
        raise ParameterError("end", moment_in_words(end), allowed=f"after the start, {moment_in_words(start)}", fix="end it later")
    if end <= now:
        raise ParameterError("end", moment_in_words(end), allowed="a time that is not over", fix="end it later")
    table = next((name for name in ("search", "protocol") if name in content), None)
    if table is not None:
        if "period" in content:
            allowed = f"no period beside a {table}, which has rounds"
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
        raise ParameterError("strata", content, allowed="names with lists of labels", fix='as in platform = ["phone", "web"]')
    return tuple((name, tuple(labels)) for name, labels in content.items())


def _default(content: Mapping[str, Any], asking: Questionnaire) -> Any:
    if "default" not in content:
        return None
    if "questions" in content:
        allowed = "a default where everybody is asked the same"
        raise ParameterError("default", content["default"], allowed=allowed, fix="leave it out, or publish a task for each question")
    first: Any = asking.protocol
    domain: Domain | None = first.questions[0].spec.domain if isinstance(first, Survey) else getattr(first, "domain", None)
    if domain is None or isinstance(domain, Subsets) or not (isinstance(first, Survey) or takes_domain(type(first))):
        allowed = f"none with {first.kind}: a set may be empty, and a record is whole"
        raise ParameterError("default", content["default"], allowed=allowed, fix="leave it out; every device has an answer")
    default = read_value("default", domain, content["default"])
    if isinstance(first, Survey):
        first.questions[0].spec.check_value(default)
    return default


def _check_seeds(task: Task, asking: Questionnaire) -> None:
    asked = asking.protocol.open().questions
    if task.seeds == ASSIGNED and not any(seed_words(question.spec) for question in asked):
        names = sorted({question.spec.mechanism for question in asked})
        able = sorted(name for name, cls in MECHANISMS.items() if cls.assignable)
        allowed = f"a mechanism whose reports bring a hash function: {', '.join(able)}"
        raise ParameterError("seeds", f"{task.seeds} for {', '.join(names)}", allowed=allowed, fix='name one, as in name = "OLH"')


def _check_answers(task: Task, asking: Questionnaire) -> None:
    """As many answers as are paid for, and no more than can be given: the statement tells people the number."""
    cost = asking.protocol.guarantee.epsilon
    if cost == inf > task.epsilon:
        raise ParameterError("epsilon", task.epsilon, allowed="inf for a mechanism that hides nothing", fix="name another mechanism")
    least = 1 if cost == inf else ceil(round(cost / task.epsilon, 9))
    most = least if task.rounds else task.answers_per_period * task.period_count
    if task.answers < least or task.epsilon * task.answers < cost:
        raise ParameterError(
            "answers", task.answers, allowed=f"{least}, since so many reports are asked of a person", fix=f"answers = {least}"
        )
    if task.answers > most:
        why = "a person answers a search" if task.rounds else "there are periods for"
        raise ParameterError("answers", task.answers, allowed=f"at most {most}: {why} no more", fix='add periods, as in period = "1 day"')
