"""What the docs site has besides the pages in docs/: files of the repository that they point to, and the reference of public names.

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

ROOT = Path(__file__).parent.parent
PAGES = {
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "clients/js/README.md": "javascript.md",
}
"""Pages of the repository, and where the site has them."""
CONTRACT = ("spec", "domain", "numbers", "question", "survey", "protocol", "guarantee")
REFERENCE = {
    "mechanisms": ("What a device sends", "deniable.client"),
    "contract": ("Specs, domains, questions, protocols", *(f"deniable.contract.{name}" for name in CONTRACT)),
    "estimates": ("Reports, tallies, estimates", *(f"deniable.core.{name}" for name in ("reports", "tally", "frequency", "mean"))),
    "vectors": ("Means of vectors", "deniable.local.vector.priv_unit", "deniable.local.vector.proj_unit"),
    "planning": ("Planning and choosing", "deniable.tasks.plan", "deniable.local.choose", "deniable.local.choose_mean"),
    "heavy-hitters": ("Heavy hitters", "deniable.tasks.heavy_hitters", "deniable.tasks.heavy_hitters.finding"),
    "sets": ("Sets", "deniable.tasks.itemsets"),
    "tables": ("Tables", "deniable.tasks.marginals"),
    "ranges": ("Ranges", "deniable.tasks.ranges"),
    "places": ("Places", "deniable.tasks.places"),
    "series": ("Time series", "deniable.tasks.series"),
    "graphs": ("Graphs", "deniable.tasks.graphs"),
    "ratings": ("Ratings", "deniable.tasks.recommend"),
    "words": ("Words", "deniable.tasks.text"),
    "models": ("Models", "deniable.tasks.learning"),
    "central": ("A trusted curator", "deniable.central"),
    "shuffle": ("The shuffle model", "deniable.shuffle"),
    "multiparty": ("Secure sums", "deniable.multiparty"),
    "accounting": ("Accounting", "deniable.accounting"),
    "lab": ("The lab", "deniable.lab"),
    "audit": ("Audits", "deniable.lab.audit"),
    "engines": ("Engines", "deniable.engines.local", "deniable.engines.spark", "deniable.engines.gpu"),
    "testing": ("For tests", "deniable.testing"),
    "errors": ("Errors", "deniable.errors"),
}
"""The reference's pages: a title, and where the public names of each are."""
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


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for source, target in PAGES.items():
        files.append(File.generated(config, target, content=(ROOT / source).read_text()))
    for target, content in notebook_pages(ROOT / "docs"):
        files.append(File.generated(config, target, content=content))
    for name, (title, *modules) in REFERENCE.items():
        entries = [full for module in modules for full in public(importlib.import_module(module))]
        content = "\n\n".join([f"# {title}", *(f"::: {full}" for full in entries)])
        files.append(File.generated(config, f"reference/api/{name}.md", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to files of the repository to where the site has them, or to their names if it has not."""
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
