"""Tasks as people write them: what they come to, what people are told, and what is refused with which words."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest

import deniable as dn
from deniable.client.frequency import FrequencySpec
from deniable.collect.plain_answer import PlainAnswer
from deniable.collect.tasks.compatibility import changes_of_meaning
from deniable.collect.tasks.task_file import read_task, read_task_file
from deniable.contract.domain import Bytes, Categories, IndexRange, Integers, Text
from deniable.contract.encoder import Attribute
from deniable.contract.protocol import PROTOCOLS, protocol_from_json
from deniable.contract.spec import MECHANISMS
from deniable.contract.task import Task
from deniable.errors import DeniableError
from deniable.tasks import heavy_hitters

SEARCHES = [name for name in heavy_hitters.__all__ if name in PROTOCOLS and name != "TrieHH"]
KEY = bytes(range(32))
DECEMBER, JANUARY = 1_796_083_200, 1_798_761_600  # 2026-12-01 and 2027-01-01, by `date -u +%s`
NOW = DECEMBER - 86_400
HEAD = """
name = "morning-drink"
question = "What do you drink in the morning?"
owner = "research@example.org"
epsilon = 1
"""
WHEN = 'lasts = "30 days"\n'
DRINKS = '[domain]\ncategories = ["tea", "coffee", "water"]\n'
WHOLE = f"""{HEAD}
start = 2026-12-01
end = 2027-01-01T00:00:00Z
period = "1 day"
answers = 7
weak_privacy = true
answers_per_period = 2
minimum_batch = 250
late = "90 minutes"
retention = "2 weeks"
default = "water"
people = 10_000
note = "We publish the result in spring."

{DRINKS}
[mechanism]
name = "OLH"
hash_range = 8

[strata]
platform = ["phone", "web"]
"age group" = ["under 40", "40 to 65", "over 65"]
"""
SEVERAL = f"""{HEAD}{WHEN}people = 9000
[[questions]]
name = "drink"
domain = {{ categories = ["tea", "coffee", "water"] }}
[[questions]]
name = "smoker"
domain = {{ yes_no = true }}
mechanism = "RR"
[[questions]]
name = "age"
[questions.domain]
integers = [0, 120]
[questions.mechanism]
name = "OUE"
"""


def read(text, now=NOW):
    task = read_task(text.encode(), key=KEY, now=now)
    assert Task.from_json(task.canonical) == task  # whatever is read can be published and read again
    return task


def test_everything_that_is_written_is_in_the_task():
    task = read(WHOLE)
    assert (task.name, task.question, task.owner) == ("morning-drink", "What do you drink in the morning?", "research@example.org")
    assert (task.epsilon, task.key, task.model, task.rounds) == (1.0, KEY, "local", False)
    assert (task.start, task.end, task.period, task.late, task.retention) == (DECEMBER, JANUARY, 86_400, 5400, 14)
    assert (task.answers, task.answers_per_period, task.minimum_batch, task.default) == (7, 2, 250, "water")
    assert task.strata == (("platform", ("phone", "web")), ("age group", ("under 40", "40 to 65", "over 65")))
    (question,) = task.survey.questions
    assert question.spec == dn.OLH(domain=Categories("tea", "coffee", "water"), epsilon=1.0, hash_range=8)
    assert question.answer("tea") is not None


def test_what_is_left_out_is_now_one_period_one_answer():
    task = read(HEAD + WHEN + DRINKS, now=1000.9)
    assert (task.start, task.end, task.period, task.period_count) == (1000, 1000 + 30 * 86_400, 30 * 86_400, 1)
    assert (task.answers, task.default, task.strata, task.minimum_batch, task.late, task.retention) == (1, None, (), 100, 3600, 90)


def test_times_without_an_offset_are_utc():
    text = HEAD + "start = 2026-12-01T02:00:00+02:00\nend = 2026-12-01T01:00:00\n" + DRINKS
    assert (read(text).start, read(text).end) == (DECEMBER, DECEMBER + 3600)


@pytest.mark.parametrize("mechanism", ["", 'mechanism = "auto"\n', '[mechanism]\nname = "auto"\n'])
@pytest.mark.parametrize("people", [1000, 10_000_000])
def test_auto_is_resolved_to_what_the_library_would_choose(mechanism, people):
    top, table = (mechanism, "") if mechanism.startswith("mechanism") else ("", mechanism)
    file = read_task_file(f"{HEAD}{WHEN}people = {people}\n{top}[domain]\nrange = 40\n{table}".encode(), key=KEY, now=NOW)
    choice = dn.frequency_oracle(domain=IndexRange(40), epsilon=1.0, n=people)
    assert file.task.survey.questions[0].spec == choice.spec
    assert file.asking.reasons == (choice.why,)
    assert b"auto" not in file.task.canonical


@pytest.mark.parametrize("name", sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec)))
def test_every_mechanism_can_be_named(name):
    size = "yes_no = true" if name == "RR" else "range = 12"
    task = read(f'{HEAD}{WHEN}mechanism = "{name}"\n[domain]\n{size}\n')
    spec = task.survey.questions[0].spec
    assert (spec.mechanism, spec.epsilon) == (name, 1.0)


@pytest.mark.parametrize(
    ("written", "domain", "default", "value"),
    [
        ('categories = ["é", "b"]', Categories("é", "b"), '"é"', "é"),
        ("range = 7", IndexRange(7), "6", 6),
        ("integers = [-3, 3]", Integers(-3, 3), "-3", -3),
        ("yes_no = true", IndexRange(2), "true", 1),
        ('text = 9\ncandidates = ["tea", "maté"]', Text(9), '"water"', "water"),
        ('bytes = 2\ncandidates = ["00ff", ""]', Bytes(2), '"0a"', b"\n"),
        ("integers = [0, 18446744073709551615]\ncandidates = [9]", Integers(0, 2**64 - 1), "9223372036854775807", 2**63 - 1),
    ],
)
def test_every_domain_with_a_default(written, domain, default, value):
    task = read(f"{HEAD}{WHEN}default = {default}\n[domain]\n{written}\n")
    (question,) = task.survey.questions
    assert (question.spec.domain, task.default) == (domain, value)
    question.answer(task.default)
    read_back = Task.from_json(task.canonical)
    assert (type(read_back.default), read_back.default) == (type(value), value)


def test_candidates_make_an_open_domain_countable():
    text = f'{HEAD}{WHEN}[domain]\ntext = 9\ncandidates = ["tea", "maté"]\n'
    (question,) = read(text).survey.questions
    assert question.candidates == ("tea", "maté")
    assert question.spec.domain == Text(9)
    reports = question.spec.privatize(["tea"] * 900 + ["cola"] * 100)
    candidates = question.candidates if question.spec.candidates_at_tally else None
    estimate = question.spec.estimate(question.spec.tally(reports, candidates=candidates), candidates=question.candidates)
    assert list(estimate.values) == ["tea", "maté"]


def test_several_questions_of_which_each_person_answers_one():
    text = SEVERAL
    task = read(text)
    drink, smoker, age = task.survey.questions
    assert [question.share for question in (drink, smoker, age)] == [Fraction(1, 3)] * 3
    assert [question.encoder for question in (drink, smoker, age)] == [Attribute("drink"), Attribute("smoker"), Attribute("age")]
    assert (smoker.spec.mechanism, age.spec) == ("RR", dn.OUE(domain=Integers(0, 120), epsilon=1.0))
    assert drink.spec == dn.frequency_oracle(domain=drink.spec.domain, epsilon=1.0, n=3000).spec  # a third of the people are asked
    assert "Which of the questions your device answered" in task.statement
    shares = text.replace('name = "drink"', 'name = "drink"\nshare = "1/2"').replace('name = "age"', 'name = "age"\nshare = "1/6"')
    assert [str(question.share) for question in read(shares).survey.questions] == ["1/2", "1/3", "1/6"]


@pytest.mark.parametrize("name", ["", 'protocol = "auto"\n', *(f'protocol = "{name}"\n' for name in SEARCHES)])
def test_every_local_search_is_a_task_of_rounds(name):
    task = read(f'{HEAD}{WHEN}people = 5000\ndefault = "x"\n[domain]\ntext = 3\n[search]\n{name}k = 4\nround = "1 hour"\n')
    assert (task.rounds, task.period, task.default) == (True, 3600, "x")
    protocol = protocol_from_json(task.protocol)
    assert protocol.kind == (name.split('"')[1] if name and "auto" not in name else "PEM")
    assert (protocol.k, protocol.epsilon, protocol.people, protocol.domain) == (4, 1.0, 5000, Text(3))
    assert protocol.open().questions
    assert "in which round" in task.statement


def test_a_search_without_a_length_of_its_rounds_is_closed_by_hand():
    assert read(f"{HEAD}{WHEN}[domain]\ninteger = 1\n".replace("integer = 1", "integers = [0, 65535]") + "[search]\nk = 4\n").period == 0


def test_a_search_that_asks_people_again_must_say_how_often():
    text = f"{HEAD}{WHEN}[domain]\ntext = 4\n[search]\nk = 4\nrounds = 3\n"
    with pytest.raises(DeniableError, match=r"answers: got 1; allowed: 3, .* answers = 3"):
        read(text)
    assert read(text.replace(WHEN, WHEN + "answers = 3\n")).answers == 3


def test_the_identity_is_refused_until_a_test_makes_it_known(monkeypatch):
    text = f'{HEAD.replace("epsilon = 1", "epsilon = inf")}{WHEN}weak_privacy = true\nmechanism = "Identity"\n[domain]\nrange = 9\n'
    monkeypatch.delitem(MECHANISMS, "Identity", raising=False)
    with pytest.raises(DeniableError, match="mechanism: got 'Identity'"):
        read(text)
    monkeypatch.setitem(MECHANISMS, "Identity", PlainAnswer)  # what know_plain_answer does, until the end of this test
    task = read(text)
    assert (task.epsilon, task.survey.questions[0].spec) == (inf, PlainAnswer(domain=IndexRange(9)))
    assert task.statement.startswith("Nothing is protected")
    with pytest.raises(DeniableError, match=r"epsilon: got 1\.0; allowed: inf"):
        read(text.replace("epsilon = inf", "epsilon = 1"))
    with pytest.raises(DeniableError, match="epsilon"):
        read(text.replace('mechanism = "Identity"\n', ""))  # no other mechanism takes it


# --- what people are told ---


def test_the_statement_tells_what_the_task_does():
    told = read(WHOLE).statement
    for words in (
        "more than 2.72 times as likely",
        "epsilon = 1, local",
        "including the collector",
        "at most 7 times, at most 2 times in each period of 1 day",
        "epsilon = 7 (which nearly gives them away)",
        "your device sends 'water'",
        "kept for 14 days",
        "That you take part",
        "see the IP address",
        "platform (phone, web): sent with every report, without noise",
        "age group (under 40, 40 to 65, over 65)",
        "restored from a backup",
        "A note from the author of this task: We publish the result in spring.",
    ):
        assert words in told
    assert "Whether you have an answer" not in told


def test_the_statement_without_a_default_says_that_silence_shows():
    told = read(HEAD + WHEN + DRINKS).statement
    assert "Whether you have an answer: without one, your device sends nothing" in told
    assert "If you have no answer" not in told
    assert "your device answers once, so epsilon = 1 is all" in told
    assert "author" not in told


@pytest.mark.parametrize(
    ("admission", "told"),
    [
        ("token", ["nobody can tell which code a token came from", "That your code was used"]),
        ("secret", ["given this task's secret"]),
        ("open", []),
    ],
)
def test_the_statement_says_what_being_counted_takes(admission, told):
    statement = read(f'{HEAD}{WHEN}admission = "{admission}"\n{DRINKS}').statement
    assert all(words in statement for words in told)
    assert ("code" in statement, "secret" in statement) == (admission == "token", admission == "secret")


def test_a_worst_case_beyond_protection_is_called_that():
    text = HEAD.replace("epsilon = 1", "epsilon = 2.5") + WHEN + 'period = "1 day"\nweak_privacy = true\nanswers = {}\n' + DRINKS
    assert "(a factor of 148.42)" in read(text.format(2)).statement
    assert "epsilon = 75 (which nearly gives them away)" in read(text.format(30)).statement


def test_numbers_in_the_statement_are_rounded_away_from_the_promise():
    told = read(HEAD.replace("epsilon = 1", "epsilon = 0.12345678") + WHEN + DRINKS).statement
    assert "epsilon = 0.1235" in told
    assert "1.14 times" in told  # e^0.12345678 = 1.1314


def test_an_author_adds_to_the_statement_and_cannot_replace_it():
    plain = read(HEAD + WHEN + DRINKS)
    noted = read(HEAD + WHEN + 'note = "Nothing to fear."\n' + DRINKS)
    assert noted.statement.startswith(plain.statement)
    assert changes_of_meaning(plain, noted) == []
    with pytest.raises(DeniableError, match="statement"):
        read(HEAD + WHEN + 'statement = "All is safe."\n' + DRINKS)
