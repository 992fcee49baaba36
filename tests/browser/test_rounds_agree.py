"""Rounds that were tampered with at random, before both clients: they refuse the same ones, and what they answer everybody can answer."""

from __future__ import annotations

import json
import subprocess
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction

from deniable.client.answerable import check_answerable
from deniable.contract.canonical import canonical_json
from deniable.contract.question import Question, Round
from deniable.contract.task import Task
from deniable.errors import DeniableError
from deniable.testing import ReplaySource
from tests.browser.test_js_node import node  # noqa: F401  # a fixture
from tests.conftest import ROOT, vectors

TASK = Task.from_json(vectors("budget")["tasks"]["daily"].encode())
ASKED = vectors("answerable")["protocols"]["asked"]
HELD = {
    "Marginals": [{"place": place, "stars": stars, "new": 1, "land": "Norway"} for place in ("bar", "spa") for stars in (1, 4)],
    "LogisticRegression": [{"age": age, "dose": dose, "ill": ill} for age in (0, 120) for dose in (-99, 0.25, 2) for ill in ("no", "yes")],
    "KMeans": [{"age": age, "dose": dose} for age in (0, 59.9, 120) for dose in (-99, 2)],
    "SVIM": [[], ["jam"], ["tea", "milk", "bread", "jam"]],
    "means": [0, 59.9, 120],
}
OTHERS = [0, 1, -1, 2, 8, 9, 2048, 4096, 1 << 20, 1 << 26, "", "0", "2", "120", "1/2", [], {}, [0], [[0]], [[0], [1]], True, "age", "ill"]
OTHERS += [
    "stars",
    "land",
    "Norway",
    "yes",
    "tea",
    "text",
    "index",
    "numbers",
    "Cell",
    "Gradient",
    "Magnitude",
    "PadAndSample",
    "HeldCount",
]


def places(plain, path=()):
    """Where the parts of plain data are."""
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    return [path] * bool(path) + [place for name, part in items for place in places(part, (*path, name))]


def tampered(plain, source):
    """Plain data with a part changed by one, replaced, exchanged for another of its parts, repeated or left out."""
    plain = deepcopy(plain)
    everywhere = places(plain)
    if not everywhere:
        return plain
    *path, last = everywhere[source.below(len(everywhere))]
    holder, another = plain, plain
    for name in path:
        holder = holder[name]
    for name in everywhere[source.below(len(everywhere))]:
        another = another[name]
    way = source.below(6)
    if way == 0:
        holder.pop(last)
    elif way == 1 and isinstance(holder, list):
        holder.append(deepcopy(holder[last]))
    elif way == 2 and type(holder[last]) is int:
        holder[last] += 1 - 2 * source.below(2)
    else:
        holder[last] = deepcopy(another if way == 3 else OTHERS[source.below(len(OTHERS))])
    return plain


def verdict(protocol, plain):
    """What Python's client makes of it; whoever holds whatever has an answer if anybody has."""
    try:
        question = Question.from_json(plain)
        task = replace(TASK, protocol=canonical_json(protocol), rounds=True, period=0)
        check_answerable(task, Round((question,), Fraction(0)))
    except DeniableError as error:
        return type(error).__name__
    for number, value in enumerate(HELD[protocol["protocol"]]):
        question.spec.encode(question.answer(value, ReplaySource.from_key(f"{number}")))
    return "answered"


def test_both_clients_answer_the_same_rounds(node):  # noqa: F811  # a fixture
    source, cases = ReplaySource.from_key("tampered"), []
    for _ in range(800):
        asked, other = (ASKED[source.below(len(ASKED))] for _ in range(2))
        question = json.loads(asked["question"])
        if source.below(4) == 0:
            question["spec"] = json.loads(other["question"])["spec"]
        for _ in range(source.below(3)):
            question["encoder"] = tampered(question["encoder"], source)
        cases.append([json.loads(asked["protocol"]), question])
    found = [verdict(*case) for case in cases]
    path = ROOT / "tests" / "browser" / "judging.mjs"
    done = subprocess.run([node, path], input=json.dumps(cases), capture_output=True, text=True, check=True, timeout=300)
    assert [case for case, here, there in zip(cases, found, json.loads(done.stdout), strict=True) if here != there] == []
    assert min(found.count(kind) for kind in ("answered", "ProtocolError", "WireError")) > 30
