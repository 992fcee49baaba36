"""The guarantee: what is promised to a person, as data and in plain words."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf

from deniable.contract.readable import epsilon_up, factor_up
from deniable.contract.verdict import Verdict

ONE_REPORT = "one report"
TOOK_PART = "that the person took part"


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A privacy promise, and everything that it depends on.

    ``model`` is one of local, shuffle, multiparty and central; ``unit`` is what epsilon is paid for, such as one report;
    ``neighbors`` is the relation under which epsilon holds; ``honest`` names who must behave for that;
    ``certificate`` says how it is known: ``"exact law"`` means that every output probability is an integer over 2^64 and
    that the worst ratio was compared with e^epsilon in exact arithmetic.

    >>> print(Guarantee(epsilon=1.0, unit="one report").statement())
    No true answer makes any report more than 2.72 times as likely as another true answer would (epsilon = 1, local model).
    Strong privacy. Even someone who had narrowed it down to two answers would guess right at most 74 times in 100. Guessing blindly gives
    50.
    The noise is added on the person's own device: nobody else, the collector included, has to be trusted.
    This holds for one report. Epsilons add up: over a lifetime, k of them are worth k times as much to an observer.
    Not protected: that the person took part.
    """

    epsilon: float
    delta: float = 0.0
    model: str = "local"
    unit: str = ONE_REPORT
    neighbors: str = "any two inputs of one person"
    honest: str = "the person's own device"
    certificate: str = "exact law"
    exposed: str = TOOK_PART
    """What is not protected, whatever epsilon is."""
    local_epsilon: float | None = None
    """In the shuffle model, the epsilon that holds if the shuffler is dishonest; infinite if none does."""
    epsilon_at_least: float | None = None
    """An epsilon below which the promise is certainly false, where one is known."""
    condition: str | None = None
    """The condition under which epsilon holds, in words for the respondent, such as "if your answer stays the same"."""
    people: int | None = None
    """In the shuffle model, how many honest, distinct people the batch must have, including the person."""

    def __repr__(self) -> str:
        shown = ((each.name, getattr(self, each.name)) for each in fields(self))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown if value is not None)})"

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Return how strong the promise is; in the shuffle model, with an honest shuffler and without."""
        compared = "" if self.neighbors.startswith("any two") else f"Compared: {self.neighbors}."
        if self.model != "shuffle":
            return (Verdict(self.epsilon, self.delta, self.condition or "", compared),)
        honest = Verdict(self.epsilon, self.delta, "If the shuffler is honest")
        return honest, Verdict(inf if self.local_epsilon is None else self.local_epsilon, 0.0, "If shuffler and collector work together")

    def statement(self) -> str:
        """Return the promise in plain words: what is protected, how strongly, who must be trusted, and what is not protected.

        Publications of searches hold this text, and are verified against it: another wording would make them fail.
        """
        first, *rest = self._promised().split("\n")
        return "\n".join([first, *map(str, self.verdicts), *rest])

    def _promised(self) -> str:
        factor, epsilon = factor_up(self.epsilon), epsilon_up(self.epsilon)
        if self.model == "shuffle":
            return self._shuffled(factor, epsilon)
        if self.model == "central":
            failing = f", except with probability {self.delta:g}" if self.delta else ""
            return (
                f"No true answer makes any result more than {factor} times as likely as another true answer of the same person would"
                f"{failing} (epsilon = {epsilon}, delta = {self.delta:g}, {self.model} model).\n"
                f"{self.honest[:1].upper()}{self.honest[1:]} can see the true answers, and must be trusted to keep them secret.\n"
                f"This holds for {self.unit}. Epsilons and deltas add up.\n"
                "Not protected: true answers, from those who must be trusted."
            )
        if self.model == "multiparty":
            return self._among_parties(factor, epsilon)
        failing, delta = (f", except with probability {self.delta:g}", f" delta = {self.delta:g},") if self.delta else ("", "")
        return (
            f"No true answer makes any report more than {factor} times as likely as another true answer would"
            f"{failing} (epsilon = {epsilon},{delta} {self.model} model).\n"
            "The noise is added on the person's own device: nobody else, the collector included, has to be trusted.\n"
            f"This holds for {self.unit}. Epsilons{' and deltas' * bool(delta)} add up: "
            "over a lifetime, k of them are worth k times as much to an observer.\n"
            f"Not protected: {self.exposed}."
        )

    def _shuffled(self, factor: str, epsilon: str) -> str:
        """Return both epsilons: with an honest shuffler, and without."""
        local = self.local_epsilon
        bare = "nothing is promised" if local is None or local == inf else f"only the local epsilon = {epsilon_up(local)} holds"
        return (
            f"No true answer makes any shuffled batch more than {factor} times as likely as another true answer of the same person "
            f"would, except with probability {self.delta:g} (epsilon = {epsilon}, delta = {self.delta:g}, {self.model} model).\n"
            f"This needs {self.honest} to hide who sent which report, and {self.people or 0:,} honest, distinct people in the batch; "
            f"otherwise {bare}.\n"
            f"This holds for {self.unit}. Epsilons and deltas add up.\n"
            f"Not protected: {self.exposed}."
        )

    def _among_parties(self, factor: str, epsilon: str) -> str:
        """Return who must be honest, and that secrecy needs limits on computing power."""
        failing = f", except with probability {self.delta:g}" if self.delta else ""
        return (
            f"Whether someone takes part makes no result more than {factor} times as likely{failing} "
            f"(epsilon = {epsilon}, delta = {self.delta:g}, {self.model} model), against anyone whose computing power is limited.\n"
            f"This needs {self.honest}.\n"
            f"This holds for {self.unit}. Epsilons and deltas add up.\n"
            f"Not protected: {self.exposed}. And a party can send false numbers."
        )
