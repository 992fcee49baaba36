"""Tokens: who gets in, what is kept of them, and what a flood of guesses does."""

from __future__ import annotations

import hashlib

import pytest

from deniable.collect.kit.answers import Refusal
from deniable.collect.storage.store import Store
from deniable.collect.web.access import FAILURES_PER_SECOND, OPEN, Access, add_token, list_tokens, remove_token
from deniable.errors import ParameterError


@pytest.fixture
def store(tmp_path):
    opened = Store.open(tmp_path / "store")
    yield opened
    opened.close()


def refused(access, authorization, role="analyst"):
    with pytest.raises(Refusal) as caught:
        access.check(authorization, role)
    return caught.value.status, caught.value.code


def test_an_admin_may_what_an_analyst_may_and_not_the_other_way_round(store):
    access = Access(store.catalog)
    admin, analyst = add_token(store.catalog, "admin", "A"), add_token(store.catalog, "analyst", "B")
    for role in (OPEN, "analyst", "admin"):
        access.check([f"Bearer {admin}"], role)
    for role in (OPEN, "analyst"):
        access.check([f"bearer {analyst}"], role)
    assert refused(access, [f"Bearer {analyst}"], "admin") == (403, "wrong_role")


def test_what_opens_nothing(store):
    access = Access(store.catalog)
    token = add_token(store.catalog, "admin", "A")
    access.check([], OPEN)
    assert refused(access, []) == (401, "no_token")
    digest = hashlib.sha256(token.encode()).hexdigest()
    wrong = ["", "Bearer", "Bearer ", token, f"Basic {token}", f"Bearer {token[:-1]}", f"Bearer {token}x", f"Bearer {token} {token}"]
    for header in (*wrong, f"Bearer {token.upper()}", f"Bearer {digest}", "Bearer dn_é", "Bearer \udcff"):
        assert refused(access, [header]) == (401, "bad_token"), header
    assert refused(Access(store.catalog), [f"Bearer {token}"] * 2) == (401, "bad_token")


def test_a_token_is_kept_as_a_digest_only(store, tmp_path):
    token = add_token(store.catalog, "analyst", "the weekly report")
    assert list_tokens(store.catalog) == [("the weekly report", "analyst")]
    store.close()
    written = b"".join(path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file())
    assert b"the weekly report" in written
    assert hashlib.sha256(token.encode()).digest() in written
    for secret in (token.encode(), token.removeprefix("dn_").encode(), bytes.fromhex(token.removeprefix("dn_"))):
        assert secret not in written


def test_tokens_differ_and_have_the_full_length(store):
    tokens = {add_token(store.catalog, "analyst", str(i)) for i in range(20)}
    assert len(tokens) == 20
    assert {len(bytes.fromhex(token.removeprefix("dn_"))) for token in tokens} == {32}


def test_a_removed_token_opens_nothing_at_once(store):
    access = Access(store.catalog)
    token = add_token(store.catalog, "admin", "A")
    access.check([f"Bearer {token}"], "admin")
    remove_token(store.catalog, "A")
    assert refused(access, [f"Bearer {token}"], "admin") == (401, "bad_token")
    with pytest.raises(ParameterError, match="label"):
        remove_token(store.catalog, "A")


@pytest.mark.parametrize(("role", "label"), [("root", "A"), ("open", "A"), ("admin", ""), ("admin", "x" * 65), ("admin", "a\nb")])
def test_odd_roles_and_labels_are_refused(store, role, label):
    with pytest.raises(ParameterError):
        add_token(store.catalog, role, label)
    assert list_tokens(store.catalog) == []


def test_a_label_is_given_once(store):
    add_token(store.catalog, "admin", "A")
    with pytest.raises(ParameterError, match="no other token"):
        add_token(store.catalog, "analyst", "A")


def test_a_flood_of_guesses_is_braked_and_locks_nobody_out(store):
    now = [100.0]
    access = Access(store.catalog, clock=lambda: now[0])
    newcomers = [f"Bearer {add_token(store.catalog, 'analyst', str(label))}" for label in range(3)]
    codes = [refused(access, [f"Bearer dn_{i}"])[0] for i in range(FAILURES_PER_SECOND + 5)]
    assert codes == [401] * FAILURES_PER_SECOND + [429] * 5
    for newcomer in newcomers:  # never seen before, in the very second of the flood
        assert access.check([newcomer], "analyst") == "analyst"
    assert refused(access, [newcomers[0]], "admin") == (403, "wrong_role")
    assert refused(access, []) == (401, "no_token")
    assert refused(access, ["Bearer dn_0"]) == (429, "too_many_failures")
    now[0] = 101.0
    assert refused(access, ["Bearer dn_0"]) == (401, "bad_token")
