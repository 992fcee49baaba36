"""Who sees what of a dashboard: with a token, without one, and what is shown to everyone."""

from __future__ import annotations

import re
import time
from types import SimpleNamespace

import pytest

from deniable.collect.analysis.analyst import ReportSelection, TooFew
from deniable.collect.dashboard import sessions
from deniable.collect.dashboard.answers import SharedAnswers
from deniable.collect.web import access
from deniable.collect.web.access import remove_token
from deniable.collect.web.routes import PARQUET
from tests.collect.crowd import envelope, send
from tests.collect.looking import Reader, dashboard, fill, get, path_of, post, sign_in


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
    assert [answer["estimate"]["n"] for answer in content["answers"]] == [80, 40]
    assert get(site, f"{path_of(site.task)}/estimate.parquet").headers["content-type"] == PARQUET
    answer = post(site, "/sign-out")
    assert (answer.status_code, "Max-Age=0" in answer.headers["set-cookie"]) == (303, True)
    assert get(site, f"{path_of(site.task)}/estimate.json").status_code == 403  # the old cookie opens nothing


def test_a_session_ends_with_its_token_and_with_its_time(site, monkeypatch):
    sign_in(site)
    address = f"{path_of(site.task)}/estimate.json"
    assert get(site, address).status_code == 409  # too few reports, but seen
    remove_token(site.service.store.catalog, "analyst")
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


def test_a_session_is_found_among_other_cookies_and_hostile_ones_cost_nothing(site):
    """The standard library's parser takes minutes for the last of these, on Pythons that are supported."""
    sign_in(site)
    own, address = site.cookie, f"{path_of(site.task)}/estimate.json"
    hostile = 'other="' + '\\"' * 150_000
    begun = time.monotonic()
    for site.cookie, status in [
        (f"a=b; {own}; c=d", 409),
        (f"{own};c", 409),
        (f"a{own}", 403),
        (f"{hostile}; {own}", 409),
        ("; " * 150_000, 403),
        (hostile, 403),
    ]:
        assert get(site, address).status_code == status
    assert time.monotonic() - begun < 20


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


def test_a_flood_of_wrong_tokens_is_slowed(site, monkeypatch):
    monkeypatch.setattr(access, "FAILURES_PER_SECOND", 2)  # on a slow machine 20 do not fit in a second
    assert 429 in {post(site, "/sign-in", f"token=dn_{i}").status_code for i in range(25)}


# --- what everyone may see ---


def test_public_estimates_need_no_token_and_change_in_steps_of_the_minimum_batch(public_site):
    site = public_site
    clock = SimpleNamespace(now=0.0)
    answers = SharedAnswers(site.collector, clock=lambda: clock.now)

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


def test_no_selection_and_no_crowd_of_them_shows_a_single_report(public_site):
    site = public_site
    clock = SimpleNamespace(now=0.0)
    answers = SharedAnswers(site.collector, clock=lambda: clock.now)
    phone, web = (ReportSelection(None, {"where": label}) for label in ("phone", "web"))
    fill(site, stratum=1)
    fill(site)

    def shown():
        """What everyone sees in many ways; each time with other selections of the same reports, more than are kept."""
        clock.now += 1000.0
        spans = [ReportSelection(tuple(range(first, last))) for first in (0, 1) for last in range(first + 1, 24)]
        seen = [answers.total(site.task.id, public=True)]
        for selection in (
            ReportSelection(),
            phone,
            web,
            *spans,
            *(ReportSelection(each.periods, phone.strata) for each in spans),
            ReportSelection(),
        ):
            try:
                found = answers.estimate(site.task.id, selection, public=True)
                seen.append({name: (each.n, tuple(each.counts)) for name, each in found.estimates.items()})
            except TooFew:
                seen.append(None)
        both = answers.compare(site.task.id, phone, web, 0.05, public=True).comparisons["q0"]
        tested = answers.integrity(site.task.id, public=True)
        return [*seen, (both.first.n, both.second.n), {name: each.n for name, each in tested.items()}]

    before = shown()
    assert before[0] == 240
    for _ in range(site.task.minimum_batch - 1):
        send(site.collector, envelope(site.task, "tea"))
        assert shown() == before
    send(site.collector, envelope(site.task, "tea"))
    after = shown()
    assert (after[0], after[1]["q0"][0], after[2]["q0"][0], after[3], after[4]["q0"][0]) == (260, 180, 100, before[3], 180)
    assert after[-2:] == [(100, 80), {"q0": 180, "q1": 80}]


def test_an_answer_is_computed_once_for_many_and_again_later(site):
    fill(site)
    clock = SimpleNamespace(now=0.0)
    answers = SharedAnswers(site.collector, clock=lambda: clock.now)
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
