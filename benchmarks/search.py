"""Finding 10 strings of 48 bits among 100,000 people at epsilon 3, side by side with pure-ldp's prefix search on the same people.

Timed: from values to the strings found, with the default secure source on all cores.
"""

from pathlib import Path

import deniable as dn
from environments import python_of
from printing import compact, markdown
from strings import BITS, EPSILON, K, crowd, found_of
from timing import best, json_line, say

PEOPLE = 100_000
REPEATS = 3
SETTINGS = {
    "defaults": {},
    "OLH": {"oracle": "OLH"},
    "OLH, steps of 6 bits": {"oracle": "OLH", "step_bits": 6},
    "PGR, steps of 8 bits": {"oracle": "PGR", "step_bits": 8},
}
PEERS = {"HCMS": PEOPLE}
"""With OLH, its default, the library needs 512 GiB at 48 bits, with FLH 25 GiB."""
PATIENCE = 300


def measure(with_peers):
    """One entry for each setting, and one for each of the peer's oracles."""
    heavy, values = crowd(PEOPLE)
    entries = []
    for name, options in SETTINGS.items():
        say(f"PEM, {name}: deniable, {PEOPLE:,} people ...")
        search = dn.PEM(bits=BITS, k=K, epsilon=EPSILON, people=PEOPLE, **options)
        found = [found_of(search.run(values).values, heavy) for _ in range(5)]
        seconds = best(REPEATS, lambda search=search: search.run(values))
        entries.append({"search": f"deniable, {name}", "people_per_second": PEOPLE / seconds, "found": sum(found) / len(found)})
    for oracle, people in PEERS.items() if with_peers else ():
        say(f"PEM, {oracle}: pure-ldp, {people:,} people ...")
        try:
            result = json_line([python_of("pure-ldp"), Path(__file__).with_name("peer_search.py"), oracle, people], timeout=PATIENCE)
        except (RuntimeError, OSError) as error:
            entries.append({"search": f"pure-ldp, {oracle}", "error": str(error)})
            continue
        rate = result["people"] / result["seconds"]
        entries.append({"search": f"pure-ldp, {oracle}", "people_per_second": rate, "found": result["found"]})
    return entries


def table(entries):
    """People per second, and how many of the true top 10 were found, on average over five runs."""
    rates = [entry["people_per_second"] for entry in entries if entry["search"].startswith("pure-ldp") and "error" not in entry]
    rows = []
    for entry in entries:
        if "error" in entry:
            rows.append([entry["search"], f"fails: {entry['error']}", "-", "-"])
            continue
        ratio = f"{entry['people_per_second'] / max(rates):,.0f}x" if rates and entry["search"].startswith("deniable") else "-"
        rows.append([entry["search"], compact(entry["people_per_second"]), f"{entry['found']:g}", ratio])
    return markdown(["search", "people/s", f"found of {K}", "times pure-ldp's fastest"], rows)
