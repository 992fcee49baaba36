"""``deniable deal``: files for their owners alone, that an agreement takes as they are; and never twice."""

from __future__ import annotations

import stat
import tomllib

import pytest
from typer.testing import CliRunner

from deniable.cli.app import command_line
from deniable.multiparty.dealer import paillier_id, read_paillier_key, read_secret, read_stream_key
from deniable.multiparty.engines import PAILLIER, STREAM
from deniable.multiparty.paillier.keys import KeyShare


def deal(*arguments, status=0):
    done = CliRunner().invoke(command_line("deal"), ["deal", *map(str, arguments)])
    assert done.exit_code == status, done.output
    return done.output


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "dealt"


def files_of(folder, arguments):
    deal(*arguments, "--out", folder)
    found = {path.name: path for path in folder.iterdir()}
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in found.values())
    table = tomllib.loads(found.pop("key.toml").read_text())["key"]
    return table, {name: path.read_bytes() for name, path in found.items()}


def test_a_committees_key(folder):
    table, files = files_of(folder, ["paillier", "--decryptors", 3, "--threshold", 2, "--bits", 2048])
    key = read_paillier_key(table, 3)
    secrets = {place: read_secret(files[f"share-{place}.json"], PAILLIER, paillier_id(key), place) for place in (1, 2, 3)}
    ciphertext = (1 + 42 * key.modulus) * key.base % key.square
    shares = {place: KeyShare(key, place, secret).decrypt(ciphertext) for place, secret in secrets.items()}
    assert [key.open({place: shares[place] for place in pair}) for pair in ((1, 2), (1, 3), (2, 3))] == [42] * 3
    assert "keys are dealt once" in deal("stream", "--parties", 3, "--out", folder, status=2)


def test_a_streams_secrets(folder):
    table, files = files_of(folder, ["stream", "--parties", 3])
    assert sorted(files) == ["aggregator.json", "party-1.json", "party-2.json", "party-3.json"]
    names = ["aggregator.json", *(f"party-{place}.json" for place in (1, 2, 3))]
    secrets = [read_secret(files[name], STREAM, read_stream_key(table, 3), place, parties=3) for place, name in enumerate(names)]
    order = 2**252 + 27742317777372353535851937790883648493
    assert (sum(secrets) % order, len(set(secrets))) == (0, 4)


@pytest.mark.parametrize(
    "arguments",
    [
        ["stream", "--parties", 1],
        ["paillier", "--decryptors", 3, "--threshold", 4, "--bits", 512],
        ["paillier", "--decryptors", 4, "--threshold", 2],
    ],
)
def test_mistakes_make_no_folder(folder, arguments):
    assert "allowed" in deal(*arguments, "--out", folder, status=2)
    assert not folder.exists()
