"""Sentences about the project that a test can count: what the pages run, what installs, what takes how long."""

from __future__ import annotations

import ast
import re
import tomllib
from math import exp

import deniable as dn
from deniable.errors import MissingExtra, install_command
from tests.conftest import ROOT
from tests.test_docs_commands import FENCE, PAGES, of, text_of
from tests.test_pages import RUN

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PYTEST = PROJECT["tool"]["pytest"]["ini_options"]
NOT_RUN = {
    "docs/how-to/engines.md: from deniable.engines import gpu",
    "docs/how-to/shuffle-trust.md: reporter = Reporter(",
}
"""Python that no test executes: it needs a graphics processor or a collector on the network."""
FILES = [*PAGES, *(path for name in ("src", "examples", "scripts") for path in sorted((ROOT / name).rglob("*.py")))]


def outlined(page):
    """Python in fences that say they are text: imports, functions and calls of the reporter; formulas and JSON are none."""
    for kind, text in FENCE.findall(text_of(page)):
        if kind in ("text", "") and re.search(r"^(from \w+(\.\w+)* import |import \w|def \w+\(|reporter = )", text, re.MULTILINE):
            yield f"{of(page)}: {text.splitlines()[0]}"


def test_all_python_is_run_but_two_snippets():
    found = {line for page in PAGES for line in outlined(page)}
    assert {next((known for known in NOT_RUN if line.startswith(known)), line) for line in found} == NOT_RUN
    assert len(found) == 2
    assert not [of(page) for page in PAGES if re.search(r"[Ee]very (Python )?snippet", text_of(page))]


def test_all_other_python_is_run_by_a_test():
    """Pages by test_pages, Beam's in its own environment, what CONTRIBUTING adds in a copy of the project."""
    assert 'PAGE = ROOT / "docs" / "how-to" / "beam.md"' in (ROOT / "tests" / "engines" / "test_beam.py").read_text()
    assert {of(page) for page in PAGES if "python" in kinds(page)} - {of(page) for page in RUN} == {"docs/how-to/beam.md"}
    assert [of(page) for page in PAGES if "py" in kinds(page)] == ["docs/how-to/engines.md"]


def kinds(page):
    return {kind for kind, _ in FENCE.findall(text_of(page))}


def test_nothing_advises_to_install_a_package_that_is_on_no_index():
    """``pip install deniable`` would fail, or fetch a stranger's package of that name."""
    advice = re.compile(r"pip install[^\n`#]*?(?<![\w./-])deniable(?![\w/])")
    assert [of(path) for path in FILES if advice.search(path.read_text())] == []
    assert str(MissingExtra("charts", "analysis", "altair")).endswith(f"run in a checkout of deniable: {install_command('analysis')}")
    assert install_command("server,multiparty") == 'pip install ".[server,multiparty]"'


def test_only_extras_that_something_imports_are_offered():
    """DuckDB had an extra, a line in the README and a place in ``all``, and nothing imported it."""
    extras = PROJECT["project"]["optional-dependencies"]
    assert "duckdb" not in extras
    assert not any("duckdb" in line for lines in extras.values() for line in lines)
    install = (ROOT / "README.md").read_text().partition("## Install")[2].partition("\n## ")[0]
    offered = set(re.findall(r'"\.\[(\w+)\]"', install)) | set(re.findall(r"\w+", install.partition("also ")[2].partition("\n")[0]))
    assert {"cli", "spark", "beam", "gpu"} <= offered <= set(extras)


def test_the_blocks_of_chan_shi_and_song_are_not_said_to_be_implemented():
    """Two functions name the blocks; nothing encrypts a number for each of them."""
    page = (ROOT / "docs" / "theory" / "secure-sums.md").read_text()
    module = (ROOT / "src" / "deniable" / "multiparty" / "stream" / "blocks.py").read_text()
    functions = [node.name for node in ast.parse(module).body if isinstance(node, ast.FunctionDef)]
    used = [path.name for path in (ROOT / "src").rglob("*.py") if "stream.blocks" in path.read_text()]
    assert (functions, used) == (["blocks_of", "whole_blocks"], [])
    assert "The protocol is not implemented here" in " ".join(page.split())
    assert "published baseline" not in page + module


def test_output_perturbation_costs_what_its_pages_say():
    """More than 1 / (1 - 2 gamma), except where the kept bits are fair coins; both pages print what follows here from p alone."""
    gamma, p = 0.2, exp_over(1.0)
    sent = p * (1 - gamma) + (1 - p) * gamma
    growth = (sent * (1 - sent) / (p * (1 - p))) ** 0.5 / (1 - 2 * gamma)
    noisy, still = dn.DBitFlipPM.with_gamma("1/5", domain_size=2, epsilon=1.0, bits=1), dn.DBitFlipPM(domain_size=2, epsilon=1.0, bits=1)
    assert abs((noisy.variance(n=1) / still.variance(n=1)) ** 0.5 - growth) < 1e-6
    for name in ("dbitflip", "one-bit-mean-pm"):
        page = " ".join((ROOT / "docs" / "theory" / f"{name}.md").read_text().split())
        assert f"{growth:.3f}" in page
        assert not re.search(r"grows by 1 / \(1 - 2 gamma\)|makes the error 1 / \(1 - 2 gamma\)", page), name


def exp_over(epsilon: float) -> float:
    """Return e^epsilon / (e^epsilon + 1)."""
    return 1 / (1 + exp(-epsilon))
