"""Calibration: the largest parameter that keeps a promise, by one bisection for every accountant, rounded toward privacy."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log

from deniable.contract.arguments import typed
from deniable.errors import ParameterError


@typed
def calibrate(keeps: Callable[[float], bool], *, safe: float, risky: float, tolerance: float = 1e-9, name: str = "parameter") -> float:
    """The parameter nearest to ``risky`` for which the promise was checked and holds.

    ``keeps`` says whether a parameter keeps the promise. It must hold from ``safe`` up to some point on the way to ``risky``, and fail
    from there on; either may be the larger one. Whatever is returned was passed to ``keeps``, which said yes: the rounding is toward
    ``safe``. It is within ``tolerance`` of a parameter for which it said no, relative to the larger of the two. Two integers bracket an
    integer, exactly. ``name`` is what an error calls the parameter.

    >>> calibrate(lambda sigma: 4 / sigma <= 1, safe=100.0, risky=0.1) >= 4
    True
    >>> calibrate(lambda rounds: 0.1 * rounds <= 1, safe=1, risky=1000)
    10
    """
    whole = isinstance(safe, int) and isinstance(risky, int)
    if not keeps(safe):
        raise ParameterError(name, safe, allowed="a safe start that keeps the promise", fix="move the safe start, or promise less")
    if keeps(risky):
        return risky
    while abs(risky - safe) > (1 if whole else tolerance * max(abs(safe), abs(risky))):
        middle = (safe + risky) // 2 if whole else (safe + risky) / 2
        if middle in (safe, risky):
            break  # neighbors: nothing lies between
        if keeps(middle):
            safe = middle
        else:
            risky = middle
    return safe


def doubled(keeps: Callable[[float], bool], *, start: float, limit: float, name: str = "parameter") -> float:
    """The first of start, 2 start, 4 start .. that keeps a promise: a safe end for ``calibrate`` where none is known."""
    found = start
    while not keeps(found):
        found *= 2
        if found > limit:
            raise ParameterError(name, found, allowed=f"up to {limit:g}", fix="promise less: this promise is out of reach")
    return found


def smallest(curve: Callable[[float], float], delta: float, *, guess: float, limit: float, tolerance: float = 1e-10) -> float:
    """The smallest epsilon, up to the tolerance and rounded up, with curve(epsilon) <= delta; infinite if there is none up to ``limit``.

    ``curve`` falls. Steps outward from a guess, then a secant on ln curve against ln(limit - epsilon), in which most curves are nearly
    straight, with a bisection now and then. Whatever is returned was evaluated and keeps the promise.

    >>> from math import exp
    >>> smallest(lambda epsilon: exp(-epsilon), 1e-6, guess=1.0, limit=100.0) * 1e12 // 1e4 / 1e8
    13.81551055
    """
    points: list[tuple[float, float]] = []
    low, high = -1.0, inf  # what fails and what holds, so far

    def holds(epsilon: float) -> bool:
        value = curve(epsilon)
        if value > 0 and epsilon < limit:
            points.append((log(limit - epsilon), log(value / delta)))
        return value <= delta

    step, at = 0.05, min(max(guess, limit * 1e-12), limit * (1 - 1e-9))
    while high == inf or low < 0:
        if holds(at):
            high = at
            at = 0.0 if at <= guess * 1e-2 else at * (1 - step)  # a curve that holds so far down may hold everywhere
            if high == 0.0:
                return 0.0
        else:
            low = at
            if at >= limit:
                return inf
            near = limit - at
            at = at * (1 + step) if at * step < near / 2 else limit - near / 50 if near > 1e-12 * limit else limit
        step = min(2 * step, 0.9 if low < 0 else 8.0)
    turn = 0
    while high - low > tolerance * high:
        turn += 1
        aim = inf
        if len(points) > 1 and points[-1][0] != points[-2][0] and points[-1][1] != points[-2][1]:
            (a, above), (b, below) = points[-2:]
            aim = limit - exp(min(b - below * (b - a) / (below - above), 700.0))
        aim += (1 if high - aim > aim - low else -1) * tolerance / 3 * high  # beyond the root, so that both ends move
        middle = aim if low < aim < high and turn % 6 else (low + high) / 2
        if middle in (low, high):
            break
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
