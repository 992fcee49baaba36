"""What counting costs: random words on a device, steps on a server. Rough figures, good enough to see what is out of reach.

A step is about a nanosecond of the bulk kernels on two cores.
"""

from __future__ import annotations

from deniable.client.frequency import FrequencySpec
from deniable.client.rws import RWS
from deniable.contract.domain import Domain
from deniable.local.frequency.oracle import LARGEST_LISTING

CANDIDATES = 10_000
"""How many values are asked about, for want of a better guess, where the domain is too large to list."""


def asked(domain: Domain) -> int:
    """How many values a collector asks about: all that can be listed, or some candidates."""
    return domain.size if domain.listed and domain.size <= LARGEST_LISTING else CANDIDATES


def device_work(spec: FrequencySpec) -> int:
    """Random words behind one report: one for each number in it, 7.3 for each 64 noisy bits.

    >>> from deniable.client import GRR, OLH, OUE
    >>> [device_work(oracle(domain_size=1000, epsilon=1.0)) for oracle in (GRR, OUE, OLH)]
    [1, 115, 3]
    """
    return sum(-(-73 * column.count // 640) if column.packed else column.count for column in spec.layout)


def server_work(spec: FrequencySpec, n: int) -> int:
    """Steps to estimate every value, or every candidate, from n reports.

    >>> from deniable.client import GRR, HRR, OLH, OUE
    >>> [server_work(oracle(domain_size=1000, epsilon=1.0), 10**6) for oracle in (GRR, HRR, OUE, OLH)]
    [1001000, 2022528, 63001000, 125001000]
    """
    return tally_work(spec, n) + finish_work(spec)


def tally_work(spec: FrequencySpec, n: int) -> int:
    """The part that grows with the reports: each one is added up, walked along, or compared with the candidates."""
    values = asked(spec.domain)
    if isinstance(spec, RWS) and values == spec.domain_size:
        return n + min(n * spec.size, 2 * spec.modulus**2)  # the members of each report, or once around for every step
    if spec.candidates_at_tally:
        return n * -(-values // 8)  # eight at a time
    return n * sum(-(-column.count // 16) if column.packed else column.count for column in spec.layout)  # sixteen bits at a time


def finish_work(spec: FrequencySpec) -> int:
    """The part that is done once: what turns the counters into counts."""
    return spec.finishing(asked(spec.domain)).steps
