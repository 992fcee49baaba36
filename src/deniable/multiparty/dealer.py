"""Keys from a dealer for Paillier and stream sums: one public table, and a secret file for each member.

::

    key.toml             goes into the agreement as it is:
                         [key]                                  [key]
                         modulus = "b3..."                      stream = "5e..."
                         base = "07..."                         parties = 12
                         threshold = 2
    share-I.json         Paillier: for the I-th of the [decryptors], from 1 on
    party-I.json         stream: for the I-th of the [parties], from 1 on
    aggregator.json      stream: for the aggregator, place 0

A secret file is JSON: ``version`` (1), ``engine``, ``place``, ``key`` (the key's id) and ``secret``, both in hexadecimal. The id of a
stream's key is what stands in the table, that of a Paillier key the SHA-256 of the canonical JSON of table and number of ``decryptors``.
Files of a stream have ``parties``, too, how many it was dealt for: terms that name more would have every party add a smaller share of the
noise, and those who were made up would add none. A party checks its own file, which no writer of terms can change.

**The dealer is trusted.** It knows all secrets and could open any single party's numbers, so it must forget them: give every file to
its owner, and delete it. Parties compare the key's id with what the dealer says, since another's key would be another's to open.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import gmpy2  # type: ignore[import-untyped]  # it has no types

from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.canonical import canonical_json
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError, WireError
from deniable.multiparty.paillier.keys import BITS, MOST_DECRYPTORS, KeyShare, PublicKey, deal
from deniable.multiparty.stream.shi import deal_secrets

PAILLIER, STREAM = "paillier", "stream"


def paillier_files(public: PublicKey, shares: Sequence[KeyShare]) -> dict[str, bytes]:
    """The files of a key, by name."""
    table = f'[key]\nmodulus = "{public.modulus:x}"\nbase = "{public.base:x}"\nthreshold = {public.threshold}\n'
    rows = {f"share-{share.place}.json": _secret_file(PAILLIER, paillier_id(public), share.place, share.value) for share in shares}
    return {"key.toml": table.encode(), **rows}


def deal_paillier(*, bits: int = 3072, decryptors: int, threshold: int, source: Source = SYSTEM) -> dict[str, bytes]:
    """New keys for a committee of whom ``threshold`` open a sum."""
    return paillier_files(*deal(bits=bits, decryptors=decryptors, threshold=threshold, source=source))


def deal_stream(*, parties: int, source: Source = SYSTEM) -> dict[str, bytes]:
    """New secrets for a stream; they serve all of its periods."""
    if type(parties) is not int or not 2 <= parties < 1 << 16:
        raise ParameterError("parties", parties, allowed="from 2 to 65535", fix="give the number of parties that the agreement will name")
    stream = draw_bytes(source, 32)
    names = ["aggregator.json", *(f"party-{place}.json" for place in range(1, parties + 1))]
    secrets = enumerate(deal_secrets(parties, source))
    rows = {
        name: _secret_file(STREAM, stream, place, secret, parties=parties) for name, (place, secret) in zip(names, secrets, strict=True)
    }
    return {"key.toml": f'[key]\nstream = "{stream.hex()}"\nparties = {parties}\n'.encode(), **rows}


def paillier_id(public: PublicKey) -> bytes:
    """The id of a key."""
    parts = {"modulus": f"{public.modulus:x}", "base": f"{public.base:x}", "threshold": public.threshold}
    return hashlib.sha256(canonical_json({**parts, "decryptors": public.decryptors})).digest()


def read_paillier_key(table: Mapping[str, Any], decryptors: int) -> PublicKey:
    """The key of an agreement; ParameterError if it is none, or too short to be one."""
    numbers = [_digits(table.get(name)) for name in ("modulus", "base")]
    modulus, base, threshold = *numbers, table.get("threshold")
    good = set(table) == {"modulus", "base", "threshold"} and modulus.bit_length() in BITS and modulus % 2 and 0 < base < modulus**2
    if not good or gmpy2.gcd(base, modulus) != 1:
        raise ParameterError(
            "key", sorted(table), allowed=f"modulus ({BITS} bits), base and threshold", fix="copy it from the dealer's key.toml"
        )
    if type(threshold) is not int or threshold > decryptors:
        allowed = f"at least the threshold, at most {MOST_DECRYPTORS}"
        raise ParameterError("decryptors", decryptors, allowed=allowed, fix="name everyone for whom the key was dealt")
    return PublicKey(modulus, base, decryptors, threshold)  # which refuses small committees, and bases that hide nothing


def read_stream_key(table: Mapping[str, Any], parties: int) -> bytes:
    """The id of an agreement's stream; ParameterError if it has none, or one that was dealt for more parties or fewer."""
    text, dealt = table.get("stream"), table.get("parties")
    if set(table) != {"stream", "parties"} or not isinstance(text, str) or len(text) != 64 or _digits(text.lstrip("0")) < 1:
        raise ParameterError(
            "key", sorted(table), allowed="stream, 64 digits 0-9 and a-f, and parties", fix="copy it from the dealer's key.toml"
        )
    if type(dealt) is not int or dealt != parties:
        raise ParameterError("parties", parties, allowed=f"{dealt!r}, for whom the stream was dealt", fix="name them all, or deal anew")
    return bytes.fromhex(text)


def read_secret(data: bytes, engine: str, key: bytes, place: int, **more: int) -> int:
    """The secret of a place; WireError, which does not show it, if this is no such file or somebody else's."""
    if not data:
        raise ParameterError("secret", "nothing", allowed="the file that the dealer made", fix="give it at every start")
    try:
        content = json.loads(data)
        expected = {"version": 1, "engine": engine, "key": key.hex(), "place": place, **more}
        found = all(content[name] == value for name, value in expected.items())
        secret = _digits(content["secret"])
    except (ValueError, TypeError, KeyError):
        found, secret = False, 0
    if not found or secret < 1:
        allowed = f"the secret of place {place} for this agreement's key" + (f" and {more['parties']} parties" if more else "")
        raise WireError("secret", "another file", allowed=allowed, fix="use your own secret file, exactly as the dealer made it") from None
    return secret


def _secret_file(engine: str, key: bytes, place: int, secret: int, **more: int) -> bytes:
    return json.dumps({"version": 1, "engine": engine, "key": key.hex(), "place": place, **more, "secret": f"{secret:x}"}).encode()


def _digits(text: object) -> int:
    """A number in its one spelling; 0 if it is none."""
    try:
        number = int(text, 16) if isinstance(text, str) else 0
    except ValueError:
        return 0
    return number if f"{number:x}" == text else 0
