"""The dashboard's pages through the application: who sees what, what hostile texts do, and what a page may ask for."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from html.parser import HTMLParser
from types import SimpleNamespace

import altair as alt
import pytest

from deniable.client import GRR, RR
from deniable.collect.dashboard import drawing, sessions
from deniable.collect.dashboard import site as site_module
from deniable.collect.dashboard.answers import Answers
from deniable.collect.dashboard.html import element, live_parts
from deniable.collect.dashboard.pages import PAGES, TASK
from deniable.collect.server import Service
from deniable.collect.settings import Settings
from deniable.collect.web.access import add_token, remove_token
from deniable.collect.web.policy import PAGE
from deniable.collect.web.routes import PARQUET
from deniable.contract.domain import Categories
from deniable.errors import ParameterError
from tests.collect.crowd import HOUR, NOON, envelope, send, survey_task
from tests.collect.test_api import WORD, ask, publish, running

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&\u202e\x07"
SAFE = "What do you drink?"
NOBODY = "0" * 64


@contextmanager
def dashboard(folder, **settings):
    """A running service with a survey of two questions, one whose every text is an attack, and a clock of our own."""
    clock = SimpleNamespace(now=float(NOON))
    service = Service(Settings(store=str(folder / "store"), tend_seconds=3600.0, **settings), clock=lambda: clock.now)
    key = service.collector.registry.key
    drink = GRR(domain=Categories("tea", "coffee", "water"), epsilon=2.0)
    rules = {"minimum_batch": 20, "strata": (("where", ("phone", "web")),)}
    task = survey_task(key, drink, RR(epsilon=1.0), name="drink", **rules)
    evil = survey_task(key, GRR(domain=Categories(HOSTILE, "other"), epsilon=2.0), name="evil", minimum_batch=3)
    object.__setattr__(evil, "strata", ((HOSTILE, (HOSTILE, "web")),))
    for name in ("question", "owner", "statement"):
        object.__setattr__(evil, name, HOSTILE)
    for published in (task, evil):
        service.collector.publish(published)
    tokens = {role: add_token(service.store, role, role) for role in ("analyst", "admin")}
    with running(service) as request:
        yield SimpleNamespace(
            request=request, service=service, collector=service.collector, clock=clock, task=task, evil=evil, tokens=tokens, cookie=""
        )


@pytest.fixture
def site(tmp_path):
    with dashboard(tmp_path) as found:
        yield found


@pytest.fixture
def public_site(tmp_path):
    with dashboard(tmp_path, public_estimates=True) as found:
        yield found


def get(site, path, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()} | ({"cookie": site.cookie} if site.cookie else {})
    return site.request("GET", path, headers=named)


def post(site, path, content="", **headers):
    usual = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", "cookie": site.cookie}
    named = usual | {name.replace("_", "-"): value for name, value in headers.items()}
    return site.request("POST", path, content=content, headers={name: value for name, value in named.items() if value})


def sign_in(site, role="analyst"):
    answer = post(site, "/sign-in", f"token={site.tokens[role]}&next=/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    site.cookie = answer.headers["set-cookie"].partition(";")[0]
    return answer.headers["set-cookie"]


def path_of(task):
    return f"/tasks/{task.id.hex()}"


def fill(site, count=40, period=0, stratum=0):
    """Reports to all questions of the drinks, and to the evil one."""
    values = [("tea", 0), ("coffee", 0), (1, 1)] * count
    send(site.collector, *(envelope(site.task, value, question=q, period=period, stratum=stratum) for value, q in values))
    send(site.collector, *(envelope(site.evil, HOSTILE, period=period) for _ in range(count)))


class Reader(HTMLParser):
    """What a browser would make of a page: its tags and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


# --- who sees what ---


def test_without_a_token_tasks_are_seen_and_estimates_are_not(site):
    fill(site)
    listed, shown = get(site, "/"), get(site, path_of(site.task))
    assert site.task.question in listed.text
    assert "reports" not in Reader(listed.text).text.partition("Every report")[0]
    assert site.task.statement in shown.text
    assert site.task.id.hex() in shown.text
    for page in (shown, get(site, f"{path_of(site.task)}/compare?stratum_first=where:phone&stratum_second=where:web")):
        assert page.status_code == 200
        assert not re.search(r"\d %", Reader(page.text).text)
    for name in ("live", "estimate.json", "estimate.parquet", "chart.svg", "compare/chart.svg", "compare/live"):
        answer = get(site, f"{path_of(site.task)}/{name}")
        assert not re.search(rb"\d %|0\.\d\d", answer.content)
        assert answer.status_code == (200 if name.endswith("live") else 403 if name.startswith("estimate") else 404)
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("role", ["analyst", "admin"])
def test_whoever_signed_in_sees_estimates_until_they_sign_out(site, role):
    fill(site)
    cookie = sign_in(site, role)
    assert {part.strip() for part in cookie.split(";")[1:]} == {"Path=/", "Max-Age=43200", "HttpOnly", "SameSite=Strict"}
    assert re.fullmatch(r"deniable=[0-9a-f]{64}", site.cookie)
    assert "120 reports" in get(site, "/").text
    page = get(site, path_of(site.task))
    assert page.headers["cache-control"] == "no-store"
    assert re.search(r"\d %", Reader(page.text).text)
    content = get(site, f"{path_of(site.task)}/estimate.json?period=0").json()
    assert [answer["n"] for answer in content["answers"]] == [80, 40]
    assert get(site, f"{path_of(site.task)}/estimate.parquet").headers["content-type"] == PARQUET
    answer = post(site, "/sign-out")
    assert (answer.status_code, "Max-Age=0" in answer.headers["set-cookie"]) == (303, True)
    assert get(site, f"{path_of(site.task)}/estimate.json").status_code == 403  # the old cookie opens nothing


def test_a_session_ends_with_its_token_and_with_its_time(site, monkeypatch):
    sign_in(site)
    address = f"{path_of(site.task)}/estimate.json"
    assert get(site, address).status_code == 409  # too few reports, but seen
    remove_token(site.service.store, "analyst")
    assert get(site, address).status_code == 403
    monkeypatch.setattr(sessions, "LIFETIME", 0)
    sign_in(site, "admin")
    assert get(site, address).status_code == 403


def test_sessions_are_kept_as_digests_and_only_so_many(site, monkeypatch):
    monkeypatch.setattr(sessions, "MOST", 2)
    cookies = []
    for _ in range(3):
        sign_in(site)
        cookies.append(site.cookie)
    assert len(set(cookies)) == 3
    seen = []
    for site.cookie in cookies:
        seen.append(get(site, f"{path_of(site.task)}/estimate.json").status_code)
    assert seen == [403, 409, 409]


def test_cookies_are_for_tls_where_there_is_tls(tmp_path):
    with dashboard(tmp_path, behind_proxy=True) as site:
        cookie = sign_in(site)
        assert cookie.startswith("__Host-deniable=")
        assert cookie.endswith("; Secure")
        assert get(site, f"{path_of(site.task)}/estimate.json").status_code == 409


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"sec_fetch_site": "none"}, 403),
        ({"sec_fetch_site": ""}, 403),
        ({"sec_fetch_site": "", "origin": "null"}, 403),
        ({"sec_fetch_site": "", "origin": "http://elsewhere"}, 403),
        ({"sec_fetch_site": "", "origin": "http://collector"}, 303),
        ({"sec_fetch_site": "same-origin", "content_type": "text/plain"}, 415),
    ],
)
def test_only_pages_of_this_origin_sign_anyone_in_or_out(site, headers, status):
    content = f"token={site.tokens['analyst']}"
    answers = [post(site, "/sign-in", content, **headers), post(site, "/sign-out", **headers)]
    assert [answer.status_code for answer in answers] == [status, status]
    assert all(("set-cookie" in answer.headers) == (status == 303) for answer in answers)


@pytest.mark.parametrize(
    ("content", "status"),
    [("token=dn_0", 403), ("", 403), ("token=" + "0" * 5000, 413), ("token=%FF", 400), ("token=a&" + "b=c&" * 50, 400)],
)
def test_a_wrong_token_opens_nothing_and_is_not_shown_again(site, content, status):
    answer = post(site, "/sign-in", content)
    assert (answer.status_code, "set-cookie" in answer.headers) == (status, False)
    assert "dn_0" not in answer.text


@pytest.mark.parametrize("wanted", ["//example.org", "https://example.org", "/tasks/../log", "/\\example.org", "javascript:alert(1)"])
def test_signing_in_leads_to_a_page_of_this_dashboard(site, wanted):
    assert f'value="{wanted}"' not in get(site, f"/sign-in?next={wanted}").text
    answer = post(site, "/sign-in", f"token={site.tokens['analyst']}&next={wanted}")
    assert answer.headers["location"] == "/"


def test_a_flood_of_wrong_tokens_is_slowed(site):
    assert 429 in {post(site, "/sign-in", f"token=dn_{i}").status_code for i in range(25)}


# --- what everyone may see ---


def test_public_estimates_need_no_token_and_change_in_steps_of_the_minimum_batch(public_site):
    site = public_site
    clock = SimpleNamespace(now=0.0)
    answers = Answers(site.collector, clock=lambda: clock.now)

    def looked(public):
        clock.now += 1000.0
        return answers.total(site.task.id, public=public), answers.estimate(site.task.id, public=public).estimates["q0"].n

    fill(site)
    assert get(site, f"{path_of(site.task)}/estimate.json").status_code == 200
    assert looked(True) == looked(False) == (120, 80)
    send(site.collector, *(envelope(site.task, "tea") for _ in range(19)))
    assert looked(True) == (120, 80)  # a report more or less cannot be told
    assert looked(False) == (139, 99)
    send(site.collector, envelope(site.task, "tea"))
    assert looked(True) == (140, 100)
    send(site.collector, envelope(site.task, "tea"))
    site.clock.now = site.task.end + site.task.late  # nothing more will come
    assert looked(True) == (141, 101)


def test_an_answer_is_computed_once_for_many_and_again_later(site):
    fill(site)
    clock = SimpleNamespace(now=0.0)
    answers = Answers(site.collector, clock=lambda: clock.now)
    first = answers.estimate(site.task.id, public=False)
    assert answers.estimate(site.task.id, public=False) is first
    clock.now += 1000
    assert answers.estimate(site.task.id, public=False) is not first


@pytest.mark.parametrize("role", [None, "analyst"])
def test_nothing_is_shown_below_the_minimum_batch(public_site, role):
    site = public_site
    if role:
        sign_in(site)
    fill(site, 6)  # 12 and 6 reports, of 20
    fill(site, 40, stratum=1)
    selected = "stratum=where:phone"
    for address in (f"{path_of(site.task)}?{selected}", f"{path_of(site.task)}/compare?stratum_first=where:phone&stratum_second=where:web"):
        text = Reader(get(site, address).text).text
        assert "fewer than 20 reports" in text.lower()
        assert not re.search(r"\d %", text)
    assert get(site, f"{path_of(site.task)}/live?{selected}").json()["charts"] == {}
    assert get(site, f"{path_of(site.task)}/chart.svg?{selected}").status_code == 404
    answer = get(site, f"{path_of(site.task)}/estimate.json?{selected}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "too_few")


def test_the_list_does_not_count_fewer_than_the_minimum_batch(public_site):
    fill(public_site, 5)
    text = Reader(get(public_site, "/").text).text
    assert "fewer than 20 reports" in text
    assert "15 reports" not in text


# --- what is on a page ---


def test_the_number_comes_first_then_the_chart_then_the_table_then_the_promise(site):
    fill(site, 400)
    sign_in(site)
    html = get(site, f"{path_of(site.task)}?period=0&stratum=where:phone").text
    order = [html.index(part) for part in ('class="headline"', "data-chart=", "<table>", "Smallest share", "What people were promised")]
    assert order == sorted(order)
    estimate = get(site, f"{path_of(site.task)}/estimate.json").json()["answers"][0]
    best = max(estimate["rows"], key=lambda row: row["count"])
    text = Reader(html).text
    for number in (best["frequency"], best["low_together"] / estimate["n"], best["high_together"] / estimate["n"]):
        assert re.search(rf"{100 * number:.0f}(\.\d)? %|{100 * number:.1f} %", text)
    for told in ("800", "Epsilon", "GRR", "Liars", "Local", "1 (yes)", site.task.key.hex(), site.task.statement):
        assert told in text
    canonical = re.search(r"<pre[^>]*>(.*?)</pre>", html, re.DOTALL)[1]
    assert Reader(canonical).text == site.task.canonical.decode()


def test_more_noise_needs_fewer_liars_than_reports_and_says_how_many(site):
    """The width of the interval in people, in units of what one report can do."""
    fill(site, 400)
    sign_in(site)
    answer = get(site, f"{path_of(site.task)}/estimate.json").json()["answers"][0]
    best = max(answer["rows"], key=lambda row: row["count"])
    spec = site.task.survey.questions[0].spec
    liars = int(re.search(r'data-live="liars-0">([\d,]+) of 800', get(site, path_of(site.task)).text)[1])
    width = best["high_together"] - best["low_together"]
    assert (liars - 1) * spec.influence < width <= liars * spec.influence


def test_what_a_script_writes_is_what_a_reload_shows(site):
    fill(site)
    sign_in(site)
    for path in (path_of(site.task), f"{path_of(site.task)}/compare?stratum_first=where:phone&stratum_second=where:web", "/plan"):
        bare, _, query = path.partition("?")
        news = get(site, f"{bare}/live?{query}" if query else f"{bare}/live").json()
        page = Reader(get(site, path).text)
        keys = {tag["data-live"] for _, tag in page.tags if "data-live" in tag}
        assert keys == set(news["texts"])
        for text in news["texts"].values():
            assert text in page.text
        assert {tag["data-chart"] for _, tag in page.tags if "data-chart" in tag} == set(news["charts"])
        for chart in news["charts"].values():
            alt.Chart.from_dict(chart)  # valid Vega-Lite
            assert "http" not in json.dumps(chart)


def test_periods_and_strata_are_chosen_and_compared(site):
    fill(site, 400)
    site.clock.now = NOON + HOUR
    coffees = [envelope(site.task, "coffee", period=1, stratum=1) for _ in range(400)]
    send(site.collector, *coffees)
    sign_in(site)
    options = Reader(get(site, path_of(site.task)).text).all("option")
    assert [option["value"] or "" for option in options] == ["all", "1", "0", "", "where:phone", "where:web"]
    compared = Reader(get(site, f"{path_of(site.task)}/compare?first=0&second=1&stratum_first=&stratum_second=").text)
    assert "values changed" in compared.text
    assert [option["value"] for option in compared.all("option") if "selected" in option] == ["0", "1"]
    overlapping = get(site, f"{path_of(site.task)}/compare")
    assert "no reports in common" in overlapping.text


def test_a_search_says_in_which_round_it_is(site):
    assert publish(site, WORD).status_code == 201
    sign_in(site)
    word = next(task["id"] for task in ask(site, "GET", "/v1/tasks").json() if task["name"] == "word")
    assert "round 0 is open" in get(site, f"/tasks/{word}").text
    while ask(site, "POST", f"/v1/tasks/{word}/advance", "admin").json()["more"]:
        pass
    assert get(site, f"/tasks/{word}").status_code == 200


def test_the_planner_agrees_with_the_library(site):
    import deniable as dn

    html = get(site, "/plan?n=20000&epsilon=0.5&domain_size=64").text
    rows = dn.plan(n=20_000, epsilon=0.5, domain_size=64).rows()
    text = Reader(html).text
    assert [float(found) for found in re.findall(r"<td>± ([\d.]+) %", html)] == pytest.approx(
        [float(f"{100 * error:.2g}") for error in rows["frequency"]]
    )
    assert f"{100 * 2**0.5 / 0.5 / 20_000:.2g} %" in text  # the trusted collector
    points = get(site, "/plan/live?n=20000&epsilon=0.5&domain_size=64").json()["charts"]["chart-plan"]["data"]["values"]
    assert {point["name"] for point in points} == {*rows["value"], "central"}
    assert get(site, "/plan?n=&epsilon=&domain_size=").status_code == 200
    for query in ("n=0", "epsilon=0", "epsilon=nan", "domain_size=1", f"domain_size={1 << 40}", "n=1&n=2", "page=1"):
        assert get(site, f"/plan?{query}").status_code == 422


def test_the_log_shows_every_entry(site):
    html = get(site, "/log").text
    entries = ask(site, "GET", "/v1/log").json()["entries"]
    assert len(entries) == 2
    for entry in entries:
        assert entry["hash"][:16] in html
    assert get(site, "/log?after=0").text.count("task published") == 1
    assert get(site, "/log?after=x").status_code == 422


def test_pictures_for_pages_without_script(site):
    fill(site, 400)
    sign_in(site)
    page = get(site, path_of(site.task)).text
    quiet = re.findall(r"<noscript>(.*?)</noscript>", page, re.DOTALL)
    sources = [Reader(part).all("img")[0]["src"] for part in quiet]
    assert len(sources) == 2
    answer = get(site, sources[0])
    assert answer.headers["content-type"] == "image/svg+xml"
    assert b"coffee" in answer.content
    assert b"coffee" not in get(site, sources[1] + "&theme=dark").content


def test_a_chart_that_cannot_be_drawn_is_no_bug(site, monkeypatch):
    fill(site)
    sign_in(site)
    monkeypatch.setattr(drawing, "_CHART", "raise SystemExit(1)")
    answer = get(site, f"{path_of(site.task)}/chart.svg")
    assert answer.status_code == 503
    assert get(site, path_of(site.task)).status_code == 200


# --- strangers' texts, and what a page may do ---


def all_pages(site):
    """Every page of the table, with and without something to see."""
    for task in (site.task, site.evil):
        for entry in PAGES:
            if entry.method == "GET" and not entry.data and not entry.path.endswith((".svg", "{asset}")):
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
    for path in ("/v1/tasks", "/healthz", "/absent", "/assets/style.css", f"{path_of(site.task)}/live", "/plan/live"):
        assert get(site, path).headers.get_list("content-security-policy") == ["default-src 'none'"]


def test_assets_are_sent_once_and_no_others(site):
    for name, kind in (
        ("style.css", "text/css"),
        ("live.js", "text/javascript"),
        ("icon.svg", "image/svg+xml"),
        ("vega.js", "text/javascript"),
    ):
        answer = get(site, f"/assets/{name}")
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, kind)
        again = get(site, f"/assets/{name}", if_none_match=answer.headers["etag"])
        assert (again.status_code, again.content) == (304, b"")
    assert "vegaEmbed" in get(site, "/assets/vega.js").text
    for name in ("..%2Fsite.py", "absent.js", "", "__init__.py", "%00"):
        assert get(site, f"/assets/{name}").status_code == 404


def test_only_two_things_are_asked_for_by_post(site):
    assert {entry.path for entry in PAGES if entry.method != "GET"} == {"/sign-in", "/sign-out"}
    for entry in PAGES:
        path = entry.path.replace("{id}", site.task.id.hex()).replace("{asset}", "style.css")
        if entry.path not in ("/sign-in", "/sign-out"):
            assert post(site, path).status_code == 405
    assert get(site, TASK.format(id="x")).status_code == 404


def test_too_many_who_look_do_not_keep_devices_waiting(site, monkeypatch):
    monkeypatch.setattr(site_module, "MOST_WAITING", 0)
    assert get(site, "/").status_code == 503
    assert get(site, "/plan/live").json()["error"]["code"] == "busy"
    assert ask(site, "GET", "/v1/tasks").status_code == 200
