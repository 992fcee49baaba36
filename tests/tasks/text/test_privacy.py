"""What a text costs, exactly: every branch of what devices draw and report, on tiny vocabularies; and twins that break the promise."""

from __future__ import annotations

from itertools import product

import pytest

from deniable.contract.probability import exp_below
from deniable.tasks.text import Bigrams, NewWords, Terms, WordPairs
from deniable.testing import law_of

EPSILON = 1.0
TEXTS = [" ".join(words) for length in range(4) for words in product(("a", "b", "other"), repeat=length)]
"""Every text of up to three words, two of them known; the empty one too."""


def laws_of(answer, texts=TEXTS):
    return [law_of(lambda source, text=text: answer(text, source)) for text in texts]


def worst(laws):
    """The largest ratio of any report's probabilities; None where some report is possible for one text only."""
    ratios = [one.ratio(other) for one in laws for other in laws]
    return None if None in ratios else max(ratios)


@pytest.mark.parametrize("asking", [Bigrams, Terms, WordPairs], ids=["bigrams", "terms", "pairs"])
@pytest.mark.parametrize("oracle", ["GRR", "OUE"])
def test_a_whole_text_costs_epsilon_however_long(asking, oracle):
    asked = asking(vocabulary=["a", "b"], epsilon=EPSILON, oracle=oracle)
    question = asked.open().questions[0]
    laws = laws_of(question.answer, TEXTS[::3] if oracle == "OUE" else TEXTS)
    assert all(law.total == 1 for law in laws)
    assert 2.7 < worst(laws) <= exp_below(EPSILON)
    assert (asked.guarantee.epsilon, asked.guarantee.neighbors) == (EPSILON, "any two texts of one person")


def searching():
    return NewWords(known=["other"], longest=1, k=1, epsilon=EPSILON, oracle="GRR", people=10)


def test_a_search_costs_epsilon_whether_there_is_anything_new_or_not():
    asked = searching()
    [question] = asked.open().questions
    laws = laws_of(question.answer, TEXTS[::2])
    assert all(law.total == 1 for law in laws)
    assert 2.7 < worst(laws) <= exp_below(EPSILON)
    assert asked.guarantee.epsilon == EPSILON


def test_a_twin_that_stays_silent_without_anything_new_tells_everything():
    asked = searching()
    [question] = asked.open().questions

    def silent(text, source):
        drawn = question.encoder.draw(text, source)
        return question.spec.randomize(question.encoder.prefix.encode(drawn, source), source) if drawn else "silence"

    assert worst(laws_of(silent, ["other", "a"])) is None
    assert worst(laws_of(silent, ["b", "a"])) <= exp_below(EPSILON)  # among those who speak nothing is wrong: the silence is


def test_a_twin_that_reports_every_pair_with_the_whole_epsilon_is_caught():
    [question] = Bigrams(vocabulary=["a", "b"], epsilon=EPSILON, oracle="GRR").open().questions

    def every_pair(text, source):
        words = text.split()
        return tuple(question.answer(words[place : place + 2], source) for place in range(len(words) - 1))

    found = worst(laws_of(every_pair, ["a a a", "b b b"]))
    assert exp_below(1.99) < found <= exp_below(2 * EPSILON)  # two pairs cost twice
