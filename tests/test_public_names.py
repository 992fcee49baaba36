"""Every public name explains itself: what it is, what each of its parameters means, in one order, and what it looks like when printed.

Public is what the site's reference lists. A parameter is explained where its name stands as a word: in the docstring of the function, of
its class, of the method that it overrides, under the field, or in the list of ``help(deniable)`` for those that mean the same everywhere.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any

import pytest

import deniable
from deniable.contract.spec import MECHANISMS
from deniable.core.estimate import Estimate
from tests.conftest import ROOT

ROOMS = ("errors", "contract", "client", "sealing", "core", "accounting", "local", "central", "shuffle", "multiparty")
ROOMS += ("tasks", "lab", "engines")
ORDER = [name for line in re.findall(r"^- (``.*?``):", deniable.__doc__, re.MULTILINE) for name in re.findall(r"``(\w+)``", line)]
"""Parameters that mean the same everywhere, in the order in which they come."""

MAKERS = ("of", "joined")
"""How deniable makes estimates: nobody else calls these."""
MEMBER = classmethod | staticmethod | property | cached_property | Callable


@cache
def public() -> dict[str, list[Any]]:
    """The public classes and functions of each room."""
    sys.path.insert(0, str(ROOT / "scripts" / "docs"))
    try:
        site = importlib.import_module("docs_site")
    finally:
        sys.path.remove(str(ROOT / "scripts" / "docs"))
    names = {full for page in site.listed().values() for full in page}
    found = [getattr(deniable, name) for name in dir(deniable)]
    names |= {f"{value.__module__}.{value.__qualname__}" for value in found if not inspect.ismodule(value)}
    rooms = defaultdict(list)
    for full in sorted(names):
        home, _, name = full.rpartition(".")
        rooms[home.split(".")[1]].append(getattr(importlib.import_module(home), name))
    return rooms


@pytest.fixture(params=ROOMS)
def room(request):
    return public()[request.param]


def full_name(value: Any) -> str:
    return f"{value.__module__.removeprefix('deniable.')}.{value.__qualname__}"


def ours(cls: type) -> list[type]:
    """A class and what it inherits from, as far as it is written here."""
    return [each for each in cls.__mro__ if each.__module__.startswith("deniable")]


@cache
def field_notes(module: str) -> dict[tuple[str, str], str]:
    """The text under each field of each class, which Python forgets and the site shows."""
    classes = [node for node in ast.walk(ast.parse(inspect.getsource(sys.modules[module]))) if isinstance(node, ast.ClassDef)]
    return {
        (node.name, field.target.id): note.value.value
        for node in classes
        for field, note in zip(node.body, node.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(note, ast.Expr) and isinstance(note.value, ast.Constant)
    }


def note_of(cls: type, field: str) -> str:
    return "".join(field_notes(each.__module__).get((each.__name__, field), "") for each in ours(cls))


def says(value: Any) -> str:
    """The docstring; a dataclass without one gets its signature from Python, which explains nothing."""
    text = value.__doc__ or ""
    return "" if text.startswith(f"{value.__name__}(") else text


def text_of(cls: type) -> str:
    """What the docstrings of a class say, those of what it inherits from included."""
    return "\n".join(map(says, ours(cls)))


def members(cls: type) -> Iterator[tuple[str, Any, str]]:
    """The public methods and properties of a class: name, what is called if anything, and the docstrings on the way to the contract."""
    for name in dir(cls):
        found = [vars(each)[name] for each in ours(cls) if name in vars(each)]
        if name.startswith("_") or not isinstance(found[0] if found else None, MEMBER) or inspect.isclass(found[0]):
            continue
        called = None if isinstance(found[0], property | cached_property) else getattr(found[0], "__func__", found[0])
        yield name, called, "\n".join(getattr(each, "__doc__", None) or "" for each in found)


def made(cls: type) -> bool:
    """Whether a class has instances of its own."""
    return not inspect.isabstract(cls) and not getattr(cls, "_is_protocol", False)


def parameters(called: Any) -> list[inspect.Parameter]:
    if called is None or (inspect.isclass(called) and (called.__init__ is object.__init__ or not made(called))):
        return []
    return [each for each in inspect.signature(called).parameters.values() if each.name not in ("self", "cls") and each.name[0] != "_"]


def signatures(values: list[Any]) -> Iterator[tuple[str, Any, str]]:
    """Everything that can be called: its name, itself, and the text that may explain its parameters."""
    for value in values:
        if not inspect.isclass(value):
            yield full_name(value), value, inspect.getdoc(value) or ""
            continue
        text = text_of(value)
        fields = "\n".join(each.name for each in parameters(value) if note_of(value, each.name))
        yield full_name(value), value, f"{text}\n{fields}\n{value.__init__.__doc__ or ''}"
        for name, called, docs in members(value):
            if called is not None and not (name in MAKERS and issubclass(value, Estimate)):
                home = next(each for each in ours(value) if name in vars(each))
                yield f"{full_name(home)}.{name}", called, f"{docs}\n{text}"


def explains(text: str, name: str) -> bool:
    """Whether a text has the name as a word: singular or plural, and ``max_bits`` may be written with a space."""
    stem = re.sub("(ie)?s$|y$", "", name).replace("_", "[ _-]")
    prose = re.sub(r"^ *(>>>|\.\.\.) .*", "", text, flags=re.MULTILINE)  # an example shows, it does not explain
    return name in ORDER or re.search(rf"\b{stem}(y|ies|e?s)?\b", prose, re.IGNORECASE) is not None


def listed(names: list[str]) -> str:
    return "\n" + "\n".join(sorted(set(names)))


def test_rooms_are_reached_without_an_import_of_their_own():
    code = """
    import deniable as dn
    assert dn.tasks.heavy_hitters.PEM is dn.PEM
    assert dn.lab.populations.Zipf(1.1, 4).values.size == 4
    assert dn.engines.local.run and dn.collect.tasks.statement and dn.contract.domain.Text and dn.testing.ReplaySource
    assert {"heavy_hitters", "places"} <= set(dir(dn.tasks)) and {"tasks", "lab", "collect", "PEM"} <= set(dir(dn))
    assert "GRR" in dn.__all__ and "lab" not in dn.__all__
    for wrong in ("dn.tasks.heavy_hiters", "dn.lab.nothing", "dn.nothing"):
        try:
            eval(wrong)
        except AttributeError as error:
            assert wrong.rpartition(".")[2] in str(error), error
        else:
            raise AssertionError(wrong)
    from deniable import *
    GRR
    """
    subprocess.run([sys.executable, "-c", inspect.cleandoc(code)], check=True)


@pytest.mark.parametrize(
    "code",
    [
        "dn.PEM; dn.tasks.places",
        "dn.GRR; dn.contract.subsets",
        "dn.GRR; dn.client.reporter",
        "dn.GRR(domain_size=2, epsilon=1).privatize([1]); dn.core.run; dn.local.vector.caps",
        "from deniable.tasks.heavy_hitters import PEM; dn.tasks.places.quadtree; dn.tasks.heavy_hitters.prefixes",
        "from deniable.engines.partition import fold; dn.engines.local.run",
        "import deniable.collect.settings; dn.collect.storage.backends.find_backend",
        "import deniable.lab.populations; dn.lab.experiments.pem_modules.EXPERIMENT; dn.shuffle.mixer",
    ],
)
def test_rooms_are_reached_whatever_was_imported_before(code):
    subprocess.run([sys.executable, "-c", f"import deniable as dn; {code}"], check=True)


def test_a_room_whose_packages_are_missing_names_the_extra():
    code = "import sys; sys.modules['networkx'] = sys.modules['numpy'] = None; import deniable as dn; dn.lab.graphs"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'MissingExtra: deniable.lab.graphs: got "no module named' in done.stderr
    assert 'pip install ".[lab]"' in done.stderr


def test_help_shows_a_room_some_of_whose_modules_need_another_extra():
    code = """
    import sys
    sys.modules["apache_beam"] = None
    import pydoc
    import deniable as dn
    assert {"beam", "local"} <= set(dir(dn.engines)) and not hasattr(dn.engines, "beam")
    print(pydoc.render_doc(dn.engines))
    """
    done = subprocess.run([sys.executable, "-c", inspect.cleandoc(code)], capture_output=True, text=True, check=True)
    assert "package deniable.engines" in done.stdout


def test_everything_says_what_it_is(room):
    silent = [full_name(value) for value in room if not says(value)]
    for value in filter(inspect.isclass, room):
        silent += [f"{full_name(value)}.{name}" for name, _, docs in members(value) if not docs.strip()]
    assert not silent, listed(silent)


def test_every_parameter_is_explained(room):
    missing = [
        f"{name}: {each.name}" for name, called, text in signatures(room) for each in parameters(called) if not explains(text, each.name)
    ]
    assert not missing, listed(missing)


def test_keywords_come_in_one_order(room):
    wrong = []
    for name, called, _ in signatures(room):
        known = [each.name for each in parameters(called) if each.name in ORDER and each.kind is each.KEYWORD_ONLY]
        if known != sorted(known, key=ORDER.index):
            wrong.append(f"{name}({', '.join(known)})")
    assert not wrong, listed(wrong)


def test_what_is_printed_is_worth_reading(room):
    """No instance that a user holds shows itself as an address in memory."""
    held = [value for value in room if inspect.isclass(value) and made(value)]
    plain = [full_name(value) for value in held if value.__repr__ is object.__repr__]
    assert not plain, listed(plain)


def test_editors_see_the_names_that_are_loaded_on_first_use():
    """They stand once more in a block for type checkers, in each package that has some."""
    told = {}
    for module in (deniable, importlib.import_module("deniable.client"), deniable.shuffle):
        blocks = [node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.If)]
        told[module.__name__] = {alias.asname for node in blocks[0].body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert told["deniable"] == set(dir(deniable))
    assert told["deniable.client"] == set(dir(deniable.client)) - set(MECHANISMS)
    assert told["deniable.shuffle"] == set(dir(deniable.shuffle)) - set(vars(deniable.shuffle))


def test_no_room_is_left_out_and_examples_explain_nothing():
    assert set(public()) == set(ROOMS)
    assert {"epsilon", "delta", "n", "source"} < set(ORDER)
    assert explains("Of at most so many max bits.", "max_bits")
    assert explains("One utility for each.", "utilities")
    assert not explains("    >>> draw(size=3)\n    sized", "size")
