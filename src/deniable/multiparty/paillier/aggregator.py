"""The aggregator of a sum under encryption: multiplies what parties send, has the product opened, and learns the sum alone.

``receive`` takes a party's upload, then a decryptor's shares; ``close`` ends a step and says what to send to whom, as in ``masking``. With
too few parties, or too few decryptors, it is aborted and nothing is opened. The uploads are forgotten once they are multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from deniable.errors import DomainError, ProtocolError, WireError
from deniable.kernels.compiled import Array
from deniable.multiparty.message import Message
from deniable.multiparty.paillier.roles import ENCRYPTED, NUMBER, OPENED, TO_OPEN, PaillierAgreement
from deniable.multiparty.state import opened_state, pack_state


@dataclass
class PaillierAggregator:
    """The one role that sees all ciphertexts. ``total`` is the sum once it is there."""

    agreement: PaillierAgreement
    step: int = ENCRYPTED
    """The kind of message that it takes now; 0 when it is done."""
    total: Array | None = None
    _messages: dict[int, Message] = field(default_factory=dict, repr=False)
    _parties: list[int] = field(default_factory=list, repr=False)
    """Whose vectors are in the sum, once the uploads are over."""

    # --- what comes in ---

    @property
    def present(self) -> set[int]:
        """The members that are still in the sum, asked or not."""
        parties = range(len(self.agreement.terms.parties)) if self.step == ENCRYPTED else self._parties
        return {*parties, *self.agreement.committee}

    @property
    def waiting(self) -> set[int]:
        """Who has not sent what is due now; nobody once as many decryptors have as it takes."""
        enough = self.step == OPENED and len(self._messages) >= self.agreement.key.threshold
        return set() if enough else self._senders - self._messages.keys()

    @property
    def _senders(self) -> set[int]:
        everybody = {ENCRYPTED: range(len(self.agreement.terms.parties)), OPENED: self.agreement.committee}
        return set(everybody.get(self.step, ()))

    def receive(self, data: bytes) -> None:
        """Keep a message; the same one again changes nothing. ProtocolError or WireError for any other that is not due."""
        message = Message.open(data).unsigned().expect(kind=self.step, sum=self.agreement.id)
        if message.party not in self._senders:
            whose = "one of the parties" if self.step == ENCRYPTED else "one of the decryptors"
            raise ProtocolError("party", message.party, allowed=whose, fix="take the terms that name it")
        self.agreement.ciphertexts(message.body)
        if self._messages.setdefault(message.party, message) != message:
            raise ProtocolError(
                "message", f"another one of {message.party}", allowed="the same again", fix="drop it: each message is sent once"
            )

    # --- what goes out ---

    def close(self) -> dict[int, bytes]:
        """End the step: what to send to each decryptor; then, with enough of their shares, nothing more: the sum is there."""
        step, self.step = self.step, 0
        if step == OPENED:
            self.total = self._opened()
            return {}
        terms, key = self.agreement.terms, self.agreement.key
        if len(self._messages) < terms.least:
            allowed = f"{terms.least} or more of {len(terms.parties)}"
            raise ProtocolError("parties", len(self._messages), allowed=allowed, fix="begin a new sum; nothing was opened")
        product = [1] * self.agreement.packing.plaintexts
        for upload in self._messages.values():
            pairs = zip(product, self.agreement.ciphertexts(upload.body), strict=True)
            product = [before * ciphertext % key.square for before, ciphertext in pairs]
        self._parties, self._messages, self.step = sorted(self._messages), {}, OPENED
        names = b"".join(map(NUMBER.pack, self._parties))
        body = NUMBER.pack(len(self._parties)) + names + b"".join(map(key.write, product))
        return {number: Message(TO_OPEN, number, self.agreement.id, body).pack() for number in self.agreement.committee}

    def _opened(self) -> Array:
        key, packing, committee = self.agreement.key, self.agreement.packing, self.agreement.committee
        if len(self._messages) < key.threshold:
            allowed = f"{key.threshold} or more of {key.decryptors}"
            raise ProtocolError("decryptors", len(self._messages), allowed=allowed, fix="begin a new sum; nothing was opened")
        shares = {number - committee.start + 1: self.agreement.ciphertexts(each.body) for number, each in self._messages.items()}
        try:
            plain = [key.open({place: row[at] for place, row in shares.items()}) for at in range(packing.plaintexts)]
            return np.array(packing.unpack(plain, key.modulus), dtype=np.int64)
        except (WireError, DomainError) as error:
            fix = "begin a new sum: a decryptor sent a wrong share, or a party exceeded its bounds"
            raise ProtocolError("shares", "of something else", allowed="shares of packed sums", fix=fix) from error

    # --- what is kept ---

    def save(self) -> bytes:
        """All that the next step needs; nothing in it is secret from the aggregator itself."""
        messages = [message.pack().hex() for message in self._messages.values()] if self.step else []
        total = None if self.total is None else self.total.tolist()
        return pack_state("aggregator", self.agreement.id, step=self.step, total=total, messages=messages, parties=self._parties)

    @classmethod
    def resume(cls, data: bytes, *, agreement: PaillierAgreement) -> PaillierAggregator:
        """The aggregator as it was saved; WireError if this is not its state in this sum."""
        with opened_state(data, "aggregator", agreement.id) as content:
            total = None if content["total"] is None else np.array(content["total"], dtype=np.int64)
            found = cls(agreement, content["step"], total, _parties=[int(party) for party in content["parties"]])
            for text in content["messages"]:
                found.receive(bytes.fromhex(text))
        return found
