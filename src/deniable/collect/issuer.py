"""The issuer: codes for people, and blind signatures for the codes (``contract.admission`` has the whole design).

Kept for a code: its SHA-256 and, once it was redeemed, the SHA-256 of the blinded numbers that were signed for it. The same request gets
the same signatures again, so that a lost answer costs no tokens; any other request with that code is refused. Neither digest has anything
in common with what comes in with a report: the one is made of what the operator drew, the other of products with random factors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import gmpy2  # type: ignore[import-untyped]  # it has no types
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_der_private_key

from deniable.collect.storage.catalog import Catalog
from deniable.collect.storage.secrets import Secrets
from deniable.collect.storage.tokens import Codes
from deniable.contract.admission import MODULUS_BYTES, NO_ISSUER, SECRET, SECRET_BYTES, TOKEN
from deniable.contract.blind_rsa import EXPONENT, draw_bytes
from deniable.contract.source import SYSTEM
from deniable.contract.task import Task
from deniable.errors import ParameterError

CODE_MARK = "dc_"
CODE_BYTES = 16
MOST_CODES = 10_000_000


class CodeError(ParameterError):
    """A code that gets no tokens: unknown, or redeemed for others."""


class Issuer:
    """Makes a task's key, its codes and its tokens. Any number of collectors may share the database."""

    def __init__(self, catalog: Catalog) -> None:
        self._secrets = Secrets(catalog)
        self._codes = Codes(catalog)

    # --- publication ---

    def modulus(self, draft: Task) -> bytes:
        """The public key for a task that is not published yet; the same draft gets the same key, and no other task does."""
        return _numbers(self._secrets.make(_key_name(draft), _new_key))[0].to_bytes(MODULUS_BYTES, "big")

    def prepare(self, task: Task) -> None:
        """Make what a task needs to be published; ParameterError if its tokens would have to be signed by somebody else."""
        if task.admission == SECRET:
            self._secrets.make(_secret_name(task), lambda: draw_bytes(SYSTEM, SECRET_BYTES))
        if task.admission == TOKEN:
            kept = self._secrets.find(_key_name(task))
            if kept is None or _numbers(kept)[0] != int.from_bytes(task.issuer, "big"):
                raise ParameterError(
                    "issuer", task.issuer, allowed="a key that this collector made", fix="publish the task from its TOML file"
                )

    def forget(self, task: Task) -> None:
        """Delete the secrets of a task that is deleted."""
        self._secrets.forget([_key_name(task), _secret_name(task)])

    def secret(self, task: Task) -> bytes:
        """The secret that those who take part in a task share; nothing for a task without one."""
        return (self._secrets.find(_secret_name(task)) or b"") if task.admission == SECRET else b""

    # --- enrolment ---

    def add_codes(self, task: Task, count: int, keep: Callable[[list[str]], object] = bool) -> list[str]:
        """New codes, each good for one device's tokens; they are stored as digests and cannot be shown again.

        ``keep`` gets them before they are stored: if it raises, there are none.
        """
        if task.admission != TOKEN:
            raise ParameterError(
                "task", task.name, allowed='a task with admission = "token"', fix="choose another task: only those with tokens need codes"
            )
        if not 1 <= count <= MOST_CODES:
            raise ParameterError("count", count, allowed=f"from 1 to {MOST_CODES}", fix="make one code for each person")
        codes = [CODE_MARK + draw_bytes(SYSTEM, CODE_BYTES).hex() for _ in range(count)]
        self._codes.add(task.id, map(code_digest, codes), lambda: keep(codes))
        return codes

    def redeem(self, task: Task, code: str, blinded: Sequence[bytes]) -> list[bytes]:
        """Sign the blinded numbers of a code's holder; CodeError if the code is unknown or was redeemed for others."""
        n, d = _numbers(self._secrets.find(_key_name(task)) or b"")
        numbers = [int.from_bytes(part, "big") for part in blinded]
        if len(blinded) != task.answers or not all(len(part) == MODULUS_BYTES for part in blinded) or not all(0 < x < n for x in numbers):
            allowed = f"{task.answers} numbers of {MODULUS_BYTES} bytes below the issuer's"
            raise ParameterError("blinded", f"{len(blinded)} parts", allowed=allowed, fix="blind as many tokens as the task has answers")
        if not self._codes.redeem(task.id, code_digest(code), hashlib.sha256(b"".join(blinded)).digest()):
            raise CodeError(
                "code", "...", allowed="a code of this task that was not redeemed for other tokens", fix="ask the operator for a new code"
            )
        return [_sign(x, d, n).to_bytes(MODULUS_BYTES, "big") for x in numbers]


def code_digest(code: str) -> bytes:
    """What is kept of a code. It has 16 random bytes, so nothing slower is needed."""
    return hashlib.sha256(code.encode("utf-8", "surrogateescape")).digest()


def _new_key() -> bytes:
    """A new key of an issuer."""
    made = rsa.generate_private_key(EXPONENT, 8 * MODULUS_BYTES)
    return made.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


def _key_name(task: Task) -> str:
    """The name of the key: that of the draft, since the key itself becomes part of the task."""
    return f"issuer {replace(task, issuer=NO_ISSUER).id.hex()}" if task.admission == TOKEN else ""


def _secret_name(task: Task) -> str:
    return f"shared {task.id.hex()}"


@lru_cache(maxsize=64)
def _numbers(key: bytes) -> tuple[int, int]:
    """Modulus and secret exponent of a key."""
    private = load_der_private_key(key, None)
    if not isinstance(private, rsa.RSAPrivateKey):
        raise TypeError(type(private).__name__)
    numbers = private.private_numbers()
    return numbers.public_numbers.n, numbers.d


def _sign(number: int, d: int, n: int) -> int:
    """In constant time for keys of one length; checked, since a faulty signature can give the key away."""
    signed = int(gmpy2.powmod_sec(number, d, n))
    if pow(signed, EXPONENT, n) != number:
        raise ArithmeticError("a signature came out wrong: this machine cannot be trusted to sign")
    return signed
