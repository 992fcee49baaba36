"""The linkage attack: a table without names is joined with a public one, over what both know about people.

Most people are alone with their birth date, sex and postcode (Sweeney 2000). Removing names removes nothing then: whoever is unique in both
tables is found, with the secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from deniable.contract.source import SYSTEM, Source
from deniable.lab.curator_attacks.counting import Ask

KEYS = ("born", "sex", "postcode")


def clinic(people: int, source: Source = SYSTEM) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A public register of so many people (with names), and a clinic's table of the same people (without), half of whom are ill.

    >>> from deniable.testing import ReplaySource
    >>> register, table = clinic(1000, ReplaySource.from_key("clinic"))
    >>> register.columns, table.columns, table.height
    (['name', 'born', 'sex', 'postcode'], ['born', 'sex', 'postcode', 'ill'], 1000)
    """
    known: dict[str, list[Any]] = {
        "name": [f"person {i}" for i in range(people)],
        "born": [1940 + source.below(70) for _ in range(people)],
        "sex": ["fm"[source.below(2)] for _ in range(people)],
        "postcode": [4000 + source.below(60) for _ in range(people)],
    }
    ill = [source.below(2) == 1 for _ in range(people)]
    return pl.DataFrame(known), pl.DataFrame({**{name: known[name] for name in KEYS}, "ill": ill})


def link(anonymous: pl.DataFrame, register: pl.DataFrame, keys: Sequence[str] = KEYS) -> pl.DataFrame:
    """Everyone who is alone with the keys in both tables: the register's names beside the columns of the ``anonymous`` table."""
    alone = [table.filter(pl.struct(list(keys)).is_unique()) for table in (register, anonymous)]
    return alone[0].with_row_index("place").join(alone[1], on=list(keys), how="inner").sort("place").drop("place")


def guess_by_counting(ask: Ask, person: dict[str, Any], secret: dict[str, Any], keys: Sequence[str] = KEYS) -> bool:
    """The same through a curator's counts (``ask``): is there somebody with this person's keys and the secret?"""
    return ask({**{name: person[name] for name in keys}, **secret}) > 0.5
