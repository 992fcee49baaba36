"""A collector on each kind of store, with a clock that the test moves."""

from __future__ import annotations

import pytest

from deniable.collect.collector import Collector
from deniable.collect.plain_answer import PlainAnswer
from deniable.collect.storage.backends import BACKENDS
from deniable.collect.storage.store import Store
from deniable.contract.spec import MECHANISMS
from tests.collect.crowd import NOON


class Clock:
    """A clock that stands still until it is moved."""

    now = float(NOON)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def identity(monkeypatch):
    """The process knows the mechanism that hides nothing."""
    monkeypatch.setitem(MECHANISMS, PlainAnswer.mechanism, PlainAnswer)


@pytest.fixture
def clock():
    return Clock()


BACKENDS_TESTED = {
    "embedded": lambda request: request.getfixturevalue("tmp_path") / "store",
    "postgres": lambda request: request.getfixturevalue("postgres_address"),
    "memory": lambda request: f"memory://{request.node.nodeid}",
}
"""The address of a new store, by the name of its backend."""


@pytest.fixture(params=["embedded", "postgres"])
def address(request, monkeypatch):
    """A new store of each backend that operators may choose; ``test_storage`` asks for every one that there is."""
    monkeypatch.setitem(BACKENDS, "memory", "tests.collect.memory:Memory")
    return BACKENDS_TESTED[request.param](request)


@pytest.fixture
def collector(identity, address, clock):
    store = Store.open(address)
    yield Collector(store, clock=clock)
    store.close()


@pytest.fixture
def site(tmp_path):
    """A dashboard whose estimates are for analysts."""
    from tests.collect.looking import dashboard

    with dashboard(tmp_path) as found:
        yield found


@pytest.fixture
def public_site(tmp_path):
    """A dashboard whose estimates are for everyone."""
    from tests.collect.looking import dashboard

    with dashboard(tmp_path, public_estimates=True) as found:
        yield found
