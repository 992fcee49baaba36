"""Protocols that a task file names: every one that a collector can run, what people are told, and what is refused with which words."""

from __future__ import annotations

import pytest

from deniable.collect.storage.block import total
from deniable.collect.tasks.task_file import read_task, read_task_file
from deniable.contract.mixing import LOCAL
from deniable.contract.protocol import PROTOCOLS as KNOWN
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.contract.survey import Survey
from deniable.contract.task import Task
from deniable.core.estimate import Estimate
from deniable.errors import DeniableError
from deniable.tasks.learning import LogisticRegression
from deniable.tasks.places import Box, QuadTree
from tests.collect.declared import AGES, HEAD, PROTOCOLS, SHOP, WORDS, task_file
from tests.collect.test_task_mistakes import LITERALS

KEY, NOW = bytes(range(32)), 1_796_000_000
START = HEAD.format(name="mine")


def read(text):
    task = read_task(text if isinstance(text, bytes) else text.encode(), key=KEY, now=NOW)
    assert Task.from_json(task.canonical) == task  # whatever is read can be published and read again
    return task


def test_every_protocol_of_the_library_is_declared_here_or_refused():
    """A protocol that joins the registry is declared here, or needs more than rounds or other people's trust, or it is not finished."""
    asked = {kind for kind, made in KNOWN.load().items() if not made.needs and made.trust == LOCAL}
    assert asked - {Survey.kind} == set(PROTOCOLS)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_is_what_the_file_says_and_can_be_closed_when_nobody_answers(name):
    file = read_task_file(task_file(name), key=KEY, now=NOW)
    task, protocol = file.task, protocol_from_json(file.task.protocol)
    assert (protocol.kind, protocol.epsilon, task.rounds, task.model) == (name, 8.0, True, LOCAL)
    assert task.period == (3600 if 'round = "1 hour"' in PROTOCOLS[name] else 0)
    assert getattr(protocol, "people", 20_000) == 20_000
    assert f"What the promise compares: {protocol.guarantee.neighbors}. It holds for {protocol.guarantee.unit}." in task.statement
    assert "Over several reports" not in task.statement  # rounds are answered once
    after = protocol
    while isinstance(after, Protocol):  # nobody answers
        asked = after.open().questions
        after = after.close({question.name: total(question, place, {}) for place, question in enumerate(asked)})
    assert isinstance(after, Estimate)


def test_tables_boxes_and_lists_become_what_the_library_takes():
    found = protocol_from_json(read(task_file("QuadTree")).protocol)
    box = Box(0, 0, 16, 16, plane=True)
    assert found == QuadTree(box=box, depth=2, epsilon=8.0, people=20_000, adaptive=True, outside="count", levels=(1, 2))
    assert "- And in which group." in read(task_file("QuadTree")).statement
    columns = protocol_from_json(read(task_file("Marginals")).protocol).columns
    assert [(name, domain.describe()) for name, domain in columns.asked.items()][2] == ("stars", "integers from 1 to 3")
    fit = protocol_from_json(read(task_file("LogisticRegression")).protocol)
    assert isinstance(fit, LogisticRegression)
    assert [(name, domain.high, domain.clip) for name, domain in fit.features.columns] == [("age", 120, False), ("dose", 1, True)]
    assert fit.classes.labels == ("no", "yes")
    assert [str(share) for share in protocol_from_json(read(task_file("SVIM")).protocol).shares] == ["1/3"] * 3
    assert "split, as you asked" in read_task_file(task_file("Marginals"), key=KEY, now=NOW).asking.reasons[0]  # what a protocol chose


def test_a_search_is_the_same_by_either_name():
    search = read(f"{START}{WORDS}[search]\nk = 4\ngroups = 2\n")
    assert search == read(f'{START}{WORDS}[protocol]\nname = "PEM"\nk = 4\ngroups = 2\n')


def test_a_protocol_that_asks_everybody_twice_must_say_so():
    text = f'{START}{WORDS}[protocol]\nname = "PEM"\nk = 4\ngroups = 2\nrounds = 2\n'
    with pytest.raises(DeniableError, match=r"answers: got 1; allowed: 2, .* answers = 2"):
        read(text)
    twice = read(text.replace("epsilon = 8", "epsilon = 8\nanswers = 2"))
    assert (twice.answers, twice.epsilon) == (2, 8.0)
    text = f'{START}{PROTOCOLS["LDPMiner"]}split = "epsilon"\n'  # the same epsilon, half of it in each round
    with pytest.raises(DeniableError, match=r"answers: got 1; allowed: 2, .* answers = 2"):
        read(text)
    halves = read(text.replace("epsilon = 8", "epsilon = 8\nanswers = 2"))
    assert (halves.answers, halves.epsilon) == (2, 4.0)
    assert "at most epsilon = 8" in halves.statement


SETS = f'{START}{SHOP}[protocol]\nname = "SVIM"\nk = 2\n'
TABLE = f'{START}[protocol]\nname = "Marginals"\n[protocol.columns]\nplace = ["bar", "inn"]\n'
PLACES = f"{START}{PROTOCOLS['QuadTree']}"
MODEL = f"{START}{PROTOCOLS['LogisticRegression']}"
MISTAKES = {
    "misspelled": (SETS.replace("SVIM", "SVIN"), ["protocol: got 'SVIN'", "did you mean SVIM?"]),
    "no name": (SETS.replace('name = "SVIM"\n', ""), ["protocol", "a name, or a table with name"]),
    "a number for a name": (f"{START}protocol = 3\n{AGES}", ["protocol: got 3", "a name, or a table"]),
    "a survey": (f'{START}protocol = "Survey"\n{AGES}', ["'Survey'", "[[questions]]"]),
    "true answers": (f'{START}{WORDS}[protocol]\nname = "TrieHH"\ndelta = 1e-9\n', ["TrieHH is central", "PEM", "true votes"]),
    "graphs": (f'{START}protocol = "Triangles"\n', ["'Triangles'", "run it in Python", "named rows"]),
    "ratings": (f'{START}protocol = "MatrixFactorization"\n', ["'MatrixFactorization'", "run it in Python", "floating point"]),
    "experts": (f'{START}protocol = "WeightedMajority"\n', ["WeightedMajority is central", "PEM", "a curator"]),
    "a shuffled batch": (f'{START}protocol = "ShuffledHistogram"\n', ["'ShuffledHistogram'", '[[questions]] with trust = "shuffle"']),
    "series": (f'{START}protocol = "FPA"\n', ["'FPA'", "use deniable.tasks.series.FPA in Python"]),
    "missing setting": (SETS.replace("k = 2\n", ""), ["SVIM", "add k"]),
    "unknown setting": (SETS + "longst = 3\n", ["SVIM: got 'longst'", "did you mean longest?"]),
    "a state as a setting": (SETS + 'lengths = ""\n', ["SVIM: got 'lengths'"]),
    "a setting of the task": (SETS + "epsilon = 1\n", ["SVIM: got 'epsilon'"]),
    "another type": (SETS.replace("k = 2", 'k = "two"'), ["k: got 'two'"]),
    "shares that are none": (SETS + "shares = [0.5, 0.5]\n", ["share", '"1/3"']),
    "no domain": (f'{START}[protocol]\nname = "SVIM"\nk = 2\n', ["domain: got None", "a [domain] with SVIM", "sets = {"]),
    "a domain too many": (TABLE + AGES, ["no [domain] with Marginals"]),
    "another domain": (SETS.replace(SHOP, AGES), ["domain: got Integers", "sets, which SVIM asks about"]),
    "sets of sets": (SETS.replace("[domain.sets]", "[domain.sets.sets]"), ["sets", "items"]),
    "sets without a protocol": (START + SHOP, ["domain", "[protocol]", "SVIM"]),
    "sets in a search": (f"{START}{SHOP}[search]\nk = 2\n", ["domain: got Subsets", "single values, which PEM"]),
    "candidates": (f'{START}protocol = "HaarHRR"\n{AGES}candidates = [3]\n', ["candidates", "none in a search"]),
    "a column that is no list": (TABLE + "mood = 3\n", ["column 'mood': got 3", "a domain, or a list of labels"]),
    "a column of misspelled kind": (TABLE + "mood = { integer = [1, 5] }\n", ["columns.mood: got 'integer'", "did you mean integers?"]),
    "a table without columns": (TABLE.partition("[protocol.columns]")[0], ["Marginals", "add columns"]),
    "a box without a side": (PLACES.replace("south = 0\n", ""), ["box", "add south"]),
    "a box that is none": (PLACES.partition("[protocol.box]")[0] + "box = 3\n", ["box: got 3", "[protocol.box]"]),
    "a model without a label": (MODEL.replace('label = "ill"\n', ""), ["LogisticRegression", "add label"]),
    "a feature without a range": (MODEL.replace("age = [0, 120]", "age = 120"), ["feature 'age': got 120", "(low, high)"]),
    "beside a mechanism": (SETS + '[mechanism]\nname = "GRR"\n', ["no mechanism together with protocol"]),
    "beside a search": (f'{START}protocol = "PEM"\n{WORDS}[search]\nk = 4\n', ["no protocol together with search"]),
    "beside questions": (f'{START}protocol = "PEM"\n[[questions]]\nname = "a"\n', ["no protocol together with questions"]),
    "a period": (SETS.replace("people", 'period = "1 day"\npeople'), ["period", 'round = "1 hour" in [protocol]']),
    "a round that is no time": (SETS + "round = 60\n", ["round: got 60"]),
    "a default set": (SETS.replace("people", "default = []\npeople"), ["default", "a set may be empty"]),
    "a default record": (MODEL.replace("people", "default = 3\npeople"), ["default", "a record is whole"]),
    "a default place": (PLACES.replace("people", "default = 3\npeople"), ["default"]),
    "a value too many": (f'{START}protocol = "HaarHRR"\n[domain]\nrange = 5000\n', ["domain", "values"]),
    "shuffle trust": (
        SETS.replace("people", 'trust = "shuffle"\npeople') + "[shuffle]\nepsilon = 0.1\n",
        ["protocol", "one round under shuffle"],
    ),
}


@pytest.mark.parametrize(("text", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(text, words):
    with pytest.raises(DeniableError) as caught:
        read(text)
    assert all(word in str(caught.value) for word in words), caught.value


@pytest.mark.parametrize("name", ["Marginals", "QuadTree", "LogisticRegression", "SVIM", "KMeans"])
def test_whatever_is_written_it_is_a_task_or_a_mistake_that_is_explained(name):
    """Every value of a protocol's settings replaced by values of every type: a server must not stumble over what an admin sends."""
    lines, refused = PROTOCOLS[name].splitlines(), 0
    for number, line in enumerate(lines):
        setting, assigned, _ = line.partition(" = ")
        for literal in LITERALS if assigned else ():
            edited = "\n".join([*lines[:number], f"{setting} = {literal}", *lines[number + 1 :]])
            try:
                read(START + edited)
            except DeniableError:
                refused += 1
    assert refused > len(lines)
