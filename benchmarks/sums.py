"""Secure sums, side by side with Flower's SecAgg+ and with phe.

Timed: the CPU time of one party that adds 2,000 integers, among 1,000 parties of whom a tenth may be corrupt and a tenth be lost (46
neighbors, 26 recover a secret), and what it sends and receives; the aggregator's time, for each party, with a twentieth of them lost; and
that of an integer under encryption of 3,072 bits. A bare loop of the X25519 agreements that masking cannot do without stands beside it, for
hybrid sums with the encapsulations and decapsulations of ML-KEM-768."""

import time
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from deniable.multiparty.masking.aggregator import MaskingAggregator
from deniable.multiparty.masking.party import MaskingParty
from deniable.multiparty.paillier.encryption import Encryptor
from deniable.multiparty.paillier.keys import deal
from deniable.multiparty.paillier.packing import Packing
from deniable.multiparty.terms import SumTerms
from deniable.sealing.identity import new_identity, public_key
from environments import python_of
from printing import compact, markdown
from timing import json_line, say

PARTIES, LENGTH, LOST = 1000, 2000, 50


def measure(peers=True):
    """Milliseconds for a party and for an integer."""
    return [_masking(peers), _masking(False, hybrid=True), _paillier(peers)]


def _masking(peers, *, hybrid=False):
    say(f"a masked sum of {PARTIES:,} parties, {LENGTH:,} integers each{', hybrid' if hybrid else ''} ...")
    identities = [new_identity() for _ in range(PARTIES)]
    terms = SumTerms(label="benchmark", parties=tuple(map(public_key, identities)), length=LENGTH, hybrid=hybrid)
    numbers = np.random.default_rng(1).integers(-1000, 1000, (PARTIES, LENGTH))
    parties = {number: MaskingParty(terms, number, identities[number], numbers[number]) for number in range(PARTIES)}
    aggregator, spent = MaskingAggregator(terms), {"parties": 0.0, "aggregator": 0.0}
    sent = received = 0

    def timed(role, job, *parts):
        start = time.process_time()
        result = job(*parts)
        spent[role] += time.process_time() - start
        return result

    for number in range(PARTIES):
        first = timed("parties", parties[number].first)
        timed("aggregator", aggregator.receive, first)
        sent += len(first)
    messages, step = timed("aggregator", aggregator.close), 1
    while messages:
        for number, message in messages.items():
            if number >= LOST or step < 2:
                reply = timed("parties", parties[number].answer, message)
                timed("aggregator", aggregator.receive, reply)
                sent, received = sent + len(reply), received + len(message)
        messages, step = timed("aggregator", aggregator.close), step + 1
    if not np.array_equal(aggregator.total, numbers[LOST:].sum(axis=0)):
        raise RuntimeError("the sum is wrong")
    result = {"name": f"{'hybrid ' if hybrid else ''}masking, a party", "ours": spent["parties"] / PARTIES}
    result |= {"aggregator": spent["aggregator"] / PARTIES, "sent": sent / PARTIES, "received": received / PARTIES}
    result["bare"] = _agreements(3 * terms.degree.neighbors) + (_encapsulations(3 * terms.degree.neighbors // 2) if hybrid else 0)
    return result | _peer("flwr", "party", peers)


def _agreements(count):
    own, others = X25519PrivateKey.generate(), [X25519PrivateKey.generate().public_key() for _ in range(count)]
    start = time.process_time()
    for other in others:
        own.exchange(other)
    return time.process_time() - start


def _encapsulations(count):
    """So many of each: a neighbor takes one for its shares, and every second one for its mask."""
    own = MLKEM768PrivateKey.generate()
    public = own.public_key().public_bytes_raw()
    start = time.process_time()
    for _ in range(count):
        own.decapsulate(MLKEM768PublicKey.from_public_bytes(public).encapsulate()[1])
    return time.process_time() - start


def _paillier(peers):
    say("a packed vector under a Paillier key of 3,072 bits ...")
    public, _ = deal(bits=3072, decryptors=5, threshold=3)
    encryptor, packing = Encryptor(public), Packing(bits=public.bits, length=LENGTH, parties=PARTIES, largest=1 << 20)
    numbers = np.random.default_rng(2).integers(-1000, 1000, LENGTH).tolist()
    encryptor.encrypt(1)  # makes the table
    start = time.process_time()
    for plain in packing.pack(numbers, public.modulus):
        encryptor.encrypt(plain)
    taken = (time.process_time() - start) / LENGTH
    return {"name": "Paillier, an integer", "ours": taken} | _peer("phe", "integer", peers)


def _peer(library, part, peers):
    if not peers:
        return {}
    try:
        found = json_line([python_of(library), Path(__file__).with_name("peer_sums.py"), library], timeout=300)
    except RuntimeError as error:
        return {"peer": str(error)}
    return {"peer": found[part], "peer_name": f"{library} {found['version']}"}


def table(results):
    """Seconds of CPU time and ratios."""
    rows = []
    for result in results:
        peer = result.get("peer", "not run")
        known = isinstance(peer, float)
        rows.append(
            [
                result["name"],
                *(f"{compact(1e6 * result[part])} us" if part in result else "" for part in ("ours", "aggregator", "bare")),
                *(f"{compact(result[part])}B" if part in result else "" for part in ("sent", "received")),
                f"{compact(1e6 * peer)} us ({result['peer_name']})" if known else peer,
                f"{peer / result['ours']:.0f}x" if known else "",
            ]
        )
    header = ["CPU time", "ours", "aggregator, per party", "agreements alone", "sent", "received", "peer", "peer / ours"]
    return markdown(header, rows)


if __name__ == "__main__":
    print(table(measure()))
