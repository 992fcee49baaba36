"""Personal privacy: each person declares a region that they do not mind revealing, and an epsilon for places inside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.contract.arguments import typed
from deniable.contract.encoder import Attribute
from deniable.contract.form import Form, tuple_of
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import MemoryProtocol, Progress
from deniable.contract.record import form_of, wire
from deniable.contract.source import SYSTEM, Source
from deniable.core.tally import Tally
from deniable.errors import DomainError, ParameterError, ProtocolError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.oracles import check_oracle, quick_oracle
from deniable.tasks.places.flat import Flat
from deniable.tasks.places.named import NamedPlaces
from deniable.tasks.places.region_groups import RegionGroup, grouped
from deniable.tasks.places.taxonomy import Taxonomy

EXPOSED = (
    "that the person took part, the declared region and the declared epsilon. "
    "The region is public: declare one that you would share with anyone, before you know where in it you will be"
)
ROW = form_of(tuple[str, float, int])
DECLARED = Form(
    lambda declared: [ROW.write((*pair, people)) for pair, people in declared.items()],
    lambda noun, data: {(region, epsilon): people for region, epsilon, people in tuple_of(ROW).read(noun, data)},
)
"""How declarations are written: a row for each pair of a region and an epsilon, with the number of people."""
RELAXATION = (
    "This is weaker than full local privacy (personalized privacy with safe regions). Places inside the declared region are hidden among "
    "each other, but the report reveals that the person is inside the region."
)


@typed
@dataclass(frozen=True, kw_only=True)
class PersonalPlaces(MemoryProtocol):
    """Count people at each place of a taxonomy, where each person sets their own privacy (PSDA, personalized local privacy).

    ``declared`` says how many people declared each pair of a region and an epsilon. Groups are made of that alone, with at most ``most``
    oracles, each over the places of one region. Nobody is asked about a smaller region than declared, or with a larger epsilon.

    Guarantee: for any two places **inside the region that a person declared**, no report is more than e^epsilon times as likely from one as
    from the other, with the epsilon that the person declared. Region and epsilon themselves are public. A person who declares a single
    place reveals it. This is a relaxation of local privacy, which is about any two places; it is not geo-indistinguishability.

    Estimator: the sum over the groups of their unbiased counts, each group's adding up to its people; places outside of a group's
    region get exactly nothing from it. So a region that holds the declared regions of some people counts them without error.

    Cost: one report of the group's oracle; people who declared one place send nothing more.

    >>> town = Taxonomy(["north/hill", "north/mill", "south/lake", "south/port"])
    >>> asking = PersonalPlaces(taxonomy=town, declared={("south", 1.0): 3000, ("everywhere", 0.5): 2000, ("north/hill", 1.0): 50}, most=3)
    >>> [(group.region, group.epsilon, group.people) for group in asking.groups]
    [('everywhere', 0.5, 2000), ('north/hill', 1.0, 50), ('south', 1.0, 3000)]
    >>> print(asking.guarantee_for("south", 1.0).neighbors)
    any two places of one person inside 'south', the region that the person declared
    """

    taxonomy: Taxonomy
    declared: Mapping[tuple[str, float], int] = field(metadata=wire(form=DECLARED))
    most: int = 32
    oracle: str = "auto"

    needs: ClassVar[str] = (
        "a question for each person that depends on the region and epsilon they declared, while rounds draw who is asked what"
    )
    result: ClassVar[str] = "places"

    def __post_init__(self) -> None:
        check_oracle(self.oracle)
        check_whole("most", self.most, 1, fix="32 is usual")
        for (region, epsilon), people in self.declared.items():
            self.taxonomy.span(region)
            check_epsilon(epsilon)
            if type(people) is not int or people < 0:
                raise ParameterError("declared", people, allowed="how many people declared this", fix="pass a whole number")
        declared = {(region, float(epsilon)): people for (region, epsilon), people in self.declared.items()}
        object.__setattr__(self, "declared", dict(sorted(declared.items())))

    @classmethod
    def of(cls, taxonomy: Taxonomy, regions: Any, epsilons: Any, *, most: int = 32, oracle: str = "auto") -> PersonalPlaces:
        """Return the protocol for a crowd with known declarations: a column of regions and one of epsilons."""
        pairs, _ = _pairs(taxonomy, regions, epsilons)
        return cls(taxonomy=taxonomy, declared={pair: count for pair, count in pairs.items() if count}, most=most, oracle=oracle)

    @cached_property
    def groups(self) -> tuple[RegionGroup, ...]:
        """The groups of people who answer together."""
        return grouped(self.taxonomy, dict(self.declared), self.most)

    @cached_property
    def _group_of(self) -> dict[tuple[str, float], int]:
        return {pair: place for place, group in enumerate(self.groups) for pair in group.declared}

    @typed
    def group_of(self, region: str, epsilon: float) -> int:
        """Return the group of people who declared a region and an epsilon; ParameterError if the pair was not expected."""
        place = self._group_of.get((region, float(epsilon)))
        if place is None:
            raise ParameterError("region, epsilon", (region, epsilon), allowed="a pair from declared", fix="add the pair to declared")
        return place

    @cached_property
    def specs(self) -> tuple[FrequencySpec | None, ...]:
        """The oracle of each group, over the positions in its region; None where the region is one place."""
        found: list[FrequencySpec | None] = []
        for group in self.groups:
            start, end = self.taxonomy.span(group.region)
            found.append(quick_oracle(self.oracle, end - start, group.epsilon, group.people) if end - start > 1 else None)
        return tuple(found)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for everyone: the largest declared epsilon."""
        unit = "one report about one place inside the declared region; epsilon is the largest that anyone declared"
        near = "any two places of one person inside the region that the person declared"
        most = max((epsilon for _, epsilon in self.declared), default=0.0)
        return Guarantee(epsilon=most, unit=unit, neighbors=near, exposed=EXPOSED)

    @typed
    def guarantee_for(self, region: str, epsilon: float) -> Guarantee:
        """Return the guarantee for a person who declared a region and an epsilon."""
        self.group_of(region, epsilon)
        near = f"any two places of one person inside {region!r}, the region that the person declared"
        return Guarantee(
            epsilon=float(epsilon), unit="one report about one place inside the declared region", neighbors=near, exposed=EXPOSED
        )

    def statement(self, region: str, epsilon: float) -> str:
        """Return the guarantee in plain words, and how it is weaker than full local privacy."""
        promise = self.guarantee_for(region, epsilon)
        return f"{promise.statement()}\nCompared: {promise.neighbors}. {RELAXATION}"

    @typed
    def answer(self, place: str, region: str, epsilon: float, source: Source = SYSTEM) -> tuple[int, Any]:
        """Return one person's group and report; the report is None where the group's region is one place."""
        start, end = self.taxonomy.span(region)
        leaf = int(self.taxonomy.places([place])[0])
        if not start <= leaf < end:
            raise DomainError(
                "place", place, allowed=f"a place inside {region!r}, as declared", fix="declare a region that contains the place"
            )
        number = self.group_of(region, epsilon)
        spec, first = self.specs[number], self.taxonomy.span(self.groups[number].region)[0]
        return number, None if spec is None else spec.randomize(leaf - first, source)

    # --- many people ---

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> NamedPlaces:
        """Ask a crowd held in memory: the columns "place", "region" and "epsilon", the last two as people declared them."""
        places, regions, epsilons = (Attribute(name).column(values) for name in ("place", "region", "epsilon"))
        leaves = self.taxonomy.places(places)
        pairs, number = _pairs(self.taxonomy, regions, epsilons)
        if leaves.size != number.size:
            raise DomainError("regions", f"{number.size} declarations", allowed=f"{leaves.size}, one for each person", fix="align them")
        spans = np.array([self.taxonomy.span(region) for region, _ in pairs], dtype=np.int64).reshape(-1, 2)[number]
        inside = (leaves >= spans[:, 0]) & (leaves < spans[:, 1])
        if not inside.all():
            row = int(np.argmin(inside))
            told, region = self.taxonomy.leaves[leaves[row]], list(pairs)[number[row]][0]
            raise DomainError(f"places[{row}]", told, allowed=f"a place inside {region!r}, as declared", fix="declare a larger region")
        group = np.array([self.group_of(*pair) for pair in pairs], dtype=np.int64)[number]
        tallies: dict[int, Any] = {}
        for place, spec in enumerate(self.specs):
            held = leaves[group == place] - self.taxonomy.span(self.groups[place].region)[0]
            tallies[place] = held.size if spec is None else spec.tally(spec.privatize(held, source=source))
            if progress is not None:
                progress(place + 1, len(self.specs))
        return self.estimate(tallies)

    def estimate(self, tallies: Mapping[int, Tally | int]) -> NamedPlaces:
        """Return the counts from the groups' tallies; for a group of one place, from the number of its people."""
        if set(tallies) != set(range(len(self.groups))):
            allowed = f"one for each of {len(self.groups)} groups"
            raise ProtocolError("tallies", sorted(tallies), allowed=allowed, fix="pass one tally for each group")
        parts = []
        for place, spec in enumerate(self.specs):
            tally, (start, _) = tallies[place], self.taxonomy.span(self.groups[place].region)
            if spec is None or not isinstance(tally, Tally):
                if type(tally) is not int or tally < 0 or spec is not None:
                    raise ProtocolError(
                        "tallies",
                        tally,
                        allowed="a Tally, or a number of people for one place",
                        fix="pass the tally of the group's reports",
                    )
                parts.append((start, Flat.known(np.array([float(tally)]))))
            else:
                parts.append((start, Flat.of(spec.estimate(tally))))
        return NamedPlaces.of(self.taxonomy, parts, f"{len(parts)} groups of people with personal privacy", self.guarantee)


def _pairs(taxonomy: Taxonomy, regions: Any, epsilons: Any) -> tuple[dict[tuple[str, float], int], Array]:
    """How many people declared each pair, and for each person which one."""
    nodes, numbers = taxonomy.regions(regions), np.asarray(epsilons, dtype=float)
    if numbers.shape != nodes.shape:
        raise DomainError("epsilons", f"shape {numbers.shape}", allowed=f"{nodes.size}, one for each person", fix="align the columns")
    different, which = np.unique(numbers, return_inverse=True)
    for epsilon in different[[0, -1]] if different.size else ():  # the smallest and the largest; what is no number comes last
        check_epsilon(float(epsilon))
    codes, number, counts = np.unique(nodes * max(different.size, 1) + which, return_inverse=True, return_counts=True)
    pairs = [(taxonomy.nodes[code // different.size], float(different[code % different.size])) for code in codes]
    return dict(zip(pairs, counts.tolist(), strict=True)), number
