"""Mixing: through whom the reports of a task of shuffle trust go, and what is claimed about a shuffled batch.

A device seals its report for the collector, and what that gives for each of the shufflers, the last one first. The shufflers pass on what
they were sent in batches whose order says nothing. The claim (epsilon, delta) is about a batch of ``minimum`` reports or more. It needs one
honest shuffler in the chain, a collector that is somebody else, and so many honest people in the batch: anyone who can choose the crowd, by
reports of their own or by keys and codes that few are given, can leave one person alone in it. The task's own epsilon is local: it holds
even if everyone else is dishonest, and it is what a device's ledger pays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from deniable.contract.admission import OWN, SECRET
from deniable.contract.canonical import parse_canonical
from deniable.contract.envelope import HEADER
from deniable.contract.probability import check_epsilon
from deniable.contract.record import Plain
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.contract.task import Task

LOCAL, SHUFFLE = "local", "shuffle"
MODELS = (LOCAL, SHUFFLE)
MOST_SHUFFLERS = 8
MOST_REPORTS = 1 << 17
"""As many as a batch may hold."""
LARGEST_MINIMUM = (1 << 16) - 1
"""The rest of a crowd goes with its last batch, which may then hold almost twice the minimum."""
LARGEST_SIZE = 1 << 16
"""The largest packed envelope that is sealed, in bytes."""
LEAST_LATE = 5
"""Seconds that reports must be taken after their period: the last batches go when it is over, and take their time through the chain."""
_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]_-]{1,200}(/[A-Za-z0-9._~-]+)*")
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,5})(\.[0-9]{0,5}[1-9])?")


@dataclass(frozen=True)
class Relay(Plain):
    """A shuffler: where it is reached, and the Ed25519 key by which it is known.

    >>> Relay("https://shuffler.example.org", bytes(32)).url
    'https://shuffler.example.org'
    """

    noun = "shuffler"
    url: str
    key: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.url, str) or not _URL.fullmatch(self.url):
            allowed = "http:// or https://, a host, and a path without a slash at its end"
            raise ParameterError("url", self.url, allowed=allowed, fix='write it as in "https://shuffler.example.org"')
        if not isinstance(self.key, bytes) or len(self.key) != 32:
            raise ParameterError("key", self.key, allowed="a shuffler's Ed25519 public key of 32 bytes", fix="ask who runs the shuffler")


@dataclass(frozen=True, kw_only=True)
class Threshold(Plain):
    """Crowds with a noisy count below ``minimum`` are dropped; the noise is a discrete Gaussian with this ``sigma``, a decimal in text."""

    noun = "threshold"
    minimum: int
    sigma: str

    def __post_init__(self) -> None:
        if type(self.minimum) is not int or not 1 <= self.minimum <= MOST_REPORTS:
            allowed = f"an integer from 1 to {MOST_REPORTS}"
            raise ParameterError("threshold minimum", self.minimum, allowed=allowed, fix="write it as in minimum = 20")
        if not isinstance(self.sigma, str) or not _DECIMAL.fullmatch(self.sigma) or not Fraction(self.sigma):
            allowed = "a decimal above 0 as text, without zeros that say nothing"
            raise ParameterError("threshold sigma", self.sigma, allowed=allowed, fix='write it as in sigma = "2.5"')


@dataclass(frozen=True, kw_only=True)
class Mixing(Plain):
    """What is claimed about a shuffled batch, and who shuffles.

    ``epsilon`` and ``delta`` hold for a batch of ``minimum`` reports or more of which a share of ``honest``, an exact fraction in text,
    comes from people who are honest and distinct. ``shufflers`` stand in the order in which a report passes them. ``size`` is the number
    of bytes that every packed envelope is padded to.

    >>> relay = Relay("https://shuffler.example.org", bytes(32))
    >>> mixing = Mixing(epsilon=0.5, delta=1e-6, minimum=1000, shufflers=(relay,), size=65, honest="9/10")
    >>> mixing.people(1001), Mixing.from_json(mixing.to_json()) == mixing
    (900, True)
    """

    noun = "mixing"
    epsilon: float
    delta: float
    minimum: int
    shufflers: tuple[Relay, ...]
    size: int
    honest: str = "1"
    threshold: Threshold | None = None

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not isinstance(self.delta, float) or not 0 < self.delta < 1:
            raise ParameterError("delta", self.delta, allowed="a number between 0 and 1", fix="write it as in delta = 1e-6")
        for parameter, low, high in (("minimum", 2, LARGEST_MINIMUM), ("size", HEADER.size, LARGEST_SIZE)):
            value = getattr(self, parameter)
            if type(value) is not int or not low <= value <= high:
                allowed = f"an integer from {low} to {high}"
                raise ParameterError(
                    parameter, value, allowed=allowed, fix="choose one in this range: a small batch hides nobody, and a seal has a limit"
                )
        _check_share(self.honest)
        listed = isinstance(self.shufflers, tuple) and all(isinstance(relay, Relay) for relay in self.shufflers)
        if not listed or not 1 <= len(self.shufflers) == len({relay.key for relay in self.shufflers}) <= MOST_SHUFFLERS:
            allowed = f"1 to {MOST_SHUFFLERS} shufflers with different keys"
            raise ParameterError("shufflers", self.shufflers, allowed=allowed, fix="drop the repetition: two with one key are one party")
        if not isinstance(self.threshold, Threshold | None):
            raise ParameterError("threshold", self.threshold, allowed="a Threshold, or None", fix="leave it out")

    def people(self, count: int) -> int:
        """Return how many honest, distinct people are assumed behind so many reports: never more than there are."""
        return floor(Fraction(self.honest) * count)


def check_mixing(task: Task) -> None:
    """Raise ParameterError if a task's trust and its mixing do not fit, or if something that is sent in the clear would split the crowd."""
    if task.model not in MODELS or (task.model == SHUFFLE) != isinstance(task.mixing, Mixing):
        allowed = f'"{LOCAL}", or "{SHUFFLE}" with a mixing'
        raise ParameterError("model", task.model, allowed=allowed, fix='write trust = "shuffle" and a table [shuffle]')
    if task.mixing is None:
        return
    content = parse_canonical(task.protocol)
    questions = content.get("questions") if isinstance(content, dict) else None
    if task.rounds or not isinstance(questions, list) or len(questions) != 1:
        allowed = "one round with one question: which one is answered would split the crowd"
        raise ParameterError("protocol", task.name, allowed=allowed, fix="publish a task for each question")
    if task.strata:
        names = [name for name, _ in task.strata]
        raise ParameterError("strata", names, allowed="none under shuffle trust: they split the crowd", fix="ask about them instead")
    if task.answers_per_period != 1:
        allowed = "1 under shuffle trust: a batch must come from distinct people"
        raise ParameterError("answers_per_period", task.answers_per_period, allowed=allowed, fix="make the period shorter")
    if task.admission == SECRET:  # a proof opens under the secret that it was made with, after the mixing, too
        allowed = "no shared secret under shuffle trust: with one secret per person, a collector would know who sent what"
        raise ParameterError("admission", task.admission, allowed=allowed, fix='use admission = "token", or "open"')
    if task.late < LEAST_LATE:
        allowed = f"{LEAST_LATE} seconds or more under shuffle trust: the last batch of a period comes after it"
        raise ParameterError("late", task.late, allowed=allowed, fix='write it as in late = "1 hour"')
    if task.seeds != OWN:
        raise ParameterError("seeds", task.seeds, allowed=f'"{OWN}" under shuffle trust', fix="leave it out")
    if task.key in {relay.key for relay in task.mixing.shufflers}:
        allowed = "shufflers that are not the collector: one party that does both knows who sent what"
        raise ParameterError("shufflers", task.key, allowed=allowed, fix="let somebody else run the shuffler")


def _check_share(honest: object) -> None:
    try:
        share = Fraction(honest) if isinstance(honest, str) else Fraction(0)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share <= 1 or str(share) != honest:
        raise ParameterError(
            "honest", honest, allowed='a fraction in lowest terms above 0, at most "1"', fix='write it as in honest = "9/10"'
        )
