"""What the tests of one-round searches share: a crowd with planted values, and what every search must keep."""

from __future__ import annotations

from fractions import Fraction

import pytest

import deniable as dn
from deniable.contract.probability import exp_below
from deniable.contract.protocol import protocol_from_json
from deniable.core.run import ask, draw_tickets
from deniable.core.tally import Tally
from deniable.errors import WireError
from deniable.testing import ReplaySource, law_of

PEOPLE = 40_000
HEAVY = [0xDEADBEEF, 7, 2**31, 123_456_789]
SHARES = [0.25, 0.15, 0.1, 0.08]
WORDS = ["tea", "coffee", "maté", ""]


def crowd(heavy, others):
    """The heavy values in their shares, and everyone else with values of their own."""
    counts = [int(share * PEOPLE) for share in SHARES]
    rest = PEOPLE - sum(counts)
    return [value for value, count in zip(heavy, counts, strict=True) for _ in range(count)] + [others(i) for i in range(rest)]


NUMBERS = crowd(HEAVY, lambda i: 10**9 + 65_537 * i)
of_every_kind = pytest.mark.parametrize(
    ("domain", "heavy", "other"),
    [
        (dn.Text(6), WORDS, lambda i: f"w{i % 9000}"),
        (dn.Bytes(4), [b"", b"\x80", b"\x00\x00", b"\xff\xff\xff\xff"], lambda i: (i % 9000).to_bytes(4, "big")),
        (dn.Integers(0, 2**64 - 1), [2**64 - 1, 0, 2**63, 5], lambda i: 2**50 + (i << 20)),
        (dn.Text(12), [word * 2 for word in WORDS], lambda i: f"long{i % 9000}"),
        (dn.Integers(-5, 1000), [-5, 1000, 0, 3], lambda i: i % 900),
    ],
    ids=["text", "bytes", "64 bits", "long text", "an odd range"],
)
"""Text that is not ASCII and the empty one, bytes that look like padding, 64 bits, prefixes of more than 64 bits, odd ranges."""


def finds(search, values, key, heavy, wanted):
    """The first of the planted values, nothing that was not planted, and an honest count of the most frequent."""
    found = search.run(values, source=ReplaySource.from_key(key))
    assert found.values[:wanted] == heavy[:wanted]
    assert set(found.values) <= set(heavy)
    assert found.frequencies[0] == pytest.approx(0.25, abs=5 * float(found.frequency_stderr[0]))
    return found


def keeps_epsilon_exactly(search, values):
    """The law of ticket, encoder and mechanism together, for any two values: at epsilon = 1, and no privacy paid for and left unused."""

    def answer(value, source):
        question = search.question(search.ticket(source))
        return question.name, question.answer(value, source)

    laws = [law_of(lambda source, value=value: answer(value, source)) for value in values]
    assert all(law.total == 1 for law in laws)
    worst = max(a.ratio(b) for a in laws for b in laws)
    assert worst == max(question.spec.ratio for question in search.open().questions)
    assert worst <= exp_below(1.0) * (1 + Fraction(1, 2**40))
    assert search.guarantee.epsilon == 1.0


def resumes(search, values):
    """A search, and the tallies of its round, are the same after they were stored."""
    again = protocol_from_json(search.canonical)
    assert again == search
    assert again.open() == search.open()
    source, other = ReplaySource.from_key("resume"), ReplaySource.from_key("resume")
    direct = search.run(values, source=source)
    tallies = ask(again, values, draw_tickets(again, len(values), other), source=other)
    stored = {name: Tally.from_bytes(tally.to_bytes()) for name, tally in tallies.items()}
    later = protocol_from_json(again.canonical).close(stored)
    assert later.values == direct.values
    assert later.counts.tolist() == direct.counts.tolist()


def refuses_damage(search, *changes):
    """What is written into the JSON of a search and cannot be is refused when it is read."""
    for old, new in changes:
        damaged = search.canonical.replace(old, new)
        assert damaged != search.canonical
        with pytest.raises(WireError):
            protocol_from_json(damaged)


def answers_hardly_anyone(search, value, people):
    """Fewer people than questions: nothing stands out, and the result says so."""
    found = search.run([value] * people, source=ReplaySource.from_key("few"))
    assert len(found.values) == found.counts.size <= 1
    assert found.n <= people
    assert repr(found)
