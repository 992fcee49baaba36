"""What the survey page says about a report's chances is the law that Python's audits have checked, mechanism by mechanism."""

from __future__ import annotations

import json
import shutil
import subprocess
from fractions import Fraction
from math import log2

import pytest

import deniable as dn
from deniable.contract.domain import Text
from tests.conftest import ROOT
from tests.services import needed

ASSETS = ROOT / "src" / "deniable" / "collect" / "dashboard" / "assets"
CLIENT = ROOT / "clients" / "js" / "src"
ASK = """
import { lawOf, log2, LAWS } from "./law.js";
import { specFromJson } from "./client/index.js";
let text = "";
for await (const part of process.stdin) text += part;
const fraction = (pair) => pair.map(String);
const told = [];
for (const { spec: canonical, reports, keys } of JSON.parse(text)) {
  const spec = specFromJson(canonical);
  for (const report of reports) {
    const law = lawOf(spec, spec.decode(Uint8Array.from(Buffer.from(report, "hex"))));
    told.push([law.common, await Promise.all(keys.map(async (key) => fraction(await law.weight(BigInt(key)))))]);
  }
}
console.log(JSON.stringify({ told, names: Object.keys(LAWS), large: log2([3n << 3000n, 1n << 2999n]) }));
"""
FEW = 600
"""So many reports of a large law are compared."""
SPECS = {
    dn.RR(epsilon=1.0): 1,
    dn.RR.from_probabilities("9/10", "1/5"): 1,
    dn.GRR(domain_size=5, epsilon=1.0): 1,
    dn.OUE(domain_size=5, epsilon=1.0): 1,
    dn.SUE(domain_size=9, epsilon=2.0): 1,
    dn.THE(domain_size=4, epsilon=1.0): 1,
    dn.SubsetSelection(domain_size=6, epsilon=0.5): 1,
    dn.HRR(domain_size=5, epsilon=1.0): 8,
    dn.HadamardResponse(domain_size=11, epsilon=2.0): 1,
    dn.PGR(domain_size=7, epsilon=1.0): 1,
    dn.RWS(domain_size=6, epsilon=1.0): 6,
    dn.CMS(domain_size=5, epsilon=1.0, hashes=3, width=4): 3,
    dn.HCMS(domain_size=5, epsilon=1.0, hashes=3, width=4): 12,
    dn.FLH(domain_size=5, epsilon=1.0, hashes=3): 3,
    dn.BloomRR(domain_size=5, epsilon=1.0, bits=4, hashes=2, cohorts=3): 3,
    dn.DBitFlip(domain_size=5, epsilon=1.0, bits=2): 10,
    dn.DBitFlip(domain_size=5, epsilon=1.0, bits=1): 5,
    dn.SHE(domain_size=2, epsilon=1.0, steps=2): 1,
    dn.OLH(domain_size=5, epsilon=1.0): 1,
    dn.BLH(domain_size=5, epsilon=1.0): 1,
    dn.OLH(domain=Text(8), epsilon=1.0): 1,
    dn.OneBitMean(low=0, high=4, steps=4, epsilon=1.0): 1,
    dn.Duchi(low=0, high=4, steps=4, epsilon=0.3): 1,
    dn.SignRR(low=0, high=1, epsilon=2.0): 1,
}
"""Mechanisms, and how many ways there are to draw what does not depend on the answer and is no seed: the page takes it as given."""


def values_of(spec):
    return ["tea", "coffee", ""] if isinstance(spec.domain, Text) else list(range(spec.domain.size))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the page's module says, for every report of every law."""
    node = shutil.which("node")
    needed(node, "node is not installed (on Debian: apt-get install nodejs npm)")
    folder = tmp_path_factory.mktemp("law")
    (folder / "law.js").write_text((ASSETS / "law.js").read_text())
    (folder / "client").symlink_to(CLIENT)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "ask.js").write_text(ASK)
    asked, laws = [], []
    for spec in SPECS:
        seed = tuple(range(3, 3 + getattr(spec, "seed_words", 0)))
        found = [spec.law(value, seed=seed) for value in values_of(spec)]
        reports = list(found[0])[:FEW]
        keys = [str(spec.domain.key(value)) for value in values_of(spec)]
        asked.append({"spec": spec.canonical.decode(), "reports": [spec.encode(report).hex() for report in reports], "keys": keys})
        laws += [(spec, [law[report] for law in found]) for report in reports]
    done = subprocess.run(
        [node, "--preserve-symlinks", "ask.js"], cwd=folder, input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["large"] == pytest.approx(log2(3) + 1)
    assert set(content["names"]) == {spec.mechanism for spec in SPECS}
    return list(zip(laws, content["told"], strict=True))


def test_weights_are_the_laws_to_the_last_digit(told):
    for (spec, law), (_, weights) in told:
        shown = [Fraction(int(n), int(d)) for n, d in weights]
        assert [weight / shown[0] for weight in shown] == [chance / law[0] for chance in law], spec


def test_chances_are_those_of_the_law_given_what_is_drawn_without_looking(told):
    for (spec, law), (common, weights) in told:
        for chance, (n, d) in zip(law, weights, strict=True):
            assert common + log2(Fraction(int(n), int(d))) == pytest.approx(log2(chance * SPECS[spec]), abs=1e-9), spec
