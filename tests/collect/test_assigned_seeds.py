"""Hash functions that follow from tokens: honest devices are counted, searched seeds are refused, and nothing is given away by it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

import deniable as dn
from deniable.client import MemoryLedger, Reporter
from deniable.client.enrolment import DRAWN, TOKENS, enrol, stamp_for
from deniable.collect.tasks.task_file import read_task
from deniable.contract.admission import NO_ISSUER
from deniable.contract.assigned import assigned_seed, has_assigned_seed
from deniable.contract.envelope import open_batch
from deniable.contract.source import SYSTEM
from deniable.contract.task import Task
from deniable.errors import ParameterError
from deniable.lab.attacks import craft
from deniable.testing import ReplaySource
from tests.collect.crowd import NOON, envelope, send, survey_task
from tests.collect.test_tokens import everything_stored, publish, redeemer, site  # noqa: F401  # site: a fixture

OLH = dn.OLH(domain_size=1024, epsilon=1.0)
TARGETS = np.arange(1014, 1024)


def device(collector, task, bodies=None):
    """A ledger with the tokens of a device that has enrolled."""
    ledger = MemoryLedger(lifetime_epsilon=8)
    ledger.consent(task.id)

    def post(body):
        if bodies is not None:
            bodies.append(json.loads(body))
        return redeemer(collector, task)(body)

    enrol(task, collector.issuer.add_codes(task, 1)[0], ledger, post, SYSTEM)
    return ledger


def test_a_device_reports_under_the_seed_of_its_token(collector, site, clock):  # noqa: F811  # fixtures
    """Of two questions one has a seed. What is sent again is the same, and each answer has a seed of its own."""
    task = publish(collector, OLH, dn.GRR(domain_size=4, epsilon=1.0), dn.BLH(domain_size=1024, epsilon=1.0), answers=3, seeds="assigned")
    kinds, seeds, devices = set(), [], 40  # that one of three questions is never drawn has a probability of 3e-7
    for _ in range(devices):
        ledger = device(collector, task)
        reporter = Reporter(site, task=task.id, ledger=ledger, clock=clock, sleep=lambda _: None)
        assert reporter.report(3).state == "sent"
        (sent,) = open_batch(site.bodies[-1])
        question = task.survey.questions[sent.question]
        kinds.add(question.spec.mechanism)
        assert has_assigned_seed(question.spec, sent)
        if question.spec.mechanism != "GRR":
            seed, _ = question.spec.decode(sent.payload)
            assert seed == assigned_seed(ledger.recall(task.id, TOKENS)[:288], 2)
            seeds.append(seed)
    assert kinds == {"OLH", "GRR", "BLH"}
    assert len(set(seeds)) == len(seeds)
    collector.seal(task.id, 0)
    assert sum(tally.n for tally in collector.tallies(task.id).values()) == devices


@pytest.mark.parametrize("seeds", ["assigned", "own"])
def test_searched_seeds_are_refused_where_seeds_are_assigned_and_only_there(collector, seeds):
    """The best attack on local hashing, with good tokens: it lifts ten values at once, unless the tokens say under which seed."""
    task = publish(collector, OLH, answers=8, seeds=seeds)
    ledger = device(collector, task)
    stamp = stamp_for(task, ledger, None)
    made_up = craft(OLH, "crafted", TARGETS, 4, ReplaySource.from_key("search")).rows()
    sent = [stamp(envelope(task, 0)._replace(payload=row.tobytes()), place) for place, row in enumerate(made_up)]
    refused = send(collector, *sent)
    assert refused == ({report.id: "bad_seed" for report in sent} if seeds == "assigned" else {})
    token = sent[0].token
    under = assigned_seed(token, 2)
    assigned = sent[0]._replace(payload=OLH.encode((under, 1)))
    for wrong in (under[::-1], (under[0] ^ 1, under[1]), (under[0], under[1] ^ 1 << 63), assigned_seed(token[:32], 2)):
        assert send(collector, assigned._replace(payload=OLH.encode((wrong, 1)))) == (
            {assigned.id: "bad_seed"} if seeds == "assigned" else {}
        )
    other = sent[1]._replace(payload=assigned.payload)  # under another token
    assert send(collector, other) == ({other.id: "bad_seed"} if seeds == "assigned" else {})
    short = assigned._replace(payload=assigned.payload[:7])
    assert send(collector, short) == {short.id: "bad_seed" if seeds == "assigned" else "bad_payload"}
    assert send(collector, assigned) == {}, "whatever symbol it chooses: it may lie about its value"
    collector.seal(task.id, 0)
    [tally] = collector.tallies(task.id).values()
    lifted = [row for row in made_up if seeds == "own"]
    assert tally.n == max(len(lifted), 1)
    if seeds == "own":
        assert tally.counters[TARGETS].tolist() == [4] * len(TARGETS)


def test_a_device_cannot_know_its_seed_before_the_issuer_has_signed(collector):
    """Every token has a seed of its own, and none of them follows from what a device draws or an issuer gets to see."""
    task = publish(collector, OLH, answers=2, seeds="assigned")
    bodies, seeds, ledgers = [], [], []
    for _ in range(4):
        ledgers.append(device(collector, task, bodies))
        tokens = ledgers[-1].recall(task.id, TOKENS)
        seeds += [assigned_seed(tokens[start : start + 288], 2) for start in (0, 288)]
    assert len(set(seeds)) == len(seeds)
    drawn = [ledger.recall(task.id, DRAWN) for ledger in ledgers]
    known = [bytes.fromhex(part) for body in bodies for part in body["blinded"]]
    known += [part[start : start + size] for part in drawn for start in (0, len(part) // 2) for size in (32, 288, 544)]
    assert not {assigned_seed(part, 2) for part in known} & set(seeds), "not from all that it had drawn itself"


@pytest.mark.parametrize("sealed", [False, True])
def test_a_stored_seed_connects_nothing_with_a_code(collector, address, sealed):
    """The seed is kept, being part of the report. From what is kept of an enrolment, or was seen of it, no kept seed follows."""
    task = publish(collector, OLH, answers=2, seeds="assigned")
    bodies, sent = [], []
    for _ in range(5):
        ledger = device(collector, task, bodies)
        tokens = ledger.recall(task.id, TOKENS)
        for place, start in enumerate((0, 288)):
            seed = assigned_seed(tokens[start : start + 288], 2)
            stamp = stamp_for(task, ledger, None)
            sent.append(stamp(envelope(task, 0)._replace(payload=OLH.encode((seed, 1))), place))
    assert send(collector, *sent) == {}
    if sealed:
        collector.seal(task.id, 0)
    kept = everything_stored(collector, address)
    kept_seeds = {report.payload[:16] for report in sent}
    assert all(seed in kept for seed in kept_seeds)
    seen = [part for body in bodies for part in (body["code"].encode(), *(bytes.fromhex(each) for each in body["blinded"]))]
    seen += [hashlib.sha256(part).digest() for part in seen]
    seen += [hashlib.sha256(b"".join(bytes.fromhex(each) for each in body["blinded"])).digest() for body in bodies]
    for part in seen:
        words = assigned_seed(part, 2)
        assert b"".join(word.to_bytes(8, "little") for word in words) not in kept_seeds
    for report in sent:
        assert report.token not in kept
        assert report.token[32:] not in kept


def test_tasks_say_who_chooses_and_never_promise_what_cannot_be_kept(collector):
    draft = survey_task(bytes(32), OLH, admission="token", issuer=NO_ISSUER)
    task = replace(draft, seeds="assigned")
    assert b"seeds" not in draft.canonical
    assert Task.from_json(task.canonical) == task
    assert task.id != draft.id
    for wrong in ({"seeds": "mine"}, {"seeds": "assigned", "admission": "open", "issuer": b""}):
        with pytest.raises(ParameterError, match="seeds"):
            replace(draft, **wrong)
    toml = 'name = "x"\nquestion = "x"\nowner = "x"\nepsilon = 1.0\nlasts = "1 day"\nadmission = "token"\nseeds = "assigned"\n'
    domain = "[domain]\nrange = 1024\n[mechanism]\nname = "
    assert read_task((toml + domain + '"OLH"').encode(), key=bytes(32), now=NOON).seeds == "assigned"
    with pytest.raises(ParameterError, match=r"seeds.*assigned for GRR"):
        read_task((toml + domain + '"GRR"').encode(), key=bytes(32), now=NOON)
