"""Examples of every command, for the end of its help. One look, and one place: a test holds them against the commands' own options."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("deniable demo", "deniable demo --serve"),
    "doctor": ("deniable doctor", "deniable doctor --json"),
    "audit": (
        "deniable audit OUE",
        "deniable audit GRR --epsilon 2 --domain-size 5 --trials 100000",
        "deniable audit --spec spec.json --json",
    ),
    "account": ("deniable account events.toml --delta 1e-6", "deniable account ledger.journal --chart spent.svg"),
    "simulate": ("deniable simulate answers.csv --column drink --epsilon 1", "deniable simulate answers.parquet --column drink --json"),
    "estimate": (
        "deniable estimate morning-drink --url https://collector.example.org",
        "deniable estimate morning-drink --period 0-6 --compare-period 7-13",
        "deniable estimate tallies/0-0-0.tally --chart drinks.svg",
    ),
    "plan": ("deniable plan --domain-size 1000 --epsilon 1 --n 100000", "deniable plan mean --low 0 --high 24 --error 0.1"),
    "lab": ("deniable lab list", "deniable lab run oracle-shootout --out results"),
    "task": (
        "deniable task new morning-drink.toml",
        "deniable task check morning-drink.toml",
        "deniable task publish morning-drink.toml --url https://collector.example.org --token-file admin.token",
    ),
    "serve": ("deniable serve --store /var/lib/deniable", "deniable serve --config /etc/deniable.toml --behind-proxy"),
    "shuffle": (
        "deniable shuffle keys create --folder /var/lib/shuffler",
        "deniable shuffle --folder /var/lib/shuffler --collector https://collector.example.org --task 5e1f...",
        "deniable shuffle keys show --folder /var/lib/shuffler",
    ),
    "aggregate": (
        "deniable aggregate create admissions.toml --folder /var/lib/admissions",
        "deniable aggregate run --folder /var/lib/admissions --port 8002",
        "deniable aggregate show --folder /var/lib/admissions --json",
    ),
    "party": (
        "deniable party keys --folder /var/lib/party",
        "deniable party terms --url https://sums.example.org",
        "deniable party run --folder /var/lib/party --url https://sums.example.org --numbers counts.csv --sum 5e1f...",
    ),
    "deal": (
        "deniable deal paillier --decryptors 3 --threshold 2 --folder dealt",
        "deniable deal stream --parties 12 --folder dealt",
    ),
    "token": ("deniable token add canteen --role analyst --store /var/lib/deniable", "deniable token list --store /var/lib/deniable"),
    "enrol": ("deniable enrol morning-drink --store /var/lib/deniable --count 100 --out codes.txt",),
    "rebuild": ("deniable rebuild --store /var/lib/deniable",),
    "export": (
        "deniable export morning-drink --open --store /var/lib/deniable --out published",
        "deniable export morning-drink --dataset --store /var/lib/deniable --out s3://bucket/reports",
    ),
    "verify": ("deniable verify published", "deniable verify published --task 5e1f... --json"),
    "tally": (
        "deniable tally board mirror --task task.json",
        "deniable tally s3://bucket/reports --task task.json --resume state --out tallies",
        'deniable tally "reports/2026-*/*.parquet"',
    ),
}


def epilog(command: str) -> str:
    """The end of a command's help."""
    return "\n\n".join(["Examples:", *EXAMPLES[command]])
