"""The aggregator of a masked sum: passes messages on, and learns the sum of those who stayed to the end, and nothing else.

``receive`` takes a message of a party, ``close`` ends a step: a party that has sent nothing is lost, and it says what to send to whom. When
to close is up to the caller: when all are there, or when waiting is over. With fewer survivors than the terms' honest share the sum is
aborted before anything is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from deniable.contract.arguments import typed
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ProtocolError, WireError
from deniable.kernels.compiled import Array
from deniable.multiparty.graph import neighbors_of
from deniable.multiparty.masking import hybrid, layout, secrets
from deniable.multiparty.masking.side import PartyKeys, keys_bytes
from deniable.multiparty.masking.unmasking import Unmasking
from deniable.multiparty.message import Message
from deniable.multiparty.state import opened_state, pack_state
from deniable.multiparty.terms import SumTerms


@typed
@dataclass
class MaskingAggregator:
    """The one role that sees all messages of a sum on the ``terms`` that all agreed on. ``total`` is the sum, once it is there.

    ``data`` is a message of a party, or what ``save`` gave.
    """

    terms: SumTerms
    source: Source = field(default=SYSTEM, repr=False)
    step: int = layout.ADVERTISE
    """The kind of message that it takes now; 0 when it is done."""
    total: Array | None = None
    _messages: dict[int, dict[int, Message]] = field(default_factory=dict, repr=False)
    _neighbors: dict[int, list[int]] = field(default_factory=dict, repr=False)
    _owners: dict[bytes, int] = field(default_factory=dict, repr=False)
    """Which party a public key belongs to, so that nobody sends another's."""

    def __post_init__(self) -> None:
        self.terms.degree  # noqa: B018  # refuses shares for which there is no graph
        if self.terms.hybrid:
            hybrid.check_available()

    # --- what comes in ---

    @property
    def present(self) -> set[int]:
        """The parties that are still in the sum: those who sent all earlier messages."""
        return self._expected()

    @property
    def waiting(self) -> set[int]:
        """The parties whose message is still due."""
        return self._expected() - self._messages.get(self.step, {}).keys()

    def receive(self, data: bytes) -> None:
        """Keep a message; the same one again changes nothing. ProtocolError or WireError for any other that is not due."""
        message = Message.open(data).expect(kind=self.step, sum=self.terms.id)
        if not self.terms.active:
            message.unsigned()
        if message.party not in self._expected():
            allowed = "a party that sent all earlier messages"
            raise ProtocolError("party", message.party, allowed=allowed, fix="wait for the next sum: a lost party stays lost until then")
        if self.terms.active and not message.signed_by(self.terms.parties[message.party]):
            raise ProtocolError("signature", f"of party {message.party}", allowed="its own", fix="drop the message: it is forged")
        kept = self._messages.setdefault(self.step, {})
        if kept.setdefault(message.party, message) != message:
            raise ProtocolError(
                "message", f"another one of party {message.party}", allowed="the same again", fix="drop it: each message is sent once"
            )
        try:
            self._check(message)
        except (ProtocolError, WireError):
            del kept[message.party]
            raise

    def _check(self, message: Message) -> None:
        """Raise at once for what would corrupt the sum later."""
        party, body = message.party, message.body
        if self.step == layout.ADVERTISE:
            self._check_keys(party, body)
        if self.step == layout.SHARES and layout.open_shares_message(body, self.terms, party)[1].keys() != set(self._neighbors[party]):
            raise ProtocolError("shares", f"of party {party}", allowed="one for each of its neighbors", fix="send them all")
        if self.step == layout.MASKED and len(body) != self.terms.length * self.terms.word_bits // 8:
            raise WireError("vector", f"{len(body)} bytes", allowed=f"{self.terms.length} words", fix="send it whole")
        if self.step == layout.AGREED and body != self._digest_of(party):
            raise ProtocolError("survivors", f"of party {party}", allowed="those that were named", fix="leave this party out")
        if self.step == layout.REVEALED:
            shown = layout.open_revealed(body)
            alive = self._messages[layout.MASKED]
            asked = {other: layout.OWN if other in alive else layout.PAIRS for other in self._sharers(party)}
            if {other: kind for other, (kind, _) in shown.items()} != asked:
                raise ProtocolError("revealed shares", f"of party {party}", allowed="one of each neighbor, as asked", fix="send them all")

    def _check_keys(self, party: int, body: bytes) -> None:
        if len(body) != keys_bytes(self.terms):
            raise WireError("keys", f"{len(body)} bytes", allowed=f"{keys_bytes(self.terms)}", fix="send all keys")
        keys = PartyKeys.read(body)
        for key in (keys.seal, keys.mask):
            secrets.check_order(key, party)
        for key in (keys.seal_kem, keys.mask_kem) if self.terms.hybrid else ():
            hybrid.kem_public(key, party)
        owners = {self._owners.get(part, party) for part in keys.parts}
        if owners != {party} or len(set(keys.parts)) < len(keys.parts):
            raise ProtocolError("keys", f"of party {party}", allowed="keys that nobody else has, each once", fix="leave this party out")
        self._owners |= dict.fromkeys(keys.parts, party)

    # --- what goes out ---

    def close(self) -> dict[int, bytes]:
        """End the step: what to send, by party; empty when the sum is there. ProtocolError, and the sum is over, if too few are left."""
        present = self._messages.get(self.step, {})
        if len(present) < self._needed():
            step, self.step = self.step, 0
            allowed = f"{self._needed()} or more of {len(self.terms.parties)}"
            fix = "begin a new sum; the epsilon of this one is spent" if step == layout.REVEALED else "begin a new sum; nothing was opened"
            raise ProtocolError("survivors", len(present), allowed=allowed, fix=fix)
        follow: dict[int, tuple[int, Callable[[int], bytes]]] = {
            layout.ADVERTISE: (layout.KEYS, self._keys_for),
            layout.SHARES: (layout.FOR_YOU, self._shares_for()),
            layout.MASKED: (layout.SURVIVORS, self._survivors_for),
            layout.AGREED: (layout.AGREEMENT, self._agreement_for),
        }
        if self.step == layout.REVEALED:
            self.total = Unmasking(self.terms, self._messages, self._neighbors).total()
            self.step = 0
            return {}
        if self.step == layout.ADVERTISE:
            self._draw_neighbors(sorted(present))
        kind, body = follow[self.step]
        out = {party: Message(kind, party, self.terms.id, body(party)).pack() for party in sorted(present)}
        self.step = layout.REVEALED if self.step == layout.MASKED and not self.terms.active else self.step + 2
        return out

    def _draw_neighbors(self, present: list[int]) -> None:
        degree = self.terms.degree.neighbors
        if degree >= len(present) - 1 or self.terms.active:
            self._neighbors = {party: [other for other in present if other != party] for party in present}
            return
        drawn = neighbors_of(len(present), degree - degree % 2, self.source)
        self._neighbors = {party: [present[place] for place in drawn[at]] for at, party in enumerate(present)}

    def _keys_for(self, party: int) -> bytes:
        sent = self._messages[layout.ADVERTISE]
        return layout.pack_table({other: sent[other].body + sent[other].signature for other in self._neighbors[party]})

    def _shares_for(self) -> Callable[[int], bytes]:
        """By party; each message is taken apart once."""

        @cache
        def rows(sender: int) -> dict[int, bytes]:
            return layout.open_shares_message(self._messages[layout.SHARES][sender].body, self.terms, sender)[1]

        return lambda party: layout.pack_table({other: rows(other)[party] for other in self._sharers(party)})

    def _survivors_for(self, party: int) -> bytes:
        alive = self._messages[layout.MASKED]
        return layout.pack_survivors(len(alive), [other for other in self._sharers(party) if other in alive])

    def _agreement_for(self, _: int) -> bytes:
        return layout.pack_table({party: message.signature for party, message in self._messages[layout.AGREED].items()})

    # --- who is there ---

    def _sharers(self, party: int) -> list[int]:
        """The neighbors of a party who sent shares."""
        return [other for other in self._neighbors[party] if other in self._messages[layout.SHARES]]

    def _expected(self) -> set[int]:
        before = {layout.SHARES: layout.ADVERTISE, layout.MASKED: layout.SHARES, layout.AGREED: layout.MASKED}
        before[layout.REVEALED] = layout.AGREED if self.terms.active else layout.MASKED
        if self.step == layout.ADVERTISE:
            return set(range(len(self.terms.parties)))
        return set(self._messages.get(before.get(self.step, 0), {}))

    def _needed(self) -> int:
        """How many must be left. What was masked by fewer than the honest share is not opened; opening itself needs the threshold alone."""
        return self.terms.degree.threshold if self.step == layout.REVEALED else self.terms.least

    def _digest_of(self, party: int) -> bytes:
        return layout.survivors_digest({*(other for other in self._sharers(party) if other in self._messages[layout.MASKED]), party})

    # --- what is kept ---

    def save(self) -> bytes:
        """All that the next step needs. Nothing in it is secret from the aggregator itself, and nothing says more than the messages do."""
        kept = {str(kind): [message.pack().hex() for message in messages.values()] for kind, messages in self._messages.items()}
        neighbors = {str(party): others for party, others in self._neighbors.items()}
        return pack_state("aggregator", self.terms.id, step=self.step, messages=kept, neighbors=neighbors)

    @classmethod
    def resume(cls, data: bytes, *, terms: SumTerms, source: Source = SYSTEM) -> MaskingAggregator:
        """The aggregator as it was saved; WireError if this is not its state in this sum. A sum that was open is opened again."""
        with opened_state(data, "aggregator", terms.id) as content:
            found = cls(terms, source, content["step"])
            opened = {int(kind): [Message.open(bytes.fromhex(each)) for each in texts] for kind, texts in content["messages"].items()}
            found._messages = {kind: {message.party: message for message in messages} for kind, messages in opened.items()}
            found._neighbors = {int(party): list(others) for party, others in content["neighbors"].items()}
            sent = found._messages.get(layout.ADVERTISE, {})
            found._owners = {part: party for party, message in sent.items() for part in PartyKeys.read(message.body).parts}
        return found
