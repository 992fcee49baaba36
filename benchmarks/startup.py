"""What one waits for before the first answer: imports on a device, and the first use of the bulk kernels.

As a script, prints one JSON line: seconds to import the bulk half and to make each mechanism's first estimate in this process.
"""

import json
import os
import subprocess
import sys
import tempfile

from printing import markdown
from timing import best, json_line, say, seconds

REPEATS = 5
TARGET_MS = 50
STATEMENTS = ("import deniable", "import deniable.client", "from deniable.client import Reporter")
THIRD_PARTY = """
import json, sys
before = set(sys.modules)
{statement}
tops = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(json.dumps(sorted(tops - set(sys.stdlib_module_names) - {{"deniable"}})))
"""


def measure():
    """Milliseconds of each import beyond a bare interpreter, the packages it drags in, and the seconds of first use."""
    say("imports and first use ...")
    bare = best(REPEATS, lambda: _isolated("pass"))
    imports = []
    for statement in STATEMENTS:
        time = best(REPEATS, lambda statement=statement: _isolated(statement))
        third_party = json.loads(_isolated(THIRD_PARTY.format(statement=statement)))
        imports.append({"statement": statement, "milliseconds": 1e3 * (time - bare), "third_party": third_party, "target": TARGET_MS})
    with tempfile.TemporaryDirectory() as empty:
        # The second process finds what the first one has compiled.
        first_use = [json_line([sys.executable, __file__], env=os.environ | {"NUMBA_CACHE_DIR": empty}) for _ in range(2)]
    return {"bare_ms": 1e3 * bare, "imports": imports, "compiling": first_use[0], "cached": first_use[1]}


def table(result):
    """Two tables: imports, and first use."""
    rows = [
        [e["statement"], f"{e['milliseconds']:.1f} ms", ", ".join(e["third_party"]) or "none", f"below {e['target']} ms"]
        for e in result["imports"]
    ]
    imports = markdown(["fresh interpreter", "beyond a bare one", "third-party modules", "target"], rows)
    steps = [[name, f"{time:.2f} s", f"{result['cached'][name]:.2f} s"] for name, time in result["compiling"].items()]
    return imports + "\n\n" + markdown(["first use of", "ever (compiles)", "in a later process"], steps)


def _isolated(code):
    return subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout


def first_use():
    """Seconds of the first estimate of each mechanism, for a handful of people."""
    from importlib import import_module

    steps = {"the analyst's packages": seconds(lambda: import_module("deniable.local"))}
    from oracles import PEERS, oracle_of
    from population import values_for

    for mechanism in PEERS:
        oracle, values = oracle_of(mechanism), values_for(mechanism, 100)
        steps[mechanism] = seconds(lambda: oracle.estimate(oracle.tally(oracle.privatize(values))))  # noqa: B023  # called at once
    return steps


if __name__ == "__main__":
    print(json.dumps(first_use()))
