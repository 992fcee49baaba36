"""Vectors of what a device reads before it seals: key notices and tasks of shuffle trust, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sealing_vectors import DAY, START, identity_of, mixed_task, notice_of, seals, secret

from deniable.client import RR
from deniable.contract.canonical import canonical_json
from deniable.contract.notice import ANALYST, KEY_CONTEXT, SHUFFLER
from deniable.contract.question import Question
from deniable.contract.survey import Survey


def sealing() -> dict[str, Any]:
    """All that belongs to sealing."""
    return {**seals(), "notices": notices(), "refused_tasks": refused_tasks()}


def notices() -> list[dict[str, Any]]:
    """Answers of ``GET /v1/keys`` at a time, and the public key that a device takes, or how it refuses."""
    seed, now = secret("shuffler 0"), START + 10 * DAY
    keys = {name: secret(f"notice {name}") for name in ("old", "current", "next", "later")}
    spans = {"old": (0, 5), "current": (0, 20), "next": (5, 35), "later": (11, 41)}
    listed = {name: notice_of(SHUFFLER, keys[name], START + a * DAY, START + b * DAY) for name, (a, b) in spans.items()}

    def sign(data: bytes, by: bytes = seed, context: bytes = KEY_CONTEXT) -> dict[str, str]:
        return {"notice": data.decode(), "signature": Ed25519PrivateKey.from_private_bytes(by).sign(context + data).hex()}

    def body(*names: str) -> str:
        return json.dumps({"keys": [sign(listed[name].canonical) for name in names]})

    found: list[dict[str, Any]] = []

    def add(why: str, text: str, outcome: str, at: int = now, since: int | None = None) -> None:
        began = at if since is None else since
        case = {"why": why, "body": text, "key": identity_of(seed).hex(), "role": SHUFFLER, "now": at, "since": began, "outcome": outcome}
        found.append(case)

    add("one that is good", body("current"), listed["current"].public.hex())
    add("the one that ends first of those that are good", body("later", "next", "current", "old"), listed["current"].public.hex())
    add("the order says nothing", body("old", "current", "next", "later"), listed["current"].public.hex())
    add("the first second", body("later"), listed["later"].public.hex(), START + 11 * DAY)
    add("a second too early", body("later"), "ProtocolError", START + 11 * DAY - 1)
    add("the last second", body("current"), listed["current"].public.hex(), START + 20 * DAY - 1)
    add("expired", body("current"), "ProtocolError", START + 20 * DAY)
    late = START + 20 * DAY
    add("ended since the period began", body("later", "next", "current", "old"), listed["current"].public.hex(), late, late - 1)
    add("ended when the period began", body("later", "next", "current", "old"), listed["next"].public.hex(), late, late)
    add("withdrawn in the middle of a period", body("later", "next"), listed["next"].public.hex(), late, START + DAY)
    add("the first since the period began, if it ends last", body("later", "old"), listed["later"].public.hex(), late, START + 5 * DAY)
    add("since the period began, and not started", body("later"), "ProtocolError", START + 11 * DAY - 1, START + DAY)
    add("none", '{"keys": []}', "ProtocolError")
    good = sign(listed["current"].canonical)
    changed = good["notice"].replace('"end":', '"end":1')
    add("forged: another end", json.dumps({"keys": [{**good, "notice": changed}]}), "WireError")
    add("forged: by somebody else", json.dumps({"keys": [sign(listed["current"].canonical, secret("nobody"))]}), "WireError")
    add("signed as something else", json.dumps({"keys": [sign(listed["current"].canonical, context=b"deniable task 1\n")]}), "WireError")
    add("one forged among good ones", json.dumps({"keys": [good, {**good, "signature": "00" * 64}]}), "WireError")
    add("of another role", json.dumps({"keys": [sign(replace(listed["current"], role=ANALYST).canonical)]}), "WireError")
    content = json.loads(good["notice"])
    wrong = {
        "another version": {**content, "version": 2},
        "a short key": {**content, "public": content["public"][:-2]},
        "an end before its start": {**content, "end": content["start"]},
        "a start in text": {**content, "start": str(content["start"])},
        "a name too many": {**content, "task": "00"},
    }
    for why, item in wrong.items():
        add(f"signed, with {why}", json.dumps({"keys": [sign(canonical_json(item))]}), "WireError")
    add("signed, with white space", json.dumps({"keys": [sign(json.dumps(content, sort_keys=True).encode())]}), "WireError")
    add("more than anybody verifies", json.dumps({"keys": [good] * 33}), "WireError")
    for why, text in (
        ("a page", "<html>"),
        ("a list", "[]"),
        ("text for keys", '{"keys": "x"}'),
        ("no signature", '{"keys": [{"notice": "{}"}]}'),
    ):
        add(f"no keys: {why}", text, "WireError")
    return found


def refused_tasks() -> list[dict[str, str]]:
    """Tasks whose mixing is none, or that would split their crowd."""
    content = json.loads(mixed_task().canonical)
    mixing, relay = content["mixing"], content["mixing"]["shufflers"][0]
    halves = tuple(Question(name=name, spec=RR(epsilon=1.0), share=Fraction(1, 2)) for name in "ab")
    two = json.loads(Survey(halves).canonical)
    parts = {
        "no mixing": {name: value for name, value in content.items() if name != "mixing"},
        "local trust with a mixing": {**content, "model": "local"},
        "another trust": {**content, "model": "central"},
        "strata": {**content, "strata": [["platform", ["phone", "web"]]]},
        "two answers in a period": {**content, "answers_per_period": 2},
        "a shared secret": {**content, "admission": "secret", "mixing": {**mixing, "size": mixing["size"] + 32}},
        "no time for what is late": {**content, "late": 4},
        "two questions": {**content, "protocol": two},
        "the collector as its own shuffler": {**content, "mixing": {**mixing, "shufflers": [{**relay, "key": content["key"]}]}},
    }
    inside: dict[str, dict[str, Any]] = {
        "delta of 0": {"delta": "0.0"},
        "delta as a number": {"delta": 1},
        "epsilon in another spelling": {"epsilon": "0.250"},
        "a minimum of 1": {"minimum": 1},
        "a minimum above every batch": {"minimum": 2**16},
        "a size without room for a header": {"size": 63},
        "a size above every limit": {"size": 2**16 + 1},
        "no shuffler": {"shufflers": []},
        "nine shufflers": {"shufflers": [{**relay, "key": f"{i:064x}"} for i in range(9)]},
        "one shuffler twice": {"shufflers": [relay, relay]},
        "an address with a query": {"shufflers": [{**relay, "url": "https://a.example?x=1"}]},
        "an address with a user": {"shufflers": [{**relay, "url": "https://me@a.example"}]},
        "an address of another kind": {"shufflers": [{**relay, "url": "ftp://a.example"}]},
        "an address with a slash at its end": {"shufflers": [{**relay, "url": "https://a.example/"}]},
        "a short key": {"shufflers": [{**relay, "key": relay["key"][2:]}]},
        "more honest people than there are": {"honest": "11/10"},
        "no honest people": {"honest": "0"},
        "a share that can be reduced": {"honest": "18/20"},
        "a share as a decimal": {"honest": "0.9"},
        "a threshold without noise": {"threshold": {"minimum": 20, "sigma": "0"}},
        "a threshold with idle zeros": {"threshold": {"minimum": 20, "sigma": "2.50"}},
        "a threshold of nobody": {"threshold": {"minimum": 0, "sigma": "2.5"}},
        "a name too many": {"pad": 7},
    }
    parts |= {why: {**content, "mixing": {**mixing, **changes}} for why, changes in inside.items()}
    return [{"why": why, "task": canonical_json(item).decode()} for why, item in parts.items()]
