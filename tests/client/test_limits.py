"""Every limit of the mechanisms' parameters: what lies on it is allowed, what lies one beyond is refused by name. And so it travels."""

from __future__ import annotations

from fractions import Fraction

import pytest

import deniable as dn
from deniable.client.bloom_rr import BloomRR
from deniable.client.chain import exact_share
from deniable.client.frequency import check_crowd
from deniable.client.geometries import best_geometry
from deniable.contract.spec import MECHANISMS, Spec, spec_from_json
from deniable.errors import DeniableError

ONE = 1 << 64
YES, NO, LN_3 = 3 << 62, 1 << 62, 1.0986122886681098


def of(mechanism, parameter, **others):
    given = {"domain_size": 4, "epsilon": 1.0} | others
    return lambda value: MECHANISMS[mechanism](**given | {parameter: value})


def number(mechanism, parameter, **others):
    given = {"low": 0, "high": 1, "steps": 64, "epsilon": 1.0} | others
    return lambda value: MECHANISMS[mechanism](**given | {parameter: value})


def rappor(**changed):
    return dn.RAPPOR.from_probabilities(**{"f": "1/2", "p": "1/2", "q": "3/4", "domain_size": 4, "bits": 8} | changed)


TINY, MOST = Fraction(1, 2**60), 1 - Fraction(1, 2**60)
LIMITS = {
    "RR domain": ("domain", of("RR", "domain_size"), [2], [3]),
    "GRR domain": ("domain", of("GRR", "domain_size"), [2, 2**26], [2**26 + 1]),
    "OUE domain": ("domain", of("OUE", "domain_size"), [2, 2**24], [2**24 + 1]),
    "HRR domain": ("domain", of("HRR", "domain_size"), [2, 2**26], [2**26 + 1]),
    "SHE domain": ("domain", of("SHE", "domain_size", steps=2), [2, 2**16], [2**16 + 1]),
    "RWS domain": ("domain", of("RWS", "domain_size"), [2, 4_294_967_291], [4_294_967_292]),
    "PGR domain": ("domain", of("PGR", "domain_size"), [2, 2**26], [2**26 + 1]),
    "DBitFlip domain": ("domain", of("DBitFlip", "domain_size"), [2, 2**24], [2**24 + 1]),
    "SubsetSelection domain": ("domain", of("SubsetSelection", "domain_size", size=1), [2, 2**24], [2**24 + 1]),
    "HadamardResponse domain": ("domain", of("HadamardResponse", "domain_size"), [2, 2**26], [2**26 + 1]),
    "LongitudinalGRR domain": ("domain", of("LongitudinalGRR", "domain_size"), [2, 2**26], [2**26 + 1]),
    "BloomRR bits": ("bits", of("BloomRR", "bits"), [2, 2**16], [1, 2**16 + 1, True]),
    "BloomRR hashes": ("hashes", of("BloomRR", "hashes"), [1, 32], [0, 33]),
    "BloomRR cohorts": ("cohorts", of("BloomRR", "cohorts", bits=2), [1, 2**16], [0, 2**16 + 1]),
    "BloomRR table": ("cohorts", of("BloomRR", "bits", cohorts=2**16), [4095], [4096]),
    "BloomRR salt": ("salt", of("BloomRR", "salt"), [0, ONE - 1], [-1, ONE]),
    "false positives": ("false_positive", lambda rate: BloomRR.size_for(false_positive=rate), [0.5], [0, 1, True, "0.5"]),
    "hashes for false positives": ("hashes", lambda n: BloomRR.size_for(false_positive=0.5, hashes=n), [1, 32], [0, 33]),
    "bits for false positives": (
        "false_positive", lambda bits: BloomRR.size_for(false_positive=1 / bits, hashes=1), [2, 2**16], [2**16 + 1],
    ),
    "CMS width": ("width", of("CMS", "width", hashes=1), [2, 2**16], [1, 2**26 + 1]),
    "CMS salt": ("salt", of("CMS", "salt"), [0, ONE - 1], [-1, ONE]),
    "CMS hashes": ("hashes", of("CMS", "hashes", width=2**8), [1, 2**20], [0, 2**20 + 1]),
    "CMS table": ("hashes", of("CMS", "hashes", width=2**10), [2**18], [2**18 + 1]),
    "HCMS width": ("width", of("HCMS", "width", hashes=1), [2, 2**26], [0, 1, 3, 2**27]),
    "DBitFlip bits": ("bits", of("DBitFlip", "bits"), [1, 4], [0, 5]),
    "DBitFlipPM gamma": (
        "gamma", lambda gamma: dn.DBitFlipPM.with_gamma(gamma, domain_size=4, epsilon=1.0, bits=2), [0, "1/5"], [-TINY, "1/2"],
    ),
    "OneBitMeanPM gamma": (
        "gamma", lambda gamma: dn.OneBitMeanPM.with_gamma(gamma, low=0, high=9, epsilon=1.0), [0, "1/5"], [-TINY, "1/2"],
    ),
    "HadamardResponse blocks": ("blocks", of("HadamardResponse", "blocks"), [1, 8], [0, 3, 16]),
    "HadamardResponse blocks for three values": ("blocks", of("HadamardResponse", "blocks", domain_size=3), [1, 4], [0, 3, 8]),
    "PGR order": ("order", of("PGR", "order"), [2, 3], [1, 4]),
    "PGR dimension": ("dimension", of("PGR", "dimension"), [2, 3], [1]),
    "PGR points": ("order, dimension", lambda count: best_geometry(count, 1.0, 2, 3), [7], [8]),
    "LongitudinalUnary": ("optimized", of("LongitudinalUnary", "optimized"), [0, 3], [-1, 4]),
    "first epsilon": ("first_epsilon", of("LongitudinalGRR", "first_epsilon"), [0.5], [1.1]),
    "SHE steps": ("steps", of("SHE", "steps"), [2, 2**13], [0, 3, 2**13 + 2]),
    "SubsetSelection size": ("size", of("SubsetSelection", "size"), [1, 3], [0, 4]),
    "THE theta": ("theta", of("THE", "theta"), [0.501, 0.999], [0.5, 1.0]),
    "Piecewise window": ("window", number("Piecewise", "window"), [1, 64], [0, 65]),
    "SquareWave window": ("window", number("SquareWave", "window"), [1, 64], [0, 65]),
    "DiscreteLaplace points": (
        "steps", lambda given: number("DiscreteLaplace", "steps", epsilon=given[1])(given[0]), [(1535, 1.15126)], [(1536, 1.15201)],
    ),  # 2^16 of them, and one more
    "RAPPOR bits": ("bits", lambda bits: rappor(bits=bits), [2, 4096], [1, 4097]),
    "RAPPOR hashes": ("hashes, bits", lambda hashes: rappor(hashes=hashes), [1, 32], [0, 33, True]),
    "RAPPOR f": ("f, p, q", lambda f: rappor(f=f), ["1/100", "999/1000"], [0, 1]),
    "RAPPOR p": ("f, p, q", lambda p: rappor(p=p), ["1/1000", "749/1000"], [0, "3/4"]),
    "RAPPOR q": ("f, p, q", lambda q: rappor(q=q), ["501/1000", "999/1000"], ["1/2", 1]),
    "RR coin": ("coin", lambda coin: dn.RR(epsilon=LN_3, coin=coin), [(YES, NO)], [[YES, NO], (YES,), (YES, NO, NO), (YES, 0.25)]),
    "RR coin's sides": ("coin", lambda side: dn.RR(epsilon=LN_3, coin=(YES, side)), [NO], [0, -1, ONE]),
    "RR p": ("p, q", lambda p: dn.RR.from_probabilities(p, "1/4"), ["3/4"], ["1/4", 1, Fraction(1, 4) + Fraction(1, 2 * ONE)]),
    "RR q": ("p, q", lambda q: dn.RR.from_probabilities("3/4", q), ["1/4"], ["3/4", 0]),
    "a crowd": ("n, f", lambda crowd: check_crowd(*crowd), [(0, 0), (1.5, 1), (9, 0.5)], [(-1, 0), (9, -TINY), (9, 1.01), ("9", 0)]),
    "people of a mean": ("n", dn.Duchi(low=0, high=1, epsilon=1.0).variance, [1], [0, True, 1.5]),
    "values in a lifetime": ("values", dn.LongitudinalGRR(domain_size=4, epsilon=1.0).lifetime_epsilon, [1], [0, True]),
    "a share": ("name", lambda value: exact_share("name", value), [0.5, "1/2", 1], [True, "1/0", "x", None, float("inf")]),
    "words of a seed": ("seed", lambda word: dn.OLH(domain_size=4, epsilon=1.0).law(0, seed=(word, 0)), [0, ONE - 1], [-1, ONE, True]),
    "reports of a law": ("domain_size", lambda size: dn.GRR(domain_size=size, epsilon=1.0).law(0), [2**16], [2**16 + 1]),
    "reports of a number's law": (
        "steps", lambda steps: dn.Piecewise(low=0, high=1, steps=steps, window=2**15, epsilon=1.0).law(0), [2**15], [2**15 + 1],
    ),
    "histories of a law": (
        "values", lambda count: dn.LongitudinalGRR(domain_size=2, epsilon=1.0).history_law([0] * count), [1], [17],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "make", "allowed", "refused"), LIMITS.values(), ids=LIMITS)
def test_a_limit_is_where_it_is_said_to_be(name, make, allowed, refused):
    for value in allowed:
        made = make(value)
        if isinstance(made, Spec):
            assert spec_from_json(made.canonical) == made
    for value in refused:
        with pytest.raises(DeniableError) as caught:
            make(value)
        assert caught.value.parameter == name, value


USUAL = {
    "BloomRR": {"bits": 128, "hashes": 2, "cohorts": 64, "salt": 0},
    "CMS": {"width": 1024, "hashes": 1024, "salt": 0},
    "HCMS": {"width": 1024, "hashes": 1024, "salt": 0},
    "FLH": {"hashes": 65536},
    "DBitFlip": {"bits": 16},
    "LongitudinalUnary": {"optimized": 1, "first_epsilon": 0.5},
    "LongitudinalGRR": {"first_epsilon": 0.5},
    "DBitFlipPM": {"bits": 16, "first_epsilon": 1.0},
    "SHE": {"steps": 64},
    "BLH": {"hash_range": 2},
    "OLH": {"hash_range": 4},
}


@pytest.mark.parametrize("name", USUAL)
def test_what_is_not_said_is_the_documented_usual(name):
    spec = MECHANISMS[name](domain_size=100, epsilon=1.0)
    assert {parameter: getattr(spec, parameter) for parameter in USUAL[name]} == USUAL[name]


def test_the_usual_grids():
    assert [MECHANISMS[name](low=0, high=3, epsilon=1.0).steps for name in ("SquareWave", "Piecewise", "OneBitMeanPM")] == [1023, 32766, 1]
    assert [MECHANISMS["SquareWave"](low=0, high=high, epsilon=1.0).steps for high in (0.5, 1024, 1025)] == [1024, 1024, 1024]
    assert [MECHANISMS["DiscreteLaplace"](low=0, high=1, epsilon=epsilon).steps for epsilon in (0.001, 0.1, 1.0)] == [1, 13, 128]
    assert [dn.SHE(domain_size=2, epsilon=epsilon).steps for epsilon in (1e-6, 0.04, 1.0, 4.0)] == [2, 2, 64, 256]
    signs = dn.SignRR(epsilon=1.0)
    assert (signs.low, signs.high, signs.steps, signs.clip) == (-1, 1, 1, False)
    assert dn.SignRR(epsilon=1.0, clip=True).clip
    assert [dn.THE(domain_size=2, epsilon=epsilon).theta for epsilon in (1e-8, 0.0008, 0.001, 1.0)] == [0.50001, 0.5001, 0.50014, 0.61855]
