"""Secure sums by others, in an environment of their own: ``peer_sums.py flwr|phe`` prints one JSON line with seconds of CPU time.

Flower's client is timed by its pieces as its SecAgg+ calls them: two agreements and one sealing for each neighbor, shares of two secrets,
and the masks. phe encrypts integers one by one, which is how it is used.
"""

import json
import sys
import time
from importlib.metadata import version

NEIGHBORS, THRESHOLD, LENGTH = 46, 26, 2000
ENCRYPTED = 8


def cpu(job):
    """Seconds of CPU time, the best of three."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        job()
        taken.append(time.process_time() - start)
    return min(taken)


def flwr():
    """One party of a sum with so many neighbors."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from flwr.common.secure_aggregation.crypto.shamir import create_shares
    from flwr.common.secure_aggregation.crypto.symmetric_encryption import encrypt, generate_shared_key
    from flwr.common.secure_aggregation.secaggplus_utils import pseudo_rand_gen

    own = ec.generate_private_key(ec.SECP384R1())
    others = [ec.generate_private_key(ec.SECP384R1()).public_key() for _ in range(NEIGHBORS)]

    def party():
        for _ in range(2):
            create_shares(bytes(32), THRESHOLD, NEIGHBORS + 1)
        for other in others:
            encrypt(generate_shared_key(own, other), bytes(128))
            pseudo_rand_gen(generate_shared_key(own, other), 1 << 32, [(LENGTH,)])
        pseudo_rand_gen(bytes(32), 1 << 32, [(LENGTH,)])

    return {"version": version("flwr"), "party": cpu(party)}


def phe():
    """Integers under a key of 3072 bits."""
    from phe.paillier import generate_paillier_keypair

    public, _ = generate_paillier_keypair(n_length=3072)

    def encrypt():
        for number in range(ENCRYPTED):
            public.raw_encrypt(number)

    return {"version": version("phe"), "integer": cpu(encrypt) / ENCRYPTED}


if __name__ == "__main__":
    print(json.dumps({"flwr": flwr, "phe": phe}[sys.argv[1]]()))
