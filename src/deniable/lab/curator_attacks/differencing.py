"""The differencing attack: two harmless counts, one of them without a person, differ by what that person has.

A rule like "no count below 10 is shown" does not help: both counts are large. Nor does it help that nobody asks about the person.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from deniable.contract.arguments import typed
from deniable.errors import ParameterError
from deniable.lab.curator_attacks.counts import Ask


@typed
def differencing(ask: Ask, person: dict[str, Any], secret: dict[str, Any]) -> float:
    """Return the count of a secret minus the same count without one person: near 1 if the person has it, near 0 if not.

    ``ask`` is a curator who counts.

    >>> from deniable.lab.curator_attacks.counts import exact_counts
    >>> table = pl.DataFrame({"name": ["Ann", "Ben", "Cleo"], "ill": [True, True, False]})
    >>> [differencing(exact_counts(table), {"name": name}, {"ill": True}) for name in table["name"]]
    [1, 1, 0]
    """
    return ask(_all_of(secret)) - ask(_all_of(secret) & ~_all_of(person))


def _all_of(equalities: dict[str, Any]) -> pl.Expr:
    if not equalities:
        raise ParameterError(
            "person, secret", equalities, allowed="columns with their values", fix='name the person, for example {"name": "Ann"}'
        )
    return pl.all_horizontal([pl.col(name) == value for name, value in equalities.items()])
