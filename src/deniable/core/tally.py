"""Tallies: integer counts, all that workers, engines and periods exchange.

Body of a tally's image (``contract.wire``)::

    offset   size   field
    0        32     SHA-256 of the candidates' keys, or zeros where the whole domain was counted
    32       8      k, the number of counters
    40       8 k    the counters, unsigned
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.domain import Domain, IndexRange
from deniable.contract.spec import Spec, spec_from_json
from deniable.contract.wire import TALLY, read_image, write_image
from deniable.core.values import keys_of
from deniable.errors import DomainError, MergeError, ParameterError, WireError
from deniable.kernels.compiled import Array

WHOLE_DOMAIN = bytes(32)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The values asked about, in order, and the keys of the domain that stand for them."""

    values: Sequence[Any]
    keys: Array

    def __repr__(self) -> str:
        shown = ", ".join(repr(value) for value in self.values[:4])
        return f"Candidates({shown})" if len(self.values) <= 4 else f"Candidates({shown}, ... {len(self.values):,} values)"

    @classmethod
    def of(cls, domain: Domain, values: Any) -> Candidates:
        """Return candidates from a list of values; each must be allowed and named once."""
        keys = np.ascontiguousarray(keys_of(domain, values), dtype=np.uint64)
        if keys.size == 0:
            raise DomainError("candidates", values, allowed="at least one value", fix="name what to count, or leave candidates out")
        first = np.unique(keys, return_index=True)[1]
        if first.size < keys.size:
            position = int(np.setdiff1d(np.arange(keys.size), first)[0])
            raise DomainError(f"candidates[{position}]", values[position], allowed="each candidate once", fix="drop the repetition")
        return cls(values if isinstance(values, list | tuple) else list(np.asarray(values).tolist()), keys)

    @classmethod
    def everything(cls, domain: Domain) -> Candidates:
        """All values of a listed domain; those of a range are not written out."""
        size = domain.size
        values = range(size) if isinstance(domain, IndexRange) else [domain.value(key) for key in range(size)]
        return cls(values, np.arange(size, dtype=np.uint64))

    @cached_property
    def digest(self) -> bytes:
        """What a tally remembers of its candidates."""
        return hashlib.sha256(self.keys.astype("<u8").tobytes()).digest()


@typed
@dataclass(frozen=True, eq=False)
class Tally:
    """Counters: how many reports support each value, in most mechanisms. Tallies of the same spec and candidates add up, in any order.

    ``n`` is the number of reports. ``digest`` is that of the ``candidates``, where they were needed; all zeros for the whole domain.

    >>> from deniable.client import GRR
    >>> spec = GRR(domain_size=3, epsilon=1.0)
    >>> total = Tally(spec, 4, np.array([2, 1, 1])) + Tally(spec, 2, np.array([0, 0, 2]))
    >>> total, total == Tally.from_bytes(total.to_bytes())
    (Tally(GRR(domain_size=3, epsilon=1.0), n=6, counters=3), True)
    """

    spec: Spec
    n: int
    counters: Array
    digest: bytes = WHOLE_DOMAIN
    candidates: Candidates | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        counters = np.asarray(self.counters)
        whole = counters.dtype.kind in "iu" and counters.ndim == 1 and isinstance(self.n, int) and self.n >= 0
        if not whole or (counters.size and not (int(counters.min()) >= 0 and int(counters.max()) <= self.n * self.spec.largest_count)):
            allowed = f"integers from 0 to {self.spec.largest_count} n = {self.n * self.spec.largest_count}"
            raise ParameterError("counters", self.counters, allowed=allowed, fix="tally the reports again")
        object.__setattr__(self, "counters", counters.astype(np.int64, copy=False))

    def __add__(self, other: object) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        require_same_spec(self.spec, other.spec)
        if self.digest != other.digest:
            raise MergeError(
                "candidates",
                other.digest.hex(),
                allowed=f"the list with digest {self.digest.hex()}",
                fix="tally both with the same candidates",
            )
        if self.counters.size != other.counters.size:
            raise MergeError(
                "counters",
                other.counters.size,
                allowed=f"{self.counters.size}, as in the other tally",
                fix="tally both with the same spec and candidates",
            )
        return Tally(self.spec, self.n + other.n, self.counters + other.counters, self.digest, self.candidates or other.candidates)

    def __radd__(self, other: object) -> Tally:
        return self if other == 0 else NotImplemented  # so that sum(tallies) works

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        same = (self.spec, self.n, self.digest) == (other.spec, other.n, other.digest)
        return same and np.array_equal(self.counters, other.counters)

    __hash__ = None  # type: ignore[assignment]  # holds an array

    def __repr__(self) -> str:
        return f"Tally({self.spec!r}, n={self.n:,}, counters={self.counters.size:,})"

    def to_bytes(self) -> bytes:
        """Return the tally as bytes, with spec and checksum."""
        body = self.digest + self.counters.size.to_bytes(8, "little") + self.counters.astype("<u8").tobytes()
        return write_image(TALLY, self.spec.canonical, self.n, body)

    @classmethod
    def from_bytes(cls, data: bytes) -> Tally:
        """Return the tally from ``data`` of ``to_bytes``. Of the candidates only their digest is in it."""
        canonical, n, body = read_image(TALLY, data)
        spec = spec_from_json(canonical)
        size = int.from_bytes(body[32:40], "little")
        if len(body) != 40 + 8 * size:
            raise WireError("body", f"{len(body)} bytes", allowed=f"{40 + 8 * size} bytes for {size} counters", fix="read it again, whole")
        counters = np.frombuffer(body, "<u8", size, 40)
        most = n * spec.largest_count
        if most >= 1 << 63 or (size and int(counters.max()) > most):
            raise WireError(
                "counters", int(counters.max(initial=0)), allowed=f"at most {most}", fix="discard this tally: it is damaged or false"
            )
        return cls(spec, n, counters.astype(np.int64), body[:32])


def require_same_spec(ours: Spec, theirs: Spec) -> None:
    """MergeError naming the field in which ``theirs`` differs from ``ours``, unless the two specs are the same."""
    if ours == theirs:
        return
    if type(ours) is not type(theirs):
        name, mine, yours = "mechanism", ours.mechanism, theirs.mechanism
    else:
        pairs = ((f.name, getattr(ours, f.name), getattr(theirs, f.name)) for f in fields(ours))  # type: ignore[arg-type]  # a dataclass
        name, mine, yours = next(pair for pair in pairs if pair[1] != pair[2])
    raise MergeError(f"spec.{name}", yours, allowed=repr(mine), fix="keep reports and tallies of different specs apart")
