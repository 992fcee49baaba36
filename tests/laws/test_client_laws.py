"""The chances that the browser client gives for a report are the law that Python's audits have checked, mechanism by mechanism."""

from __future__ import annotations

import json
import shutil
import subprocess
from fractions import Fraction
from math import log2

import pytest

import deniable as dn
from deniable.client.longitudinal import Longitudinal
from deniable.contract.domain import Text
from deniable.contract.spec import MECHANISMS
from tests.conftest import ROOT, drawn_ways
from tests.services import needed

CLIENT = ROOT / "clients" / "js"
ASK = """
import { specFromJson } from "./src/index.js";
import { log2 } from "./src/law.js";
let text = "";
for await (const part of process.stdin) text += part;
const fraction = (pair) => pair.map(String);
const told = [];
const place = (key) => (Array.isArray(key) ? key.map(BigInt) : BigInt(key));
for (const { spec: canonical, reports, keys } of JSON.parse(text)) {
  const spec = specFromJson(canonical);
  for (const report of reports) {
    const law = spec.law(spec.decode(Uint8Array.from(Buffer.from(report, "hex"))));
    told.push([law.common, await Promise.all(keys.map(async (key) => fraction(await law.weight(place(key)))))]);
  }
}
console.log(JSON.stringify({ told, large: log2([3n << 3000n, 1n << 2999n]) }));
"""
FEW = 600
"""So many reports of a large law are compared."""
SPECS = [
    dn.RR(epsilon=1.0),
    dn.RR.from_probabilities("9/10", "1/5"),
    dn.GRR(domain_size=5, epsilon=1.0),
    dn.OUE(domain_size=5, epsilon=1.0),
    dn.SUE(domain_size=9, epsilon=2.0),
    dn.THE(domain_size=4, epsilon=1.0),
    dn.SubsetSelection(domain_size=6, epsilon=0.5),
    dn.HRR(domain_size=5, epsilon=1.0),
    dn.HadamardResponse(domain_size=11, epsilon=2.0),
    dn.PGR(domain_size=7, epsilon=1.0),
    dn.RWS(domain_size=6, epsilon=1.0),
    dn.CMS(domain_size=5, epsilon=1.0, hashes=3, width=4),
    dn.HCMS(domain_size=5, epsilon=1.0, hashes=3, width=4),
    dn.FLH(domain_size=5, epsilon=1.0, hashes=3),
    dn.BloomRR(domain_size=5, epsilon=1.0, bits=4, hashes=2, cohorts=3),
    dn.DBitFlip(domain_size=5, epsilon=1.0, bits=2),
    dn.DBitFlip(domain_size=5, epsilon=1.0, bits=1),
    dn.SHE(domain_size=2, epsilon=1.0, steps=2),
    dn.OLH(domain_size=5, epsilon=1.0),
    dn.BLH(domain_size=5, epsilon=1.0),
    dn.OLH(domain=Text(8), epsilon=1.0),
    dn.OneBitMean(low=0, high=4, steps=4, epsilon=1.0),
    dn.Duchi(low=0, high=4, steps=4, epsilon=0.3),
    dn.SignRR(low=0, high=1, epsilon=2.0),
    dn.Piecewise(low=0, high=8, steps=8, epsilon=1.0),
    dn.SquareWave(low=0, high=8, steps=8, epsilon=2.0),
    dn.Hybrid(low=0, high=8, steps=8, epsilon=2.0),
    dn.Hybrid(low=0, high=8, steps=8, epsilon=0.3),
    dn.DiscreteLaplace(low=0, high=4, steps=4, epsilon=2.0),
]
WITH_LAW = {name for name, cls in MECHANISMS.items() if not issubclass(cls, Longitudinal)}
"""Those that answer again and again have none: ``tests/laws/test_interface.py`` sees to it that they say why."""
SPECS += [MECHANISMS[name].example() for name in sorted(WITH_LAW - {spec.mechanism for spec in SPECS})]  # one that was just added


def values_of(spec):
    """All values, or some; of numbers also some between grid points, where the mechanism takes them."""
    between = [Fraction(1, 3), spec.steps - Fraction(1, 100)] if spec.numeric and spec.rounds else []
    return ["tea", "coffee", ""] if isinstance(spec.domain, Text) else [*range(spec.domain.size), *between]


def key_of(spec, value):
    """A key as the page passes it on: of a number, its place on the grid."""
    place = spec.position(value) if spec.numeric else spec.domain.key(value)
    return [str(place.numerator), str(place.denominator)] if spec.numeric else str(place)


@pytest.fixture(scope="module")
def told():
    """What the client says, for every report of every law."""
    node = shutil.which("node")
    needed(node, "node is not installed (on Debian: apt-get install nodejs npm)")
    asked, laws = [], []
    for spec in SPECS:
        seed = tuple(range(3, 3 + spec.seed_words))
        found = [spec.law(value, seed=seed) for value in values_of(spec)]
        reports = list(found[0])[:FEW]
        keys = [key_of(spec, value) for value in values_of(spec)]
        asked.append({"spec": spec.canonical.decode(), "reports": [spec.encode(report).hex() for report in reports], "keys": keys})
        laws += [(spec, [law[report] for law in found]) for report in reports]
    command = [node, "--input-type=module", "-e", ASK]
    done = subprocess.run(command, cwd=CLIENT, input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["large"] == pytest.approx(log2(3) + 1)
    return list(zip(laws, content["told"], strict=True))


def test_every_mechanism_with_a_law_is_among_them():
    assert {spec.mechanism for spec in SPECS} == WITH_LAW


def test_weights_are_the_laws_to_the_last_digit(told):
    for (spec, law), (_, weights) in told:
        shown = [Fraction(int(n), int(d)) for n, d in weights]
        assert [weight / shown[0] for weight in shown] == [chance / law[0] for chance in law], spec


def test_chances_are_those_of_the_law_given_what_is_drawn_without_looking(told):
    """What is drawn so is as likely in every way: the page takes it as given."""
    for (spec, law), (common, weights) in told:
        for chance, (n, d) in zip(law, weights, strict=True):
            assert common + log2(Fraction(int(n), int(d))) == pytest.approx(log2(chance * drawn_ways(spec)), abs=1e-9), spec
