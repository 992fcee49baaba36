"""Settings: which source wins, what is refused, and what is never shown."""

from __future__ import annotations

import pytest

from deniable.collect.settings import Settings, read_settings
from deniable.errors import ParameterError


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "collector.toml"

    def write(text):
        path.write_text(text)
        return path

    return write


def test_flags_overrule_the_environment_which_overrules_the_file(file):
    path = file('host = "::1"\nport = 1\nlog_level = "error"\ntend_seconds = 5\n[limits]\nmax_body = 1000\nmax_reports = 10\n')
    environment = {"DENIABLE_PORT": "2", "DENIABLE_LOG_LEVEL": "debug", "DENIABLE_LIMITS_MAX_BODY": "2000", "PATH": "x"}
    found = read_settings({"port": 3, "host": None}, environment=environment, file=path)
    assert (found.port, found.log_level, found.host, found.tend_seconds) == (3, "debug", "::1", 5.0)
    assert (found.limits.max_body, found.limits.max_reports) == (2000, 10)
    assert found.limits.most_waiting == Settings().limits.most_waiting
    assert read_settings(environment={"DENIABLE_CONFIG": str(path)}).port == 1


def test_nothing_said_is_the_default():
    assert read_settings(environment={}) == Settings()


@pytest.mark.parametrize(
    ("flags", "environment", "toml", "words"),
    [
        ({}, {}, "prot = 1", ["collector.toml", "'prot'", "did you mean port?"]),
        ({}, {}, "[limits]\nmax_bodi = 1", ["limits.max_bodi", "limits.max_body"]),
        ({}, {}, "limits = 1", ["limits", "a table"]),
        ({}, {}, "[server]\nport = 1", ["'server'"]),
        ({}, {}, 'port = "8000"', ["port", "'8000'", "int"]),
        ({}, {}, "port = 80.5", ["port", "80.5"]),
        ({}, {}, "port = = 1", ["TOML"]),
        ({}, {"DENIABLE_PROT": "1"}, "", ["DENIABLE_PROT", "did you mean DENIABLE_PORT?"]),
        ({}, {"DENIABLE_PORT": "http"}, "", ["port", "'http'", "the environment"]),
        ({}, {"DENIABLE_BEHIND_PROXY": "perhaps"}, "", ["behind_proxy", "'perhaps'"]),
        ({"port": 70_000}, {}, "", ["port", "65535"]),
        ({"log_level": "infos"}, {}, "", ["log_level", "did you mean info?"]),
        ({"tend_seconds": 0.0}, {}, "", ["tend_seconds", "0.01"]),
        ({"lifetime_epsilon": 10.5}, {}, "", ["lifetime_epsilon", "at most 10"]),
        ({"lifetime_epsilon": 0.0}, {}, "", ["lifetime_epsilon", "above 0"]),
        ({"store": ""}, {}, "", ["store"]),
        ({"certificate": "absent.pem", "key_file": "absent.pem"}, {}, "", ["certificate", "'absent.pem'", "can be read"]),
        ({"key_file": "key.pem"}, {}, "", ["certificate, key_file", "both or neither"]),
        ({}, {"DENIABLE_LIMITS_MAX_BODY": "0"}, "", ["max_body", "above 0"]),
    ],
)
def test_mistakes_are_named(flags, environment, toml, words, file):
    with pytest.raises(ParameterError) as caught:
        read_settings(flags, environment=environment, file=file(toml))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "collector.example.org"])
def test_no_open_port_without_tls_unless_a_proxy_speaks_it(host, tmp_path):
    with pytest.raises(ParameterError, match="there is no TLS"):
        read_settings({"host": host}, environment={})
    assert read_settings({"host": host, "behind_proxy": True}, environment={}).host == host
    pem = tmp_path / "both.pem"
    pem.write_text("read only when it is served")
    assert read_settings({"host": host, "certificate": str(pem), "key_file": str(pem)}, environment={}).secure


@pytest.mark.parametrize("address", ["postgresql://me:s3cret@db/x", "postgresql://db/x?password=s3cret"])
def test_a_password_is_never_shown(address):
    found = read_settings({}, environment={"DENIABLE_STORE": address})
    assert found.store == address
    assert "s3cret" not in repr(found) + str(found) + found.store_in_words
    with pytest.raises(ParameterError) as caught:
        read_settings({"store": [address]}, environment={})
    assert "s3cret" not in str(caught.value)
