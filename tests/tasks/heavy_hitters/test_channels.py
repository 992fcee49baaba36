"""Multiple channels: isolation by a public hash, collisions, and what a channel may spell."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.contract.fragment import Fragment
from deniable.core.run import ask
from deniable.errors import ParameterError
from deniable.tasks.heavy_hitters.multiple_channels import MultipleChannels
from deniable.testing import ReplaySource
from tests.tasks.heavy_hitters.test_segments import found_by


def channel_of(search, value):
    return Fragment(search.domain, 0, 1, hash_bits=search.channel_bits, salt=search.salt).hash(value)


def test_a_question_is_about_channel_and_bit_at_the_full_epsilon():
    search = MultipleChannels(bits=10, k=3, epsilon=1.5, oracle="OUE")
    questions = search.open().questions
    assert [question.name for question in questions] == [f"bit-{i}" for i in range(1, 11)]
    assert all((question.spec.epsilon, question.spec.domain_size) == (1.5, 2 * 64) for question in questions)
    value = 0b1100000001
    for i, question in enumerate(questions):
        assert question.encoder.encode(value, None) == 2 * channel_of(search, value) + (value >> 9 - i & 1)


def test_values_that_share_a_channel_hide_each_other_and_another_salt_parts_them():
    two = MultipleChannels(bits=16, k=2, epsilon=4.0, channel_bits=2)
    first = 0xCAFE
    second = next(value for value in range(1000, 2000) if channel_of(two, value) == channel_of(two, first))
    values = [first] * 12_000 + [second] * 8000
    assert set(found_by(two, values).values) == {first}  # the dominant one
    apart = next(
        search
        for search in (MultipleChannels(bits=16, k=2, epsilon=4.0, channel_bits=2, salt=salt) for salt in range(1, 99))
        if channel_of(search, first) != channel_of(search, second)
    )
    assert list(found_by(apart, values).values) == [first, second]


def test_equal_halves_in_one_channel_spell_nothing_that_is_kept():
    """Where two values tie, their bits are mixed; a mixture hardly ever hashes to the channel that it was found in."""
    search = MultipleChannels(bits=32, k=4, epsilon=8.0)
    first = 0xAAAA_5555
    second = next(value for value in range(10**6) if channel_of(search, value) == channel_of(search, first))
    found = found_by(search, [first] * 20_000 + [second] * 20_000)
    assert set(found.values) <= {first, second}


def test_candidates_hash_to_the_channel_that_they_were_found_in():
    search = MultipleChannels(bits=24, k=3, epsilon=5.0)
    values = np.repeat([3, 70_000, 2**23], 5000)
    after = search.close(ask(search, values, source=ReplaySource.from_key("consistent")))
    assert set(after.state.candidates) >= {3, 70_000, 2**23}
    assert len(after.state.candidates) <= 6
    assert len({channel_of(search, code) for code in after.state.candidates}) == len(after.state.candidates)


def test_there_are_channels_enough():
    assert [MultipleChannels(bits=32, k=k, epsilon=1.0).channel_bits for k in (1, 2, 16, 10**9)] == [2, 4, 10, 15]
    for bad in ({"channel_bits": 0}, {"channel_bits": 24}, {"salt": -1}, {"salt": 2**64}):
        with pytest.raises(ParameterError):
            MultipleChannels(**{"bits": 8, "k": 1, "epsilon": 1.0} | bad)


def test_non_ascii_text_is_spelled_bit_by_bit():
    words = ["日本茶"] * 20_000 + ["é"] * 12_000 + [""] * 8000
    search = MultipleChannels(domain=dn.Text(9), k=3, epsilon=4.0, people=len(words))
    assert search.groups == 72
    assert list(found_by(search, words).values) == ["日本茶", "é", ""]
