"""What docs/comparison.md says of the other libraries, shown by running them: ``.venv/bin/python benchmarks/peer_claims.py``.

Each library runs in its environment of ``environments.py``; what was installed prints its version. A claim is a sentence and whether it
was found to be so. The exit status is 1 if any was not: then the page has to change.
"""

import json
import math
import subprocess
import sys
import warnings
from importlib.metadata import version

from environments import python_of

DRAWS = 4000
FRESH = {
    "pure-ldp": ("import pure_ldp.frequency_oracles", "No module named 'sklearn'"),
    "multi-freq-ldpy": ("from multi_freq_ldpy.pure_frequency_oracles.LH import *; LH_Client(1, 8, 1.0)", "Strings must be encoded"),
}
"""A first program, and its complaint if the newest versions of all that a library asks for are installed; the others run as they are."""


def pure_ldp():
    import random

    import numpy as np
    from pure_ldp.frequency_oracles import RAPPORClient, RAPPORServer, UEClient

    hashes = RAPPORServer(0.5, 128, 2, 64, num_of_cohorts=8, index_mapper=int).get_hash_funcs()
    client, sent = RAPPORClient(0.5, 128, hashes, 8, index_mapper=int), []
    for _ in range(DRAWS):
        bits, cohort = client.privatise(5)
        sent += [bits[place(str(5))] for place in hashes[cohort]]
    yield "RAPPORClient never clears a set bit, so that its epsilon is infinite", min(sent) == 1

    def seeded():
        random.seed(1), np.random.seed(1)
        return UEClient(1.0, 64, use_oue=True, index_mapper=int).privatise(3).tolist()

    yield "whoever knows the seed of the process knows the noise", seeded() == seeded()


def multi_freq_ldpy():
    import numpy as np
    from multi_freq_ldpy.long_freq_est.L_SUE import L_SUE_Client
    from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.Variance_PURE import VAR_Pure

    first = np.mean([SS_Client(5, 64, 1.0)[0] == 5 for _ in range(DRAWS)])
    yield (
        "SS_Client puts the true value first when it is in the set: a set of 17 of 64 at epsilon 1 starts with it half the time",
        first > 0.4,
    )
    means = np.mean([L_SUE_Client(5, 8, 1.0, 0.5) for _ in range(DRAWS)], axis=0)
    yield "L_SUE_Client draws its permanent answer anew in each call, so that repeated reports give the value away", means.argmax() == 5
    same, others = (sum(RSpFD_GRR_Client(record, [2, 2, 2], 3, 1.0) == [0, 0, 0] for _ in range(DRAWS)) for record in ([0] * 3, [1] * 3))
    yield (
        "RS+FD of three attributes at epsilon 1: a report is more than 3.7 times as likely under one record as under another",
        same > 3.7 * others,
    )
    people, share = 10_000, 0.226
    values = [0 if i < share * people else 1 + i % 127 for i in range(people)]
    found = [GRR_Aggregator_MI([GRR_Client(value, 128, 1.0) for value in values], 128, 1.0)[0] for _ in range(10)]
    p = math.e / (math.e + 127)
    stated = VAR_Pure(p, (1 - p) / 127, people, share) ** 0.5 / 10**0.5
    off = share - np.mean(found)
    yield f"estimates are clipped and scaled: GRR's mean of ten runs is {off / stated:.0f} stated standard errors too low", off > 5 * stated


def opendp():
    import opendp.prelude as dp

    try:
        dp.m.make_randomized_response_bool(0.75)
        yield "constructors that were not vetted ask for the flag contrib", False
    except dp.OpenDPException as error:
        yield "constructors that were not vetted ask for the flag contrib", "contrib" in str(error)
    dp.enable_features("contrib")
    bits = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)
    yield "randomized_response_bitvec shows the length of its input (opendp#2930)", [len(bits(b"\x01")), len(bits(b"\x01\x00"))] == [1, 2]
    local = [name for name in dir(dp.m) if name.startswith("make_randomized_response")]
    yield f"{len(local)} mechanisms of the local model", len(local) == 3
    combined = {"make_privacy_filter", "make_fully_adaptive_composition"} <= set(dir(dp.c))
    yield "privacy filters and odometers keep a curator's budget", combined


def flwr():
    import numpy as np
    from flwr.clientapp.mod import LocalDpMod
    from flwr.supercore.differential_privacy import add_gaussian_noise_inplace
    from flwr.supercore.privacy_accounting import PrivacyAccountant

    def seeded():
        np.random.seed(1)
        noise = [np.zeros(8)]
        add_gaussian_noise_inplace(noise, 1.0)
        return noise[0].tolist()

    yield "noise comes from NumPy's global generator", seeded() == seeded()
    LocalDpMod(1.0, 1.0, epsilon=0.0, delta=0.0)
    yield "the local mod takes epsilon 0 and delta 0", True
    yield "an accountant says whether a round would exceed an epsilon", hasattr(PrivacyAccountant, "would_exceed")


SHOWN = {"pure-ldp": pure_ldp, "multi-freq-ldpy": multi_freq_ldpy, "opendp": opendp, "flwr": flwr}


def main():
    """Run each library's claims in its environment, and print them."""
    right = True
    for library in SHOWN:
        done = subprocess.run([python_of(library), __file__, library], capture_output=True, text=True, check=True)
        result = json.loads(done.stdout.splitlines()[-1])
        print(f"{library} {result['version']}")
        for claim, so in [*fresh(library), *result["claims"]]:
            print(f"  {'so' if so else 'NOT SO'}: {claim}")
            right &= so
    sys.exit(not right)


def fresh(library):
    """What happens without the pins that our benchmarks need."""
    for program, complaint in [FRESH[library]] if library in FRESH else []:
        done = subprocess.run([python_of("fresh"), "-c", program], capture_output=True, text=True, check=False)
        yield f"a fresh installation fails: {complaint}", complaint in done.stderr


if __name__ == "__main__":
    if len(sys.argv) > 1:
        warnings.simplefilter("ignore")
        claims = [[claim, bool(so)] for claim, so in SHOWN[sys.argv[1]]()]
        print(json.dumps({"version": version(sys.argv[1]), "claims": claims}))
    else:
        main()
