"""Chances as the survey page writes them: none is rounded up to certainty, or down to never."""

from __future__ import annotations

import json
import shutil
import subprocess
from math import log, log1p, log2

from tests.conftest import ROOT
from tests.services import needed

ASSETS = ROOT / "src" / "deniable" / "collect" / "dashboard" / "assets"

ASK = """
import { chanceInWords } from "./chance.js";
let text = "";
for await (const part of process.stdin) text += part;
console.log(JSON.stringify(JSON.parse(text).map(chanceInWords)));
"""


def test_no_chance_reads_as_certain_or_impossible(tmp_path):
    node = shutil.which("node")
    needed(node, "node is not installed (on Debian: apt-get install nodejs npm)")
    (tmp_path / "chance.js").write_text((ASSETS / "chance.js").read_text())
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "ask.js").write_text(ASK)
    wrong = {2_982: "all but 1 in 2,982", 3_000_000: "all but less than 1 in 1,000,000", 1_000: "99.9 %", 4: "75.0 %"}
    small = {0.5: "50.0 %", 0.01: "1.0 %", 1 / 2_982: "1 in 2,982", 2**-70: "1 in 10^21"}
    asked = [log1p(-1 / once) / log(2) for once in wrong] + [log2(chance) for chance in small]
    asked += [log1p(-(2.0**-i)) / log(2) for i in range(1, 53)] + [float(-i) for i in range(1, 2_000)]
    done = subprocess.run([node, "ask.js"], cwd=tmp_path, input=json.dumps(asked), capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told[: len(wrong) + len(small)] == [*wrong.values(), *small.values()]
    assert not {"100.0 %", "100 %", "0.0 %", "1 in 1", "1 in Infinity", "all but 1 in Infinity"} & set(told)
