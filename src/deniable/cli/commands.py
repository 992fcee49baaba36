"""The commands in the order of the help: what each is for, which file has it, and examples for the end of its help."""

from __future__ import annotations

from typing import NamedTuple

BEGIN = "Begin"
TRY = "Plan and try"
ASK = "Ask people, and read the answers"
COLLECT = "Run a collector"
OTHERS = "Shufflers and secure sums"


class Command(NamedTuple):
    """One command of the command line."""

    panel: str
    module: str
    promise: str


COMMANDS = {
    "demo": Command(BEGIN, "demo", "Watch a collector, a crowd, and estimates next to the truth."),
    "doctor": Command(BEGIN, "doctor", "Check this installation, and name what is missing."),
    "plan": Command(TRY, "plan", "Compare mechanisms: errors, costs, people needed."),
    "simulate": Command(TRY, "simulate", "Ask a column of a file as if its rows were people."),
    "lab": Command(TRY, "lab", "Run experiments on crowds whose true answers are known."),
    "audit": Command(TRY, "audit", "Check a mechanism's code against its promise."),
    "account": Command(TRY, "account", "Add up the privacy cost of several releases."),
    "task": Command(ASK, "task", "Write, check, publish and close a question."),
    "estimate": Command(ASK, "estimate", "Show estimates from the reports, and what changed."),
    "tally": Command(ASK, "tally", "Count reports in files, without a collector."),
    "verify": Command(ASK, "export", "Check published reports and estimates."),
    "serve": Command(COLLECT, "serve", "Run a collector."),
    "token": Command(COLLECT, "token", "Create and revoke access tokens."),
    "enrol": Command(COLLECT, "enrol", "Write codes that let people take part."),
    "rebuild": Command(COLLECT, "rebuild", "Recount all reports, and compare."),
    "export": Command(COLLECT, "export", "Publish reports, or export them to your own engines."),
    "shuffle": Command(OTHERS, "shuffle", "Run a shuffler, and manage its keys."),
    "aggregate": Command(OTHERS, "aggregate", "Begin a secure sum, and run its aggregator."),
    "party": Command(OTHERS, "party", "Take part in a secure sum."),
    "deal": Command(OTHERS, "deal", "Generate keys for Paillier and stream sums."),
}
URL, STORE = "--url https://collector.example.org", "--store /var/lib/deniable"
ADMIN = f"{URL} --token-file admin.token"
EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("demo", "demo --serve"),
    "doctor": ("doctor", "doctor --json"),
    "plan": ("plan --domain-size 1000 --epsilon 1 --people 100000", "plan mean --low 0 --high 24 --error 0.1"),
    "plan mean": ("plan mean --low 0 --high 24 --error 0.1", "plan mean --low 2026-01-01 --high 2026-12-31 --people 5000"),
    "simulate": ("simulate answers.csv --column drink --epsilon 1", "simulate answers.parquet --column drink --json"),
    "lab": ("lab list", "lab run oracle-shootout --out results"),
    "lab list": ("lab list", "lab list --json"),
    "lab show": ("lab show oracle-shootout", "lab show mine.toml --json"),
    "lab run": ("lab run oracle-shootout --out results", "lab run mine.toml --quick --out results"),
    "audit": ("audit OUE", "audit GRR --epsilon 2 --domain-size 5 --trials 100000", "audit --spec spec.json --json"),
    "account": ("account events.toml --delta 1e-6", "account ledger.journal --chart spent.svg"),
    "task": ("task new morning-drink.toml", "task check morning-drink.toml", f"task publish morning-drink.toml {ADMIN}"),
    "task new": ("task new morning-drink.toml",),
    "task check": ("task check morning-drink.toml", "task check morning-drink.toml --against published.toml"),
    "task publish": (f"task publish morning-drink.toml {ADMIN}",),
    "task list": (f"task list {URL}",),
    "task close": (f"task close morning-drink {ADMIN}",),
    "task seal": (f"task seal morning-drink 3 {ADMIN}",),
    "task advance": (f"task advance first-word {ADMIN}", f"task advance first-word --round 2 --force {ADMIN}"),
    "task delete": (f"task delete morning-drink {ADMIN}",),
    "estimate": (
        f"estimate morning-drink {URL}",
        "estimate morning-drink --period 0-6 --compare-period 7-13",
        "estimate tallies/0-0-0.tally --chart drinks.svg",
    ),
    "tally": (
        "tally board mirror --task task.json",
        "tally s3://bucket/reports --task task.json --resume state --out tallies",
        'tally "reports/2026-*/*.parquet"',
    ),
    "verify": ("verify published", "verify published --task 5e1f... --json"),
    "serve": (f"serve {STORE}", "serve --config /etc/deniable.toml --behind-proxy"),
    "token": (f"token add canteen --role analyst {STORE}", f"token list {STORE}"),
    "token add": (f"token add canteen --role analyst {STORE}",),
    "token list": (f"token list {STORE}",),
    "token remove": (f"token remove canteen {STORE}",),
    "enrol": (f"enrol morning-drink {STORE} --count 100 --out codes.txt",),
    "rebuild": (f"rebuild {STORE}", f"rebuild {STORE} --repair"),
    "export": (f"export morning-drink --open {STORE} --out published", f"export morning-drink --dataset {STORE} --out s3://bucket/reports"),
    "shuffle": (
        "shuffle keys create --folder /var/lib/shuffler",
        "shuffle --folder /var/lib/shuffler --collector https://collector.example.org --task 5e1f...",
        "shuffle keys show --folder /var/lib/shuffler",
    ),
    "shuffle keys": ("shuffle keys create --folder /var/lib/shuffler", "shuffle keys show --folder /var/lib/shuffler"),
    "shuffle keys create": ("shuffle keys create --folder /var/lib/shuffler",),
    "shuffle keys show": ("shuffle keys show --folder /var/lib/shuffler --json",),
    "shuffle keys rotate": ("shuffle keys rotate --folder /var/lib/shuffler --withdraw",),
    "aggregate": (
        "aggregate create admissions.toml --folder /var/lib/admissions",
        "aggregate run --folder /var/lib/admissions --port 8002",
        "aggregate show --folder /var/lib/admissions --json",
    ),
    "aggregate create": ("aggregate create admissions.toml --folder /var/lib/admissions",),
    "aggregate run": ("aggregate run --folder /var/lib/admissions --port 8002",),
    "aggregate show": ("aggregate show --folder /var/lib/admissions --json",),
    "party": (
        "party keys --folder /var/lib/party",
        "party terms --url https://sums.example.org",
        "party run --folder /var/lib/party --url https://sums.example.org --numbers counts.csv --sum 5e1f...",
    ),
    "party keys": ("party keys --folder /var/lib/party",),
    "party terms": ("party terms --url https://sums.example.org",),
    "party run": ("party run --folder /var/lib/party --url https://sums.example.org --numbers counts.csv --sum 5e1f...",),
    "party sums": ("party sums --folder /var/lib/party",),
    "deal": ("deal paillier --decryptors 3 --threshold 2 --out dealt", "deal stream --parties 12 --out dealt"),
    "deal paillier": ("deal paillier --decryptors 3 --threshold 2 --out dealt",),
    "deal stream": ("deal stream --parties 12 --out dealt",),
}
"""Examples by command, without the word deniable."""


def examples_of(command: str) -> tuple[str, ...]:
    """Return the examples of a command as people type them."""
    return tuple(f"deniable {line}" for line in EXAMPLES[command])


def epilog(command: str) -> str:
    """Return the end of a command's help."""
    return "\n".join(["Examples:", *examples_of(command)])
