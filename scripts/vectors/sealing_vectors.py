"""Vectors of sealing: HPKE with fixed ephemeral keys, seals and what is in them, and what is refused.

The HPKE here is written out by RFC 9180, so that the libraries that the vectors test are not the ones that made them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deniable.client import GRR
from deniable.contract.admission import TOKEN
from deniable.contract.envelope import Envelope
from deniable.contract.mixing import Mixing, Relay, Threshold
from deniable.contract.notice import ANALYST, SHUFFLER, KeyNotice
from deniable.contract.question import Question
from deniable.contract.sealed import ROUTE_BYTES, Header, Outer, crowd_of, info_of, mixing_of, pad_envelope, route_of, seal_sizes
from deniable.contract.survey import Survey
from deniable.contract.task import Task

START, DAY = 1_700_000_000, 86_400
EMPTY = bytes(ROUTE_BYTES + 3)
"""A route, no token and no crowd."""
RFC_9180_A_1_1 = {
    "why": "RFC 9180, A.1.1, sequence number 0",
    "ephemeral": "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
    "private": "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
    "public": "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
    "info": "4f6465206f6e2061204772656369616e2055726e",
    "aad": "436f756e742d30",
    "plain": "4265617574792069732074727574682c20747275746820626561757479",
    "sealed": "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431"
    "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
}
SMALL_ORDER = {
    "a point of order 1": bytes(32),
    "a point of order 4": (1).to_bytes(32, "little"),
    "p, which is 0": (2**255 - 19).to_bytes(32, "little"),
}


def secret(name: str) -> bytes:
    """A fixed key; nothing outside the vectors uses it."""
    return hashlib.sha256(b"deniable vectors, " + name.encode()).digest()


def public_of(private: bytes) -> bytes:
    """The X25519 public key."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def identity_of(seed: bytes) -> bytes:
    """The Ed25519 public key."""
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def hpke(public: bytes, info: bytes, plain: bytes, ephemeral: bytes, aad: bytes = b"") -> bytes:
    """Single-shot base mode with X25519, HKDF-SHA256 and AES-128-GCM."""
    own = X25519PrivateKey.from_private_bytes(ephemeral)
    enc = own.public_key().public_bytes_raw()
    kem, suite = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x01"

    def extract(which: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
        return hmac.digest(salt, b"HPKE-v1" + which + label + material, "sha256")

    def expand(which: bytes, key: bytes, label: bytes, context: bytes, size: int) -> bytes:
        return hmac.digest(key, size.to_bytes(2, "big") + b"HPKE-v1" + which + label + context + b"\x01", "sha256")[:size]

    exchanged = extract(kem, b"", b"eae_prk", own.exchange(X25519PublicKey.from_public_bytes(public)))
    shared = expand(kem, exchanged, b"shared_secret", enc + public, 32)
    context = b"\x00" + extract(suite, b"", b"psk_id_hash", b"") + extract(suite, b"", b"info_hash", info)
    scheduled = extract(suite, shared, b"secret", b"")
    key, nonce = expand(suite, scheduled, b"key", context, 16), expand(suite, scheduled, b"base_nonce", context, 12)
    return enc + AESGCM(key).encrypt(nonce, plain, aad)


def mixed_task(relays: int = 1, payload: int = 1, token: int = 0, **changes: Any) -> Task:
    """A task of shuffle trust; its envelopes have room for 8 bytes more than they need."""
    shufflers = tuple(Relay(f"https://shuffler-{i}.example.org", identity_of(secret(f"shuffler {i}"))) for i in range(relays))
    threshold = changes.pop("threshold", None)
    mixing = Mixing(
        epsilon=0.25, delta=1e-6, minimum=100, shufflers=shufflers, size=64 + token + payload + 8, honest="9/10", threshold=threshold
    )
    parts: dict[str, Any] = {
        "name": "mixed",
        "question": "Tea or coffee?",
        "owner": "The canteen",
        "statement": "Your device adds noise, and shufflers hide who sent what.",
        "protocol": Survey((Question(name="drink", spec=GRR(domain_size=3, epsilon=2.0)),)).canonical,
        "epsilon": 2.0,
        "key": identity_of(secret("analyst")),
        "start": START,
        "end": START + 10 * DAY,
        "period": DAY,
        "answers": 10,
        "model": "shuffle",
        "mixing": mixing,
    }
    return Task(**parts | changes)


def tasks_of_cases() -> dict[str, tuple[Task, Envelope]]:
    """What is sealed."""
    issuer = b"\xc1" + secret("issuer") * 7 + secret("issuer")[:30] + b"\x01"
    plans: dict[str, tuple[dict[str, Any], bytes]] = {
        "one shuffler": ({}, b""),
        "two shufflers": ({"relays": 2}, b""),
        "one shuffler, one-time tokens": ({"admission": TOKEN, "issuer": issuer, "token": 288}, secret("token") * 9),
        "three shufflers, tokens, a threshold": (
            {"relays": 3, "admission": TOKEN, "issuer": issuer, "token": 288, "threshold": Threshold(minimum=20, sigma="2.5")},
            secret("token") * 9,
        ),
    }
    found = {}
    for i, (why, (changes, token)) in enumerate(plans.items()):
        task = mixed_task(**changes)
        found[why] = task, Envelope(task.id, i, 0, 0, secret(why)[:16], bytes([i % 3]), token)
    return found


def box(role: str, private: bytes, header: Header, plain: bytes, ephemeral: bytes) -> bytes:
    """A seal with any content."""
    head = header.pack()
    return head + hpke(public_of(private), info_of(role, head), plain, ephemeral)


def notice_of(role: str, private: bytes, start: int = START, end: int = START + 30 * DAY) -> KeyNotice:
    """What is announced about a key."""
    return KeyNotice(role=role, public=public_of(private), start=start, end=end)


def sealed_case(why: str, task: Task, envelope: Envelope) -> dict[str, Any]:
    """A report sealed layer by layer; ``ephemerals`` are in the order in which they are used."""
    mixing = mixing_of(task)
    relays = len(mixing.shufflers)
    privates = [*(secret(f"{why}, shuffler {i}") for i in range(relays)), secret(f"{why}, analyst")]
    ids = [notice_of(SHUFFLER, private).id for private in privates]
    ephemerals = [secret(f"{why}, ephemeral {i}") for i in range(relays + 1)]
    layers = [box(ANALYST, privates[-1], Header(ids[-1], task.id, envelope.period), pad_envelope(envelope, task), ephemerals[0])]
    opened: list[dict[str, str]] = []
    for place in reversed(range(relays)):
        last = place == relays - 1
        token = envelope.token if last and task.admission == TOKEN else b""
        crowd = crowd_of(envelope) if last and mixing.threshold else b""
        outer = Outer(route_of([public_of(private) for private in privates[place + 1 :]]), token, crowd, layers[0])
        opened.insert(0, {"route": outer.route.hex(), "token": token.hex(), "crowd": crowd.hex()})
        header = Header(ids[place], task.id, envelope.period)
        layers.insert(0, box(SHUFFLER, privates[place], header, outer.pack(), ephemerals[relays - place]))
    if tuple(map(len, layers)) != seal_sizes(task):
        raise SystemExit(f"seals of {task.name} have another length than seal_sizes says")
    return {
        "why": why,
        "task": task.canonical.decode(),
        "envelope": envelope.pack().hex(),
        "privates": [private.hex() for private in privates],
        "ephemerals": [{"private": each.hex(), "public": public_of(each).hex()} for each in ephemerals],
        "publics": [public_of(private).hex() for private in privates],
        "seals": [layer.hex() for layer in layers],
        "opened": opened,
    }


def refused_seals(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Bytes that are no seal for the key of a station: 0 is the only shuffler, 1 the collector."""
    task, keys = Task.from_json(case["task"].encode()), [bytes.fromhex(private) for private in case["privates"]]
    (outer, inner), envelope = map(bytes.fromhex, case["seals"]), bytes.fromhex(case["envelope"])
    at = {0: Header(notice_of(SHUFFLER, keys[0]).id, task.id, 0), 1: Header(notice_of(ANALYST, keys[1]).id, task.id, 0)}
    roles = {0: SHUFFLER, 1: ANALYST}
    bad: list[tuple[str, int, bytes]] = []
    for station, seal in ((0, outer), (1, inner)):
        for why, size in (("nothing", 0), ("one byte short of a header", 44), ("no tag", 92), ("truncated", len(seal) - 1)):
            bad.append((why, station, seal[:size]))
        bad.append(("padded", station, seal + b"\0"))
        fields = {
            "version": 0,
            "key id": 1,
            "task": 9,
            "period": 41,
            "encapsulated key": 45,
            "its top bit": 76,
            "ciphertext": 77,
            "tag": len(seal) - 1,
        }
        for name, place in fields.items():
            flipped = seal[:place] + bytes([seal[place] ^ (0x80 if name == "its top bit" else 1)]) + seal[place + 1 :]
            bad.append((f"a bit of {name} flipped", station, flipped))
        for why, point in SMALL_ORDER.items():
            bad.append((f"encapsulated: {why}", station, seal[:45] + point + seal[77:]))
        plain = EMPTY + inner if station == 0 else envelope.ljust(mixing_of(task).size, b"\0")
        spare = secret(f"spare {station}")
        for why, header in (("another task", at[station]._replace(task=bytes(32))), ("another period", at[station]._replace(period=1))):
            relabeled = at[station].pack() + box(roles[station], keys[station], header, plain, spare)[45:]
            bad.append((f"sealed for {why}", station, relabeled))
        bad.append(("sealed for another role", station, box(roles[1 - station], keys[station], at[station], plain, spare)))
    route = bytes(ROUTE_BYTES)
    insides = {
        "a shuffler's box of 34 bytes": route + b"\0" * 2,
        "a token longer than the box": route + b"\xff\xff" + b"\0" * 100,
        "a token that leaves no room for a crowd": route + b"\x01\x00\x00",
        "a crowd of 33 bytes": route + b"\0\0\x21" + b"\0" * 33 + inner,
        "a crowd longer than the box": route + b"\0\0\x20" + b"\0" * 31,
        "no next seal": EMPTY,
        "a next seal of another version": EMPTY + b"\x02" + inner[1:],
        "a next seal for another task": EMPTY + inner[:9] + bytes(32) + inner[41:],
        "a next seal for another period": EMPTY + inner[:41] + b"\1\0\0\0" + inner[45:],
    }
    bad += [(why, 0, box(SHUFFLER, keys[0], at[0], plain, secret(why))) for why, plain in insides.items()]
    size = len(inner) - 93
    later = envelope[:12] + b"\1\0\0\0" + envelope[16:]
    contents = {
        "padding that is not zeros": envelope.ljust(size, b"\1"),
        "a zero short": envelope.ljust(size - 1, b"\0"),
        "an envelope for another period": later.ljust(size, b"\0"),
        "an envelope for another task": (envelope[:16] + bytes(32) + envelope[48:]).ljust(size, b"\0"),
        "a length that is too long": (b"\xff\xff\xff\xff" + envelope[4:]).ljust(size, b"\0"),
        "a length that is too short": (b"\x10\0\0\0" + envelope[4:]).ljust(size, b"\0"),
        "a dummy with one bit": bytes(size - 1) + b"\1",
        "a dummy with one bit early": bytes(4) + b"\1" + bytes(size - 5),
    }
    bad += [(why, 1, box(ANALYST, keys[1], at[1], plain, secret(why))) for why, plain in contents.items()]
    return [{"why": why, "station": station, "seal": seal.hex()} for why, station, seal in bad]


def seals() -> dict[str, Any]:
    """All of it."""
    rfc = {name: bytes.fromhex(text) for name, text in RFC_9180_A_1_1.items() if name != "why"}
    if hpke(rfc["public"], rfc["info"], rfc["plain"], rfc["ephemeral"], rfc["aad"]) != rfc["sealed"]:
        raise SystemExit("this is not the HPKE of RFC 9180")
    cases = [sealed_case(why, task, envelope) for why, (task, envelope) in tasks_of_cases().items()]
    (first, _), key = tasks_of_cases()["one shuffler"], bytes.fromhex(cases[0]["privates"][1])
    empty = box(ANALYST, key, Header(notice_of(ANALYST, key).id, first.id, 0), bytes(mixing_of(first).size), secret("dummy"))
    small: Sequence[dict[str, str]] = [{"why": why, "public": point.hex()} for why, point in SMALL_ORDER.items()]
    return {
        "hpke": [{**RFC_9180_A_1_1, "ephemeral_public": public_of(rfc["ephemeral"]).hex()}],
        "cases": cases,
        "dummy": empty.hex(),
        "refused_seals": refused_seals(cases[0]),
        "refused_keys": small,
    }
