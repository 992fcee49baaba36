"""What a task file may not say, and how a person is told."""

from __future__ import annotations

import pytest

from deniable.cli.task_template import template
from deniable.collect.tasks.task_file import read_task
from deniable.contract.canonical import parse_canonical
from deniable.contract.survey import Survey
from deniable.errors import DeniableError, ParameterError
from tests.collect.test_task_file import DRINKS, HEAD, KEY, NOW, SEVERAL, WHEN, WHOLE, read

SEARCH = f"{HEAD}{WHEN}[domain]\ntext = 4\n[search]\nk = 4\n"
MISTAKES = {
    "no TOML": (HEAD + "epsilon 1", ["file", "TOML"]),
    "no UTF-8": ("name = '\udcff'", ["file", "UTF-8"]),
    "missing": (WHEN + DRINKS, ["task", "'name'", "add name"]),
    "misspelled": (HEAD + WHEN + "answer = 2\n" + DRINKS, ["'answer'", "did you mean answers?"]),
    "misspelled required": ((HEAD + WHEN + DRINKS).replace("epsilon", "epsilom"), ["'epsilom'", "did you mean epsilon?"]),
    "unlike anything": (HEAD + WHEN + "xyzzy = 2\n" + DRINKS, ["'xyzzy'", "check the spelling"]),
    "misspelled domain": (HEAD + WHEN + '[domain]\ncategory = ["a", "b"]\n', ["domain", "'category'", "did you mean categories?"]),
    "misspelled setting": (HEAD + WHEN + DRINKS + '[mechanism]\nname = "OLH"\nhash_rang = 8\n', ["OLH", "did you mean hash_range?"]),
    "misspelled mechanism": (HEAD + WHEN + DRINKS + '[mechanism]\nname = "grr"\n', ["'grr'", "did you mean GRR?"]),
    "misspelled protocol": (SEARCH + 'protocol = "PEN"\n', ["'PEN'", "did you mean PEM?"]),
    "misspelled search": (SEARCH + "step_bit = 4\n", ["PEM", "'step_bit'", "did you mean step_bits?"]),
    "setting of auto": (HEAD + WHEN + DRINKS + "[mechanism]\nhash_range = 8\n", ["mechanism", "'hash_range'"]),
    "setting of another type": (HEAD + WHEN + DRINKS + '[mechanism]\nname = "OLH"\nhash_range = "8"\n', ["hash_range"]),
    "state as a setting": (SEARCH + "stage = 3\n", ["'stage'"]),
    "nothing asked": (HEAD + WHEN, ["[domain]", "[[questions]]"]),
    "two domains": (HEAD + WHEN + DRINKS + "range = 4\n", ["domain", "categories", "range"]),
    "no domain": (HEAD + WHEN + 'domain = "text"\n', ["domain", "a table"]),
    "letters for categories": (HEAD + WHEN + '[domain]\ncategories = "tea"\n', ["categories", "a list"]),
    "one bound": (HEAD + WHEN + "[domain]\nintegers = [9]\n", ["integers", "lowest"]),
    "no no": (HEAD + WHEN + "[domain]\nyes_no = false\n", ["yes_no", "true"]),
    "domain and questions": (HEAD + WHEN + DRINKS + '[[questions]]\nname = "a"\n', ["no domain together with questions"]),
    "mechanism and search": (SEARCH + '[mechanism]\nname = "GRR"\n', ["no mechanism together with search", "oracle"]),
    "search of nothing": (HEAD + WHEN + "[search]\nk = 3\n", ["search", "[domain]"]),
    "search of candidates": (SEARCH.replace("text = 4", 'text = 4\ncandidates = ["a"]'), ["candidates", "none in a search"]),
    "search without k": (SEARCH.replace("k = 4\n", ""), ["PEM", "add k"]),
    "questions as a table": (HEAD + WHEN + '[questions]\nname = "a"\n', ["[[questions]]"]),
    "question without a domain": (HEAD + WHEN + '[[questions]]\nname = "a"\n', ["questions[0]", "add domain"]),
    "shares above one": (
        HEAD + WHEN + "".join(f'[[questions]]\nname = "{name}"\nshare = "2/3"\ndomain = {{range = 3}}\n' for name in "ab"),
        ["shares", "4/3"],
    ),
    "default among questions": (HEAD + WHEN + 'default = 1\n[[questions]]\nname = "a"\ndomain = {range = 3}\n', ["default"]),
    "default outside the domain": (HEAD + WHEN + 'default = "beer"\n' + DRINKS, ["'beer'", "'tea', 'coffee', 'water'"]),
    "default that is no hex": (HEAD + WHEN + 'default = "xy"\n[domain]\nbytes = 3\ncandidates = ["00"]\n', ["default", "hex"]),
    "open domain": (HEAD + WHEN + "[domain]\ntext = 16\n", ["candidates = [...]", "[search]"]),
    "open domain, sketch": (HEAD + WHEN + 'mechanism = "CMS"\n[domain]\ntext = 16\n', ["CMS", "candidates = [...]", "[search]"]),
    "open domain, OLH": (HEAD + WHEN + 'mechanism = "OLH"\n[domain]\nbytes = 8\n', ["OLH", "candidates = [...]", "[search]"]),
    "too large to list": (HEAD + WHEN + 'mechanism = "OLH"\n[domain]\nintegers = [0, 999_999_999]\n', ["candidates = [...]"]),
    "not local": (SEARCH.replace("k = 4\n", 'protocol = "TrieHH"\ndelta = 1e-9\n'), ["TrieHH is central", "true votes", "PEM"]),
    "other trust": (HEAD + WHEN + 'trust = "central"\n' + DRINKS, ["trust", "'central'", "local"]),
    "shuffle trust without shufflers": (HEAD + WHEN + 'trust = "shuffle"\n' + DRINKS, ["trust", "'shuffle'", "[shuffle]"]),
    "two names of trust": (HEAD + WHEN + 'trust = "shuffle"\nmodel = "local"\n' + DRINKS, ["trust", "'shuffle'"]),
    "an epsilon that nothing allows": ((HEAD + WHEN + DRINKS).replace("epsilon = 1", 'epsilon = "auto"'), ["epsilon", "'auto'", "shuffle"]),
    "no end": (HEAD + DRINKS, ["end, lasts", "one of the two"]),
    "two ends": (HEAD + WHEN + "end = 2030-01-01\n" + DRINKS, ["end, lasts", "one of the two"]),
    "over": (HEAD + "end = 2020-01-01\nstart = 2019-01-01\n" + DRINKS, ["2020-01-01 00:00 UTC", "in the future"]),
    "backwards": (HEAD + "end = 2027-01-01\nstart = 2028-01-01\n" + DRINKS, ["end", "2027-01-01", "after the start, 2028-01-01"]),
    "a date in quotation marks": (HEAD + 'end = "2027-01-01"\n' + DRINKS, ["end", "without quotation marks"]),
    "a month": (HEAD + 'lasts = "1 month"\n' + DRINKS, ["lasts", "'1 month'", "days or weeks"]),
    "a bare number": (HEAD + WHEN + "period = 60\n" + DRINKS, ["period", "60", "minutes"]),
    "half a day kept": (HEAD + WHEN + 'retention = "12 hours"\n' + DRINKS, ["retention", "whole days"]),
    "a period without length": (HEAD + WHEN + 'period = "0 days"\n' + DRINKS, ["period"]),
    "a period of a search": (SEARCH.replace(WHEN, WHEN + 'period = "1 day"\n'), ["period", 'round = "1 hour"']),
    "more answers than periods": (HEAD + WHEN + "answers = 2\n" + DRINKS, ["answers: got 2", "at most 1", 'period = "1 day"']),
    "more answers than a search asks": (SEARCH.replace(WHEN, WHEN + "answers = 2\n"), ["answers: got 2", "at most 1"]),
    "no answers": (HEAD + WHEN + "answers = 0\n" + DRINKS, ["answers", "0"]),
    "answers in words": (HEAD + WHEN + 'answers = "one"\n' + DRINKS, ["answers", "'one'"]),
    "epsilon of zero": ((HEAD + WHEN + DRINKS).replace("epsilon = 1", "epsilon = 0"), ["epsilon", "above 0"]),
    "epsilon in words": ((HEAD + WHEN + DRINKS).replace("epsilon = 1", 'epsilon = "1"'), ["epsilon", "'1'"]),
    "nobody expected": (HEAD + WHEN + "people = 0\n" + DRINKS, ["people", "0"]),
    "a note that is none": (HEAD + WHEN + "note = 3\n" + DRINKS, ["note", "text"]),
    "a name with blanks": ((HEAD + WHEN + DRINKS).replace("morning-drink", "morning drink"), ["name", "hyphens"]),
    "a name that is none": ((HEAD + WHEN + DRINKS).replace('"morning-drink"', "7"), ["name", "7"]),
    "a single label": (HEAD + WHEN + DRINKS + '[strata]\nplatform = ["web"]\n', ["strata", "two or more"]),
    "a label that is none": (HEAD + WHEN + DRINKS + "[strata]\nplatform = [1, 2]\n", ["strata"]),
    "labels in labels": (HEAD + WHEN + DRINKS + '[strata]\nplatform = [["a"], ["b"]]\n', ["strata", "lists of labels"]),
    "reports of megabytes": (HEAD + WHEN + 'mechanism = "OUE"\n[domain]\nrange = 10_000_000\n', ["OUE, 1,250,000 bytes", "65,536"]),
    "a round that cannot be opened": (SEARCH + "groups = 1\n", ["step_bits", "GiB of memory"]),
    "too many to find": (SEARCH.replace("k = 4", "k = 1_000_000"), ["k: got 1000000", "an integer from 1 to 65,536"]),
    "a search without end": (SEARCH.replace("text = 4", "text = 60_000"), ["60000 rounds", "at most 512"]),
    "strata as text": (HEAD + WHEN + DRINKS + '[strata]\nplatform = "web"\n', ["strata", "lists"]),
    "a list of strata": (HEAD + WHEN + "strata = [1]\n" + DRINKS, ["strata"]),
}


@pytest.mark.parametrize(("text", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(text, words):
    with pytest.raises(DeniableError) as caught:
        read_task(text.encode(errors="surrogateescape"), key=KEY, now=NOW)
    assert all(word in str(caught.value) for word in words), caught.value


LITERALS = (
    *("0", "1", "-1", "9223372036854775807", "1.5", "-0.0", "inf", "nan", "true", '""', '"x"', '"\\u0000"', '"1 day"', '"0 days"', '"1/3"'),
    *("[]", "[[]]", "[1]", '["a", "b"]', "[1, 2]", "{}", "{a = 1}", '[{name = "a"}]', "2027-01-01", "2027-01-01T00:00:00", "07:32:00"),
)


@pytest.mark.parametrize("text", [WHOLE, SEARCH + 'round = "1 hour"\nstep_bits = 4\nallocation = "equal"\nholdout = 0.1\n', SEVERAL])
def test_whatever_is_written_it_is_a_task_or_a_mistake_that_is_explained(text):
    """Every value in the file replaced by values of every type: a server must not stumble over what an admin sends."""
    lines = text.splitlines()
    refused = 0
    for number, line in enumerate(lines):
        name, assigned, _ = line.partition(" = ")
        for literal in LITERALS if assigned else ():
            edited = "\n".join([*lines[:number], f"{name} = {literal}", *lines[number + 1 :]])
            try:
                read(edited)
            except DeniableError:
                refused += 1
    assert refused > len(lines)


def test_the_template_is_a_task_and_its_comments_are_too():
    assert read(template("my-task")).name == "my-task"
    head, rest = template("my-task").split("\n[domain]\n")
    for line in ('period = "1 day"', 'late = "1 hour"', 'retention = "90 days"'):
        assert f"# {line}" in head
        head = head.replace(f"# {line}", line)
    assert read(head + "\n[domain]\n" + rest).period == 86_400
    search = "\n[domain]\ntext = 16\n" + "\n".join(
        line.removeprefix("# ") for line in rest.splitlines() if line.startswith(("# [search]", "# protocol", "# k =", "# round"))
    )
    assert parse_canonical(read(head.replace('period = "1 day"', "") + search).protocol)["protocol"] == "PEM"
    held = [
        line.removeprefix("# ") for line in rest.splitlines() if line.startswith(("# sets", "# [protocol]", '# name = "PSFO"', "# length"))
    ]
    protocol = "\n".join(["", "[domain]", *held])
    bare = head.replace('period = "1 day"', "").replace('default = "water"', "")
    assert parse_canonical(read(bare + protocol).protocol)["protocol"] == "PSFO"
    questions = "\n" + "\n".join(line.removeprefix("# ") for line in rest[rest.index("# [[questions]]") :].splitlines())
    assert isinstance(read(head.replace('default = "water"', "") + questions).survey, Survey)


def test_strata_that_would_need_more_memory_than_there_is_are_refused():
    toml = b"""
name = "wide"
question = "Which?"
owner = "tests"
epsilon = 1.0
lasts = "1 day"
[domain]
range = %d
[strata]
group = [%s]
"""
    labels = ", ".join(f'"{i}"' for i in range(200)).encode()
    assert read_task(toml % (100_000, labels), key=bytes(32), now=0).stratum_count == 200
    with pytest.raises(ParameterError, match="200,000,000 counters"):
        read_task(toml % (1_000_000, labels), key=bytes(32), now=0)
