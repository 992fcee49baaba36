"""The privacy statement of a task: what people are told before they answer, made from what the task really does.

The author of a task may add to it and never replace it.
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
"""So many labels are listed."""
OTHERS = "What you answer to other tasks comes on top."


def privacy_statement(task: Task, guarantee: Guarantee, *, note: str = "", questions: int = 1) -> str:
    """What is protected, how strongly, for whom, against whom, at most how much over a lifetime, and what is not protected."""
    if task.epsilon == inf:
        told = ["Nothing is protected. Answers are sent as they are: this task tests a collector, and no person may answer it."]
        return "\n".join(told + _added(note))
    more = guarantee.exposed != TOOK_PART
    again = more and not task.rounds  # answered again and again; rounds are answered once
    told = [
        f"What is protected: your answer. Your own device randomizes it before anything is sent. No answer makes any report more than "
        f"{factor_up(task.epsilon)} times as likely as another answer would (epsilon = {epsilon_up(task.epsilon)}, "
        f"{guarantee.model} model).",
        "How strong that is:",
        *(f"- {verdict}" for verdict in verdicts(task)),
        "For whom: everybody who takes part, whatever the others do.",
        f"Against whom: everybody who sees reports, the collector included. All that has to be trusted is {guarantee.honest}.",
        *_shuffled(task),
        _lifetime(task, again=again),
    ]
    told += [f"What the promise is about: {guarantee.neighbors}. It holds for {guarantee.unit}."] if task.rounds else _numbers(task)
    if task.default is not None:
        default = str(task.default) if isinstance(task.default, datetime) else shorten(task.default)
        told.append(
            f"If you have no answer: your device sends {default}, randomized like any answer, so that having none is as well "
            "protected as an answer."
        )
    if task.admission == TOKEN:
        told.append(
            "Who is counted: whoever was given a code, once for each answer. Your device turns the code into tokens that are signed "
            "unseen: nobody can tell which code a token came from, not even whoever signed it."
        )
    told += [_kept(task), "What is not protected:", *(f"- {item}" for item in _unprotected(task, questions))]
    if again:
        told.append(f"- Over several reports: {guarantee.exposed}. This epsilon is for {guarantee.unit}.")
    elif more:
        told.append(f"- And {guarantee.exposed.removeprefix(TOOK_PART).removeprefix(', and ')}.")  # that one takes part is said above
    return "\n".join(told + _added(note))


def _shuffled(task: Task) -> list[str]:
    """Both epsilons: what a shuffler adds to the one above, who it is, and who must not be one party."""
    mixing = task.mixing
    if mixing is None:
        return []
    several = len(mixing.shufflers) > 1
    addresses = ", then ".join(relay.url for relay in mixing.shufflers)
    honest = "one of the shufflers" if several else "the shuffler"
    again = "" if task.answers == 1 else f" Your answers add up: {task.answers} of them are worth {task.answers} times as much."
    return [
        f"Through {'shufflers' if several else 'a shuffler'}: your report is sealed and goes to {addresses}, which cannot read it and "
        f"passes it on with at least {mixing.minimum - 1:,} others in an order that says nothing. No answer makes any such batch more than "
        f"{factor_up(mixing.epsilon)} times as likely as another answer of yours would, except with probability {mixing.delta:g} (epsilon "
        f"= {epsilon_up(mixing.epsilon)}, delta = {mixing.delta:g}, shuffle model).{again}",
        f"What that needs: {honest} must be honest, and must not be run by whoever runs the collector or sees its reports: together they "
        f"know who sent what. {_crowd(task, mixing)} Without that, only the local epsilon = {epsilon_up(task.epsilon)} holds.",
    ]


def _crowd(task: Task, mixing: Mixing) -> str:
    people = f"{mixing.people(mixing.minimum):,} of the people in a batch" if mixing.honest != "1" else "All people in a batch"
    anybody = "whoever gives out the codes can use any number of them" if task.admission == TOKEN else "anybody can send many reports"
    return (
        f"{people} must be honest and different people. The collector takes no batch whose size does not keep this, but nobody can check "
        f"who is in it: {anybody}, and leave you alone among reports of their own. The collector can."
    )


def _lifetime(task: Task, *, again: bool) -> str:
    if task.answers == 1:
        return f"Over a lifetime: your device answers once, so epsilon = {epsilon_up(task.epsilon)} is all that this task costs. {OTHERS}"
    often = "in each round" if task.rounds else f"in each period of {span_in_words(task.period)}"
    if again:
        return (
            f"Over a lifetime: your device answers at most {task.answers} times, at most {_times(task.answers_per_period)} {often}, each "
            "time from a permanent answer that it draws once for each different answer of yours and keeps. However often you are asked, "
            f"one answer that never changes costs epsilon = {epsilon_up(task.epsilon)}. If it changes, k permanent answers cost k times as "
            f"much, and that and when it changed is not protected: it may come to show for sure. {OTHERS}"
        )
    total = task.epsilon * task.answers
    worst = f"a factor of {factor_up(total)}" if total <= WEAKEST else "that nearly gives them away"
    return (
        f"Over a lifetime: your device answers at most {task.answers} times, at most {_times(task.answers_per_period)} {often}. Epsilons "
        f"add up: to whoever puts all of these answers together they are worth epsilon = {epsilon_up(total)} at most ({worst}). {OTHERS}"
    )


def _numbers(task: Task) -> list[str]:
    asked = [(question.name, question.spec.how_sent) for question in task.survey.questions if question.spec.how_sent]
    several = len(task.survey.questions) > 1
    return [f"{name}. {told}" if several else told for name, told in asked]


def _kept(task: Task) -> str:
    how = f"kept for {span_in_words(task.retention * 86_400)}" if task.retention else "deleted"
    return f"What is kept: reports are counted and then {how}, without the order and the time of their arrival. The counts stay."


def _unprotected(task: Task, questions: int) -> list[str]:
    when = "round" if task.rounds else "period"
    seen = "first shuffler" if task.mixing is not None else "collector"
    items = [
        f"That you take part, and in which {when}. The network and the {seen}'s computer see the address that a report comes from; the "
        f"{seen} does not keep it."
    ]
    for name, labels in task.strata:
        shown = ", ".join(labels[:FEW]) + (f" and {len(labels) - FEW} more" if len(labels) > FEW else "")
        items.append(f"{name} ({shown}): sent with every report as it is.")
    if task.admission == TOKEN:
        items.append("That your code was used. Whoever watches the network may connect that with a report that follows at once.")
    if task.admission == SECRET:
        items.append("That you belong to those who were given this task's secret. All have the same one.")
    if questions > 1:
        items.append("Which of the questions your device answered. It draws one at random.")
    if task.default is None:
        items.append("Whether you have an answer: without one, your device sends nothing, and that may be seen.")
    items.append(
        "A device that is set back to an older copy of itself, or loses what it remembers: it forgets what it has sent, and may send it "
        "again. Such answers come on top of the worst case above."
    )
    return items


def _added(note: str) -> list[str]:
    return [f"The author of this task adds: {note}"] if note else []


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
