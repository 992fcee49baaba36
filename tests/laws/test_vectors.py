"""Words in, report out: scalar and bulk replay the normative vectors, and refuse what must be refused."""

from __future__ import annotations

from itertools import groupby

import pytest

from deniable.contract.canonical import from_plain
from deniable.contract.hashing import HashFamily, public_function, string_key
from deniable.contract.spec import MECHANISMS, spec_from_json
from deniable.core.reports import Reports
from deniable.errors import WireError
from deniable.testing import ReplaySource
from tests.conftest import VECTORS, all_cases, vectors

CASES: dict[str, list] = {}
for found in all_cases():
    CASES.setdefault(found["spec"], []).append(found)
each_spec = pytest.mark.parametrize("text", sorted(CASES), ids=lambda text: text[14:40])
each_mechanism = pytest.mark.parametrize("name", sorted(MECHANISMS))


def words_of(case):
    return [int(word, 16) for word in case["words"]]


def is_refused(read, *arguments):
    try:
        read(*arguments)
    except WireError:
        return True
    return False


def test_every_mechanism_has_vectors_and_every_file_a_mechanism():
    documents = {"canonical", "probability", "specs", "encoders", "tasks", "rounds", "envelopes", "sealing"}
    documents |= {"sets", "models", "texts", "tracks", "ratings"}
    device = {"budget", "answerable", "signatures", "tokens", "verdicts"}
    assert {path.stem for path in VECTORS.glob("*.json")} == set(MECHANISMS) | {"source", "hashing"} | documents | device


@each_spec
def test_scalar_replays(text):
    for case in CASES[text]:
        spec = spec_from_json(text.encode())
        source = ReplaySource(words_of(case))
        report = spec.randomize(from_plain(case["value"]), source)
        assert spec.encode(report).hex() == case["report"], case
        assert source.consumed == len(case["words"]), case
        assert spec.digest.hex() == case["digest"]
        assert spec.decode(bytes.fromhex(case["report"])) == report, case


@each_spec
def test_bulk_replays(text):
    """All cases of a spec at once: people in order, their words end to end, nothing left over."""
    spec, cases = spec_from_json(text.encode()), CASES[text]
    source = ReplaySource([word for case in cases for word in words_of(case)])
    reports = spec.privatize([from_plain(case["value"]) for case in cases], source=source)
    assert [row.tobytes().hex() for row in reports.rows()] == [case["report"] for case in cases]
    assert source.consumed == sum(len(case["words"]) for case in cases)
    assert reports == Reports.from_rows(spec, b"".join(bytes.fromhex(case["report"]) for case in cases))


@each_mechanism
def test_bad_reports_are_refused(name):
    taken = []
    for bad in vectors(name)["refused_reports"]:
        spec, report = spec_from_json(bad["spec"].encode()), bytes.fromhex(bad["report"])
        alone = bad["why"] in ("truncated", "padded")  # in a batch these only shift the next report
        if not (is_refused(spec.decode, report) and (alone or is_refused(Reports.from_rows, spec, report))):
            taken.append(bad)
    assert taken == []
    assert vectors(name)["refused_reports"]


@each_mechanism
def test_bad_specs_are_refused(name):
    assert [bad for bad in vectors(name)["refused_specs"] if not is_refused(spec_from_json, bad["spec"].encode())] == []
    assert vectors(name)["refused_specs"]


@pytest.mark.parametrize(("name", "cases"), [(k, list(g)) for k, g in groupby(vectors("source")["cases"], lambda c: c["primitive"])])
def test_primitives_replay(name, cases):
    for case in cases:
        source = ReplaySource(words_of(case))
        arguments = [int(argument) for argument in case["arguments"]]
        assert str(int(getattr(source, name)(*([arguments] if name == "pick" else arguments)))) == case["result"]
        assert source.consumed == len(case["words"])


def test_hash_families_replay():
    for text, key in vectors("hashing")["strings"]:
        assert f"{string_key(text.encode()):016x}" == key
    for line in vectors("hashing")["symbols"]:
        family = HashFamily(key_bits=line["key_bits"], range=line["range"])
        seed = tuple(int(word, 16) for word in line["seed"])
        assert family.symbol(seed, int(line["key"], 16)) == line["symbol"]
    for line in vectors("hashing")["public"]:
        family = HashFamily(key_bits=line["key_bits"], range=line["range"], shared=True)
        assert family.symbol(public_function(line["salt"], line["function"]), int(line["key"], 16)) == line["symbol"]
