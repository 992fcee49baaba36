"""The declared columns of a table."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, ClassVar

from deniable.contract.domain import Categories, Domain
from deniable.contract.form import Form
from deniable.contract.record import Plain
from deniable.contract.records import COLUMNS
from deniable.core.cells import KeyedTable
from deniable.core.run import crowd_size
from deniable.core.values import keys_of
from deniable.errors import DomainError, ParameterError

MOST_CELLS = 1 << 13
"""The most cells that one person is asked about, and that one marginal has."""
Names = tuple[str, ...]


@dataclass(frozen=True)
class Columns(Plain):
    """The columns of a table by name, with their domains; a column with one possible value has that label instead and is never asked about.

    Numbers and points in time are binned as their domain declares: ``Numbers(0, 100, steps=4)`` has five bins, around 0, 25, ... 100.

    >>> from deniable.contract.domain import Integers
    >>> columns = Columns.of({"place": ["bar", "inn"], "stars": Integers(1, 5), "country": ["Norway"]})
    >>> list(columns.asked), columns.cells(("place", "stars")), columns.labels(("country", "place"))
    (['place', 'stars'], 10, [('Norway', 'bar'), ('Norway', 'inn')])
    """

    noun = "columns"
    declared: tuple[tuple[str, Domain | str], ...]
    form: ClassVar[Form]
    """A list of columns, not an object with one list in it."""

    @classmethod
    def of(cls, columns: object) -> Columns:
        """Return the columns of a mapping from names to domains or lists of labels."""
        if isinstance(columns, Columns):
            return columns
        if not isinstance(columns, Mapping) or not columns or not all(isinstance(name, str) and name for name in columns):
            raise ParameterError(
                "columns",
                columns,
                allowed="names with domains",
                fix='write, for example, {"place": ["bar", "inn"], "stars": Integers(1, 5)}',
            )
        return cls(tuple((name, _declared(name, what)) for name, what in columns.items()))

    def __post_init__(self) -> None:
        for name, domain in self.declared:
            if isinstance(domain, Domain) and not (domain.listed and domain.size <= MOST_CELLS):
                allowed = f"a listed domain of at most {MOST_CELLS:,} values"
                raise ParameterError(
                    f"column {name!r}", domain, allowed=allowed, fix="list its labels, or bin it with Numbers(0, 100, steps=10)"
                )
        if not self.asked:
            fixed = [name for name, _ in self.declared]
            raise ParameterError(
                "columns", fixed, allowed="at least one column with two or more values", fix="declare a column with two or more values"
            )

    @cached_property
    def asked(self) -> dict[str, Domain]:
        """The columns that people can differ in."""
        return {name: domain for name, domain in self.declared if isinstance(domain, Domain)}

    @cached_property
    def fixed(self) -> dict[str, str]:
        """The columns with one value, and that value."""
        return {name: label for name, label in self.declared if isinstance(label, str)}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many values each column has, of those that are asked about."""
        return {name: domain.size for name, domain in self.asked.items()}

    @cached_property
    def bits(self) -> dict[str, int]:
        """How many bits a key of each column has."""
        return {name: domain.key_bits for name, domain in self.asked.items()}

    def cells(self, names: Iterable[str]) -> int:
        """Return the number of combinations of some columns."""
        return prod(self.sizes[name] for name in names)

    def check(self, names: Sequence[str]) -> Names:
        """Return names of columns, each once, without those that have one value; ParameterError if a column is unknown."""
        known = [name for name, _ in self.declared]
        if isinstance(names, str) or not names or len(set(names)) < len(names) or not set(names) <= set(known):
            raise ParameterError("columns", names, allowed=f"some of {known}, each once", fix="check the spelling")
        return tuple(name for name in names if name in self.asked)

    def labels(self, names: Sequence[str]) -> list[tuple[Hashable, ...]]:
        """Return the cells of some columns as tuples of values, the last column changing fastest."""
        values = [[self.fixed[n]] if n in self.fixed else [self.asked[n].value(key) for key in range(self.sizes[n])] for n in names]
        return list(product(*values))

    def keyed(self, table: Any) -> KeyedTable:
        """Return a table with all columns checked and their values looked up once."""
        people = crowd_size(table)
        for name, label in self.fixed.items():
            column = KeyedTable.column(name, table)
            try:
                other = keys_of(Categories(label, f"{label} (none other)"), column).any()
            except DomainError as error:
                raise DomainError(error.parameter, error.received, allowed=f"{label!r} alone in column {name!r}", fix=error.fix) from error
            if other or len(column) != people:
                raise DomainError(
                    f"column {name!r}", "another value", allowed=f"{label!r} for all {people} people", fix="declare all its labels"
                )
        return KeyedTable(table, self.asked)


Columns.form = Form(lambda columns: COLUMNS.write(columns.declared), lambda noun, data: Columns(COLUMNS.read(noun, data)))


def _declared(name: str, what: object) -> Domain | str:
    if isinstance(what, Domain):
        return what
    labels = list(what) if isinstance(what, Sequence) and not isinstance(what, str | bytes) else []
    if len(labels) == 1 and isinstance(labels[0], str) and labels[0]:
        return labels[0]
    if not labels:
        raise ParameterError(f"column {name!r}", what, allowed="a domain, or a list of labels", fix="declare its possible values")
    return Categories(*labels)
