"""What counting costs a server, in steps. Rough figures, good enough to see what is out of reach.

A step is about a nanosecond of the bulk kernels on two cores.
"""

from __future__ import annotations

from deniable.client.frequency import FrequencySpec
from deniable.contract.domain import Domain
from deniable.local.frequency.oracle import LARGEST_LISTING

CANDIDATES = 10_000
"""How many values are asked about, for want of a better guess, where the domain is too large to list."""


def asked(domain: Domain) -> int:
    """How many values a collector asks about: all that can be listed, or some candidates."""
    return domain.size if domain.listed and domain.size <= LARGEST_LISTING else CANDIDATES


def server_work(spec: FrequencySpec, n: int) -> int:
    """Steps to estimate every value, or every candidate, from n reports.

    >>> from deniable.client import GRR, HRR, OLH, OUE
    >>> [server_work(oracle(domain_size=1000, epsilon=1.0), 10**6) for oracle in (GRR, HRR, OUE, OLH)]
    [1001000, 2022528, 63001000, 125001000]
    """
    return tally_work(spec, n) + finish_work(spec)


def tally_work(spec: FrequencySpec, n: int) -> int:
    """The part that grows with the reports."""
    return spec.tally_steps(n, asked(spec.domain))


def finish_work(spec: FrequencySpec) -> int:
    """The part that is done once: what turns the counters into counts."""
    return spec.finishing(asked(spec.domain)).steps
