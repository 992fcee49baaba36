"""What a page of the dashboard may do: strangers' texts, the policy, assets, and too many who look."""

from __future__ import annotations

import re

import pytest

from deniable.collect.dashboard import site as site_module
from deniable.collect.dashboard.html import element, live_parts
from deniable.collect.dashboard.layout import PAGES, TASK
from deniable.collect.kit.answers import PAGE
from deniable.errors import ParameterError
from tests.collect.looking import HOSTILE, NOBODY, Reader, fill, get, path_of, post, sign_in
from tests.collect.test_api import ask


def all_pages(site):
    """Every page of the table, with and without something to see."""
    for task in (site.task, site.evil):
        for entry in PAGES:
            if entry.method == "GET" and not entry.data and not entry.path.endswith((".svg", "{asset}", "{asset:path}")):
                yield entry.path.replace("{id}", task.id.hex())
    yield f"{path_of(site.task)}?period=nonsense{HOSTILE[:1]}"
    yield f"/tasks/{NOBODY}"
    yield "/log?after=%22%3E%3Cscript%3E"
    yield "/sign-in?next=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"
    yield f"{path_of(site.task)}/compare?first=0&second=1&alpha=%3Cscript%3E"


@pytest.mark.parametrize("signed_in", [False, True])
def test_every_page_is_inert_and_asks_nobody_else(site, signed_in):
    fill(site)
    if signed_in:
        sign_in(site)
    for path in all_pages(site):
        answer = get(site, path)
        assert answer.headers["content-type"] == "text/html; charset=utf-8", path
        assert answer.headers.get_list("content-security-policy") == [PAGE]
        page = Reader(answer.text)
        for tag, attributes in page.tags:
            assert tag != "style"
            assert not [name for name in attributes if name.startswith("on") or name == "style"], path
            for name in ("href", "src", "action", "srcset"):
                assert re.match(r"[/#?](?!/)", attributes.get(name, "/")), path
        scripts = page.all("script")
        assert all(script.get("src", "").startswith("/assets/") for script in scripts)
        assert len(re.findall(r"<script", answer.text)) == len(scripts) <= 1
        assert len(page.all("h1")) == len(page.all("main")) == 1
        assert page.all("html") == [{"lang": "en"}]
        assert "\u202e" not in answer.text
        assert "\x07" not in answer.text
        labelled = {label["for"] for label in page.all("label")}
        assert {box["id"] for box in page.all("input") + page.all("select") if box.get("type") != "hidden"} == labelled


def test_hostile_texts_are_shown_as_they_are(site):
    fill(site)
    sign_in(site)
    shown = HOSTILE.replace("\u202e", "\ufffd").replace("\x07", "\ufffd")
    assert shown in Reader(get(site, "/").text).text
    page = Reader(get(site, path_of(site.evil)).text)
    assert page.text.count(shown) >= 4  # question, owner, statement, stratum
    assert repr(HOSTILE) in page.text  # a value that no chart could show
    assert get(site, f"{path_of(site.evil)}/chart.svg").status_code == 200


def test_markup_has_one_way_in():
    assert str(element("p", HOSTILE[:10], title=HOSTILE[:10])) == ('<p title="&quot;&#x27;&gt;&lt;script">&quot;&#x27;&gt;&lt;script</p>')
    for attributes in ({"href": "javascript:alert(1)"}, {"src": "https://example.org"}, {"src": "/\\example.org"}, {"href": "data:,"}):
        with pytest.raises(ParameterError, match="on this origin"):
            element("a", **attributes)
    for tag, attributes in (("style", {}), ("p", {"style": "color:red"}), ("p", {"onclick": "x"}), ("p x", {}), ("p", {"a b": "x"})):
        with pytest.raises(ParameterError, match="no inline"):
            element(tag, "x", **attributes)
    with pytest.raises(ParameterError, match="no inline"):
        element("script", "alert(1)")
    tree = element("div", element("b", "<x>", data_live="one"), element("tbody", element("tr", element("td", "<y>")), data_live_rows="two"))
    assert live_parts(tree) == {"texts": {"one": "<x>"}, "rows": {"two": [["<y>"]]}}


def test_data_keeps_its_own_policy(site):
    for path in ("/v1/tasks", "/healthz", "/v1/absent", "/assets/style.css", f"{path_of(site.task)}/live", "/plan/live"):
        assert get(site, path).headers.get_list("content-security-policy") == ["default-src 'none'"]


def test_assets_are_sent_once_and_no_others(site):
    for name, kind in (
        ("style.css", "text/css"),
        ("live.js", "text/javascript"),
        ("icon.svg", "image/svg+xml"),
        ("vega.js", "text/javascript"),
        ("client/index.js", "text/javascript"),
        ("client/mechanisms/grr.js", "text/javascript"),
    ):
        answer = get(site, f"/assets/{name}")
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, kind)
        again = get(site, f"/assets/{name}", if_none_match=answer.headers["etag"])
        assert (again.status_code, again.content) == (304, b"")
    assert "vegaEmbed" in get(site, "/assets/vega.js").text
    for name in ("..%2Fsite.py", "absent.js", "", "__init__.py", "%00", "client/", "client/..%2Flive.js", "client/absent.js", "grr.js"):
        assert get(site, f"/assets/{name}").status_code == 404


def test_only_two_things_are_asked_for_by_post(site):
    assert {entry.path for entry in PAGES if entry.method != "GET"} == {"/sign-in", "/sign-out"}
    for entry in PAGES:
        path = entry.path.replace("{id}", site.task.id.hex()).replace("{asset}", "style.css").replace("{asset:path}", "index.js")
        if entry.path not in ("/sign-in", "/sign-out"):
            assert post(site, path).status_code == 405
    assert get(site, TASK.format(id="x")).status_code == 404


def test_too_many_who_look_do_not_keep_devices_waiting(site, monkeypatch):
    monkeypatch.setattr(site_module, "MOST_WAITING", 0)
    assert get(site, "/").status_code == 503
    assert get(site, "/plan/live").json()["error"]["code"] == "busy"
    assert ask(site, "GET", "/v1/tasks").status_code == 200
