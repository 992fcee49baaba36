"""Tallies, reports and whole protocols on Apache Beam: elements are chunks of people as Arrow tables or columns, never single people.

Needs the extra ``beam``, in an environment of its own: Beam holds pyarrow back. Reports are folded where they are read, and only tallies
travel. What is simulated is drawn from a stream of its chunk, so a bundle that is tried again gives the same bytes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import cache
from typing import Any

from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.contract.spec import Spec, spec_from_json
from deniable.core.tally import Tally
from deniable.engines.partition import answer, fold, merge, new_key, privatize, read_reports
from deniable.errors import MissingExtra, ParameterError

try:
    import apache_beam as beam
    from apache_beam.io.filesystems import FileSystems
except ImportError as error:
    raise MissingExtra("deniable.engines.beam", "beam", error.name) from error


class TallyCoder(beam.coders.Coder):  # type: ignore[misc]  # Beam has no types
    """Tallies between workers, as their images."""

    def encode(self, value: Tally) -> bytes:
        return value.to_bytes()

    def decode(self, encoded: bytes) -> Tally:
        return Tally.from_bytes(encoded)

    def is_deterministic(self) -> bool:
        return True


class TallyFn(beam.CombineFn):  # type: ignore[misc]  # Beam is untyped
    """Folds Arrow tables of reports into the bytes of their tally, globally or by key, for instance by period.

    >>> import numpy as np
    >>> from deniable.client import GRR
    >>> spec = GRR(domain_size=3, epsilon=1.0)
    >>> fold_reports = TallyFn(spec)
    >>> day, night = (fold_reports.add_input(fold_reports.create_accumulator(), spec.privatize([0, 1]).to_arrow()) for _ in range(2))
    >>> Tally.from_bytes(fold_reports.extract_output(fold_reports.merge_accumulators([day, night])))
    Tally(GRR(domain_size=3, epsilon=1.0), n=4, counters=3)
    """

    def __init__(self, spec: Spec, candidates: Any = None) -> None:
        super().__init__()
        fold(spec, [], candidates)  # candidates that are not allowed are refused here, and not by a worker
        self._canonical, self._candidates = spec.canonical, candidates

    def create_accumulator(self) -> Tally:
        return fold(_spec_of(self._canonical), [], self._candidates)

    def add_input(self, mutable_accumulator: Tally, element: Any) -> Tally:
        spec = _spec_of(self._canonical)
        part: Tally = spec.tally(read_reports(spec, element), candidates=self._candidates)
        return mutable_accumulator + part

    def merge_accumulators(self, accumulators: Iterable[Tally]) -> Tally:
        return sum(accumulators, self.create_accumulator())

    def extract_output(self, accumulator: Tally) -> bytes:
        return accumulator.to_bytes()

    def get_accumulator_coder(self) -> TallyCoder:
        return TallyCoder()


class TallyReports(beam.PTransform):  # type: ignore[misc]  # Beam is untyped
    """From Arrow tables of reports, as ``ReadFromParquetBatched`` gives them, to one element: the bytes of their tally."""

    def __init__(self, spec: Spec, candidates: Any = None) -> None:
        super().__init__()
        self._fold = TallyFn(spec, candidates)

    def expand(self, input_or_inputs: Any) -> Any:
        return input_or_inputs | beam.CombineGlobally(self._fold)


class Privatize(beam.PTransform):  # type: ignore[misc]  # Beam is untyped
    """From (index, values) to Arrow tables of reports, one for each chunk of simulated people. An index that comes twice is refused."""

    def __init__(self, spec: Spec, *, key: bytes | None = None) -> None:
        super().__init__()
        self._canonical, self._key = spec.canonical, new_key() if key is None else key  # drawn once, where the pipeline is made

    def expand(self, input_or_inputs: Any) -> Any:
        return input_or_inputs | _EachOnce() | beam.Map(_privatized, self._canonical, self._key)


def run(
    protocol: Protocol, crowd: Callable[[Any], Any], *, key: bytes | None = None, options: Any = None, folder: str | None = None
) -> Any:
    """Ask a simulated crowd, round after round, one pipeline each; the result is that of the last.

    ``crowd`` begins a pipeline and gives (index, values), as ``lambda pipeline: pipeline | beam.Create(enumerate(chunks))`` does; values
    are a column, or a mapping of columns. A round's tallies, which are small, reach this process through ``folder``: where workers are on
    other machines, one that they can write into, at any address that Beam knows.
    """
    key = new_key() if key is None else key
    state: Any = protocol
    with tempfile.TemporaryDirectory() if folder is None else nullcontext(folder) as place:
        while isinstance(state, Protocol):
            canonical = state.canonical
            path = FileSystems.join(place, _name(key, canonical))
            with beam.Pipeline(options=options) as pipeline:
                answers = crowd(pipeline) | _EachOnce() | beam.FlatMap(_answers, canonical, key)
                together = answers | beam.CombinePerKey(_merged) | beam.combiners.ToDict()
                together | beam.Map(_write, path)
            state = state.close(_read(path))
    return state


def _name(key: bytes, canonical: bytes) -> str:
    """The name of a round's file. Names are no secret, so its purpose is its own: under the round's alone, it would be the people's key."""
    return hmac.digest(key, b"file" + canonical, hashlib.sha256).hex() + ".json"


class _EachOnce(beam.PTransform):  # type: ignore[misc]  # Beam is untyped
    """Chunks as they are; the pipeline fails if two have one index, since their people would draw the same numbers."""

    def expand(self, input_or_inputs: Any) -> Any:
        input_or_inputs | beam.Keys() | beam.combiners.Count.PerElement() | beam.MapTuple(_require_once)
        return input_or_inputs


def _require_once(index: int, count: int) -> None:
    if count > 1:
        raise ParameterError("index", f"{index}, {count} times", allowed="each index once", fix="number the chunks with enumerate")


@cache
def _spec_of(canonical: bytes) -> Spec:
    """Send a spec to workers as text: the object would carry along the tables that it has built."""
    return spec_from_json(canonical)


def _privatized(chunk: tuple[int, Any], canonical: bytes, key: bytes) -> Any:
    index, values = chunk
    return privatize(_spec_of(canonical), values, key=key, partition=index).to_arrow()


def _answers(chunk: tuple[int, Any], canonical: bytes, key: bytes) -> Iterator[tuple[str, bytes]]:
    index, values = chunk
    yield from answer(protocol_from_json(canonical), values, key=key, partition=index).items()


def _merged(images: Iterable[bytes]) -> bytes:
    return merge(images).to_bytes()


def _write(tallies: Mapping[str, bytes], path: str) -> None:
    """Written twice, by a worker that was thought dead, it is the same file."""
    with FileSystems.create(path) as file:
        file.write(json.dumps({name: image.hex() for name, image in tallies.items()}).encode())


def _read(path: str) -> dict[str, Tally]:
    with FileSystems.open(path) as file:
        return {name: Tally.from_bytes(bytes.fromhex(image)) for name, image in json.loads(file.read()).items()}
