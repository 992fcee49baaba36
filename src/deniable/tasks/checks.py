"""Checks that all tasks share."""

from __future__ import annotations

from deniable.errors import ParameterError

MOST_PEOPLE = 10**15
MOST_DRAWN = 10**9
"""The largest number of people that a task can be planned for."""


def check_whole(name: str, value: object, least: int, most: int | None = None, *, fix: str = "pass a whole number") -> None:
    """Raise unless ``value`` is an integer from ``least`` on, and up to ``most`` if it is given.

    >>> check_whole("k", 3, 1)
    >>> check_whole("k", 2.5, 1, 10)
    Traceback (most recent call last):
    deniable.errors.ParameterError: k: got 2.5; allowed: an integer from 1 to 10; pass a whole number
    """
    if type(value) is not int or value < least or (most is not None and value > most):
        allowed = f"an integer from {least} on" if most is None else f"an integer from {least} to {most:,}"
        raise ParameterError(name, value, allowed=allowed, fix=fix)


def check_people(people: object) -> None:
    """Raise unless ``people`` is a non-negative integer."""
    check_whole("people", people, 0, MOST_PEOPLE, fix="pass the number of reports that you expect")


def check_noise_only(population: bool) -> None:
    """Raise if ``population`` is set where the limits cover only the people who reported."""
    if population:
        fix = "leave out population: these limits cover only the people who reported"
        raise ParameterError("population", population, allowed="False", fix=fix)
