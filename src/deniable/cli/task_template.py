"""The file that ``deniable task new`` writes."""

from __future__ import annotations

TEMPLATE = """\
# A question to people's devices. Check it with: deniable task check FILE
# Once it is published nothing in it can change: another meaning is another task.

name = "{name}"
question = "What do you drink in the morning?"
owner = "research@example.org"       # whom people can ask about it
# note = "..."                       # added to the privacy statement, which is made from this file

# --- privacy ---
epsilon = 1.0                        # what one answer costs at most; smaller is more private
answers = 1                          # of one person, over a lifetime: the worst case is epsilon x answers
# weak_privacy = true                # needed above 6 in the worst case, which nearly gives answers away
default = "water"                    # what a device sends without an answer; left out: nothing, and that shows

# --- time ---
# start = 2026-12-01                 # left out: now; without an offset times are UTC
lasts = "30 days"                    # or end = 2026-12-31
# period = "1 day"                   # count anew so often; left out: once, at the end
# late = "1 hour"                    # reports are taken so long after their period
# retention = "90 days"              # reports are kept so long after they were counted

# --- results ---
people = 10_000                      # expected; for choosing the mechanism
minimum_batch = 100                  # nothing is shown about fewer people

# --- what an answer may be: one of these ---
[domain]
categories = ["tea", "coffee", "water", "something else"]
# yes_no = true
# range = 10                         # 0 to 9
# integers = [0, 100]                # both included
# numbers = {{ low = 0, high = 120 }}  # for their mean; clip = true counts what is out of range as the nearest end
# text = 16                          # at most so many bytes; needs candidates, or a [search]
# bytes = 8                          # written in hex
# candidates = ["maté", "cocoa"]     # what to count in text, bytes or a very large range

# --- left out: the mechanism with the smallest predicted error ---
# [mechanism]
# name = "GRR"                       # of numbers, "SquareWave" estimates the whole distribution

# --- for values that nobody listed, instead of [mechanism] ---
# [search]
# protocol = "PEM"
# k = 16                             # so many of the most frequent ones
# round = "1 hour"                   # left out: rounds are closed by hand, with: deniable task advance ID

# --- what people hold together, a line of values, places or a model, instead of [mechanism] ---
# sets = {{ categories = ["tea", "milk"] }} # in [domain]: people answer with a list of these, or with an empty one
# [protocol]
# name = "PSFO"                      # how many people hold each; SVIM finds the most frequent of very many
# length = 2                         # so many of them count for each person

# --- through shufflers that hide who sent what: with trust = "shuffle" above; epsilon = "auto" is then the largest that this allows ---
# [shuffle]
# epsilon = 0.5                      # of a whole batch; the epsilon above is what holds if no shuffler is honest
# delta = 1e-6
# minimum = 1000                     # reports in the smallest batch
# honest = "9/10"                    # so many of its people are assumed honest; left out: all
# shufflers = [{{ url = "https://shuffler.example.org", key = "..." }}]  # see: deniable shuffle keys

# --- sent in the clear with every report: only what anyone may know ---
# [strata]
# platform = ["phone", "web"]

# --- several questions, of which each person answers one, instead of [domain] and [mechanism] ---
# [[questions]]
# name = "drink"
# domain = {{ categories = ["tea", "coffee"] }}
# [[questions]]
# name = "smoker"
# domain = {{ yes_no = true }}
"""


def template(name: str) -> str:
    """A task file to begin with."""
    return TEMPLATE.format(name=name)
