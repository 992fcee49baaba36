"""Features: a few numbers of a record as exact integers, the same on every device.

Each feature has a declared range, and a grid of 4,096 steps on it; a value counts as its nearest grid point. In the middle of the range it
is 0, at the ends -2,048 and 2,048, which models read as -1 and 1. Models are public and integers too, so what a device works out from
both has one value everywhere, with no float that machines could round differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.encoder import Attribute
from deniable.contract.form import Form
from deniable.contract.numbers import Numbers
from deniable.contract.record import Plain
from deniable.contract.records import COLUMNS
from deniable.errors import ParameterError, WireError

HALF = 1 << 11
"""The end of a range, in steps from its middle."""
MOST_FEATURES = 256


@dataclass(frozen=True)
class Features(Plain):
    """The named numbers of a record that a model reads, each with its range; other columns are not read.

    >>> body = Features.of({"age": (0, 120), "height": Numbers(50, 250, clip=True)})
    >>> body.point({"age": 30, "height": 260, "name": "Ann"})
    [-1024, 2048]
    """

    noun = "features"
    columns: tuple[tuple[str, Numbers], ...]
    form: ClassVar[Form]
    """A list of columns, not an object with one list in it."""

    def __post_init__(self) -> None:
        names = [name for name, _ in self.columns]
        if not 1 <= len(names) <= MOST_FEATURES or len(set(names)) < len(names) or not all(isinstance(n, str) and n for n in names):
            raise ParameterError("features", names[:5], allowed=f"1 to {MOST_FEATURES} names, each once", fix="name what the model reads")
        for name, domain in self.columns:
            if not isinstance(domain, Numbers) or domain.times or domain.steps != 2 * HALF:
                allowed = f"Numbers with {2 * HALF} steps"
                raise ParameterError(f"feature {name!r}", domain, allowed=allowed, fix="give the range: (0, 120)")

    @classmethod
    def of(cls, given: Any) -> Features:
        """Return features from a mapping of names to ranges, (low, high) or Numbers; those of Numbers may clip."""
        if isinstance(given, Features):
            return given
        if not isinstance(given, Mapping):
            allowed = "a mapping of names to ranges"
            raise ParameterError("features", type(given).__name__, allowed=allowed, fix='write {"age": (0, 120)}')
        columns = []
        for name, range_ in given.items():
            if not isinstance(range_, Numbers) and not (isinstance(range_, tuple | list) and len(range_) == 2):
                raise ParameterError(f"feature {name!r}", range_, allowed="(low, high), or Numbers", fix="declare its range")
            low, high, clip = (range_.low, range_.high, range_.clip) if isinstance(range_, Numbers) else (*range_, False)
            columns.append((name, Numbers(low, high, 2 * HALF, clip)))
        return cls(tuple(columns))

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(name for name, _ in self.columns)

    def point(self, value: Any) -> list[int]:
        """Return one person's features, in steps from the middle of each range."""
        return [domain.key(Attribute(name).column(value)) - HALF for name, domain in self.columns]

    def original(self, coordinate: int, steps: float) -> float:
        """Return a feature in people's own numbers, from steps off the middle."""
        domain = self.columns[coordinate][1]
        return float(domain.start + domain.width / 2) + steps * float(domain.width / (2 * HALF))

    def unit(self, coordinate: int) -> float:
        """Return what a step is in people's own numbers."""
        return float(Fraction(self.columns[coordinate][1].width) / (2 * HALF))


@lru_cache(maxsize=16)
def _read(canonical: bytes) -> Features:
    """Return all questions of a round have the same features, hundreds perhaps: they are read once."""
    return Features(COLUMNS.read("features", parse_canonical(canonical)))


def _read_features(noun: str, data: object) -> Features:
    try:
        return _read(canonical_json(data))
    except (TypeError, ValueError, ParameterError) as error:
        raise WireError(noun, data, allowed="valid features", fix=str(error)) from error


Features.form = Form(lambda features: COLUMNS.write(features.columns), _read_features)


def check_features(features: object) -> None:
    """Raise unless ``features`` are Features."""
    if not isinstance(features, Features):
        raise ParameterError("features", features, allowed="Features", fix='write Features.of({"age": (0, 120)})')


def check_clip(clip: object) -> None:
    """Raise unless ``clip`` halvings leave a range."""
    if type(clip) is not int or not 0 <= clip <= 8:
        raise ParameterError("clip", clip, allowed="an integer from 0 to 8", fix="say how often to halve the range; 0 clips nothing")


def check_integers(name: str, values: object, count: int, largest: int) -> None:
    """Raise unless ``values`` is a tuple of so many integers of limited size."""
    right = isinstance(values, tuple) and len(values) == count and all(type(v) is int and abs(v) <= largest for v in values)
    if not right:
        allowed = f"{count} integers from -{largest} to {largest}"
        raise ParameterError(name, values, allowed=allowed, fix="pass one for each feature, on the grid of the protocol")
