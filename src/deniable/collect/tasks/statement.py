"""The privacy statement of a task: what people read before they answer, generated from the task's settings.

The author of a task can add to it but not replace it. The statement is part of the signed task.
"""

from __future__ import annotations

from datetime import datetime
from math import inf

from deniable.collect.tasks.spans import span_in_words
from deniable.contract.admission import SECRET, TOKEN
from deniable.contract.guarantee import TOOK_PART, Guarantee
from deniable.contract.mixing import Mixing
from deniable.contract.readable import epsilon_up, factor_up
from deniable.contract.task import Task
from deniable.contract.verdict import WEAKEST, verdicts
from deniable.errors import shorten

FEW = 6
"""The most labels that are listed."""
OTHERS = "Your answers to other tasks add to that."


def privacy_statement(task: Task, guarantee: Guarantee, *, note: str = "", questions: int = 1) -> str:
    """Return what is protected, how strongly, against whom, the cost over a lifetime, and what is not protected."""
    if task.epsilon == inf:
        told = ["Nothing is protected. Answers are sent without noise: this task tests a collector. Nobody may answer it with real data."]
        return "\n".join(told + _added(note))
    more = guarantee.exposed != TOOK_PART
    again = more and not task.rounds  # answered again and again; rounds are answered once
    trusted = guarantee.honest.replace("the person's", "your")
    told = [
        f"What is protected: your answer. Your own device adds noise to it before anything is sent. No answer makes any report more than "
        f"{factor_up(task.epsilon)} times as likely as another answer would (epsilon = {epsilon_up(task.epsilon)}, "
        f"{guarantee.model} model).",
        "How strong that is:",
        *(f"- {verdict}" for verdict in verdicts(task)),
        "For whom: everyone who takes part, whatever the others do.",
        f"Against whom: everyone who sees reports, including the collector. You only have to trust {trusted}.",
        *_shuffled(task),
        _lifetime(task, again=again),
    ]
    told += [f"What the promise compares: {guarantee.neighbors}. It holds for {guarantee.unit}."] if task.rounds else _numbers(task)
    if task.default is not None:
        default = str(task.default) if isinstance(task.default, datetime) else shorten(task.default)
        told.append(
            f"If you have no answer: your device sends {default} with noise, like any answer. So nobody can see whether you had one."
        )
    if task.admission == TOKEN:
        told.append(
            "Who is counted: everyone who was given a code, once for each answer. Your device exchanges the code for tokens with blind "
            "signatures: nobody can tell which code a token came from, not even the signer."
        )
    told += [_kept(task), "What is not protected:", *(f"- {item}" for item in _unprotected(task, questions))]
    if again:
        told.append(f"- Over several reports: {guarantee.exposed}. This epsilon is for {guarantee.unit}.")
    elif more:
        told.append(f"- And {guarantee.exposed.removeprefix(TOOK_PART).removeprefix(', and ')}.")  # the rest is said above
    return "\n".join(told + _added(note))


def _shuffled(task: Task) -> list[str]:
    """Return both epsilons, with and without an honest shuffler, who shuffles, and who must not work together."""
    mixing = task.mixing
    if mixing is None:
        return []
    several = len(mixing.shufflers) > 1
    addresses = ", then ".join(relay.url for relay in mixing.shufflers)
    honest = "one of the shufflers" if several else "the shuffler"
    again = "" if task.answers == 1 else f" Your answers add up: {task.answers} of them reveal up to {task.answers} times as much."
    return [
        f"Through {'shufflers' if several else 'a shuffler'}: your report is encrypted and goes to {addresses}, which cannot read it and "
        f"passes it on with at least {mixing.minimum - 1:,} others in random order. No answer makes any such batch more than "
        f"{factor_up(mixing.epsilon)} times as likely as another answer of yours would, except with probability {mixing.delta:g} (epsilon "
        f"= {epsilon_up(mixing.epsilon)}, delta = {mixing.delta:g}, shuffle model).{again}",
        f"What that needs: {honest} must be honest and must not be run by anyone who runs the collector or sees its reports. Together they "
        f"would know who sent what. {_crowd(task, mixing)} Otherwise, only the local epsilon = {epsilon_up(task.epsilon)} holds.",
    ]


def _crowd(task: Task, mixing: Mixing) -> str:
    people = f"{mixing.people(mixing.minimum):,} of the people in a batch" if mixing.honest != "1" else "All people in a batch"
    flood = "those who give out the codes can use any number of them" if task.admission == TOKEN else "anyone can send many reports"
    return (
        f"{people} must be honest and different people. The collector refuses batches that are too small for this, but nobody can check "
        f"who is in them: {flood} and surround yours with their own. The collector can do that, too."
    )


def _lifetime(task: Task, *, again: bool) -> str:
    if task.answers == 1:
        return f"Over a lifetime: your device answers once, so epsilon = {epsilon_up(task.epsilon)} is all this task costs. {OTHERS}"
    often = "in each round" if task.rounds else f"in each period of {span_in_words(task.period)}"
    if again:
        return (
            f"Over a lifetime: your device answers at most {task.answers} times, at most {_times(task.answers_per_period)} {often}. "
            "For each different answer of yours, it draws a permanent noisy answer once and reuses it. However often you are asked, "
            f"one answer that never changes costs epsilon = {epsilon_up(task.epsilon)}. If it changes, k permanent answers cost k times as "
            f"much. That it changed, and when, is not protected: it can show for certain. {OTHERS}"
        )
    total = task.epsilon * task.answers
    worst = f"a factor of {factor_up(total)}" if total <= WEAKEST else "which nearly gives them away"
    return (
        f"Over a lifetime: your device answers at most {task.answers} times, at most {_times(task.answers_per_period)} {often}. Epsilons "
        f"add up: someone who puts all of these answers together gets at most epsilon = {epsilon_up(total)} ({worst}). {OTHERS}"
    )


def _numbers(task: Task) -> list[str]:
    asked = [(question.name, question.spec.how_sent) for question in task.survey.questions if question.spec.how_sent]
    several = len(task.survey.questions) > 1
    return [f"{name}. {sent}" if several else sent for name, sent in asked]


def _kept(task: Task) -> str:
    how = f"kept for {span_in_words(task.retention * 86_400)}" if task.retention else "deleted"
    return f"What is kept: reports are counted and then {how}, without their order and time of arrival. The counts stay."


def _unprotected(task: Task, questions: int) -> list[str]:
    when = "round" if task.rounds else "period"
    seen = "first shuffler" if task.mixing is not None else "collector"
    items = [
        f"That you take part, and in which {when}. The network and the {seen}'s computer see the IP address that a report comes from; the "
        f"{seen} does not store it."
    ]
    for name, labels in task.strata:
        shown = ", ".join(labels[:FEW]) + (f" and {len(labels) - FEW} more" if len(labels) > FEW else "")
        items.append(f"{name} ({shown}): sent with every report, without noise.")
    if task.admission == TOKEN:
        items.append("That your code was used. Someone who watches the network may link that to a report sent right after it.")
    if task.admission == SECRET:
        items.append("That you are one of the people who were given this task's secret. Everyone has the same one.")
    if questions > 1:
        items.append("Which of the questions your device answered. It picks one at random.")
    if task.default is None:
        items.append("Whether you have an answer: without one, your device sends nothing, and the collector may notice.")
    items.append(
        "A device that is restored from a backup or loses its memory: it forgets what it has sent, and may answer again. Such answers add "
        "to the worst case above."
    )
    return items


def _added(note: str) -> list[str]:
    return [f"A note from the author of this task: {note}"] if note else []


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
