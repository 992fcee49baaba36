"""Shuffle trust in a task file: the claim is checked before anything is published, and what people are told has both epsilons."""

from __future__ import annotations

import pytest

from deniable.collect.tasks.batch_price import price
from deniable.collect.tasks.compatibility import changes_of_meaning
from deniable.collect.tasks.task_file import read_task, read_task_file
from deniable.contract.admission import SIZES
from deniable.contract.envelope import HEADER
from deniable.errors import DeniableError
from tests.collect.crowd import NOON

KEY, SHUFFLER, OTHER = bytes(32), "01" * 32, "02" * 32
RELAY = f'{{ url = "https://one.example.org", key = "{SHUFFLER}" }}'
SECOND = f'{{ url = "https://two.example.org", key = "{OTHER}" }}'
TEXT = f"""
name = "drink"
question = "What do you drink?"
owner = "research@example.org"
trust = "shuffle"
epsilon = "auto"
lasts = "2 days"
minimum_batch = 500

[domain]
categories = ["tea", "coffee", "water", "milk"]

[shuffle]
epsilon = 0.5
shufflers = [{RELAY}]
"""


def read(text):
    return read_task(text.encode(), key=KEY, now=NOON)


def test_the_largest_local_epsilon_that_keeps_the_claim_is_found():
    task = read(TEXT)
    spec = task.survey.questions[0].spec
    assert (task.model, task.mixing.epsilon, task.mixing.delta, task.mixing.minimum, task.mixing.honest) == ("shuffle", 0.5, 1e-6, 500, "1")
    assert task.epsilon == spec.epsilon
    assert 0.495 < price(task, 500).epsilon <= 0.5
    assert price(task, 499).epsilon > price(task, 500).epsilon
    more = read(TEXT.replace("minimum_batch = 500", "minimum_batch = 5000"))
    fewer = read(TEXT.replace("[shuffle]", '[shuffle]\nhonest = "1/2"'))
    assert fewer.epsilon < task.epsilon < more.epsilon
    assert price(fewer, 500).people == 250


@pytest.mark.parametrize("mechanism", ['"OUE"', '"OLH"', '{ name = "SubsetSelection", size = 1 }'])
def test_a_mechanism_that_is_named_keeps_its_settings(mechanism):
    task = read(TEXT.replace("[domain]", f"mechanism = {mechanism}\n[domain]"))
    assert task.survey.questions[0].spec.mechanism in mechanism
    assert 0.49 < price(task, 500).epsilon <= 0.5


def test_numbers_go_through_shufflers_too():
    task = read(TEXT.replace('categories = ["tea", "coffee", "water", "milk"]', "numbers = { low = 0, high = 100 }"))
    assert price(task, 500).epsilon <= 0.5


@pytest.mark.parametrize("admission", ["open", "token"])
def test_the_size_is_that_of_the_whole_envelope(admission):
    task = read(TEXT.replace("[domain]", f'admission = "{admission}"\n[domain]'))
    assert task.mixing.size == HEADER.size + SIZES[admission] + 1


def test_people_are_told_both_epsilons_and_who_must_not_be_one_party():
    for relays, words in ((RELAY, "the shuffler must be honest"), (f"{RELAY}, {SECOND}", "one of the shufflers must be honest")):
        task = read(TEXT.replace(RELAY, relays))
        for each in (
            f"epsilon = {task.epsilon:g}, local model",
            "epsilon = 0.5, delta = 1e-06, shuffle model",
            "at least 499 others",
            words,
            "must not be run by anyone who runs the collector",
            f"only the local epsilon = {task.epsilon:g} holds",
            "the first shuffler's computer see the IP address",
            "nobody can check who is in them: anyone can send many reports and surround yours with their own.",
        ):
            assert each in task.statement, each
    task = read(TEXT.replace("[domain]", 'admission = "token"\n[domain]'))
    assert "those who give out the codes can use any number of them" in task.statement  # tokens stop strangers only


def with_threshold(mechanism, sigma):
    """With a claim that has room for the threshold's price."""
    text = TEXT.replace("[domain]", f'mechanism = "{mechanism}"\n[domain]').replace("epsilon = 0.5", "epsilon = 3.0")
    return f'{text}threshold = {{ minimum = 5, sigma = "{sigma}" }}\n'


def test_a_threshold_that_leaves_something_is_taken():
    task = read(with_threshold("GRR", "15.5"))  # 4 crowds, 124 of each: fewer than 500
    assert task.mixing.threshold.sigma == "15.5"


MISTAKES = {
    "an epsilon that is too large": (TEXT.replace('"auto"', "3.0"), ["shuffle", "0.5", "honest people would be enough"]),
    "strata": (TEXT + '[strata]\nplatform = ["phone", "web"]\n', ["strata", "splitting the crowd"]),
    "a search": (TEXT + '[search]\nprotocol = "PEM"\n', ["search", "one round"]),
    "two answers in a period": (TEXT.replace("[domain]", "answers_per_period = 2\nanswers = 2\n[domain]"), ["answers_per_period"]),
    "no shufflers": (TEXT.replace(RELAY, ""), ["shufflers", "1 to 8"]),
    "one shuffler twice": (TEXT.replace(RELAY, f"{RELAY}, {RELAY}"), ["shufflers", "one party"]),
    "a key that is none": (TEXT.replace(SHUFFLER, "xyz"), ["key", "64 hexadecimal digits"]),
    "a key that is short": (TEXT.replace(SHUFFLER, "00"), ["key", "32 bytes"]),
    "an address that is none": (TEXT.replace("https://one", "one"), ["url", "https://"]),
    "the collector as its own shuffler": (TEXT.replace(SHUFFLER, KEY.hex()), ["shufflers", "somebody else"]),
    "a list that is none": (TEXT.replace(f"[{RELAY}]", '"one"'), ["shufflers", "list of tables"]),
    "a delta as large as a crowd": (TEXT + "delta = 0.01\n", ["delta", "1 / minimum"]),
    "a share in decimals": (TEXT + 'honest = "0.9"\n', ["honest", "9/10"]),
    "a threshold that costs more than is claimed": (TEXT + 'threshold = { minimum = 20, sigma = "2" }\n', ["threshold", "sigma"]),
    "a threshold where equal answers are sent differently": (
        with_threshold("OLH", "15"), ["threshold", "billions of different reports of OLH", "GRR"],
    ),
    "a threshold that drops all of the smallest batch": (
        with_threshold("GRR", "15.7"), ["threshold", "4 different reports of GRR", "about 126 of each", "500"],
    ),
    "a shared secret": (TEXT.replace("[domain]", 'admission = "secret"\n[domain]'), ["admission", "would know who sent what", "token"]),
    "no time for what is late": (TEXT.replace("[domain]", 'late = "4 seconds"\n[domain]'), ["late", "5 seconds"]),
    "a threshold that is none": (TEXT + "threshold = 20\n", ["threshold", "table"]),
    "an unknown name": (TEXT + "shuffler = 1\n", ["shuffler"]),
    "a table that is none": (TEXT.partition("[shuffle]")[0].replace("[domain]", "shuffle = 1\n[domain]"), ["shuffle", "a table"]),
    "answers that are remembered": (TEXT.replace("[domain]", 'mechanism = "LongitudinalGRR"\n[domain]'), ["one report"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(text, words):
    with pytest.raises(DeniableError) as caught:
        read(text)
    assert all(word in str(caught.value) for word in words), caught.value


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("epsilon = 0.5", "epsilon = 0.4", None),
        ("epsilon = 0.4", "epsilon = 0.5", "the claim"),
        ("https://one", "https://elsewhere", None),
        (SHUFFLER, OTHER, "the shufflers' keys"),
        (RELAY, f"{RELAY}, {SECOND}", "the shufflers' keys"),
        ("[shuffle]", "[shuffle]\nminimum = 400", "the smallest batch"),
        ("[shuffle]", "[shuffle]\nminimum = 600", None),
        ("[shuffle]", '[shuffle]\nhonest = "9/10"', None),
        ('[shuffle]\nhonest = "9/10"', "[shuffle]", "the share of people"),
        ("[shuffle]", "[shuffle]\ndelta = 1e-5", "the delta"),
        ("[shuffle]", "[shuffle]\ndelta = 1e-7", None),
    ],
)
def test_a_promise_may_become_stronger_and_not_weaker(before, after, told):
    fixed = TEXT.replace('"auto"', "1.0")
    text = fixed if before in fixed else fixed.replace(after if before.startswith(after) else "epsilon = 0.5", before)
    changes = changes_of_meaning(read(text), read(text.replace(before, after)))
    assert (len(changes), told is None or told in changes[0]) == (0 if told is None else 1, True), changes


def test_what_a_file_would_publish_is_told_with_the_price_of_the_smallest_batch():
    from deniable.cli.task_described import described

    told = described(read_task_file(TEXT.encode(), key=KEY, now=NOON))
    assert told["trust"] == "shuffle"
    assert 0.49 < told["shuffle"]["price"] <= 0.5
    assert told["shuffle"]["shufflers"] == [{"url": "https://one.example.org", "key": SHUFFLER}]
