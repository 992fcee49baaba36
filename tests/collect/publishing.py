"""What the tests of open publication share: a collector whose key is known, a crowd that always reports the same, and a search."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np

import deniable as dn
from deniable.collect.collector import Collector
from deniable.collect.publication.publication_files import CONTEXT
from deniable.collect.storage import tables
from deniable.collect.storage.store import Store
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.envelope import Envelope
from deniable.sealing.identity import sign
from deniable.testing import ReplaySource
from tests.collect.crowd import HOUR, NOON, send, survey_task

SEED = bytes(range(32))
STRATA = (("platform", ("phone", "web")),)
SPECS = (dn.GRR(domain_size=300, epsilon=1.0), dn.OUE(domain_size=20, epsilon=1.0), dn.RR(epsilon=1.0))


def opened(folder, *, minimum_batch=40):
    """A collector whose key is known, and a task of three questions and two strata."""
    store = Store.open(folder)
    with store.catalog.writing() as connection:
        connection.execute(tables.secret.insert().values(name="signing", value=SEED))
    collector = Collector(store, clock=lambda: NOON + HOUR + 300)  # the first period takes late reports, the second has begun
    task = survey_task(collector.registry.key, *SPECS, strata=STRATA, minimum_batch=minimum_batch)
    collector.publish(task)
    return collector, task


def crowd(task, *, ids="ids"):
    """Reports of two periods, three questions and two strata, 60 each, and 5 of one more batch: the same whatever the ids."""
    source, names = ReplaySource.from_key("crowd"), ReplaySource.from_key(ids)
    sent = []
    for period in (0, 1):
        for place, spec in enumerate(SPECS):
            for stratum in (0, 1):
                many = 5 if (period, place, stratum) == (1, 2, 1) else 60
                for row in spec.privatize([i % 2 for i in range(many)], source=source).rows():
                    report = b"".join(word.to_bytes(8, "big") for word in names.words(2))
                    sent.append(Envelope(task.id, period, place, stratum, report, row.tobytes()))
    return sent


def sealed(collector, task):
    for period in (0, 1):
        collector.seal(task.id, period)


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def searched(folder, *, rounds, advance=True):
    """A collector with a search of two rounds, of which some were closed."""
    store = Store.open(folder)
    collector = Collector(store, clock=lambda: NOON)
    search = dn.PEM(bits=8, k=3, epsilon=3.0, groups=2, people=400)
    base = survey_task(collector.registry.key, dn.RR(epsilon=3.0))
    task = replace(base, name="search", protocol=search.canonical, rounds=True, period=0, answers=1, minimum_batch=50)
    collector.publish(task)
    values = np.repeat([200, 201, 7, 90], [160, 120, 80, 40])
    for number in range(rounds):
        (question,) = collector.registry.state(task.id, number).open().questions
        source = ReplaySource.from_key(f"round {number}")
        reports = question.spec.privatize(question.encoder.encode_many(values[number::2], source), source=source)
        sent = (
            Envelope(task.id, number, 0, 0, bytes([number]) + i.to_bytes(15, "big"), row.tobytes()) for i, row in enumerate(reports.rows())
        )
        assert send(collector, *sent) == {}
        if advance:
            collector.advance(task.id)
    return collector, task


def resign(folder, seed=SEED, **changes):
    """Sign a manifest anew, as only the collector can, with the hashes of the files as they are now."""
    content = parse_canonical((folder / "manifest.json").read_bytes())
    content.pop("signature")
    content["files"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in content["files"]}
    content |= changes
    signature = sign(seed, CONTEXT, canonical_json(content)).hex()
    (folder / "manifest.json").write_bytes(canonical_json(content | {"signature": signature}))


def changes_of(content, step, most=60):
    """Copies of JSON that differ in one place, numbers by at least a step; of long lists some places."""

    def places(part, path=()):
        keys = list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
        for key in (*keys,) if len(keys) <= most else (0, len(keys) // 2, len(keys) - 1):
            yield (*path, key)
            yield from places(part[key], (*path, key))

    for path in list(places(content)):
        wrong = json.loads(json.dumps(content))
        holder = wrong
        for key in path[:-1]:
            holder = holder[key]
        old = holder[path[-1]]
        if isinstance(old, bool):
            kind, holder[path[-1]] = "flag", not old
        elif isinstance(old, int | float):
            kind, holder[path[-1]] = "number", old + max(1e-6 * abs(old), step) if isinstance(old, float) else old + 1
        elif old is None:
            kind, holder[path[-1]] = "nothing", 0
        elif isinstance(old, str):
            kind, holder[path[-1]] = "text", old + " "
        elif isinstance(old, list):
            kind = "less" if old else "more"
            holder[path[-1]] = old[:-1] if old else [0]
        else:
            kind, holder[path[-1]] = "more", old | {"more": 1}
        yield path, kind, wrong
