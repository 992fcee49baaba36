"""What the parties of a sum agree on, and the numbers that they bring: everything is in the id, and every mistake has its name."""

from __future__ import annotations

import json
import traceback

import numpy as np
import pytest
from typer.testing import CliRunner

from deniable.cli.app import command_line
from deniable.collect.sums.aggregation import estimate_of
from deniable.collect.sums.agreement import Agreement, described
from deniable.collect.sums.agreement_file import read_agreement_file
from deniable.collect.sums.numbers import read_numbers
from deniable.collect.sums.participation import confirmed
from deniable.errors import DeniableError, ParameterError, ProtocolError, WireError
from deniable.multiparty.masking.party import MaskingParty
from tests.collect.test_sums import TEXT, Five


@pytest.fixture
def five(tmp_path):
    whole = Five(tmp_path)
    yield whole
    whole.store.close()


# --- the agreement ---


def test_whatever_parties_are_told_is_in_the_id(five):
    """An aggregator that promises more noise to one party than to another gets no message that fits the other's sum."""
    whole = five.agreement
    assert Agreement.from_json(whole.canonical) == whole
    content = json.loads(whole.canonical)
    changes = {"name": "x", "nonce": "00" * 16, "values": ["flu", "x"], "epsilon": "2.0", "delta": "1e-06", "word_bits": 64}
    changes |= {"signed": True, "hybrid": True}
    changed = [content | {name: value} for name, value in changes.items()]
    changed += [
        content | {"numbers": content["numbers"] | dict.fromkeys(names, "500.0")}
        for names in (["largest"], ["norm_2"], ["norm_1", "norm_2"])
    ]
    ids = {whole.id}
    for other in changed:
        data = json.dumps(other, sort_keys=True, separators=(",", ":")).encode()
        found = Agreement.from_json(data)
        ids.add(found.id)
        with pytest.raises(ParameterError, match="read its terms first"):
            confirmed(found, whole.id.hex())
        party = MaskingParty(found.terms, 0, five.folders[0].identity(), np.array([1, 1]))
        with pytest.raises(ProtocolError, match="do not mix"):
            five.sum.take(0, party.first())
    assert len(ids) == 1 + len(changed)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"extra": 1},
        {"parties": 3},
        {"parties": [{"name": "a", "key": "zz"}]},
        {"epsilon": "1"},
        {"epsilon": "-1.0"},
        {"epsilon": "nan"},
        {"length": 3},
        {"word_bits": 16},
        {"unit": "planet"},
        {"name": "a\u001b[2J"},
        {"honest": "1"},
        {"numbers": {"largest": "1e9", "norm_1": "1.0", "norm_2": "1.0", "bits": 0}},
        {"numbers": {"largest": "1000.0", "norm_1": "1.0", "norm_2": "0.001", "bits": 0}},
        {"numbers": {"largest": "1000.0", "norm_1": "9.0", "norm_2": "6.3", "bits": 0}},  # 4.5 in each of two are 6.36 already
        {"nonce": "00"},
        {"signed": 1},
        {"hybrid": 1},
        {"hybrid": False},  # which is written by leaving it out
    ],
    ids=str,
)
def test_agreements_that_nobody_could_keep(five, change):
    content = json.loads(five.agreement.canonical) | change
    with pytest.raises((WireError, ParameterError)):
        Agreement.from_json(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())
    for data in (b"", b"{}", five.agreement.canonical + b" ", five.agreement.canonical[:-1]):
        with pytest.raises(WireError):
            Agreement.from_json(data)


KEYS = "".join(f'party-{number} = "{number:064x}"\n' for number in range(1, 6))


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("epsilon", "epsilom", "did you mean epsilon"),
        ('values = ["flu", "rsv"]', "", "values, length"),
        ('values = ["flu", "rsv"]', "values = []", "a list of names"),
        ('values = ["flu", "rsv"]', "length = 0", "length"),
        ('["flu", "rsv"]', '["flu", "flu"]', "the same name twice"),
        ("epsilon = 1.0", 'epsilon = "1"', "without quotation marks"),
        ("epsilon = 1.0", "epsilon = 0", "epsilon"),
        ('honest = "3/5"', 'honest = "4/5"', "lower honest"),
        ('honest = "3/5"', "honest = 0.6", "honest.*quotation marks"),
        ('honest = "3/5"', 'honest = "0.6"', "a fraction in lowest terms"),
        ('corrupt = "1/5"', 'corrupt = "2/5"', "honest"),
        ('unit = "person"', 'unit = "people"', "who is hidden"),
        ("signed = false", "hybrid = 1", "true or false"),
        ("largest = 1000", "largest = 1000\nbits = 4", "whole numbers"),
        ("largest = 1000", "most = 1000", "largest"),
        ("largest = 1000", "largest = true", "largest.*a number"),
        ("[numbers]", "[[numbers]]", "begin it with .numbers"),
        ("party-1 =", 'other = "abc"\nparty-1 =', "what deniable party keys printed"),
        (KEYS, "", "parties"),
        ("[numbers]", "[numbers", "TOML"),
    ],
)
def test_mistakes_in_the_file_are_named(old, new, named):
    assert old in TEXT + KEYS
    with pytest.raises(ParameterError, match=named):
        read_agreement_file((TEXT + KEYS).replace(old, new).encode())


def test_two_sums_from_one_file_are_two():
    first, second = (read_agreement_file((TEXT + KEYS).encode()) for _ in range(2))
    assert first.id != second.id
    assert "one person" in first.guarantee.statement()
    whole = read_agreement_file((TEXT + KEYS).replace('"person"', '"party"').encode())
    assert float(whole.plan.stderr()[0]) > 1000 * float(first.plan.stderr()[0])  # to hide 2,000 takes more than to hide 1
    assert "whole contribution" in whole.guarantee.statement()


def test_a_party_is_shown_all_that_the_noise_goes_by():
    """Skellam noise goes by norm_2: who is not shown it could confirm noise that is much too small."""
    bounds = "largest = 1000\nnorm_1 = 100\nnorm_2 = 77.5"
    text = (TEXT + KEYS).replace("largest = 1000", bounds)
    shown = [described(read_agreement_file(text.replace("epsilon", f"delta = {delta}\nepsilon").encode())) for delta in (1e-6, 0)]
    assert "at most 100 in all, and at most 77.5 in the Euclidean norm" in shown[0]["numbers"]
    assert "77.5" not in shown[1]["numbers"]  # discrete Laplace noise does not


def test_a_hybrid_sum_goes_through_folders_and_store_with_one_party_lost(tmp_path):
    """Every party is started anew for every step; the first one, whose ciphertexts went to all others, stops before its vector."""
    whole = Five(tmp_path, TEXT.replace("signed = false", "signed = true\nhybrid = true"))
    assert "ML-KEM-768" in described(whole.agreement)["messages"]
    for step in range(5):
        assert whole.go(*range(step >= 2, 5)) == [""] * (4 if step >= 2 else 5)
        whole.now += 11  # a step is waited for so long
        assert whole.sum.tend()
    assert whole.go() == ["lost"] + ["opened"] * 4
    assert np.abs(estimate_of(whole.store).point - [100, 10]).max() < 100
    whole.store.close()


def test_everybody_is_told_what_not_to_restore(tmp_path):
    """A party, and an aggregator, that forgot what they said could say something else."""

    def told(group, *arguments):
        done = CliRunner().invoke(command_line(group), [group, *map(str, arguments)])
        assert done.exit_code == 0, done.output
        return " ".join(done.stderr.split())

    party = told("party", "keys", "--folder", tmp_path / "party")
    assert "Back up identity.json alone" in party
    assert "confirm no sum that was created before" in party
    assert "generate new stream keys" in party
    (tmp_path / "terms.toml").write_text(TEXT + KEYS)
    assert "Never restore an older copy" in told("aggregate", "create", tmp_path / "terms.toml", "--folder", tmp_path / "sum")


# --- numbers ---


GOOD = {
    "a.json": '{"rsv": 2, "flu": 1.0}',
    "a.csv": "value,number\nrsv,2\nflu,1\n",
    "b.csv": '\ufeffvalue,number\r\n"rsv",2\r\nflu,1e0\r\n',
}


@pytest.mark.parametrize("name", GOOD)
def test_numbers_from_files(five, tmp_path, name):
    (tmp_path / name).write_text(GOOD[name], encoding="utf-8")
    assert read_numbers(tmp_path / name, five.agreement) == [1.0, 2.0]
    unnamed = read_agreement_file((TEXT + KEYS).replace('values = ["flu", "rsv"]', "length = 2").encode())
    for other, text in (("c.json", "[1, 2]"), ("c.csv", "number\n1\n2\n")):
        (tmp_path / other).write_text(text)
        assert read_numbers(tmp_path / other, unnamed) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("a.json", '{"flu": 73519}', "nothing for rsv"),
        ("a.json", '{"flu": 73519, "rsv": 2, "x": 3}', "spelling"),
        ("a.json", '{"flu": 73519, "flu": 2, "rsv": 2}', "each name once"),
        ("a.json", '{"flu": 73519, "rsv": NaN}', "finite number"),
        ("a.json", '{"flu": 73519, "rsv": null}', "finite number"),
        ("a.json", "[73519, 2]", "an object"),
        ("a.json", "{", "JSON"),
        ("a.json", '{"rsv": 2, "73519": 5}', "entry 2"),
        ("a.json", '{"rsv": 2, "flu": "73519x"}', "finite number"),
        ("a.csv", "flu,73519\nrsv,2\n", "row 1"),
        ("a.csv", "73519\n12\n", "header value,number"),
        ("a.csv", "value,number\n\n73519,flu\n", "row 3"),
        ("a.csv", "value,number\nflu,73519\nrsv,1,73519\n", "row 3"),
        ("a.csv", "value,number\nflu,73519\nflu,2\nrsv,2\n", "each value once"),
        ("a.csv", "value,number\nflu,73519x\nrsv,2\n", "finite number"),
        ("a.csv", "value,number\nflu,73519,1\nrsv,2\n", "columns"),
        ("a.txt", "73519", ".json or .csv"),
    ],
)
def test_mistakes_in_numbers_are_named_and_no_number_is_shown(five, tmp_path, name, text, named):
    (tmp_path / name).write_text(text)
    with pytest.raises(DeniableError, match=named) as caught:
        read_numbers(tmp_path / name, five.agreement)
    assert "73519" not in "".join(traceback.format_exception(caught.value))
    unnamed = read_agreement_file((TEXT + KEYS).replace('values = ["flu", "rsv"]', "length = 3").encode())
    with pytest.raises(DeniableError) as caught:
        read_numbers(tmp_path / name, unnamed)
    assert "73519" not in "".join(traceback.format_exception(caught.value))
