"""The linkage attack: a table without names is joined with a public one, over what both know about people.

Most people are alone with their birth date, sex and postcode (Sweeney 2000). Removing names removes nothing then: anyone who is unique in
both tables is found, with the secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from deniable.contract.arguments import typed
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError
from deniable.lab.curator_attacks.counts import Ask
from deniable.tasks.checks import MOST_DRAWN, check_whole

KEYS = ("born", "sex", "postcode")


@typed
def clinic(people: int, source: Source = SYSTEM) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a public register of so many people (with names), and a clinic's table of them (without names), half of whom are ill.

    >>> from deniable.testing import ReplaySource
    >>> register, table = clinic(1000, ReplaySource.from_key("clinic"))
    >>> register.columns, table.columns, table.height
    (['name', 'born', 'sex', 'postcode'], ['born', 'sex', 'postcode', 'ill'], 1000)
    """
    check_whole("people", people, 0, MOST_DRAWN)
    known: dict[str, list[Any]] = {
        "name": [f"person {i}" for i in range(people)],
        "born": [1940 + source.below(70) for _ in range(people)],
        "sex": ["fm"[source.below(2)] for _ in range(people)],
        "postcode": [4000 + source.below(60) for _ in range(people)],
    }
    ill = [source.below(2) == 1 for _ in range(people)]
    return pl.DataFrame(known), pl.DataFrame({**{name: known[name] for name in KEYS}, "ill": ill})


@typed
def link(anonymous: pl.DataFrame, register: pl.DataFrame, keys: Sequence[str] = KEYS) -> pl.DataFrame:
    """Return everyone whose keys are unique in both tables: the register's names next to the columns of the ``anonymous`` table."""
    for table in (anonymous, register):
        if not keys or not set(keys) <= set(table.columns):
            raise ParameterError("keys", list(keys), allowed=f"some of {table.columns}", fix="name columns that both tables have")
    alone = [table.filter(pl.struct(list(keys)).is_unique()) for table in (register, anonymous)]
    return alone[0].with_row_index("place").join(alone[1], on=list(keys), how="inner").sort("place").drop("place")


@typed
def guess_by_counting(ask: Ask, person: dict[str, Any], secret: dict[str, Any], keys: Sequence[str] = KEYS) -> bool:
    """Return the same guess from a curator's counts (``ask``): does anyone have this person's keys and the secret?"""
    if not set(keys) <= set(person):
        raise ParameterError("person", sorted(person), allowed=f"values of {list(keys)}", fix="pass what is known about the person")
    return ask({**{name: person[name] for name in keys}, **secret}) > 0.5
