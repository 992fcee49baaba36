"""The demo's questions: three ordinary task files, and the true answers of its crowd."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# The files must take any epsilon, so each sets weak_privacy; the pages show how weak it is.
DRINK = """\
name = "morning-drink"
question = "What do you drink in the morning?"
owner = "the demo, on this machine"
epsilon = {epsilon!r}
weak_privacy = true
lasts = "1 day"
people = {people}
minimum_batch = 10

[domain]
categories = ["tea", "coffee", "water", "juice", "milk", "cocoa", "lemonade", "cider", "beer", "wine", "mate", "kefir"]

[mechanism]
name = "auto"
"""
WORD = """\
name = "first-word"
question = "Which word did you search for first today?"
owner = "the demo, on this machine"
epsilon = {word_epsilon!r}
weak_privacy = true
lasts = "1 day"
people = {people}
minimum_batch = 10

[domain]
text = 6

[search]
protocol = "PEM"
k = 8
"""
BICYCLE = """\
name = "bicycle"
question = "Do you own a bicycle?"
owner = "the demo, on this machine"
epsilon = {epsilon!r}
weak_privacy = true
lasts = "1 day"
people = {people}
minimum_batch = 10

[domain]
yes_no = true
"""
WORDS = """
rain news train recipe music map shoes bank film dog garden flight hotel jobs photo chess coffee lunch cat moon bus radio school car
book phone game shop money soup bread rent piano beach ski river paint doctor lamp cheese coat tent salad king snow taxi poem
zoo lake gym golf tea wine boat dress wood novel pizza farm rose fish bird clock sofa desk chair table glass knife plate bowl
spoon fork oven fridge sink soap towel brush comb mirror shirt socks hat scarf glove belt ring watch bag box rope nail hammer
saw drill screw bolt wire cable plug fuse bulb switch motor wheel tire brake pedal chain frame seat helmet lock key door window roof
wall floor stairs attic cellar fence gate yard lawn tree leaf root seed fruit apple pear plum grape cherry lemon lime orange banana
mango peach melon berry nut almond walnut rice pasta bean pea corn carrot onion garlic potato tomato pepper salt sugar honey butter
cream milk egg bacon ham beef lamb pork duck goose
"""
"""Words that the collector does not know; the first is the most frequent."""
BICYCLES = 0.37
"""The share of people with a bicycle."""
WORD_COSTS = 4
"""How much more epsilon a search costs: finding words without a list needs a stronger signal than counting a list."""


@dataclass(frozen=True)
class DemoQuestion:
    """One question: its task file, each person's true answer, and how to show answers."""

    toml: str
    held: list[Any]
    shown: dict[Any, str]

    @property
    def truth(self) -> Counter[Any]:
        """Return how many people have each value."""
        return Counter(self.held)


def questions(people: int, epsilon: float) -> list[DemoQuestion]:
    """Return the drink, the bicycle and the word, with one true answer per person."""
    settings = {"people": people, "epsilon": epsilon, "word_epsilon": WORD_COSTS * epsilon}
    owners = round(BICYCLES * people)
    drink, bicycle, word = (toml.format(**settings) for toml in (DRINK, BICYCLE, WORD))
    drinks = tomllib.loads(drink)["domain"]["categories"]
    return [
        DemoQuestion(drink, _mixed(_zipf(drinks, 1.1, people), 7919), {}),
        DemoQuestion(bicycle, _mixed([1] * owners + [0] * (people - owners), 104_729), {0: "no", 1: "yes"}),
        DemoQuestion(word, _mixed(_zipf(WORDS.split(), 1.0, people), 15_485_863), {}),
    ]


def _zipf(values: Sequence[str], exponent: float, people: int) -> list[str]:
    from deniable.lab.populations import Zipf

    counts = Zipf(exponent=exponent, size=len(values)).counts(people).tolist()
    return [value for value, count in zip(values, counts, strict=True) for _ in range(count)]


def _mixed(values: list[Any], step: int) -> list[Any]:
    """Return the values in an order of its own per question, so that answers are unrelated: every ``step``-th, around and around."""
    order = sorted(range(len(values)), key=lambda i: i * step % len(values))
    return [values[i] for i in order]
