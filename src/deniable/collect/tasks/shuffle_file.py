"""Shuffle trust in a task file: the table ``[shuffle]``, and the local epsilon that a claim about shuffled batches allows.

::

    trust = "shuffle"
    epsilon = "auto"                 # the largest local epsilon with which the smallest batch keeps the claim, at most 6 for all answers
                                     # together without weak_privacy; or a number

    [shuffle]
    epsilon = 0.5                    # claimed of every batch, if a shuffler is honest
    delta = 1e-6
    minimum = 1000                   # reports in the smallest batch; left out: minimum_batch
    honest = "9/10"                  # the share of people who are assumed honest; left out: all
    shufflers = [{ url = "https://shuffler.example.org", key = "64 digits" }]
    threshold = { minimum = 20, sigma = "2.5" }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import comb, floor, prod
from typing import Any

from deniable.collect.tasks.batch_price import check_claim_of, shares
from deniable.collect.tasks.limits import most_epsilon
from deniable.collect.tasks.questionnaire import Questionnaire, read_asking
from deniable.contract.admission import SIZES
from deniable.contract.envelope import HEADER
from deniable.contract.mixing import LOCAL, MODELS, SHUFFLE, Mixing
from deniable.contract.probability import check_epsilon
from deniable.contract.spec import Spec
from deniable.contract.survey import Survey
from deniable.contract.wire import Column
from deniable.core.declared import read_settings
from deniable.errors import ParameterError
from deniable.shuffle import local_epsilon_for
from deniable.shuffle.threshold import shift_of

AUTO = "auto"
DELTA = 1e-6
DIGITS = 1000
"""An epsilon that is chosen is a multiple of 1 / 1000: people read it."""


def read_trust(content: Mapping[str, Any]) -> str:
    """The trust model of a task file; ``model`` is an older name of it."""
    trust = content.get("trust", content.get("model", LOCAL))
    if trust not in MODELS or content.get("model", trust) != trust:
        raise ParameterError("trust", trust, allowed=f"one of {list(MODELS)}", fix=f'leave it out for "{LOCAL}"')
    if (trust == SHUFFLE) != ("shuffle" in content):
        raise ParameterError("trust", trust, allowed=f'"{SHUFFLE}" and a table [shuffle], or neither', fix='write trust = "shuffle"')
    if content["epsilon"] == AUTO and trust != SHUFFLE:
        raise ParameterError(
            "epsilon", AUTO, allowed=f'a number, or "{AUTO}" under shuffle trust', fix="common choices lie between 0.1 and 4"
        )
    return str(trust)


def read_shuffled(content: Mapping[str, Any], *, people: int) -> tuple[float, Questionnaire, Mixing]:
    """The local epsilon, what is asked with it, and the mixing of a task file of shuffle trust; the claim is checked."""
    _check_plain(content)
    mixing = _mixing(content)
    if content["epsilon"] == AUTO:
        epsilon, asking = _strongest(content, mixing, people)
    else:
        epsilon = check_epsilon(content["epsilon"])
        asking = read_asking(content, name=content["name"], epsilon=epsilon, people=people)
    spec = _spec(asking)
    width = sum(column.row_bytes for column in spec.layout)
    mixing = replace(mixing, size=HEADER.size + SIZES.get(content.get("admission", "open"), 0) + width)
    _check_threshold(spec, mixing)
    check_claim_of(spec, mixing)
    return epsilon, asking, mixing


def _check_plain(content: Mapping[str, Any]) -> None:
    """Refuse by its name in the file what shuffle trust does not go with."""
    for name, why in (
        ("search", "one round"),
        ("protocol", "one round"),
        ("questions", "one question"),
        ("strata", "nothing sent in the clear"),
    ):
        if name in content:
            allowed = f"{why} under shuffle trust: whatever splits the crowd hides fewer people in it"
            raise ParameterError(name, content[name], allowed=allowed, fix="leave it out, or publish a task of local trust")


def _mixing(content: Mapping[str, Any]) -> Mixing:
    table = content["shuffle"]
    if not isinstance(table, Mapping):
        raise ParameterError("shuffle", table, allowed="a table", fix="begin it with [shuffle]")
    usual = {"delta": DELTA, "minimum": content.get("minimum_batch", 100)}
    said = read_settings(Mixing, usual | dict(table), path="shuffle", readers={bytes: _key}, elsewhere={"size"})
    said["epsilon"] = check_epsilon(said["epsilon"])
    mixing = Mixing(**said, size=HEADER.size)  # which is known when the mechanism is
    if mixing.delta * mixing.minimum >= 1:
        allowed = "far below 1 / minimum: or else a promise could fail somebody in every batch"
        raise ParameterError("delta", mixing.delta, allowed=allowed, fix=f"delta = {DELTA:g} is usual")
    return mixing


def _check_threshold(spec: Spec, mixing: Mixing) -> None:
    """Refuse a threshold that would drop everybody: it takes about 8 sigma from every crowd, and a crowd are those with equal reports."""
    if mixing.threshold is None:
        return
    kinds, each = prod(_kinds(column) for column in spec.layout), shift_of(mixing.threshold)
    if kinds * each < mixing.minimum:
        return
    shown = f"{kinds:,}" if kinds < 1 << 32 else "billions of"
    received = f"{shown} different reports of {spec.mechanism}, about {each} of each dropped"
    allowed = f"fewer than the {mixing.minimum:,} of the smallest batch in all"
    raise ParameterError("threshold", received, allowed=allowed, fix="GRR has one report for each answer; or leave out the threshold")


def _kinds(column: Column) -> int:
    """How many different contents a column of a report has."""
    if column.ones is not None:
        return comb(column.count, column.ones)
    return comb(column.limit, column.count) if column.increasing else column.limit**column.count


def _key(name: str, value: Any) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError) as error:
        raise ParameterError(name, value, allowed="64 hexadecimal digits", fix="see: deniable shuffle keys") from error


def _strongest(content: Mapping[str, Any], mixing: Mixing, people: int) -> tuple[float, Questionnaire]:
    """The largest local epsilon with which the smallest batch keeps the claim, and what is asked with it.

    A mechanism that is left open is chosen for the epsilon that any mechanism would be allowed; it is then allowed more.
    """
    delta, extra = shares(mixing)
    if extra >= mixing.epsilon:
        raise ParameterError("threshold", f"epsilon = {extra:.4g}", allowed=f"below {mixing.epsilon:g}", fix="give it a larger sigma")
    n, claim, most = max(mixing.people(mixing.minimum), 1), mixing.epsilon - extra, most_epsilon(content)

    def ask(epsilon: float, settled: Mapping[str, Any]) -> Questionnaire:
        return read_asking(settled, name=content["name"], epsilon=_rounded(epsilon), people=people)

    def chosen(build: Callable[[float], Spec] | None) -> float:
        return _rounded(min(local_epsilon_for(epsilon=claim, n=n, delta=delta, build=build), most))

    first = ask(chosen(None), content)
    settled = dict(content)
    if _spec(first).lists_pairs:  # the grid of others would change with epsilon: any mechanism's bound is theirs
        settled["mechanism"] = _named(content.get("mechanism"), _spec(first).mechanism)
        epsilon = chosen(lambda epsilon: _spec(ask(epsilon, settled)))
        asking = ask(epsilon, settled)
        return epsilon, asking._replace(reasons=(f"{first.reasons[0]}; epsilon = {epsilon:g} for the claim",))
    return chosen(None), first


def _named(mechanism: object, name: str) -> dict[str, Any]:
    own = {key: value for key, value in mechanism.items() if key != "name"} if isinstance(mechanism, Mapping) else {}
    return {"name": name, **own}


def _spec(asking: Questionnaire) -> Spec:
    if not isinstance(asking.protocol, Survey):
        raise ParameterError("protocol", asking.protocol.kind, allowed="a survey", fix="leave out [search]")
    (question,) = asking.protocol.questions
    return question.spec


def _rounded(epsilon: float) -> float:
    """Down, so that the claim stays kept; what is smaller than that stays as it is."""
    return floor(epsilon * DIGITS) / DIGITS or epsilon
