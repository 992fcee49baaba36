"""Every limit of the contract, as it is written down: what lies on it is allowed, what lies one beyond is refused by name."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

import deniable as dn
from deniable.contract.batch import Manifest
from deniable.contract.canonical import canonical_json, number
from deniable.contract.cells import Cell
from deniable.contract.clusters import ClusterSide
from deniable.contract.domain import Bytes, Categories, IndexRange, Integers, Text
from deniable.contract.encoder import Prefix
from deniable.contract.envelope import Envelope
from deniable.contract.features import Features
from deniable.contract.fragment import Fragment
from deniable.contract.gradient import Gradient
from deniable.contract.hashing import HashFamily
from deniable.contract.lines import Interval, Parity
from deniable.contract.mixing import Relay, Threshold
from deniable.contract.notice import KeyNotice
from deniable.contract.numbers import Numbers, exact_number
from deniable.contract.probability import check_epsilon, check_resolution
from deniable.contract.question import Round, read_share
from deniable.contract.ratings import Rated, RatingGradient
from deniable.contract.sealed import Outer, open_seals, pack_seals
from deniable.contract.segments import Segments
from deniable.contract.sets import HeldCount, Overflow, PadAndSample, SetCode
from deniable.contract.subsets import Subsets
from deniable.contract.tracks import DrawnMove, MoveCount, Track
from deniable.contract.wire import Column, read_image, write_image
from deniable.contract.work import Work
from deniable.errors import DeniableError
from tests.contract.test_mixing import MIXING
from tests.contract.test_task import TASK, WITH_TOKENS

MANIFEST = Manifest(batch=bytes(16), task=bytes(32), period=0, count=1, size=1, items=bytes(32))
BYTE, AGE = Integers(0, 255), Features.of({"age": (0, 120)})
QUESTION = dn.Question(name="a", spec=dn.RR(epsilon=1.0))
NINE = Subsets(IndexRange(9))
SIDE = ClusterSide(AGE, centers=((0,),), coordinate=0)
ILL = Gradient(AGE, "ill", Categories("no", "yes"), weights=(0, 0), coordinate=0)
CUT = Fragment(BYTE, 0, 1)
LONG = Fragment(Bytes(20), 0, 1)
NOTICE = KeyNotice(role="analyst", public=bytes(32), start=0, end=1)
OUTER = Outer(bytes(32), b"", b"", b"")
OVERFLOW = Overflow(NINE, 1, ((3,),))
STARS = Numbers(1, 5, steps=4096)
FILM = RatingGradient(Rated(1, STARS), 0, ((0,),), 0)
ONE_DAY = replace(WITH_TOKENS, end=TASK.start + 86_400, period=3600, late=0, retention=2)


def changed(thing, name):
    return lambda value: replace(thing, **{name: value})


def features(count):
    return Features(tuple((f"f{i}", AGE.columns[0][1]) for i in range(count)))


def singles(count):
    return tuple((i,) for i in range(count))


def labels(count):
    return tuple(str(i) for i in range(count))


def relays(count):
    return tuple(Relay(f"https://{i}.example.org", bytes([i]) * 32) for i in range(count))


def stratified(count):
    return replace(TASK, strata=(("a", labels(256)), ("b", labels(count))))


LIMITS = {
    "manifest count": ("count", changed(MANIFEST, "count"), [1, 2**17], [0, 2**17 + 1, True]),
    "manifest size": ("size", changed(MANIFEST, "size"), [1, 2**17], [0, 2**17 + 1]),
    "manifest period": ("period", changed(MANIFEST, "period"), [0, 2**32 - 1], [-1, 2**32]),
    "manifest batch": ("batch", changed(MANIFEST, "batch"), [bytes(16)], [bytes(15), bytes(17), "0" * 16]),
    "manifest task": ("task", changed(MANIFEST, "task"), [bytes(32)], [bytes(31), bytes(33)]),
    "manifest items": ("items", changed(MANIFEST, "items"), [bytes(32)], [bytes(31), bytes(33)]),
    "index": ("domain_size", IndexRange, [2, 2**64], [1, 2**64 + 1]),
    "index key": ("value", IndexRange(4).key, [0, 3], [-1, 4, True]),
    "integers": (
        "low, high", lambda ends: Integers(*ends),
        [(5, 6), (-(2**63), 2**63 - 1), (0, 2**64 - 1)], [(5, 5), (-(2**63) - 1, 0), (1, 2**64), (-1, 2**64 - 1)],
    ),
    "integers key": ("value", Integers(-5, 5).key, [-5, 5], [-6, 6]),
    "categories": ("labels", lambda count: Categories(*labels(count)), [2], [0, 1]),
    "bytes": ("max_length", Bytes, [1, 65535], [0, 65536]),
    "bytes key": ("value", Bytes(4).key, [b"", b"1234"], [b"12345"]),
    "text key": ("value", Text(4).key, ["", "éé"], ["ééa", "12345"]),
    "numbers": (
        "low, high", lambda ends: Numbers(*ends),
        [(1 - 2**500, 2**500 - 1), (0, Fraction(1, 2**500))], [(-(2**500), 0), (0, 2**500), (0, Fraction(1, 2**500 + 1)), (1, 1)],
    ),
    "numbers steps": ("steps", lambda steps: Numbers(0, 1, steps), [1, 65536], [0, 65537]),
    "hash range": ("hash_range", lambda size: HashFamily(key_bits=8, range=size), [2, 2**31], [1, 2**31 + 1]),
    "prefix": ("length", lambda length: Prefix(BYTE, length), [1, 8], [0, 9]),
    "prefix candidates": ("candidates", lambda listed: Prefix(BYTE, 4, listed), [(), (0, 15)], [(-1, 3), (16,), (3, 3), (4, 3)]),
    "segments": (
        "parts", lambda parts: Segments(Bytes(20), parts),
        [((167, 1),), ((0, 60), (9, 4))], [(), ((168, 1),), ((0, 0),), ((-1, 2),), ((0, 65),)],
    ),
    "segments candidates": ("candidates", lambda listed: Segments(BYTE, ((0, 4),), listed), [(), (0, 15)], [(-1, 3), (16,), (3, 3)]),
    "fragment start": ("start", changed(CUT, "start"), [0, 7], [-1, 8]),
    "fragment length": ("length", changed(CUT, "length"), [1, 8], [0, 9]),
    "fragment and hash": ("length", lambda length: replace(LONG, hash_bits=31, length=length), [1, 33], [0, 34]),
    "fragment hash": ("hash_bits", changed(CUT, "hash_bits"), [0, 31], [-1, 32]),
    "fragment salt": ("salt", changed(CUT, "salt"), [0, 2**64 - 1], [-1, 2**64]),
    "fragment function": ("function", changed(CUT, "function"), [0, 2**64 - 1], [-1, 2**64]),
    "cells": ("columns", lambda last: Cell((("a", IndexRange(2**16)), ("b", IndexRange(last)))), [2**15], [2**15 + 1]),
    "cell masks": ("masks", lambda mask: Cell((("a", BYTE),), (mask,)), [1, 255], [0, 256]),
    "features": ("features", features, [1, 256], [0, 257]),
    "clip": ("clip", changed(SIDE, "clip"), [0, 8], [-1, 9]),
    "side coordinate": ("coordinate", changed(SIDE, "coordinate"), [0], [-1, 1]),
    "centers": ("centers", lambda count: replace(SIDE, centers=((0,),) * count), [1, 256], [0, 257]),
    "centers in a tuple": ("centers", lambda centers: replace(SIDE, centers=centers), [((0,),)], [7, [(0,)]]),
    "center": ("centers", lambda place: replace(SIDE, centers=((place,),)), [-2048, 2048], [-2049, 2049]),
    "gradient coordinate": ("coordinate", changed(ILL, "coordinate"), [0, 1], [-1, 2]),
    "weights": ("weights", lambda weight: replace(ILL, weights=(0, weight)), [-(2**20), 2**20], [-(2**20) - 1, 2**20 + 1]),
    "starts": ("starts", lambda starts: Interval(BYTE, starts), [(0,), (0, 255)], [(), (1,), (0, 256), (0, 3, 3)]),
    "mask": ("mask", lambda mask: Parity(BYTE, mask), [1, 255], [0, 256]),
    "padding": ("length", lambda length: PadAndSample(NINE, length), [1, 2**16], [0, 2**16 + 1]),
    "items of candidates": ("candidates", lambda keys: HeldCount(NINE, (keys,)), [(0,), (0, 8)], [(), (-1,), (9,), (3, 3), (4, 3)]),
    "candidates to pad": ("candidates", lambda count: PadAndSample(Subsets(IndexRange(2**17)), 1, singles(count)), [0, 2**16], [2**16 + 1]),
    "candidates to count": ("candidates", lambda count: HeldCount(NINE, singles(count)), [1, 9], [0, 10]),
    "candidates to leave out": ("candidates", lambda count: replace(OVERFLOW, candidates=singles(count)), [1], [0]),
    "candidates in order": ("candidates", lambda listed: HeldCount(NINE, listed), [((1,), (1, 2))], [((1,), (1,)), ((2,), (1,))]),
    "set code": ("domain", lambda count: SetCode(Subsets(IndexRange(count))), [24], [25]),
    "items": ("items", lambda count: Subsets(IndexRange(count)), [2**26], [2**26 + 1]),
    "track cells": ("cells", Track, [2, 16777216], [1, 16777217]),
    "moves": ("longest", lambda longest: MoveCount(Track(2), longest), [1, 1048576], [0, 1048577]),
    "reach": ("reach", lambda reach: DrawnMove(Track(4), 2, reach), [1, 64], [0, 65]),
    "columns of cells": ("columns", lambda columns: DrawnMove(Track(4), columns, 1), [1, 2, 4], [0, 3, 5]),
    "rated items": ("items", lambda count: Rated(count, STARS), [1, 4096], [0, 4097]),
    "an item's name": ("value", lambda name: Rated(4096, STARS).points({name: 5}), [0, "0", 4095, "4095"], [-1, 4096, "4096", "04095", ""]),
    "a model's width": ("model", lambda width: replace(FILM, model=((0,) * width,)), [1, 17], [0, 18]),
    "a model's rows": ("model", lambda count: replace(FILM, model=((0,),) * count), [1], [0, 2]),
    "notice": (
        "start, end", lambda ends: replace(NOTICE, start=ends[0], end=ends[1]),
        [(0, 1), (2**40 - 1, 2**40)], [(-1, 1), (1, 1), (0, 2**40 + 1)],
    ),
    "notice public": ("public", changed(NOTICE, "public"), [bytes(32)], [bytes(31), bytes(33)]),
    "mixing minimum": ("minimum", changed(MIXING, "minimum"), [2, 65535], [1, 65536]),
    "mixing size": ("size", changed(MIXING, "size"), [64, 65536], [63, 65537]),
    "mixing shufflers": ("shufflers", lambda count: replace(MIXING, shufflers=relays(count)), [1, 8], [0, 9]),
    "mixing honest": ("honest", changed(MIXING, "honest"), ["1", "1/2"], ["0", "2"]),
    "relay key": ("key", lambda count: Relay("https://a.org", bytes(count)), [32], [31, 33]),
    "threshold": ("threshold minimum", lambda least: Threshold(minimum=least, sigma="1"), [1, 2**17], [0, 2**17 + 1]),
    "sigma": (
        "threshold sigma", lambda sigma: Threshold(minimum=1, sigma=sigma),
        ["999999", "0.000001"], ["1000000", "0.0000001", "0", "1.0", "00.1"],
    ),
    "task name": ("name", changed(TASK, "name"), ["a", "a" * 64, "a-b"], ["", "a" * 65, "-a", "a-", "A"]),
    "task text": ("question", changed(TASK, "question"), ["?", "?" * 4096], ["", "?" * 4097]),
    "task end": ("end", lambda end: replace(TASK, start=1, period=1, end=end), [2, 2**40], [2**40 + 1]),
    "task times": (
        "start, end, period", lambda times: replace(TASK, start=times[0], end=times[1], period=times[2]),
        [(0, 9, 9), (0, 1, 1)], [(0, 9, 10), (0, 9, 0), (9, 9, 1), (9, 8, 1)],
    ),
    "task batch": ("minimum_batch", changed(TASK, "minimum_batch"), [1], [0]),
    "task answers": ("answers", changed(TASK, "answers"), [1], [0]),
    "task answers in a period": ("answers_per_period", changed(TASK, "answers_per_period"), [1], [0]),
    "task late": ("late", changed(TASK, "late"), [0], [-1]),
    "task retention": ("retention", changed(TASK, "retention"), [0], [-1]),
    "task key": ("key", changed(TASK, "key"), [bytes(32)], [bytes(31), bytes(33)]),
    "task strata": ("strata", stratified, [2, 256], [0, 1, 257]),
    "tokens": ("answers", changed(WITH_TOKENS, "answers"), [1, 366], [367]),
    "issuer": (
        "issuer", changed(WITH_TOKENS, "issuer"),
        [b"\x80" + bytes(254) + b"\x01", b"\xff" * 256], [b"\x7f" + b"\xff" * 255, b"\xff" * 255 + b"\xfe", b"\xff" * 255, b"\xff" * 257],
    ),
    "reports that are kept": ("retention", changed(ONE_DAY, "retention"), [2, 3], [1, 0]),
    "reports that are kept for those who are late": ("retention", lambda late: replace(ONE_DAY, late=late), [0], [1]),
    "reports of one period": ("retention", lambda period: replace(ONE_DAY, retention=0, period=period), [86_400], [86_399]),
    "epsilon": ("epsilon", check_epsilon, [1e-8, 30.0], [0.99e-8, 30.000001, 0.0, -1.0, float("inf"), float("nan"), True]),
    "resolution": ("epsilon", lambda effective: check_resolution(1.0, effective), [1.0, 1 - 0.9e-9], [1 + 1e-12, 1 - 1.1e-9, 0.0]),
    "scale": ("shares", lambda scale: Round((replace(QUESTION, share=Fraction(1, scale)),)), [2**32], [2**32 + 1]),
    "share of a question": ("share", changed(QUESTION, "share"), [Fraction(1, 99), Fraction(1)], [Fraction(0), Fraction(3, 2), 1]),
    "share": ("share", read_share, ["0", "1", "9999999999/9999999999"], ["10000000000", "1/10000000000", "1/0", "01", "-1", "1e3", ""]),
    "envelope question": ("envelope", lambda question: Envelope(bytes(32), 0, question, 0, bytes(16), b"").pack(), [0, 65535], [-1, 65536]),
    "outer route": ("outer", lambda count: OUTER._replace(route=bytes(count)).pack(), [32], [31, 33]),
    "outer token": ("outer", lambda count: OUTER._replace(token=bytes(count)).pack(), [0, 65535], [65536]),
    "outer crowd": ("outer", lambda count: OUTER._replace(crowd=bytes(count)).pack(), [0, 32], [33]),
    "seal": ("seal", lambda count: open_seals(pack_seals([bytes(count)])), [93, 2**17], [92, 2**17 + 1]),
    "seals": ("seal", lambda count: open_seals(pack_seals([bytes(93)] * count), most=2), [0, 2], [3]),
}  # fmt: skip


@pytest.mark.parametrize(("name", "make", "allowed", "refused"), LIMITS.values(), ids=LIMITS)
def test_a_limit_is_where_it_is_said_to_be(name, make, allowed, refused):
    for value in allowed:
        make(value)
    for value in refused:
        with pytest.raises(DeniableError) as caught:
            make(value)
        assert caught.value.parameter == name, value


def test_integers_are_text_from_where_javascript_would_round_them():
    assert [number(value) for value in (2**53 - 1, 1 - 2**53)] == [2**53 - 1, 1 - 2**53]
    assert [number(value) for value in (2**53, -(2**53))] == [str(2**53), str(-(2**53))]
    for value in (2**53, -(2**53)):
        with pytest.raises(ValueError, match="no canonical form"):
            canonical_json([value])


def test_numbers_that_would_fill_the_memory_are_none():
    allowed = [2**2200 - 1, Fraction(1, 2**2200 - 1), Decimal("1e550"), Decimal("1e-550"), Decimal("0." + "1" * 550)]
    assert [exact_number(value) for value in allowed] == [Fraction(value) for value in allowed]
    for value in (2**2200, Fraction(1, 2**2200), Decimal("1e551"), Decimal("1e-551"), Decimal("1." + "1" * 550), Decimal("inf"), True):
        assert exact_number(value) is None


@pytest.mark.parametrize(
    ("limit", "bits"), [(2, 8), (256, 8), (257, 16), (2**16, 16), (2**16 + 1, 32), (2**32, 32), (2**32 + 1, 64), (2**64, 64)]
)
def test_a_column_is_as_narrow_as_its_items(limit, bits):
    column = Column("symbol", limit, 3)
    assert (column.bits, column.row_bytes, column.information) == (bits, 3 * bits // 8, 3 * (limit - 1).bit_length())


def test_an_image_may_end_with_its_spec():
    assert read_image(1, write_image(1, b"spec", 0, b"")) == (b"spec", 0, b"")


@pytest.mark.parametrize(("place", "limit"), [("bytes", 2**28), ("steps", 10**10)])
def test_work_is_heavy_beyond_either_limit(place, limit):
    little = Work(bytes=0, steps=0)
    assert [little._replace(**{place: amount}).heavy for amount in (0, limit, limit + 1)] == [False, False, True]
