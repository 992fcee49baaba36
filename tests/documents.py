"""Adds what is missing to the golden file of signed documents (``tests/data/documents-1.json``): ``python -m tests.documents``.

It never changes what the file already holds. Tasks, rounds, logs and publications carry these bytes under signatures, so a later release
must read each of them and write it the same way. The test vectors hold the documents that devices read; this file holds the others: every
protocol in each state that a small crowd takes it through, key notices, manifests of batches, agreements on sums, records of the public
log, events and shuffle protocols.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from deniable import shuffle
from deniable.accounting import combinations, leaves
from deniable.client import GRR, OLH, OUE, RR, OneBitMean
from deniable.collect.sums.agreement_file import read_agreement_file
from deniable.contract.batch import Manifest
from deniable.contract.canonical import canonical_json
from deniable.contract.domain import Bytes, Categories, IndexRange, Integers, Text
from deniable.contract.mixing import Mixing, Relay, Threshold
from deniable.contract.notice import KeyNotice
from deniable.contract.numbers import Numbers
from deniable.contract.protocol import Protocol
from deniable.contract.public_log import log_record
from deniable.contract.subsets import Subsets
from deniable.contract.survey import Survey
from deniable.core.run import ask, crowd_size, draw_tickets
from deniable.multiparty.dealer import deal_stream, paillier_files
from deniable.multiparty.paillier.keys import deal_with
from deniable.sealing.identity import new_identity, public_key
from deniable.tasks import graphs, heavy_hitters, itemsets, learning, marginals, places, ranges, recommend, text
from deniable.testing import ReplaySource
from tests.multiparty.small_keys import FIRST_LONG, SECOND_LONG

GOLDEN = Path(__file__).parent / "data" / "documents-1.json"
WORDS = ["tee", "mate", "tee", "kefir", "tee", "mate", "ayran", "tee"]
ITEMS = Subsets(Categories("tea", "milk", "bread", "jam", "salt", "rice"))
SETS: list[list[str]] = [["tea", "milk"], ["tea"], ["tea", "jam", "milk"], [], ["bread", "rice", "salt", "jam"]]
BODY = {"age": Numbers(0, 120), "dose": Numbers(0, 1, clip=True)}
BOX = places.Box(0, 0, 16, 16, plane=True)


def protocols() -> Iterator[tuple[str, Protocol, Any]]:
    """Every protocol with a crowd, in the settings that change what is written."""
    numbers = np.arange(600) % 7 * 37 % 251
    short, octets, wide = Text(3), Bytes(2), Integers(0, 2**40 - 1)
    crowds: dict[str, tuple[Any, Any]] = {
        "integers": (Integers(0, 255), numbers),
        "text": (short, [word[:3] for word in WORDS] * 60),
        "bytes": (octets, [word.encode()[:2] for word in WORDS] * 60),
        "wide": (wide, numbers.astype(np.int64) * 2**32 + 5),
    }
    searches = {
        "PEM": [{}, {"rounds": 2}, {"allocation": "equal", "groups": 3}, {"holdout": Fraction(1, 5), "oracle": "GRR"}],
        "TreeHist": [{}, {"threshold": 0.05, "salt": 3}],
        "Bitstogram": [{"functions": 1, "hash_bits": 4}, {"threshold": 0.05, "hash_bits": 5}],
        "MultipleChannels": [{}, {"holdout": 0.25}],
        "IndependentSegments": [{}, {"holdout": 0.2}],
        "SegmentPairs": [{}],
    }
    for name, settings in searches.items():
        for domain, values in crowds.values():
            for more in settings:
                yield name, getattr(heavy_hitters, name)(domain=domain, k=4, epsilon=4.0, people=480, **more), values
    for more in ({}, {"fragment": 1, "hash_bits": 6, "cohorts": 2}, {"alphabet": "abefiktrmny", "threshold": 0.1}):
        yield "SFP", heavy_hitters.SFP(domain=short, k=4, epsilon=4.0, people=480, **more), crowds["text"][1]
    for domain, values in crowds.values():
        yield "TrieHH", heavy_hitters.TrieHH(domain=domain, epsilon=4.0, delta=1e-3), values
    shop = SETS * 120
    yield "SVIM", itemsets.SVIM(domain=ITEMS, k=2, epsilon=4.0), shop
    yield "SVIM", itemsets.SVIM(domain=ITEMS, k=2, epsilon=2.5, longest=3, shares=(Fraction(1, 3),) * 3, oracle="GRR"), shop
    yield "SVIM", itemsets.SVIM(domain=Subsets(IndexRange(40)), k=3, epsilon=4.0), [[i % 40, (i * 7 + 1) % 40] for i in range(600)]
    yield "SVSM", itemsets.SVSM(domain=ITEMS, k=2, epsilon=4.0), shop
    yield "SVSM", itemsets.SVSM(domain=ITEMS, k=3, epsilon=6.0, longest=3), shop
    yield "PSFO", itemsets.PSFO(domain=ITEMS, length=2, epsilon=4.0), shop
    yield "LDPMiner", itemsets.LDPMiner(domain=ITEMS, k=2, epsilon=4.0, length=2), shop
    yield "LDPMiner", itemsets.LDPMiner(domain=ITEMS, k=2, epsilon=4.0, length=3, split="epsilon"), shop
    yield "WholeSets", itemsets.WholeSets(domain=ITEMS, k=2, epsilon=4.0), shop
    ages = np.arange(600) % 32
    yield "AHEAD", ranges.AHEAD(domain=Integers(0, 31), epsilon=2.0, people=600), ages
    yield "AHEAD", ranges.AHEAD(domain=IndexRange(32), epsilon=1.0, people=600, branching=4, oracle="OUE"), ages
    yield "Hierarchy", ranges.Hierarchy(domain=Integers(0, 31), epsilon=2.0, people=600), ages
    yield "Hierarchy", ranges.Hierarchy(domain=Integers(-5, 26), epsilon=2.0, people=600, branching=4, oracle="GRR"), ages - 5
    yield "HaarHRR", ranges.HaarHRR(domain=Integers(0, 31), epsilon=2.0), ages
    cells = np.array([0, 0, 0, 5, 15] * 100)
    yield "QuadTree", places.QuadTree(box=BOX, depth=2, epsilon=2.0, people=500), cells
    yield "QuadTree", places.QuadTree(box=BOX, depth=3, epsilon=2.0, people=500, adaptive=True, outside="count"), cells
    earth = places.Box(-10.5, 35, 30.25, 60)
    yield "QuadTree", places.QuadTree(box=earth, depth=2, epsilon=2.0, people=500, levels=(1, 2)), cells
    squares, town = places.Grid(BOX, 4, 4), places.Grid(BOX, 8, 2, outside="count")
    yield "UniformGrid", places.UniformGrid(grid=squares, epsilon=2.0, people=500), cells
    yield "UniformGrid", places.UniformGrid(grid=town, epsilon=0.5, oracle="OUE"), np.append(cells, 16)
    walks = [[], [0], [0, 1, 5], [3, 2, 2, 14], [15, 0]] * 100
    yield "Movement", places.Movement(grid=squares, epsilon=2.0, longest=3, people=500), walks
    yield "Movement", places.Movement(grid=town, epsilon=1.0, longest=1, reach=2, oracle="GRR"), [*walks, [16, 0, 16]]
    homes = {"place": ["north/hill", "south/lake", "north/mill"] * 50, "region": ["north", "south", "everywhere"] * 50}
    declared = {("north", 1.0): 50, ("south", 1.0): 50, ("everywhere", 0.5): 50}
    country = places.Taxonomy(["south/lake", "south/port", "north/hill", "north/mill"])
    yield "PersonalPlaces", places.PersonalPlaces(taxonomy=country, declared=declared, most=2), homes | {"epsilon": [1.0, 1.0, 0.5] * 50}
    yield "EveryMove", places.EveryMove(grid=squares, epsilon=2.0, longest=3, people=500), walks
    table = {"place": ["bar", "inn", "spa", "bar"] * 100, "mood": ["good", "bad"] * 200, "stars": [1, 2, 3, 3] * 100}
    columns = {"place": ["bar", "inn", "spa"], "mood": ["good", "bad"], "stars": Integers(1, 3)}
    for more in ({}, {"method": "split", "k": 1}, {"method": "direct"}, {"method": "views"}, {"sets": (("place", "mood"), ("stars",))}):
        yield "Marginals", marginals.Marginals(columns=columns, epsilon=2.0, people=400, **more), table
    people = {"age": np.arange(400) % 115 + 1.0, "dose": np.arange(400) % 3 / 2, "ill": ["no", "yes", "no", "no"] * 100}
    body = {name: people[name] for name in BODY}
    yield "KMeans", learning.KMeans(features=BODY, clusters=2, epsilon=4.0, rounds=2, people=400), body
    yield (
        "KMeans",
        learning.KMeans(features=BODY, clusters=2, epsilon=4.0, rounds=2, clip=0, start=[[10, 0.1], [80, 0.9]], people=400),
        body,
    )
    yield "NodeDegrees", graphs.NodeDegrees(nodes=600, epsilon=2.0), ages
    yield "NodeDegrees", graphs.NodeDegrees(nodes=1 << 31, epsilon=0.5, starts=(0, 1, 10), oracle="OUE"), ages
    yield "Degrees", graphs.Degrees(nodes=600, epsilon=0.5), None
    yield "Triangles", graphs.Triangles(nodes=600, epsilon=2.0, sample=0.25), None
    yield "ClippedTriangles", graphs.ClippedTriangles(nodes=600, epsilon=2.0, shares=(0.25, 0.25, 0.5)), None
    yield "ClippedStars", graphs.ClippedStars(nodes=600, epsilon=2.0, k=3), None
    yield "LDPGen", graphs.LDPGen(nodes=600, epsilon=2.0, groups=4, share=0.25), None
    chat = ["Good morning!", "good night", "night, good night", "hello", ""] * 100
    listed = {"vocabulary": ["good", "morning", "night"], "epsilon": 2.0, "people": 500}
    for name in ("Terms", "Bigrams", "WordPairs"):
        yield name, getattr(text, name)(**listed), chat
    yield (
        "Terms",
        text.Terms(vocabulary=["Good night", "zoë e-mail"], epsilon=1.5, ngram=2, oracle="GRR"),
        [words.split() for words in chat],
    )
    yield "NewWords", text.NewWords(known=["good"], longest=7, k=2, epsilon=4.0, people=500), chat
    yield "NewWords", text.NewWords(longest=4, k=1, epsilon=3.0, people=500, ngram=2, oracle="OLH"), chat
    classes = Categories("no", "yes")
    fits = {"features": BODY, "label": "ill", "classes": classes, "epsilon": 4.0, "people": 400}
    yield "LogisticRegression", learning.LogisticRegression(**fits, rounds=3), people
    yield "LogisticRegression", learning.LogisticRegression(**fits, rounds=2, step=2.5, clip=0), people
    yield "RotatingModels", learning.RotatingModels(**fits, rounds=2, models=3), people
    yield "WholeGradients", learning.WholeGradients(**{name: given for name, given in fits.items() if name != "people"}, rounds=2), people
    game: dict[str, Any] = {"experts": 2, "days": 6, "neighbors": "replace"}
    losses = [[0, 1], [1, 0], [0, 1]]
    yield "WeightedMajority", learning.WeightedMajority(**game), losses
    yield "WeightedMajority", learning.WeightedMajority(**game, epsilon=1.0, delta=1e-6), losses
    yield "TreeExperts", learning.TreeExperts(**game, epsilon=1.0, delta=1e-6, resolution=2), losses
    rated = recommend.Ratings.of([0, 0, 1, 2, 5], [1, 2, 0, 1, 1], [5, 3, 1, 4, 2], shape=(6, 3), low=1, high=5)
    yield "MatrixFactorization", recommend.MatrixFactorization(items=3, epsilon=4.0, rank=1, rounds=1), rated
    yield "MatrixFactorization", recommend.MatrixFactorization(items=3, epsilon=8.0, radius=0.5, rated=2), rated
    scored = [{0: 5, 1: 2.5}, {1: 1}, {}, {2: 4, 0: 4.5, 1: 3}] * 60
    yield "SampledFactorization", recommend.SampledFactorization(items=3, low=1, high=5, epsilon=4.0, rounds=2, people=240), scored
    yield "SampledFactorization", recommend.SampledFactorization(items=3, low=0.5, high=5, epsilon=8.0, rank=0, rounds=1, clip=0), scored
    promise: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-3, "n": 600}
    yield "ShuffledBinarySum", shuffle.ShuffledBinarySum(**promise), ages % 2
    yield "ShuffledHistogram", shuffle.ShuffledHistogram(domain=Integers(0, 31), **promise), ages
    yield "ShuffledHistogram", shuffle.ShuffledHistogram(domain_size=32, **promise), ages
    yield "ShuffledRealSum", shuffle.ShuffledRealSum(low=0, high=31, **promise), ages
    yield "PoissonHistogram", shuffle.PoissonHistogram(domain_size=32, **promise), ages
    yield "SplitAndMixSum", shuffle.SplitAndMixSum(low=0, high=31, **promise), ages
    specs = {"drink": GRR(domain=classes, epsilon=1.0), "smoker": RR(epsilon=0.5), "sleep": OneBitMean(low=0, high=24, epsilon=1.0)}
    yield "Survey", Survey.of(**specs, word=OLH(domain=short, epsilon=2.0), place=OUE(domain_size=9, epsilon=1.0)), None


def walked(protocol: Protocol, values: Any, source: ReplaySource) -> Iterator[tuple[Any, Any]]:
    """A protocol in each of its states, with what closes it, and at last the result alone; one that no round asks has a single state."""
    if protocol.needs and not isinstance(protocol, heavy_hitters.TrieHH):
        yield protocol, None
        yield protocol.run(values, source=source), None
        return
    tickets, state = draw_tickets(protocol, crowd_size(values), source), protocol
    while isinstance(state, Protocol):
        voted = isinstance(state, heavy_hitters.TrieHH)  # the one search that counts true votes
        tallies = {"votes": state.vote(values, source)} if voted else ask(state, values, tickets, source=source)
        yield state, tallies
        state = state.close(tallies)
    yield state, None


def papers() -> Iterator[tuple[str, bytes]]:
    """The documents that are not protocols, by kind."""
    for role, end in (("analyst", 200), ("shuffler", 1 << 40)):
        yield "notice", KeyNotice(role=role, public=bytes(range(32)), start=100, end=end).canonical
    parts: dict[str, Any] = {"batch": bytes(16), "task": bytes(range(32)), "period": 3}
    yield "manifest", Manifest.of([b"ab", b"cd"], **parts).canonical
    yield "manifest", Manifest.of([b"ab"], **parts, threshold=Threshold(minimum=20, sigma="2.5")).canonical
    relays = tuple(Relay(f"https://shuffler.example.org/{i}", bytes([i] * 32)) for i in (1, 2))
    for more in ({}, {"honest": "9/10", "threshold": Threshold(minimum=20, sigma="2.5")}):
        mixing = Mixing(epsilon=0.5, delta=1e-6, minimum=1000, shufflers=relays, size=65, **more)
        yield "mixing", canonical_json(mixing.to_json())
    first = log_record(0, "task", bytes(range(32)), b"the task")
    yield "record", first
    yield "record", log_record(1, "round", bytes(range(32)), b"the round", bytes(range(32, 64)), period=2)
    yield "record", log_record(2, "closed", bytes(range(32)), b"the end", bytes(range(32, 64)))
    yield from (("agreement", text) for text in agreements())
    pure, gaussian = leaves.Pure(epsilon=1 / 3), leaves.GaussianEvent(sigma=1.5)
    replaced = {"neighbors": "replace"}
    noises = [
        pure,
        leaves.Approximate(epsilon=1.0, delta=1e-6),
        leaves.BoundedRange(epsilon=0.5),
        leaves.LaplaceEvent(scale=2.0, sensitivity=0.5, **replaced),
        leaves.DiscreteLaplaceEvent(scale=2.0, sensitivity=3, **replaced),
        leaves.DiscreteGaussianEvent(sigma=2.5, **replaced),
        leaves.ZCDP(rho=0.1, **replaced),
        leaves.RDP(orders=(2.0, 8.0), epsilons=(0.1, 0.5), **replaced),
    ]
    yield "event", combinations.Sequential(events=tuple(noises)).canonical
    yield "event", combinations.Repeated(event=combinations.Sampled(event=gaussian, rate=0.01), times=100).canonical
    yield "event", combinations.Parallel(events=(pure, pure), by="person").canonical
    yield "event", combinations.GroupEvent(event=gaussian, size=3).canonical
    yield "event", combinations.Replaced(event=gaussian).canonical
    promise: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "n": 10_000}
    yield "shuffle", shuffle.ShuffledBinarySum(**promise).canonical
    yield "shuffle", shuffle.ShuffledHistogram(domain=Categories("bus", "car"), **promise).canonical
    yield "shuffle", shuffle.ShuffledRealSum(low=0, high=1, **promise).canonical
    yield "shuffle", shuffle.PoissonHistogram(domain_size=10, **promise).canonical
    yield "shuffle", shuffle.SplitAndMixSum(low=-1, high=Fraction(1, 3), **promise).canonical
    yield "shuffle", shuffle.ShuffledRealSum(low=Fraction(-1, 3), high=2**60, steps=3, **promise).canonical
    yield "shuffle", shuffle.SplitAndMixSum(low=-0.5, high=1e-3, steps=9, **promise).canonical


def agreements() -> Iterator[bytes]:
    """What parties agree on, in the ways that change what is written."""
    source = ReplaySource.from_key("golden agreements")
    keys = [public_key(new_identity(source)).hex() for _ in range(8)]
    head = 'name = "admissions"\nunit = "{unit}"\nepsilon = 1.0\nhonest = "3/5"\ncorrupt = "{corrupt}"\nlost = "{lost}"\n'
    parties = "[parties]\n" + "".join(f'p{i} = "{key}"\n' for i, key in enumerate(keys[:5]))
    committee = "[decryptors]\n" + "".join(f'd{i} = "{key}"\n' for i, key in enumerate(keys[5:]))
    paillier = paillier_files(*deal_with(FIRST_LONG, SECOND_LONG, decryptors=3, threshold=2, source=source))["key.toml"].decode()
    stream = deal_stream(parties=5, source=source)["key.toml"].decode()
    for unit, corrupt, lost, more, numbers, rest in (
        ("person", "1/5", "1/5", 'values = ["flu", "rsv"]\nsigned = false\n', "largest = 1000\n", ""),
        ("person", "1/5", "1/5", "length = 3\ndelta = 1e-6\nhybrid = true\n", "largest = 1000\nnorm_1 = 2\nnorm_2 = 1.5\n", ""),
        ("party", "1/5", "1/5", "length = 3\n", "largest = 2.5\nnorm_1 = 4.0\nbits = 8\n", ""),
        ("person", "1/5", "1/5", 'length = 2\nengine = "paillier"\n', "largest = 1000\n", committee + paillier),
        ("person", "2/5", "0", 'length = 2\nengine = "stream"\n', "largest = 1000\n", stream),
    ):
        text = head.format(unit=unit, corrupt=corrupt, lost=lost) + more + "[numbers]\n" + numbers + parties + rest
        yield read_agreement_file(text.encode(), source=source).canonical


def documents() -> Iterator[tuple[str, str]]:
    """All of them: kind and text."""
    for name, protocol, values in protocols():
        source = ReplaySource.from_key(f"golden {name}")
        steps = [(protocol, None)] if values is None else walked(protocol, values, source)
        yield from (("protocol", state.canonical.decode()) for state, _ in steps if isinstance(state, Protocol))
    for kind, data in papers():
        yield kind, data.decode()


def main() -> None:
    """Write what is missing."""
    known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else []
    rows = [*known, *([kind, text] for kind, text in documents())]
    unique = [list(row) for row in dict.fromkeys(map(tuple, rows))]
    GOLDEN.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in unique) + "\n]\n")


if __name__ == "__main__":
    main()
