"""Questions about texts as protocols: written and read back, walked through by devices one by one, and refused where they cannot be."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from deniable.client.answerable import protocol_domain, takes_all
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.core.declared_protocol import settings_of
from deniable.core.run import ask, draw_tickets
from deniable.errors import DomainError, ParameterError, WireError
from deniable.tasks.heavy_hitters.pem import PEM, PEMState
from deniable.tasks.text import Bigrams, NewWords, NextWords, Terms, WordPairs
from deniable.testing import ReplaySource

VOCABULARY = ["good", "morning", "night"]
PROTOCOLS = {
    "terms": Terms(vocabulary=VOCABULARY, epsilon=2.0, people=400),
    "terms in a row": Terms(vocabulary=["good night"], epsilon=2.0, people=400, ngram=2, oracle="GRR"),
    "next words": Bigrams(vocabulary=VOCABULARY, epsilon=2.0, people=400),
    "word pairs": WordPairs(vocabulary=VOCABULARY, epsilon=2.0, people=400, oracle="OUE"),
    "new words": NewWords(known=["good"], longest=7, k=2, epsilon=4.0, people=400),
    "new words by hashing": NewWords(longest=9, k=1, epsilon=3.0, people=400, oracle="OLH", ngram=2),
    "lists of words": Terms(vocabulary=["Tea", "e-mail"], epsilon=2.0, people=400),
}
TEXTS = ["Good morning!", "good night", "night, good night", "hello", "", "good old morning"] * 60
LISTS = [["Tea"], [], ["e-mail", "Tea", "tea"]] * 120


def crowd(name):
    return LISTS if name == "lists of words" else TEXTS


@pytest.mark.parametrize("name", PROTOCOLS)
def test_devices_one_by_one_give_what_the_crowd_in_memory_gives(name):
    """In every round, from one stream of random words: first what everybody draws, then everybody's noise, so question by question."""
    state, people = PROTOCOLS[name], crowd(name)
    tickets = draw_tickets(state, len(people), ReplaySource.from_key("tickets"))
    rounds = 0
    while isinstance(state, Protocol):
        assert protocol_from_json(state.canonical) == state
        one, many = ReplaySource.from_key(f"round {rounds}"), ReplaySource.from_key(f"round {rounds}")
        expected = ask(state, people, tickets, source=many)
        tallies = {}
        for question in state.open().questions:
            assert takes_all(question, protocol_domain(state.canonical))
            asked = [people[i] for i, ticket in enumerate(tickets) if state.question(int(ticket)) == question]
            inputs = [question.encoder.encode(text, one) for text in asked]
            reports = [question.spec.randomize(held, one) for held in inputs]
            named = question.candidates if question.spec.candidates_at_tally else None
            tallies[question.name] = question.spec.tally(reports, candidates=named)
        assert {name: tally.to_bytes() for name, tally in tallies.items()} == {name: tally.to_bytes() for name, tally in expected.items()}
        state, rounds = state.close(tallies), rounds + 1
    assert rounds == (len(PROTOCOLS[name].lengths) if isinstance(PROTOCOLS[name], NewWords) else 1)
    assert state.guarantee == PROTOCOLS[name].guarantee
    assert state.n <= len(people)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_walk_like_a_collector_s_ends_in_the_same_kind_of_result(name):
    """Every device answers with one source of its own, and is asked once; each state is stored and read back between rounds."""
    first, people = PROTOCOLS[name], crowd(name)
    state, sources = first, [ReplaySource.from_key(f"person {i}") for i in range(len(people))]
    tickets, answered = [first.ticket(source) for source in sources], 0
    while isinstance(state, Protocol):
        state = protocol_from_json(state.canonical)
        asked = state.open()
        reports = {question.name: [] for question in asked.questions}
        for text, ticket, source in zip(people, tickets, sources, strict=True):
            if (question := state.question(ticket)) is not None:
                reports[question.name].append(question.answer(text, source))
                answered += 1
        state = state.close(
            {
                each.name: each.spec.tally(reports[each.name], candidates=each.candidates if each.spec.candidates_at_tally else None)
                for each in asked.questions
            }
        )
    assert answered == len(people)
    in_memory = first.run(people, source=ReplaySource.from_key("memory"))
    assert type(state) is type(in_memory)
    assert (state.guarantee, state.covers, state.quantity) == (in_memory.guarantee, in_memory.covers, in_memory.quantity)
    assert set(state.parts) - {"nothing_new"} == set(in_memory.parts) - {"nothing_new"}


def test_a_search_for_new_words_is_a_search_behind_a_draw():
    first = PROTOCOLS["new words"]
    assert isinstance(first.search, PEM)
    assert (first.search.domain.max_length, first.search.k, first.scale) == (7, 3, first.search.scale)
    inner, outer = first.search.open(), first.open()
    assert outer.first == inner.first
    for asked, behind in zip(outer.questions, inner.questions, strict=True):
        assert (asked.encoder.prefix, asked.spec, asked.share, asked.name) == (behind.encoder, behind.spec, behind.share, behind.name)
    after = first.close(ask(first, TEXTS, source=ReplaySource.from_key("first")))
    assert (after.state.stage, after.state.found) == (1, first.state.found)
    assert replace(after, state=PEMState()) == first
    assert json.loads(after.canonical)["stage"] == 1


def test_what_a_file_may_say_is_no_state_and_nothing_that_follows():
    assert settings_of(NewWords) == ["known", "longest", "k", "ngram", "oracle"]
    assert settings_of(Terms) == ["vocabulary", "oracle", "ngram"]
    assert settings_of(Bigrams) == settings_of(WordPairs) == ["vocabulary", "oracle"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bigrams(vocabulary=[], epsilon=1.0), "vocabulary.*one word or more"),
        (lambda: Bigrams(vocabulary=["a", "a"], epsilon=1.0), "vocabulary.*different"),
        (lambda: Bigrams(vocabulary="ab", epsilon=1.0), "vocabulary.*different"),
        (lambda: Bigrams(vocabulary={"a", "b"}, epsilon=1.0), "vocabulary.*in one order"),
        (lambda: Bigrams(vocabulary=7, epsilon=1.0), "vocabulary.*different"),
        (lambda: Bigrams(vocabulary=["\ud800"], epsilon=1.0), "vocabulary.*different"),
        (lambda: Terms(vocabulary=["a", ""], epsilon=1.0), "vocabulary.*not empty"),
        (lambda: Terms(vocabulary=["a"], epsilon=1.0, ngram=0), "ngram"),
        (lambda: Terms(vocabulary=["a" * 1500 + str(i) for i in range(1500)], epsilon=1.0), "vocabulary.*bytes of words"),
        (lambda: WordPairs(vocabulary=["a"], epsilon=1.0), "two words or more"),
        (lambda: NewWords(k=0, epsilon=1.0), "k: got 0"),
        (lambda: NewWords(k=3, epsilon=1.0, longest=0), "max_length"),
        (lambda: NewWords(k=3, epsilon=-1.0), "epsilon"),
        (lambda: NewWords(k=3, epsilon=1.0, state=PEMState(found=(7,))), "found.*the empty word alone"),
        (lambda: Terms(vocabulary=["a"], epsilon=1.0, oracle="coins"), "oracle: got 'coins'"),
        (lambda: Bigrams(vocabulary=["a"], epsilon=1.0, oracle="LongitudinalGRR"), "oracle"),
        (lambda: Bigrams(vocabulary=[f"w{i}" for i in range(4000)], epsilon=1.0, oracle="OUE"), "GiB of memory"),
    ],
    ids=[
        *("none", "twice", "string", "set", "number", "half a character", "empty", "ngram", "long list", "one", "k", "longest", "epsilon"),
        *("state", "oracle", "permanent answers", "too many pairs"),
    ],
)
def test_settings_that_cannot_be_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize("name", ["terms", "next words", "word pairs", "new words"])
def test_what_was_changed_on_the_way_is_refused(name):
    content = json.loads(PROTOCOLS[name].canonical)
    for part, other in (("domain", {"kind": "writing", "texts": False}), ("people", "many"), ("more", 1), ("epsilon", "1.50")):
        with pytest.raises(WireError):
            protocol_from_json(json.dumps({**content, part: other}, sort_keys=True, separators=(",", ":")).encode())


def test_a_set_of_known_words_is_put_in_order():
    assert NewWords(known={"tea", "i"}, k=2, longest=4, epsilon=1.0).known == ("i", "tea")


def test_one_word_is_a_vocabulary():
    asked = Bigrams(vocabulary=["ha"], epsilon=3.0, people=4000)
    table = asked.run(["ha ha", "hm"] * 2000, source=ReplaySource.from_key("ha"))
    assert isinstance(table, NextWords)
    assert table.shares.item() == pytest.approx(0.5, abs=0.06)  # five standard errors
    assert table.matrix.tolist() == [[1.0]]
    assert table.next_words("ha", 5).values == ["ha"]
    assert table.continued("ha", 3) == ["ha"] * 3
    with pytest.raises(DomainError, match="word: got 'hm'"):
        table.next_words("hm")
