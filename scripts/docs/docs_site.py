"""What the docs site has besides the pages in docs/: files of the repository that they point to, the shipped
experiments, and the reference of public names.

MkDocs calls the functions whose names begin with ``on_``.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path, PurePosixPath
from typing import Any

from docs_notebooks import notebook_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from deniable.lab.experiments import shipped

ROOT = Path(__file__).parents[2]
PAGES = {
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "clients/js/README.md": "javascript.md",
    "examples/README.md": "examples.md",
}
"""Pages of the repository, and where the site has them."""
DEVICE = ("reporter.Reporter", "reporter.Receipt", "ledger", "file_ledger", "transport.HTTPTransport", "board.Board")
DEVICE += ("bulletin.Bulletin", "bulletin.Everywhere", "diary.Diary")
LAB = ("experiment.Experiment", "methods.Method", "methods.Oracle", "methods.expected_errors", "protocol_run.ProtocolRun", "attacks")
LAB += ("runner.run", "results.Results", "declared.experiment_from_toml", "experiments", "metrics", "distances")
CONTRACT = ("spec", "domain", "numbers.Numbers", "question.Question", "question.Round", "survey", "protocol.Protocol")
CONTRACT += ("protocol.protocol_from_json", "guarantee", "law", "source.Source", "task.Task")
ENCODERS = ("Encoder", "Identity", "Attribute", "Prefix", "encoder_from_json")
ESTIMATES = (
    "reports.Reports",
    "tally.Tally",
    "tally.Candidates",
    "table.Table",
    "table.Listing",
    "choice.Choice",
    "chart.Chart",
    "figure.Figure",
    "measured",
    "estimate",
    "answers",
)
ESTIMATES += ("saved.estimate_from_json", "frequency", "comparison", "mean", "distribution.DistributionEstimate", "vector")
ESTIMATES += ("law.Law", "law.CountLaw", "law.Unknown", "integrity")
CHOOSING = ("oracle_choice.frequency_oracle", "mean_choice.mean_oracle")
RELEASED = ("curator.Curator",)
REFERENCE = {
    "device": ("Reporting and the ledger", *(f"deniable.client.{name}" for name in DEVICE)),
    "mechanisms": ("What a device sends", "deniable.client"),
    "contract": ("Specs, domains, questions, protocols", *(f"deniable.contract.{name}" for name in CONTRACT)),
    "encoders": ("Encoders", *(f"deniable.contract.encoder.{name}" for name in ENCODERS)),
    "estimates": ("Reports, tallies, estimates", *(f"deniable.core.{name}" for name in ESTIMATES)),
    "vectors": ("Means of vectors", "deniable.local.vector.priv_unit", "deniable.local.vector.proj_unit.ProjUnit"),
    "planning": ("Planning and choosing", "deniable.tasks.plan", *(f"deniable.local.{name}" for name in CHOOSING)),
    "heavy-hitters": ("Heavy hitters", "deniable.tasks.heavy_hitters"),
    "sets": ("Sets", "deniable.tasks.itemsets"),
    "tables": ("Tables", "deniable.tasks.marginals"),
    "ranges": ("Ranges", "deniable.tasks.ranges"),
    "places": ("Places", "deniable.tasks.places"),
    "series": ("Time series", "deniable.tasks.series"),
    "graphs": ("Graphs", "deniable.tasks.graphs"),
    "ratings": ("Ratings", "deniable.tasks.recommend", "deniable.core.ratings.Ratings"),
    "words": ("Words", "deniable.tasks.text", "deniable.core.texts.Texts", "deniable.contract.words.words_of"),
    "models": ("Models", "deniable.tasks.learning"),
    "central": ("A trusted curator", "deniable.central", *(f"deniable.central.{name}" for name in RELEASED)),
    "shuffle": ("The shuffle model", "deniable.shuffle"),
    "sealing": ("Sealed reports", "deniable.sealing.keys", "deniable.sealing.seal", "deniable.sealing.identity"),
    "multiparty": ("Secure sums", "deniable.multiparty"),
    "accounting": ("Accounting", "deniable.accounting", "deniable.accounting.budget.Cost", "deniable.accounting.budget.BudgetRequest"),
    "lab": ("The lab", *(f"deniable.lab.{name}" for name in LAB)),
    "populations": ("Populations", "deniable.lab.populations"),
    "curator-attacks": ("Attacks on a curator", "deniable.lab.curator_attacks"),
    "audit": ("Audits", "deniable.lab.audit"),
    "engines": ("Engines", "deniable.engines.local", "deniable.engines.spark", "deniable.engines.gpu"),
    "testing": ("For tests", "deniable.contract.replay", "deniable.contract.enumeration"),
    "errors": ("Errors", "deniable.errors"),
}
"""The reference's pages: a title, and the public names of each: all that a module offers, or single ones."""
API = "reference/api"
"""Where they are."""
EXPERIMENTS = "how-to/experiments.md"
"""The page that gets a section for each shipped experiment."""
OUTSIDE = re.compile(r"\]\(((?:\.\./)+|)([^)#\s:]+)(#[^)]*)?\)")


def public(module: Any) -> list[str]:
    """The full names of what a module offers: its own classes and functions, and those of its package that it passes on."""
    found = []
    for name in getattr(module, "__all__", dir(module)):
        value = getattr(module, name)
        home = getattr(value, "__module__", "") or ""
        own = home == module.__name__ or (hasattr(module, "__path__") and home.startswith(module.__name__ + "."))
        if not name.startswith("_") and own and (inspect.isclass(value) or inspect.isfunction(value)) and value.__name__ == name:
            found.append(f"{home}.{name}")
    return sorted(found, key=lambda full: full.rpartition(".")[2].lower())


def listed() -> dict[str, list[str]]:
    """The full names on each page of the reference, each on the first page that has it."""
    pages: dict[str, list[str]] = {}
    for page, (_, *sources) in REFERENCE.items():
        before = {full for names in pages.values() for full in names}
        found = [full for source in sources for full in ([source] if source.rpartition(".")[2][:1].isupper() else _offered(source))]
        pages[page] = [full for full in found if full not in before]
    return pages


def _offered(source: str) -> list[str]:
    """What a module offers, or the single function of that name."""
    home, _, name = source.rpartition(".")
    module = importlib.import_module(home)
    return [source] if inspect.isfunction(getattr(module, name, None)) else public(importlib.import_module(source))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the reference's pages where the navigation says "reference/api": they are listed here, and nowhere else."""
    pages = [{title: f"{API}/{name}.md"} for name, (title, *_) in REFERENCE.items()]
    for section in config.nav or []:
        for entries in section.values():
            if isinstance(entries, list):
                entries[:] = [
                    {next(iter(entry)): pages} if isinstance(entry, dict) and API in entry.values() else entry for entry in entries
                ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for source, target in PAGES.items():
        files.append(File.generated(config, target, content=(ROOT / source).read_text()))
    for target, content in notebook_pages(ROOT / "docs"):
        files.append(File.generated(config, target, content=content))
    for name, entries in listed().items():
        content = "\n\n".join([f"# {REFERENCE[name][0]}", *(f"::: {full}" for full in entries)])
        files.append(File.generated(config, f"{API}/{name}.md", content=content))
    return files


def experiments() -> str:
    """Return a section for each shipped experiment: its question, what it found, how to run it, its figures."""
    parts = []
    for name, each in shipped().items():
        parts.append(f"## {name}\n\n*{each.question}* {each.found}\n\n```text\n$ deniable lab run {name} --out results\n```")
        for figure in (name, f"{name}-example")[: 1 if each.example is None else 2]:
            parts.append(f"![{each.title}](../figures/lab-{figure}.svg)")
    return "\n\n".join(parts)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add the experiments to their page; lead links to files of the repository to where the site has them, or to their names."""
    if page.file.src_uri == EXPERIMENTS:
        markdown = f"{markdown}\n\n{experiments()}"
    back = {target: source for source, target in PAGES.items()}
    here = PurePosixPath(back.get(page.file.src_uri, f"docs/{page.file.src_uri}")).parent

    def lead(found: re.Match[str]) -> str:
        up, path, anchor = found[1], found[2], found[3] or ""
        target = _resolved(here, up + path)
        if target in PAGES:
            target = PAGES[target]
        elif target.startswith("docs/"):
            target = re.sub(r"\.ipynb$", ".md", target.removeprefix("docs/"))
        else:
            return f"] (`{target}`)" if (ROOT / target).exists() else found[0]
        depth = len(PurePosixPath(page.file.src_uri).parts) - 1
        return f"]({'../' * depth}{target}{anchor})"

    return OUTSIDE.sub(lead, markdown)


def _resolved(here: PurePosixPath, link: str) -> str:
    parts: list[str] = []
    for part in (here / link).parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
