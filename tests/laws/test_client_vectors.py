"""What a device does beside randomizing, replayed: what its ledger allows, its tokens, what it believes, which rounds it answers."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest

from deniable.client import OLH, FileLedger, MemoryLedger
from deniable.client.answerable import takes_all, task_domain
from deniable.client.diary import Diary
from deniable.client.enrolment import DRAWN, TOKENS, enrol, read_secret, stamp_for
from deniable.client.transport import Response
from deniable.contract.admission import prove
from deniable.contract.assigned import assigned_seed, seed_words
from deniable.contract.blind_rsa import blind
from deniable.contract.canonical import parse_canonical
from deniable.contract.domain import Domain
from deniable.contract.ed25519 import verify
from deniable.contract.encoder import ENCODERS, encoder_from_json
from deniable.contract.envelope import open_batch
from deniable.contract.question import Question
from deniable.contract.spec import spec_from_json
from deniable.contract.task import Task
from deniable.errors import BudgetExceeded, ParameterError, ProtocolError, WireError
from deniable.testing import ReplaySource
from tests.conftest import vectors

PAYING = {name: Task.from_json(text.encode()) for name, text in vectors("budget")["tasks"].items()}
(TOKEN_CASE,) = vectors("tokens")["cases"]
ANSWERABLE = [*vectors("answerable")["cases"], *(case for name in ("texts", "tracks", "ratings") for case in vectors(name)["answerable"])]


def words_of(case):
    return ReplaySource(int(word, 16) for word in case["words"])


# --- the budget ---


def diary_of(step):
    """The diary of a step that is drawn from a permanent answer."""
    if "diary" not in step:
        return None
    named = step["diary"]
    return Diary(spec_from_json(named["spec"].encode()), named["value"], named["question"])


def hexed(kept):
    return {name: answer.hex() for name, answer in kept.items()}


def take(ledger, step):
    """One step, compared with what came of it."""
    if step["do"] == "settle":
        assert ledger.settle(step["number"], step["state"], step["code"]).state == step["then"]
        return
    task, places = PAYING[step["task"]], []
    if step["do"] != "spend":
        getattr(ledger, step["do"])(task.id)
        return

    diary = diary_of(step)

    def make(place):
        places.append(place)
        if diary:
            assert diary.known == step["known"]
            assert diary.spec.encode(diary.report(words_of(step))).hex() == step["report"]
            assert hexed(diary.drawn) == step["drawn"]
        return bytes.fromhex(step["report"])

    asked = {"period": step["period"], "epsilon": float(step["epsilon"]), "when": step["when"], "make": make, "diary": diary}
    if "refused" not in step:
        ledger.spend(task, **asked)
        assert places == [step["place"]]
        return
    with pytest.raises(BudgetExceeded) as raised:
        ledger.spend(task, **asked)
    assert places == []
    error = raised.value
    assert [error.parameter, str(error.received), error.allowed, error.fix] == list(step["refused"].values())


@pytest.mark.parametrize("kept", ["memory", "file"])
@pytest.mark.parametrize("history", vectors("budget")["histories"], ids=lambda history: history["why"])
def test_every_ledger_says_the_same(history, kept, tmp_path):
    lifetime = history["lifetime_epsilon"]
    ledger = MemoryLedger(lifetime_epsilon=lifetime) if kept == "memory" else FileLedger(tmp_path / "ledger", lifetime_epsilon=lifetime)
    for step in history["steps"]:
        take(ledger, step)
    found = [{**entry._asdict(), "epsilon": str(entry.epsilon)} for entry in ledger.entries()]
    assert found == [
        {**entry, "task": bytes.fromhex(entry["task"]), "report": bytes.fromhex(entry["report"])} for entry in history["entries"]
    ]
    assert ledger.spent() == Fraction(history["spent"])
    assert ledger.statement() == history["statement"]
    kept = {name: {asked: hexed(found) for asked, found in ledger.kept(task.id).items()} for name, task in PAYING.items()}
    assert {name: found for name, found in kept.items() if found} == history["kept"]


def test_the_histories_meet_every_rule():
    steps = [step for history in vectors("budget")["histories"] for step in history["steps"] if step["do"] == "spend"]
    met = Counter((step["refused"]["parameter"], step["refused"]["fix"]) if "refused" in step else "allowed" for step in steps)
    assert len(met) == 7  # as many as there are outcomes in client/budget
    assert min(met.values()) >= 4


# --- tokens ---


def posts(text):
    return lambda _: Response(200, {}, text.encode())


def test_tokens_replay():
    task, ledger, source = Task.from_json(TOKEN_CASE["task"].encode()), MemoryLedger(lifetime_epsilon=8), words_of(TOKEN_CASE)
    asked = []

    def post(body):
        asked.append(json.loads(body))
        return posts(json.dumps({"signatures": TOKEN_CASE["signatures"]}))(body)

    enrol(task, " dc_0\n", ledger, post, source)
    assert asked == [{"code": "dc_0", "blinded": TOKEN_CASE["blinded"]}]
    assert source.consumed == len(TOKEN_CASE["words"])
    assert ledger.recall(task.id, DRAWN).hex() == TOKEN_CASE["drawn"]
    assert ledger.recall(task.id, TOKENS).hex() == TOKEN_CASE["tokens"]
    (envelope,) = open_batch(bytes.fromhex(TOKEN_CASE["envelope"]))
    stamp = stamp_for(task, ledger, None)
    assert [stamp(envelope, place).pack().hex() for place in range(3)] == TOKEN_CASE["stamped"]


@pytest.mark.parametrize("bad", vectors("tokens")["refused"], ids=lambda bad: bad["why"])
def test_answers_that_are_no_signatures_leave_no_tokens(bad):
    task, ledger = Task.from_json(TOKEN_CASE["task"].encode()), MemoryLedger(lifetime_epsilon=8)
    with pytest.raises(WireError):
        enrol(task, "dc_0", ledger, posts(bad["answer"]), words_of(TOKEN_CASE))
    assert ledger.recall(task.id, TOKENS) is None


@pytest.mark.parametrize("bad", vectors("tokens")["refused_drawn"], ids=lambda bad: bad["why"])
def test_a_token_that_an_older_release_drew_badly_is_never_kept(bad):
    """Its signature is right. Each attempt fails with the same error: the same request goes out, and nothing is drawn again."""
    task, ledger, asked = Task.from_json(bad["task"].encode()), MemoryLedger(lifetime_epsilon=8), []
    ledger.remember(task.id, DRAWN, lambda: bytes.fromhex(bad["drawn"]))

    def post(body):
        asked.append(body)
        return posts(bad["answer"])(body)

    for attempts in (1, 2):
        with pytest.raises(WireError, match=r"factor in common .* do not trust this collector"):
            enrol(task, "dc_0", ledger, post, ReplaySource([]))
        assert len(asked) == attempts
    assert len(set(asked)) == 1
    assert ledger.recall(task.id, TOKENS) is None
    with pytest.raises(ProtocolError, match="enrol"):
        stamp_for(task, ledger, None)


def test_assigned_seeds_replay():
    """The device draws only what comes after the seed."""
    for case in vectors("tokens")["assigned"]:
        spec, source = spec_from_json(case["spec"].encode()), words_of(case)
        seed = assigned_seed(bytes.fromhex(case["token"]), seed_words(spec))
        assert [f"{word:016x}" for word in seed] == case["seed"]
        report = Question(name="q", spec=spec).answer(case["value"], source, seed)
        assert (spec.encode(report).hex(), source.consumed) == (case["report"], len(case["words"]))
    assert {len(case["seed"]) for case in vectors("tokens")["assigned"]} == {0, 2, 3}


def test_blinding_replays():
    for case in vectors("tokens")["blinding"]:
        made = blind(bytes.fromhex(case["modulus"]), bytes.fromhex(case["message"]), words_of(case))
        assert [made.message.hex(), made.inverse.hex()] == [case["blinded"], case["inverse"]]


def test_proofs_of_a_shared_secret_replay():
    for case in vectors("tokens")["secrets"]:
        (envelope,) = open_batch(bytes.fromhex(case["envelope"]))
        assert prove(read_secret(case["text"]), envelope).hex() == case["proof"]
    for text in vectors("tokens")["refused_secrets"]:
        with pytest.raises(ParameterError):
            read_secret(text)


# --- what is believed, and what is answered ---


@pytest.mark.parametrize("case", vectors("signatures")["cases"], ids=lambda case: case["why"])
def test_signatures_replay(case):
    assert verify(*(bytes.fromhex(case[name]) for name in ("key", "message", "signature"))) == case["right"]


def test_which_rounds_are_answered_replays():
    for case in ANSWERABLE:
        domain, encoder, asked = (parse_canonical(case[name].encode()) for name in ("domain", "encoder", "asked"))
        question = Question(name="q", spec=OLH(domain=Domain.from_json(asked), epsilon=1.0), encoder=encoder_from_json(encoder))
        assert takes_all(question, Domain.from_json(domain)) == case["all"], case
    assert Counter(case["all"] for case in vectors("answerable")["cases"])[True] > 100


def test_which_rounds_are_answered_with_records_and_sets_replays():
    def domain(protocol):
        return task_domain(replace(PAYING["daily"], protocol=protocol.encode(), rounds=True, period=0))

    asked = vectors("answerable")["protocols"]
    for case in asked["asked"]:
        question = Question.from_json(parse_canonical(case["question"].encode()))
        assert takes_all(question, domain(case["protocol"])) == case["all"], case
    assert Counter(case["all"] for case in asked["asked"])[True] > 20
    for protocol in asked["refused"]:
        with pytest.raises(WireError):
            domain(protocol)


def test_devices_answer_every_encoder_in_some_round():
    """Whoever adds an encoder says what people hold who are asked by it, and when all of them have an answer."""
    cases = [(case["all"], parse_canonical(case["encoder"].encode())) for case in ANSWERABLE]
    asked = vectors("answerable")["protocols"]["asked"]
    cases += [(case["all"], parse_canonical(case["question"].encode())["encoder"]) for case in asked]
    assert {encoder["encoder"] for answered, encoder in cases if answered} == set(ENCODERS)
