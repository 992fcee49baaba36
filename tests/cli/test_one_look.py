"""One look and one voice: what the help of all commands has in common, what ``--json`` prints, and progress where somebody looks."""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict

import pytest
from rich.console import Console
from typer.testing import CliRunner

from deniable.cli import console
from deniable.cli.app import command_line
from deniable.cli.commands import COMMANDS
from deniable.cli.exits import STATUSES
from tests.cli.running import run
from tests.cli.tree import LEAVES, TREE

WITHOUT_JSON = {"serve", "shuffle"}
"""They print an address, and run until they are told to stop."""
PHRASES = ("--json", "--chart", "--epsilon", "--people", "--period", "--stratum", "--token-file", "--top", "--host", "--port")
"""Options that mean the same wherever they stand."""
EXCEPT = {
    ("--epsilon", "demo"),
    ("--epsilon", "audit"),
    ("--people", "demo"),
    ("--top", "simulate"),
    ("--host", "serve"),
    ("--port", "serve"),
}
"""Where the default, or what is counted, needs another word."""


def told(command):
    """The help of a command's options and arguments, by name."""
    return {option.opts[-1] if option.param_type_name == "option" else option.metavar: option.help for option in command.params}


def test_every_result_can_be_had_as_json():
    assert {path for path, command in LEAVES.items() if "--json" not in told(command)} == WITHOUT_JSON


def test_options_that_mean_the_same_are_told_in_the_same_words():
    phrases = defaultdict(set)
    for path, command in TREE.items():
        for name, text in told(command).items():
            if name in PHRASES and (name, path) not in EXCEPT:
                phrases[name].add(text)
    assert {name: len(texts) for name, texts in phrases.items()} == dict.fromkeys(PHRASES, 1)


@pytest.mark.parametrize("path", TREE)
def test_help_is_whole_sentences_about_named_things(path):
    command = TREE[path]
    texts = [command.help, *(text for name, text in told(command).items() if name)]
    assert [text for text in texts if not re.match(r"[A-Z0-9-].*[.?]$|all, |debug, |admin ", text, re.DOTALL)] == []
    assert "[" not in "".join(texts)  # it would be taken for markup, and not be shown
    assert all(option.metavar.isupper() for option in command.params if option.param_type_name == "argument")


def test_the_first_help_has_every_promise_in_a_line_and_every_exit_status():
    lines = [line.strip(" │") for line in run("--help", COLUMNS="80").stdout.splitlines()]
    for name, command in COMMANDS.items():
        assert f"{name:<9}  {command.promise}" in lines
    assert [line for line in lines if line.partition(" ")[0] in map(str, STATUSES)] == [f"{key}  {text}" for key, text in STATUSES.items()]


def test_json_is_one_document_and_remarks_are_elsewhere(tmp_path):
    """Commands that print little: those with results have tests of their own."""
    store, folder, keys = ("--store", tmp_path / "store"), ("--folder", tmp_path / "party"), ("--folder", tmp_path / "shuffler")

    def data(*arguments):
        return json.loads(run(*arguments, "--json", cwd=tmp_path).stdout)

    assert data("task", "new", "my drink.toml") == {"file": "my drink.toml", "name": "my-drink"}
    made = data("token", "add", "me", "--role", "admin", *store)
    assert (made["label"], made["token"][:3]) == ("me", "dn_")
    assert data("token", "list", *store) == {"tokens": [{"label": "me", "role": "admin"}]}
    assert data("token", "remove", "me", *store) == {"label": "me"}
    assert len(data("deal", "stream", "--parties", "2", "--out", tmp_path / "dealt")["files"]) == 4
    assert len(data("party", "keys", *folder)["key"]) == 64
    assert data("party", "sums", *folder) == {"sums": []}
    identity = data("shuffle", "keys", "create", *keys)["identity"]
    made = data("shuffle", "keys", "rotate", "--withdraw", *keys)
    shown = data("shuffle", "keys", "show", *keys)
    assert (shown["identity"], len(shown["keys"]), len(made["withdrawn"])) == (identity, 2, 1)
    assert [key["id"] for key in shown["keys"] if not key["withdrawn"]] == [made["id"]]


def test_progress_is_shown_where_somebody_looks_and_not_in_the_result(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=screen, force_terminal=True, width=80))
    done = CliRunner().invoke(command_line("plan"), ["plan", "--domain-size", "50", "--json"])
    assert json.loads(done.stdout)["domain_size"] == 50
    assert "comparing mechanisms" in screen.getvalue()
    assert run("plan", "--domain-size", "50", "--json").stderr == ""
