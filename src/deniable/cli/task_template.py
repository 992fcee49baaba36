"""The file that ``deniable task new`` writes."""

from __future__ import annotations

TEMPLATE = """\
# A question to people's devices. Check it with: deniable task check FILE
# A published task cannot change: to change it, publish another one.

name = "{name}"
question = "What do you drink in the morning?"
owner = "research@example.org"       # who answers questions about it
# note = "..."                       # added to the privacy statement, which comes from this file

# --- privacy ---
epsilon = 1.0                        # the most that one answer costs; smaller is more private
answers = 1                          # the most from one person, in a lifetime: at worst epsilon x answers
# weak_privacy = true                # needed above 6 in the worst case, which nearly reveals the answers
default = "water"                    # what a device without an answer sends; left out: nothing, which the collector can see

# --- time ---
# start = 2026-12-01                 # left out: now; times without an offset are UTC
lasts = "30 days"                    # or end = 2026-12-31
# period = "1 day"                   # start a new count this often; left out: one count, at the end
# late = "1 hour"                    # accept reports this long after their period
# retention = "90 days"              # keep reports this long after they are counted

# --- results ---
people = 10_000                      # expected respondents, for choosing the mechanism
minimum_batch = 100                  # show nothing about fewer people

# --- what an answer can be: one of these ---
[domain]
categories = ["tea", "coffee", "water", "something else"]
# yes_no = true
# range = 10                         # 0 to 9
# integers = [0, 100]                # including both
# numbers = {{ low = 0, high = 120 }}  # for their mean; clip = true moves values out of range to the nearest end
# text = 16                          # at most this many bytes; needs candidates, or a [search]
# bytes = 8                          # in hex
# candidates = ["maté", "cocoa"]     # what to count in text, bytes or a very large range

# --- the mechanism; left out: the one with the smallest predicted error ---
# [mechanism]
# name = "GRR"                       # for numbers, "SquareWave" estimates the whole distribution

# --- to find values without a list, instead of [mechanism] ---
# [search]
# protocol = "PEM"
# k = 16                             # how many of the most frequent ones
# round = "1 hour"                   # left out: close rounds by hand, with: deniable task advance ID

# --- sets, sequences, places or a model, instead of [mechanism] ---
# sets = {{ categories = ["tea", "milk"] }} # in [domain]: people answer with a list of these, maybe an empty one
# [protocol]
# name = "PSFO"                      # how many people have each; SVIM finds the most frequent of very many
# length = 2                         # how many of them count per person

# --- with shufflers that hide who sent what: needs trust = "shuffle" above; epsilon = "auto" is then the largest that this allows ---
# [shuffle]
# epsilon = 0.5                      # of a whole batch; if no shuffler is honest, the epsilon above holds
# delta = 1e-6
# minimum = 1000                     # reports in the smallest batch
# honest = "9/10"                    # the share of its people assumed honest; left out: all
# shufflers = [{{ url = "https://shuffler.example.org", key = "..." }}]  # see: deniable shuffle keys

# --- sent in the clear with every report: only what anyone may know ---
# [strata]
# platform = ["phone", "web"]

# --- several questions, each person answers one, instead of [domain] and [mechanism] ---
# [[questions]]
# name = "drink"
# domain = {{ categories = ["tea", "coffee"] }}
# [[questions]]
# name = "smoker"
# domain = {{ yes_no = true }}
"""


def template(name: str) -> str:
    """Return a task file to start from."""
    return TEMPLATE.format(name=name)
