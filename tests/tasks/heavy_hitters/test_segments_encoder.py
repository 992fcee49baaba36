"""Segments of codes: the device's encoder, the bulk one, and what both refuse."""

from __future__ import annotations

import pytest

import deniable as dn
from deniable.contract.encoder import encoder_from_json
from deniable.contract.segments import Segments
from deniable.errors import DomainError, ParameterError, WireError
from deniable.testing import ReplaySource


def some_codes(bits):
    source = ReplaySource.from_key("codes")
    return [0, (1 << bits) - 1, *(source.word() >> 64 - bits for _ in range(200))]


@pytest.mark.parametrize(
    ("domain", "values", "parts"),
    [
        (dn.Integers(0, 1), [0, 1], ((0, 1),)),
        (dn.Integers(-500, 499), [-500, 499, 0, -1], ((0, 3), (7, 3))),
        (dn.Integers(0, 2**64 - 1), some_codes(64), ((0, 64),)),
        (dn.Integers(0, 2**64 - 1), some_codes(64), ((60, 4), (0, 20))),
        (dn.Categories("red", "green", "blue"), ["blue", "red"], ((1, 1), (0, 1))),
        (dn.Text(12), ["", "tea", "日本茶", "é"], ((0, 8), (80, 16))),
        (dn.Bytes(3), [b"", b"\x80\x00", b"abc"], ((5, 9), (24, 8))),
    ],
    ids=repr,
)
def test_the_encoder_in_bulk_is_the_device_s(domain, values, parts):
    plain = Segments(domain, parts)
    codes = [plain.encode(value, None) for value in values]
    assert plain.encode_many(values, None).tolist() == codes
    assert max(codes) < plain.size
    some = tuple(sorted(set(codes))[::2])
    listed = Segments(domain, parts, some)
    assert listed.encode_many(values, None).tolist() == [listed.encode(value, None) for value in values]
    assert [listed.encode(value, None) for value in values] == [some.index(code) if code in some else len(some) for code in codes]
    assert plain.encode_many([], None).tolist() == []
    for encoder in (plain, listed):
        assert encoder_from_json(encoder.to_json()) == encoder


def test_the_encoder_refuses_what_it_cannot_do():
    domain = dn.Integers(0, 255)
    for parts in ((), ((0, 9),), ((-1, 2),), ((8, 1),), ((0, 0),), ((True, 1),)):
        with pytest.raises(ParameterError):
            Segments(domain, parts)
    with pytest.raises(ParameterError):
        Segments(dn.Text(20), ((0, 40), (50, 25)))  # 65 bits
    for candidates in ((3, 2), (2, 2), (-1,), (16,)):
        with pytest.raises(ParameterError):
            Segments(domain, ((0, 4),), candidates)
    with pytest.raises(DomainError):
        Segments(domain, ((0, 4),)).encode_many([256], None)
    good = Segments(domain, ((0, 4),), (1, 10)).to_json()
    for name, bad in (("parts", [[0]]), ("parts", 7), ("candidates", ["0a"]), ("candidates", ["x"]), ("candidates", 3), ("domain", 1)):
        with pytest.raises(WireError):
            encoder_from_json({**good, name: bad})
    with pytest.raises(WireError):
        encoder_from_json({**good, "more": 1})
