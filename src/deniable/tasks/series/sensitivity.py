r"""How much one person can change a sequence of sums, and its coefficients in an orthonormal basis.

A person adds a number between 0 and 1 to each of n sums. Adding or removing the person changes the sequence by v in [0, 1]^n, replacing
the person by v - v' in [-1, 1]^n. Either way::

    Delta_1 = n          Delta_2 = sqrt(n)

Coefficients: by Cauchy and Schwarz K of them change by sqrt(K n) in the sum of their absolute values. For a person who is added or removed
it is less. Let t be the mean of v; the constant's coefficient is t sqrt(n), and v^2 <= v leaves the others a length of at most
sqrt(n (t - t^2)). The sum is then at most::

    max over t of  sqrt(n) (t + sqrt(K - 1) sqrt(t - t^2))  =  sqrt(n) (1 + sqrt(K)) / 2

which is 1.7 times less at K = 39. (With c = sqrt(K - 1): t + c sqrt(t - t^2) = 1/2 + (cos a + c sin a) / 2 for t = (1 + cos a) / 2, and the
largest cos a + c sin a is sqrt(1 + c^2) = sqrt(K).)
"""

from __future__ import annotations

from math import inf, nextafter, sqrt

from deniable.accounting.event import ADD_REMOVE, check_neighbors
from deniable.contract.arguments import typed
from deniable.errors import ParameterError
from deniable.tasks.checks import check_whole

_SAFE = 1 + 1e-15
"""More than what rounding takes from a root and a product."""


@typed
def sequence_sensitivity(points: int, *, norm: int, neighbors: str = ADD_REMOVE, bound: float = 1.0) -> float:
    """Return the largest change of the sums at ``points`` points in time by one person, whose numbers lie between 0 and ``bound``.

    It is measured in the ``norm`` 1 (the sum of changes) or 2 (their length), and rounded up. The slides' example, "how many users weigh
    more than 200 lb", asked in each of 2,000 months:

    >>> sequence_sensitivity(2000, norm=1), round(sequence_sensitivity(2000, norm=2), 3)
    (2000.0, 44.721)
    """
    check_neighbors(neighbors)
    check_whole("points", points, 1, fix="pass the number of points in time")
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 < bound < inf:
        raise ParameterError("bound", bound, allowed="a finite number above 0", fix="pass the most that one person adds at one time")
    if norm not in (1, 2):
        raise ParameterError("norm", norm, allowed="1 or 2", fix="use 1 for Laplace noise, 2 for Gaussian")
    return points * bound if norm == 1 else _up(sqrt(points) * bound)


@typed
def coefficient_sensitivity(points: int, coefficients: int, *, norm: int, neighbors: str = ADD_REMOVE, bound: float = 1.0) -> float:
    """Return the same for the first coefficients of the sequence in an orthonormal basis that begins with the constant.

    ``points``, ``norm`` and ``bound`` are as in ``sequence_sensitivity``.

    >>> round(coefficient_sensitivity(2000, 39, norm=1), 1), round(coefficient_sensitivity(2000, 39, norm=1, neighbors="replace"), 1)
    (162.0, 279.3)
    """
    length = sequence_sensitivity(points, norm=2, neighbors=neighbors, bound=bound)
    check_whole("coefficients", coefficients, 1, points, fix="use at most as many coefficients as points")
    if norm == 2:
        return length
    sequence_sensitivity(points, norm=norm)  # refuses other norms
    return _up(length * ((1 + sqrt(coefficients)) / 2 if neighbors == ADD_REMOVE else sqrt(coefficients)))


def _up(value: float) -> float:
    return nextafter(value * _SAFE, inf)
