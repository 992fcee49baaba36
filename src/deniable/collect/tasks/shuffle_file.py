"""Shuffle trust in a task file: the table ``[shuffle]``, and the local epsilon that its claim about batches allows.

::

    trust = "shuffle"
    epsilon = "auto"                 # the largest local epsilon that keeps the claim in the smallest batch (at most 6 for all answers
                                     # together, without weak_privacy); or a number

    [shuffle]
    epsilon = 0.5                    # claimed for every batch, if a shuffler is honest
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
"""An automatic epsilon is a multiple of 1 / 1000, so that people can read it."""


def read_trust(content: Mapping[str, Any]) -> str:
    """Return the trust model of a task file; ``model`` is its older name."""
    trust = content.get("trust", content.get("model", LOCAL))
    if trust not in MODELS or content.get("model", trust) != trust:
        raise ParameterError("trust", trust, allowed=f"one of {list(MODELS)}", fix=f'leave out trust for "{LOCAL}"')
    if (trust == SHUFFLE) != ("shuffle" in content):
        raise ParameterError("trust", trust, allowed=f'"{SHUFFLE}" and a table [shuffle], or neither', fix='write trust = "shuffle"')
    if content["epsilon"] == AUTO and trust != SHUFFLE:
        raise ParameterError(
            "epsilon",
            AUTO,
            allowed=f'a number, or "{AUTO}" under shuffle trust',
            fix="write epsilon = 1.0, for example; values from 0.1 to 4 are common",
        )
    return str(trust)


def read_shuffled(content: Mapping[str, Any], *, people: int) -> tuple[float, Questionnaire, Mixing]:
    """Return the local epsilon, the questions and the mixing of a shuffled task file, whose claim is checked."""
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
    """Raise, by its key in the file, for anything that shuffle trust excludes."""
    for name, why in (
        ("search", "one round"),
        ("protocol", "one round"),
        ("questions", "one question"),
        ("strata", "nothing sent in the clear"),
    ):
        if name in content:
            allowed = f"{why} under shuffle trust: splitting the crowd hides people less well"
            raise ParameterError(name, content[name], allowed=allowed, fix=f"leave out {name}, or publish a task of local trust")


def _mixing(content: Mapping[str, Any]) -> Mixing:
    table = content["shuffle"]
    if not isinstance(table, Mapping):
        raise ParameterError("shuffle", table, allowed="a table", fix="write a table that begins with [shuffle]")
    usual = {"delta": DELTA, "minimum": content.get("minimum_batch", 100)}
    said = read_settings(Mixing, usual | dict(table), path="shuffle", readers={bytes: _key}, elsewhere={"size"})
    said["epsilon"] = check_epsilon(said["epsilon"])
    mixing = Mixing(**said, size=HEADER.size)  # set when the mechanism is known
    if mixing.delta * mixing.minimum >= 1:
        allowed = "far below 1 / minimum, or the promise could fail for someone in every batch"
        raise ParameterError("delta", mixing.delta, allowed=allowed, fix=f"write delta = {DELTA:g}, the usual value")
    return mixing


def _check_threshold(spec: Spec, mixing: Mixing) -> None:
    """Raise if a threshold would drop everyone: it takes about 8 sigma from every crowd, the people with equal reports."""
    if mixing.threshold is None:
        return
    kinds, each = prod(_kinds(column) for column in spec.layout), shift_of(mixing.threshold)
    if kinds * each < mixing.minimum:
        return
    shown = f"{kinds:,}" if kinds < 1 << 32 else "billions of"
    received = f"{shown} different reports of {spec.mechanism}, about {each} of each dropped"
    allowed = f"fewer than the {mixing.minimum:,} of the smallest batch in all"
    raise ParameterError("threshold", received, allowed=allowed, fix="use GRR, which has one report per answer; or leave out threshold")


def _kinds(column: Column) -> int:
    """Return the number of different contents of a report's column."""
    if column.ones is not None:
        return comb(column.count, column.ones)
    return comb(column.limit, column.count) if column.increasing else column.limit**column.count


def _key(name: str, value: Any) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError) as error:
        raise ParameterError(name, value, allowed="64 hexadecimal digits", fix="copy the key from: deniable shuffle keys") from error


def _strongest(content: Mapping[str, Any], mixing: Mixing, people: int) -> tuple[float, Questionnaire]:
    """Return the largest local epsilon that keeps the claim in the smallest batch, and the questions with it.

    An open choice of mechanism is made at the epsilon allowed for every mechanism; the chosen one may then be allowed more.
    """
    delta, extra = shares(mixing)
    if extra >= mixing.epsilon:
        raise ParameterError("threshold", f"epsilon = {extra:.4g}", allowed=f"below {mixing.epsilon:g}", fix="raise sigma in threshold")
    n, claim, most = max(mixing.people(mixing.minimum), 1), mixing.epsilon - extra, most_epsilon(content)

    def ask(epsilon: float, settled: Mapping[str, Any]) -> Questionnaire:
        return read_asking(settled, name=content["name"], epsilon=_rounded(epsilon), people=people)

    def chosen(build: Callable[[float], Spec] | None) -> float:
        return _rounded(min(local_epsilon_for(epsilon=claim, n=n, delta=delta, build=build), most))

    first = ask(chosen(None), content)
    settled = dict(content)
    if _spec(first).lists_pairs:  # for the others, the grid would change with epsilon: they get the bound for every mechanism
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
    """Return epsilon rounded down, so that the claim still holds; tiny values stay unchanged."""
    return floor(epsilon * DIGITS) / DIGITS or epsilon
