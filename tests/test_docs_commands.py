"""What the pages say besides Python: commands that the command line takes, files that are read, names and tests that there are.

test_pages runs Python and the commands of consoles; tests/engines run Beam and Spark, and a browser runs the JavaScript client's page.
All other commands are checked here against the real options.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import shlex
import shutil
import subprocess
import tomllib
from functools import cache

import pytest
import typer

from deniable import tasks
from deniable.cli.app import USAGE, command_line
from deniable.client import Reporter
from deniable.client.ledger import Ledger
from deniable.collect.sums.agreement_file import read_agreement_file
from deniable.collect.tasks.protocol_table import takes_domain
from deniable.collect.tasks.task_file import read_task_file
from deniable.contract.protocol import PROTOCOLS
from deniable.core.table import Table
from deniable.lab.declared import experiment_from_toml
from deniable.lab.experiments import shipped
from tests.conftest import ROOT
from tests.services import needed

READMES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md", "examples/README.md")]
SCRIPT = ROOT / "clients" / "js" / "README.md"
PAGES = [*READMES, SCRIPT, *sorted((ROOT / "docs").rglob("*.md"))]
ROOTS = (ROOT, ROOT / "src", ROOT / "src" / "deniable", ROOT / "tests")
"""From where pages name files."""
FENCE = re.compile(r"^```(\w*)(?: [^\n]*)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_NAMES = {"dn.URR"}
"""What CONTRIBUTING.md makes, step by step."""
ELSEWHERE = ("deniable.engines.beam", "deniable.engines.gpu")
"""Modules that need what is not in this environment."""
SIGNED = {f"deniable {kind} 1" for kind in ("task", "round", "log", "spend", "key")}
"""No commands: what stands before the bytes that are signed or hashed."""
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def of(page):
    return str(page.relative_to(ROOT))


@cache
def text_of(page):
    return page.read_text()


def fences(page, *kinds):
    return [text for kind, text in FENCE.findall(text_of(page)) if kind in kinds]


def prose(page):
    """What stands between backticks, outside of fences; a line's end inside of them counts as a space."""
    text = re.sub(r"(?<=\S)\n(?=\S)", " ", FENCE.sub("", text_of(page)))
    return CODE.findall(text)


def told_commands(page):
    """Every command line on a page, as words: in fences after a prompt or on lines of their own, and between backticks."""
    lines = [line for text in fences(page, "sh") for line in text.replace("\\\n", " ").splitlines()]
    lines += [
        line[2:] for text in fences(page, "text", "console", "") for line in text.replace("\\\n", " ").splitlines() if line.startswith("$ ")
    ]
    lines += [code for code in prose(page) if re.match(r"(deniable|make) [a-z]", code) and code not in SIGNED]
    for line in (re.sub(r"\[(--.*?)\]", r"\1", line) for line in lines):  # what may be left out is parsed, too
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;<>")
        lexer.whitespace_split, lexer.commenters = True, "#"
        words = []
        for word in [*lexer, ";"]:
            if set(word) <= set("&|;<>"):
                yield [each for each in words if not re.match(r"[A-Z_]+=", each)]
                words = []
            else:
                words.append(word)


@cache
def whole():
    return typer.main.get_command(command_line())


def parse(words):
    """Hold the words after "deniable" against the command's own options: unknown ones, and words too many, are errors."""
    command, words = whole(), list(words)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    _, left, _ = command.make_parser(typer.Context(command)).parse_args(words)
    if left:
        raise USAGE(f"too many words for {command.name}: {left}")


@pytest.mark.parametrize("page", PAGES, ids=of)
def test_commands_are_ones_that_there_are(page):
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    for words in told_commands(page):
        name, rest = (words[0].rpartition("/")[2], words[1:]) if words else ("", [])
        if name == "deniable":
            parse(rest)
            if rest[:2] == ["lab", "run"]:
                assert rest[2] in shipped() or rest[2].isupper() or rest[2].endswith(".toml"), rest
        elif name == "make":
            assert {word for word in rest if "=" not in word} <= targets, words
        elif name in ("python", "python3") and rest[:1] != ["-m"] and f'title="{rest[0]}"' not in text_of(page):
            program = (ROOT / rest[0]).read_text()
            assert all(word in program for word in rest if word.startswith("--")), words
        elif name == "pip":
            assert {extra for word in rest for extra in re.findall(r"[a-z]+", (re.findall(r"\[(.*)\]", word) or [""])[0])} <= extras, words


def test_a_command_that_is_not_there_is_found_out():
    for words in (
        "plan --domain-sizes 9",
        "task publis file.toml",
        "estimate home-page --periods 3",
        "serve somewhere",
        "token add x --rule admin",
    ):
        with pytest.raises(USAGE):
            parse(words.split())


def test_figures_in_the_readme_are_those_of_the_benchmarks():
    """People a second, how many times the fastest of the others, and a billion reports: as the tables of benchmarks/README.md have them."""
    told, measured = " ".join(text_of(ROOT / "README.md").split()), text_of(ROOT / "benchmarks" / "README.md")
    rows = [re.search(rf"\| {name} +\| +([\d.]+) M [^x]* ([\d,]+)x \|", measured) for name in ("GRR", "OUE", "OLH")]
    speeds, times = ([row[i] for row in rows] for i in (1, 2))
    grr, oue, olh = (f"{float(speed):.2g}" if float(speed) < 100 else speed for speed in speeds)
    assert f"GRR {grr}, OUE {oue} and OLH {olh} million people a second, which is {times[0]}, {times[1]} and {times[2]} times" in told
    billion = re.search(r"\| deniable, local engine +\| +([\d.]+) s", measured)[1]
    assert f"a billion reports are counted in {billion} s on two cores, five times as fast as by a group-by in Polars" in told
    assert 4.5 <= float(re.search(r"\| Polars, group_by +\| +([\d.]+) s", measured)[1]) / float(billion) < 5.5


TASK = {"name": '"page"', "question": '"What?"', "owner": '"me@example.org"', "epsilon": "1.0", "lasts": '"30 days"'}


@pytest.mark.parametrize("page", [page for page in PAGES if fences(page, "toml")], ids=of)
def test_files_in_toml_are_read(page, tmp_path):
    """Experiments as they are; tasks and terms of sums as they are, or with what the page leaves out."""
    for text in fences(page, "toml"):
        parts = tomllib.loads(text)
        if "event" in parts:
            continue  # a list for the accountant: its page runs it
        if "mechanisms" in parts:
            (tmp_path / "mine.toml").write_text(text)
            assert experiment_from_toml(tmp_path / "mine.toml").name == parts["name"]
            continue
        if "honest" in parts:
            keys = parts["parties"] or {name: f"{byte:02x}" * 32 for byte, name in enumerate(("north", "south", "west"), 1)}
            terms = text.partition("[parties]")[0] + "[parties]\n" + "".join(f'{name} = "{key}"\n' for name, key in keys.items())
            assert read_agreement_file(terms.encode()).name == parts["name"]
            continue
        above = "".join(f"{name} = {value}\n" for name, value in TASK.items() if name not in parts)
        protocol = parts.get("protocol", {})
        asks = "protocol" not in parts or takes_domain(PROTOCOLS.load()[protocol if isinstance(protocol, str) else protocol["name"]])
        below = '[domain]\ncategories = ["a", "b", "c"]\n' if asks and not {"domain", "questions"} & set(parts) else ""
        read_task_file((above + text + below).encode(), key=bytes(32), now=1_795_000_000)


def test_javascript_in_the_readme_is_spelled_right():
    """Its grammar by node, and the names that it imports by what the module gives; the page in HTML runs in a browser's test."""
    given = set(re.findall(r"\w+", " ".join(re.findall(r"export \{(.*?)\}", (SCRIPT.parent / "src" / "index.js").read_text(), re.DOTALL))))
    blocks = fences(SCRIPT, "js")
    assert blocks
    for text in blocks:
        assert set(re.findall(r"\w+", re.search(r"import \{(.*?)\}", text)[1])) <= given
        needed(shutil.which("node"), "node is not installed (Debian and Ubuntu: apt-get install nodejs)")
        done = subprocess.run(["node", "--input-type=module", "--check", "-"], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_what_a_device_says_over_the_network_is_spelled_right():
    """Lines for a real collector, which no snippet can reach: the reporter's methods and parameters."""
    texts = [text for page in PAGES for text in fences(page, "text") if text.startswith("reporter = ")]
    assert texts
    for node in (node for text in texts for node in ast.walk(ast.parse(text))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = {"reporter": Reporter, "ledger": Ledger}[node.func.value.id]
            inspect.signature(getattr(owner, node.func.attr)).bind(owner, *node.args, **{each.arg: each for each in node.keywords})
        elif isinstance(node, ast.Call):
            inspect.signature(Reporter).bind(*node.args, **{each.arg: each for each in node.keywords})


def found(name):
    """Whether a dotted name leads to a module or to something in one."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        return all((value := getattr(value, part, None)) is not None for part in parts[end:])
    return False


MADE = {"src/deniable/collect/storage/memory.py"}
"""What a reader of CONTRIBUTING makes; ``test_contributing_storage.py`` does."""


@cache
def written_tests():
    """The files with tests, and all tests by name."""
    files = list((ROOT / "tests").rglob("test_*.py"))
    return {path.name for path in files}, {name for path in files for name in re.findall(r"(?m)^def (test_\w+)", path.read_text())}


@pytest.mark.parametrize("page", PAGES, ids=of)
def test_names_files_and_tests_that_a_page_points_to_are_there(page):
    files, defined = written_tests()
    for code in prose(page):
        if name := re.match(r"(dn|deniable)((?:\.\w+)+)", code):
            assert code in NOT_NAMES or ("deniable" + name[2]).startswith(ELSEWHERE) or found("deniable" + name[2]), code
        if re.fullmatch(r"[\w/*-]+\.(py|mjs)", code) and "/" in code:
            assert code in MADE or any(list(root.glob(code)) for root in ROOTS), code
        if re.fullmatch(r"test_\w+\.py", code):
            assert code in files, code
        elif re.fullmatch(r"test_\w+", code):
            assert code in defined, code


def test_no_line_of_a_formula_begins_a_list_by_accident():
    """A minus at the beginning of a line is a bullet to some readers of Markdown, also in the middle of a paragraph."""
    accident = re.compile(r"(?m)^(?![-+*#|> ])\S.*\n[-+] .*$")
    assert {of(page): lines for page in PAGES if (lines := accident.findall(FENCE.sub("", text_of(page))))} == {}


PROMISING = ["deniable", *(f"deniable.{name}" for name in ("accounting", "central", "multiparty", "shuffle"))]
PROMISING += [f"deniable.tasks.{module.name}" for module in pkgutil.iter_modules(tasks.__path__) if module.ispkg]


def test_every_promise_is_on_the_page_of_promises():
    classes = {name: getattr(importlib.import_module(home), name) for home in PROMISING for name in dir(importlib.import_module(home))}
    promising = {name: value for name, value in classes.items() if inspect.isclass(value) and hasattr(value, "guarantee")}
    asked = {name for name, value in promising.items() if not issubclass(value, Table)}  # tables repeat the promise of what was asked
    assert len(asked) > 80
    assert asked - set(prose(ROOT / "docs" / "theory" / "guarantees.md")) == set()
