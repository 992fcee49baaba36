"""Sealed reports a second, side by side with bare HPKE calls of the same library on messages of the same length.

Bare is a loop over ``Suite.decrypt`` or ``Suite.encrypt`` with one fixed ``info``: no layout, no binding to a task, nothing checked. Jobs
take turns, so that other work on the machine disturbs them alike, and the best turn counts. One core is timed by its CPU time, which
hardly changes when others use the machine, all of them by the clock. Opening on all cores needs a process for each, since the library
keeps Python's lock; they are started before anything is timed.
"""

import time
from concurrent.futures import ProcessPoolExecutor

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import deniable as dn
from deniable.contract.envelope import HEADER, Envelope
from deniable.contract.mixing import Mixing, Relay
from deniable.contract.notice import ANALYST, SHUFFLER
from deniable.contract.sealed import HEADER as SEAL
from deniable.contract.sealed import Header, info_of
from deniable.contract.survey import Survey
from deniable.contract.task import Task
from deniable.core.stream import cores
from deniable.sealing.identity import public_key
from deniable.sealing.keys import KeyPair
from deniable.sealing.seal import SUITE, open_inners, open_outers, seal_report
from printing import compact, markdown

SEALS = 2_000
"""For each turn and core."""
TURNS = 5
SPEC = dn.OLH(domain_size=1024, epsilon=1.0)


def task_of():
    """A task with one shuffler."""
    size = HEADER.size + len(SPEC.encode(SPEC.randomize(0)))
    relay = Relay("https://shuffler.example.org", public_key(bytes(32)))
    mixing = Mixing(epsilon=0.5, delta=1e-6, minimum=1000, shufflers=(relay,), size=size)
    parts = {"name": "b", "question": "q", "owner": "o", "statement": "s", "protocol": Survey.of(q=SPEC).canonical, "epsilon": 1.0}
    return Task(**parts, key=public_key(bytes([1]) * 32), start=0, end=1 << 39, period=1 << 38, model="shuffle", mixing=mixing)


def bare_open(private, info, messages):
    """What opening cannot do without."""
    key = X25519PrivateKey.from_private_bytes(private)
    return sum(len(SUITE.decrypt(message, key, info=info)) for message in messages)


def timed(jobs, used=time.process_time):
    """Seconds of the best turn, by the clock and of the processor."""
    wall, cpu = ({name: float("inf") for name in jobs} for _ in range(2))
    for turn in range(TURNS + 1):
        for name, job in jobs.items():
            started, before = time.perf_counter(), used()
            job()
            if turn:  # the first one warms up
                wall[name] = min(wall[name], time.perf_counter() - started)
                cpu[name] = min(cpu[name], used() - before)
    return wall, cpu


def measure():
    """Rates on one core and on all of them."""
    task, shuffler, analyst = task_of(), KeyPair.make(0, 1 << 38), KeyPair.make(0, 1 << 38)
    notices = analyst.notice(ANALYST), [shuffler.notice(SHUFFLER)]
    envelopes = [Envelope(task.id, 0, 0, 0, i.to_bytes(16, "big"), SPEC.encode(SPEC.randomize(i % 1024))) for i in range(SEALS)]
    outer = [seal_report(task, envelope, *notices) for envelope in envelopes]
    inner = [opened.next for opened in open_outers({shuffler.id: shuffler}, outer)]
    info = info_of(SHUFFLER, Header(shuffler.id, task.id, 0).pack())
    public = shuffler.handle.public_key()
    bare = {
        name: [SUITE.encrypt(bytes(len(seals[0]) - SEAL.size - 48), public, info=info) for _ in seals]
        for name, seals in (("outer", outer), ("inner", inner))
    }
    contents = {name: bytes(len(seals[0]) - SEAL.size - 48) for name, seals in (("outer", outer), ("inner", inner))}
    keys = {pair.id: pair for pair in (shuffler, analyst)}
    _, cpu = timed(
        {
            "bare open, a shuffler's length": lambda: bare_open(shuffler.private, info, bare["outer"]),
            "open_outers": lambda: open_outers(keys, outer),
            "bare open, the collector's length": lambda: bare_open(shuffler.private, info, bare["inner"]),
            "open_inners": lambda: open_inners(keys, inner, task),
            "bare seal, both lengths": lambda: [SUITE.encrypt(content, public, info=info) for _ in outer for content in contents.values()],
            "seal_report, two layers": lambda: [seal_report(task, envelope, *notices) for envelope in envelopes],
        }
    )
    one = {name: SEALS / spent for name, spent in cpu.items()}
    count, many = cores(), outer * cores()
    with ProcessPoolExecutor(count) as pool:
        shares = [bare["outer"][:500]] * (4 * count)
        everywhere, _ = timed(
            {
                "bare open": lambda: sum(pool.map(bare_open, [shuffler.private] * len(shares), [info] * len(shares), shares)),
                "open_outers": lambda: open_outers(keys, many, pool),
            }
        )
    rates = {"bare open": 2000 * count / everywhere["bare open"], "open_outers": len(many) / everywhere["open_outers"]}
    return {"one_core": one, "cores": count, "all_cores": rates, "bytes": [len(outer[0]), len(inner[0])]}


PAIRS = {
    "open_outers": "bare open, a shuffler's length",
    "open_inners": "bare open, the collector's length",
    "seal_report, two layers": "bare seal, both lengths",
}


def table(results):
    """Reports a second, and how many times as long as bare calls ours take."""
    rows = []
    for ours, bare in PAIRS.items():
        rates = [results["one_core"][name] for name in (bare, ours)]
        rows.append([ours, "one", *map(compact, rates), f"{rates[0] / rates[1]:.2f}"])
    rates = [results["all_cores"][name] for name in ("bare open", "open_outers")]
    rows.append(["open_outers", f"all {results['cores']}", *map(compact, rates), f"{rates[0] / rates[1]:.2f}"])
    return markdown(["reports/s", "cores", "bare HPKE", "deniable", "time, ours / bare"], rows)


if __name__ == "__main__":
    print(table(measure()))
