"""How strong a task's promise is: the same verdict in its file, its statement and its pages, and no weak promise by accident."""

from __future__ import annotations

import pytest

from deniable.client import RR, LongitudinalGRR
from deniable.collect.tasks.task_file import read_task
from deniable.contract.verdict import WEAKEST, verdicts
from deniable.errors import ParameterError
from tests.collect.crowd import survey_task
from tests.collect.looking import Reader, get, path_of
from tests.collect.mixing import shuffle_task
from tests.collect.test_api import ask, publish

TOML = """
name = "bicycle"
question = "Do you own a bicycle?"
owner = "tests"
epsilon = {epsilon}
lasts = "30 days"
period = "1 day"
answers = {answers}
{more}
[domain]
yes_no = true
"""
SHUFFLE = """
[shuffle]
epsilon = 2.0
minimum = 60000
shufflers = [{ url = "https://shuffler.example.org", key = "0101010101010101010101010101010101010101010101010101010101010101" }]
"""


def read(epsilon, answers=1, more="", below=""):
    text = TOML.format(epsilon=epsilon, answers=answers, more=more) + below
    return read_task(text.encode(), key=bytes(32), now=1_795_000_000)


def shown(page):
    """The level of each line, by the class that colors it; each stands in words, too."""
    levels = [tag["class"].split()[1] for _, tag in page.tags if (tag.get("class") or "").startswith("verdict ")]
    assert all(f"{level.replace('-', ' ')} privacy" in page.text.lower() for level in levels)
    return levels


@pytest.mark.parametrize(
    ("spec", "rules", "levels"),
    [
        (RR(epsilon=1.0), {"answers": 1}, ["strong"]),
        (RR(epsilon=1.0), {"answers": 3}, ["moderate"]),
        (RR(epsilon=8.0), {"answers": 1}, ["very-weak"]),
        (LongitudinalGRR(domain_size=5, epsilon=1.0), {"answers": 24}, ["strong", "weak"]),
    ],
)
def test_pages_show_a_verdict_on_all_answers_of_a_person(site, spec, rules, levels):
    task = survey_task(site.collector.registry.key, spec, name="judged", **rules)
    site.collector.publish(task)
    survey, promised = (Reader(get(site, f"{path_of(task)}{page}").text) for page in ("/answer", ""))
    assert shown(survey) == shown(promised) == levels
    for verdict in verdicts(task):
        assert all(verdict.guess in page.text and verdict.beyond in page.text for page in (survey, promised))
    assert "100 times in 100" not in survey.text


def test_shuffled_tasks_have_a_verdict_for_each_line_of_trust(site):
    task = shuffle_task(site.collector.registry.key, answers=7)
    site.collector.publish(task)
    page = Reader(get(site, f"{path_of(task)}/answer").text)
    assert shown(page) == ["moderate", "very-weak"]
    assert "If the shuffler is honest, all 7 answers together: " in page.text
    assert "If shuffler and collector work together, all 7 answers together: " in page.text


def test_the_planner_shows_the_verdict_of_its_epsilon(site):
    pages = {epsilon: Reader(get(site, f"/plan?epsilon={epsilon}&n=1000&domain_size=2").text) for epsilon in ("0.5", "2", "5", "8")}
    assert [shown(page) for page in pages.values()] == [["strong"], ["moderate"], ["weak"], ["very-weak"]]
    assert "once in 2,982 times" in pages["8"].text


@pytest.mark.parametrize(("epsilon", "answers"), [(6.0004, 1), (6.1, 1), (8, 1), (1.0, 7), (0.21, 29)])
def test_what_nearly_gives_answers_away_needs_the_authors_word(epsilon, answers, site):
    with pytest.raises(ParameterError, match=r"at most 6 for all answers of a person together.*\n?.*weak_privacy = true"):
        read(epsilon, answers)
    toml = TOML.format(epsilon=epsilon, answers=answers, more="").encode()
    refused = publish(site, toml)
    assert refused.status_code == 422
    assert "weak_privacy" in refused.text
    assert publish(site, toml.replace(b"[domain]", b"weak_privacy = true\n[domain]")).status_code == 201
    assert [task["name"] for task in ask(site, "GET", "/v1/tasks").json()].count("bicycle") == 1


@pytest.mark.parametrize(("epsilon", "answers"), [(6, 1), (1.0, 6), (0.2, 30)])
def test_up_to_six_is_published_and_the_setting_changes_no_byte_of_a_task(epsilon, answers):
    plain, said = read(epsilon, answers), read(epsilon, answers, "weak_privacy = true")
    assert plain.canonical == said.canonical
    assert b"weak_privacy" not in said.canonical


def test_the_setting_is_true_or_false():
    with pytest.raises(ParameterError, match="weak_privacy: got 'yes'; allowed: true or false"):
        read(1.0, 1, 'weak_privacy = "yes"')


def test_all_lines_of_trust_count():
    changing = "[mechanism]\nname = 'LongitudinalGRR'\n"
    many = TOML.format(epsilon=1.0, answers=20, more="").replace("yes_no = true", "range = 9")
    with pytest.raises(ParameterError, match=r"got '9 \(if your answer changes, all 20 answers together\)'"):
        read_task((many + changing).encode(), key=bytes(32), now=1_795_000_000)
    with pytest.raises(ParameterError, match=r"got '6\.5 \(if shuffler and collector work together\)'"):
        read(6.5, 1, 'trust = "shuffle"', SHUFFLE)


def test_an_epsilon_that_is_left_to_us_stays_within_the_limit():
    kept = read('"auto"', 2, 'trust = "shuffle"', SHUFFLE)
    assert kept.epsilon == WEAKEST / 2
    free = read('"auto"', 2, 'trust = "shuffle"\nweak_privacy = true', SHUFFLE)
    assert free.epsilon > kept.epsilon


def test_the_statement_says_it_first():
    lines = read(2.0, 2).statement.split("\n")
    assert lines[1:3] == ["How strong that is:", f"- {verdicts(read(2.0, 2))[0]}"]
    assert "nearly gives them away" in read(1.0, 7, "weak_privacy = true").statement
