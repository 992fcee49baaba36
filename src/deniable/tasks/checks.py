"""What all tasks refuse in the same manner."""

from __future__ import annotations

from deniable.errors import ParameterError

MOST_PEOPLE = 10**15
MOST_DRAWN = 10**9
"""More than anybody draws one by one."""


def check_whole(name: str, value: object, least: int, most: int | None = None, *, fix: str = "count in whole numbers") -> None:
    """Refuse a parameter that is no whole number from ``least`` on, or none up to ``most``.

    >>> check_whole("k", 3, 1)
    >>> check_whole("k", 2.5, 1, 10)
    Traceback (most recent call last):
    deniable.errors.ParameterError: k: got 2.5; allowed: an integer from 1 to 10; count in whole numbers
    """
    if type(value) is not int or value < least or (most is not None and value > most):
        allowed = f"an integer from {least} on" if most is None else f"an integer from {least} to {most:,}"
        raise ParameterError(name, value, allowed=allowed, fix=fix)


def check_people(people: object) -> None:
    """Refuse a number of expected people that is none."""
    check_whole("people", people, 0, MOST_PEOPLE, fix="say how many reports you expect")


def check_noise_only(population: bool) -> None:
    """Raise if limits are to cover sampling, where only those for the people who reported are known."""
    if population:
        fix = "leave it out: these limits are about the people who reported"
        raise ParameterError("population", population, allowed="False", fix=fix)
