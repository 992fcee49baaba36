"""The commands, in the order of the help: what each is for in one line, and which file has it."""

from __future__ import annotations

from typing import NamedTuple

BEGIN = "Begin"
TRY = "Plan and try, before anyone is asked"
ASK = "Ask people, and learn what they say"
COLLECT = "Run a collector"
OTHERS = "Trust nobody alone"


class Command(NamedTuple):
    """One command of the command line."""

    panel: str
    module: str
    promise: str


COMMANDS = {
    "demo": Command(BEGIN, "demo", "See it work: a collector, a crowd, the answers beside the truth."),
    "doctor": Command(BEGIN, "doctor", "Check this installation, and name what is missing."),
    "plan": Command(TRY, "plan_mean", "Compare mechanisms: errors, costs, people needed."),
    "simulate": Command(TRY, "simulate", "Ask a column of a file as if its rows were people."),
    "lab": Command(TRY, "lab", "Run experiments on crowds whose truth is known."),
    "audit": Command(TRY, "audit", "Check a mechanism's code against its promise."),
    "account": Command(TRY, "account", "Add up what releases cost together."),
    "task": Command(ASK, "task", "Write, check, publish and close a question to devices."),
    "estimate": Command(ASK, "estimate", "Show what the reports say, and what changed."),
    "tally": Command(ASK, "tally", "Count reports in files, without a collector."),
    "verify": Command(ASK, "export", "Check what somebody has published."),
    "serve": Command(COLLECT, "serve", "Run a collector."),
    "token": Command(COLLECT, "token", "Give and take the tokens of analysts and admins."),
    "enrol": Command(COLLECT, "enrol", "Write the codes that people need to be counted."),
    "rebuild": Command(COLLECT, "rebuild", "Count everything again, and compare."),
    "export": Command(COLLECT, "export", "Publish reports, or write them for your own engines."),
    "shuffle": Command(OTHERS, "shuffle", "Run a shuffler, and keep its keys."),
    "aggregate": Command(OTHERS, "aggregate", "Begin a secure sum, and run its aggregator."),
    "party": Command(OTHERS, "party", "Take part in a secure sum."),
    "deal": Command(OTHERS, "deal", "Make the keys of sums that are not by masking."),
}
