"""What is on the dashboard's pages, through the application: numbers, choices, charts, and what changes while one looks."""

from __future__ import annotations

import json
import re

import altair as alt
import pytest

from deniable.client import OUE
from deniable.collect.analysis.integrity import integrity_of
from deniable.collect.dashboard import charts
from deniable.collect.dashboard.words import signs
from deniable.collect.publication.export import publish_reports
from deniable.collect.publication.verification import verify_publication
from deniable.core.saved import estimate_from_json
from deniable.testing import ReplaySource
from tests.collect.crowd import HOUR, NOON, envelope, send, survey_task
from tests.collect.looking import Reader, dashboard, fill, get, path_of, sign_in
from tests.collect.test_api import WORD, ask, publish


def largest(site):
    """The most frequent value of the first question, as its JSON has it: its limits hold for all values together."""
    return estimate_from_json(get(site, f"{path_of(site.task)}/estimate.json").json()["answers"][0]["estimate"]).top(1)


def test_the_number_comes_first_then_the_chart_then_the_table_then_the_promise(site):
    fill(site, 400)
    sign_in(site)
    html = get(site, f"{path_of(site.task)}?period=0&stratum=where:phone").text
    order = [
        html.index(part) for part in ('class="headline"', "data-chart=", "<table>", "Smallest detectable share", "Promise to respondents")
    ]
    assert order == sorted(order)
    best = largest(site)
    (low,), (high,) = best.interval(simultaneous=True)
    text = Reader(html).text
    for number in (best.point[0] / best.n, low / best.n, high / best.n):
        assert re.search(rf"{100 * number:.0f}(\.\d)? %|{100 * number:.1f} %", text)
    for told in ("800", "Epsilon", "GRR", "False reports", "Local", "1 (yes)", site.task.key.hex(), site.task.statement):
        assert told in text
    canonical = re.search(r"<pre[^>]*>(.*?)</pre>", html, re.DOTALL)[1]
    assert Reader(canonical).text == site.task.canonical.decode()


def test_more_noise_needs_fewer_liars_than_reports_and_says_how_many(site):
    """The width of the interval in people, in units of what one report can do."""
    fill(site, 400)
    sign_in(site)
    (low,), (high,) = largest(site).interval(simultaneous=True)
    spec = site.task.survey.questions[0].spec
    liars = int(re.search(r'data-live="liars-0">([\d,]+) of 800', get(site, path_of(site.task)).text)[1])
    assert (liars - 1) * spec.influence < high - low <= liars * spec.influence


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
    assert "without common reports" in overlapping.text


def test_a_search_says_in_which_round_it_is(site):
    assert publish(site, WORD).status_code == 201
    sign_in(site)
    word = next(task["id"] for task in ask(site, "GET", "/v1/tasks").json() if task["name"] == "word")
    assert "Round 0 is open" in get(site, f"/tasks/{word}").text
    while ask(site, "POST", f"/v1/tasks/{word}/advance?force=true", "admin").json()["more"]:
        pass
    assert get(site, f"/tasks/{word}").status_code == 200


def test_the_planner_agrees_with_the_library(site):
    import deniable as dn

    html = get(site, "/plan?n=20000&epsilon=0.5&domain_size=64").text
    rows = dn.plan(n=20_000, epsilon=0.5, domain_size=64).rows()
    text = Reader(html).text
    assert [float(found) for found in re.findall(r"<td>± ([\d.]+) %", html)] == pytest.approx(
        [float(f"{100 * error:.3g}") for error in rows["frequency"]]
    )
    assert f"{100 * 2**0.5 / 0.5 / 20_000:.3g} %" in text  # the trusted collector
    points = get(site, "/plan/live?n=20000&epsilon=0.5&domain_size=64").json()["charts"]["chart-plan"]["data"]["values"]
    assert {point["name"] for point in points} == {*rows["value"], "central", "shuffled"}
    local = dn.shuffle.local_epsilon_for(epsilon=0.5, n=20_000, delta=1e-6)
    assert f"if each device spends {local:.2g}" in text
    mixed = min(dn.plan(n=20_000, epsilon=local, domain_size=64).rows()["frequency"])
    assert f"the error is ± {100 * mixed:.3g} %" in text
    assert get(site, "/plan?n=&epsilon=&domain_size=").status_code == 200
    for query in ("n=0", "epsilon=0", "epsilon=nan", "domain_size=1", f"domain_size={1 << 40}", "n=1&n=2"):
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
    monkeypatch.setattr(charts, "_CHART", "raise SystemExit(1)")
    answer = get(site, f"{path_of(site.task)}/chart.svg")
    assert answer.status_code == 503
    assert get(site, path_of(site.task)).status_code == 200


def test_made_up_reports_are_told_and_honest_ones_are_not_suspected(site):
    spec, source = OUE(domain_size=64, epsilon=1.0), ReplaySource.from_key("honest")
    task = survey_task(site.collector.registry.key, spec, name="bits", minimum_batch=20)
    site.collector.publish(task)
    drawn = [envelope(task, 0)._replace(payload=spec.encode(spec.randomize(value % 64, source))) for value in range(401)]
    send(site.collector, *drawn, drawn[0])
    (honest,) = integrity_of(site.collector, task.id).values()
    assert (honest.n, signs(honest)) == (401, "none (popcount, pairs)")
    made_up = [envelope(task, 0)._replace(payload=bytes(8)) for _ in range(40)]
    assert send(site.collector, *made_up) == {}
    sign_in(site)
    told = get(site, f"{path_of(task)}/live").json()["texts"]["made-up-0"]
    assert re.fullmatch(r"yes: \d+ reports have (at most|exactly) \d of 64 bits set", told)
    assert told in get(site, path_of(task)).text
    site.collector.seal(task.id, 0)
    (counted,) = integrity_of(site.collector, task.id).values()
    assert (counted.n, counted.suspicious) == (441, ["popcount"])  # kept for a while after it was counted
    site.clock.now += 91 * 24 * HOUR
    site.collector.tend()
    assert integrity_of(site.collector, task.id) == {}  # deleted, so not tested


def test_a_mechanism_that_shows_nothing_says_so(site):
    fill(site)
    sign_in(site)
    assert get(site, path_of(site.task)).text.count("an honest device may send any report") == 2


def test_open_publications_are_linked_and_served_and_nothing_else(tmp_path):
    shelf = tmp_path / "shelf"
    with dashboard(tmp_path, publications=str(shelf)) as site:
        fill(site)
        assert "Open publication" not in get(site, path_of(site.task)).text
        site.collector.seal(site.task.id, 0)
        publish_reports(site.collector, site.task.id, shelf / "first-day")
        (shelf / "secret.txt").write_text("for nobody")
        (shelf / "first-day" / "secret.txt").write_text("for nobody")
        (shelf / "broken").mkdir()
        (shelf / "broken" / "manifest.json").write_text("{}")
        html = get(site, path_of(site.task)).text
        links = re.findall(rf'href="({path_of(site.task)}/open/[^"]+)"', html)
        assert "all 120 reports" in html
        assert [link.rpartition("/open/first-day/")[2] for link in links][:1] == ["manifest.json"]
        copied = tmp_path / "copied"
        for link in links:
            answer = get(site, link)
            assert answer.status_code == 200
            file = copied / link.rpartition("/open/first-day/")[2]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(answer.content)
        assert verify_publication(copied, task=site.task.id).reports == 120
        assert "Open publication" not in get(site, path_of(site.evil)).text  # another task's
        here, strange = f"{path_of(site.task)}/open", ("first-day/..%2Fsecret.txt", "..%2Fsecret.txt", "broken/manifest.json")
        for address in ("secret.txt", "first-day/secret.txt", "first-day", *strange):
            assert get(site, f"{here}/{address}").status_code == 404
        assert get(site, f"{path_of(site.evil)}/open/first-day/manifest.json").status_code == 404
