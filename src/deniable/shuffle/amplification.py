"""Amplification by shuffling: from the epsilon of one report to the epsilon of the shuffled batch, and back."""

from __future__ import annotations

from collections.abc import Callable

from deniable.accounting.calibration import calibrate, doubled
from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.spec import Spec
from deniable.errors import ParameterError
from deniable.shuffle.certificate import MOST_PEOPLE, Certificate, certificate


@typed
def amplify(spec: Spec | None = None, *, epsilon0: float | None = None, delta: float, n: int, lower_bound: bool = False) -> Guarantee:
    """Return the guarantee of each of n people who report once, through a shuffler that hides who sent what.

    Guarantee: (epsilon, delta) for replacing one person's value, if the shuffler is honest and n *honest, distinct* people are in the
    batch: subtract those who may collude, and do not count dummies or repeated messages. ``local_epsilon`` is what holds if the shuffler
    is not honest. Epsilon is an upper bound, rounded up.

    Give a spec, for the privacy blanket of that very mechanism, or only ``epsilon0``, for any randomizers of that local epsilon. With
    ``lower_bound=True`` the guarantee's ``epsilon_at_least`` shows how much tighter epsilon could be at most.

    Cost: sums of O(sqrt n) terms for ``epsilon0``; Fourier transforms for a spec and for lower bounds, which take up to 100 times as long.

    >>> import deniable as dn
    >>> promise = amplify(epsilon0=2.0, delta=1e-6, n=100_000)
    >>> round(promise.epsilon, 4), promise.local_epsilon, promise.certificate
    (0.045, 2.0, 'clone bound 2021, exact sum')
    >>> sharper = amplify(dn.GRR(domain_size=10, epsilon=2.0), delta=1e-6, n=100_000, lower_bound=True)
    >>> round(sharper.epsilon, 4), round(sharper.epsilon_at_least, 4), sharper.certificate
    (0.0231, 0.0231, 'privacy blanket')

    References: Feldman, McMillan, Talwar 2021; Balle, Bell, Gascon, Nissim 2019.
    """
    proof = certificate(spec=spec, epsilon0=epsilon0, delta=delta, n=n)
    epsilon = proof.epsilon()
    return Guarantee(
        epsilon=epsilon,
        delta=float(delta),
        model="shuffle",
        unit="one report in a shuffled batch",
        honest="the shuffler",
        certificate=proof.name,
        local_epsilon=proof.local,
        epsilon_at_least=proof.at_least(epsilon) if lower_bound else None,
        people=n,
    )


@typed
def local_epsilon_for(
    *, epsilon: float, delta: float, n: int, build: Callable[[float], Spec] | None = None, largest: float | None = None
) -> float:
    """Return the largest local epsilon with which n shuffled reports keep (epsilon, delta), rounded down.

    ``build`` makes a spec from a local epsilon, for the sharper bound of a mechanism; any randomizers if left out. ``largest`` is the
    largest local epsilon that is tried.

    >>> import deniable as dn
    >>> round(local_epsilon_for(epsilon=1.0, delta=1e-6, n=100_000, build=lambda e: dn.GRR(domain_size=10, epsilon=e)), 3)
    7.765
    """
    most = largest if largest is not None else 16.0 if build is not None else 40.0

    def keeps(local: float) -> bool:
        return _certificate(local, build, n, delta).keeps(epsilon)

    if not 0 < epsilon < most:
        raise ParameterError("epsilon", epsilon, allowed=f"above 0, below {most:g}", fix="give the epsilon of the whole batch, such as 1.0")
    return calibrate(keeps, safe=epsilon, risky=most, tolerance=1e-6, name="epsilon0")  # without a shuffler, epsilon itself is safe


@typed
def people_for(spec: Spec | None = None, *, epsilon0: float | None = None, epsilon: float, delta: float) -> int:
    """Return the smallest batch that turns the local epsilon into (epsilon, delta), rounded up to whole people.

    The local epsilon is that of a ``spec``, or ``epsilon0``.

    >>> people_for(epsilon0=1.0, epsilon=0.1, delta=1e-6)
    3066
    """
    if not epsilon > 0:
        raise ParameterError("epsilon", epsilon, allowed="a finite number above 0", fix="give the epsilon of the whole batch, such as 1.0")

    def keeps(n: float) -> bool:
        return certificate(spec=spec, epsilon0=epsilon0, delta=delta, n=int(n)).keeps(epsilon)

    enough = int(doubled(keeps, start=1, limit=MOST_PEOPLE, name="n"))
    return int(calibrate(keeps, safe=enough, risky=max(1, enough // 2), name="n"))


def _certificate(local: float, build: Callable[[float], Spec] | None, n: int, delta: float) -> Certificate:
    return certificate(epsilon0=local, delta=delta, n=n) if build is None else certificate(spec=build(local), delta=delta, n=n)
