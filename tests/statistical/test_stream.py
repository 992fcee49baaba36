"""The secure stream and the kernels' draws, tested at alpha = 1e-6 on fixed keys, with twins that must be rejected."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deniable.core.stream import SecureStream
from deniable.kernels.sampling import fill_below

ALPHA = 1e-6


def words(key, chunk, count):
    buffer = np.empty(count, dtype=np.uint64)
    assert SecureStream(key, chunk).fill(buffer.data) == count
    return buffer


def test_the_stream_is_aes_counter_mode():
    """FIPS-197 and SP 800-38A: the first block of chunk i is the AES-256 encryption of i 2^64, as two little-endian words."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = bytes(range(32))
    for chunk in (0, 1, 7):
        block = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(chunk.to_bytes(8, "big") + bytes(8))  # one block
        assert words(key, chunk, 2).tobytes() == block
    assert words(bytes(range(32)), 0, 2).astype("<u8").tobytes().hex() == "f29000b62a499fd0a9f39a6add2e7780"


def test_fill_is_seamless_across_buffers():
    whole = words(bytes(32), 3, 20_000)
    stream, parts = SecureStream(bytes(32), 3), []
    for size in (1, 8191, 8192, 1000, 2616):
        part = np.empty(size, dtype=np.uint64)
        stream.fill(part.data)
        parts.append(part)
    assert np.array_equal(np.concatenate(parts), whole)
    assert SecureStream(bytes(32), 3).words(4) == tuple(whole[:4].tolist())


def test_every_bit_of_a_word_is_fair():
    drawn = words(b"k" * 32, 0, 1 << 17)
    ones = [int(((drawn >> np.uint64(bit)) & np.uint64(1)).sum()) for bit in range(64)]
    assert min(stats.binomtest(count, drawn.size).pvalue for count in ones) > ALPHA / 64
    stuck = int(((drawn | np.uint64(1)) & np.uint64(1)).sum())  # twin: the lowest bit always set
    assert stats.binomtest(stuck, drawn.size).pvalue < ALPHA


@pytest.mark.parametrize("count", [3, 10, 1000])
def test_below_is_uniform(count):
    out = np.empty(100_000, dtype=np.uint32)
    assert fill_below(np.uint64(count), out, words(b"b" * 32, 0, 110_000))[0] == out.size
    seen = np.bincount(out, minlength=count)
    assert stats.chisquare(seen).pvalue > ALPHA
    twin = np.bincount(np.minimum(out, 9 * (count - 1) // 10), minlength=count)  # twin: the last tenth never drawn
    assert stats.chisquare(twin).pvalue < ALPHA
