"""Links as people share them: with what trackers add, with a slash at the end, and by the task's name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deniable.collect.dashboard.layout import PAGES
from tests.collect.looking import NOBODY, Reader, dashboard, get, path_of, post

TRACKED = "utm_source=newsletter&utm_medium=e-mail&utm_source=again&fbclid=IwAR0x&gclid=&%FF=1&bare&="


@pytest.fixture
def site(tmp_path):
    with dashboard(tmp_path, public_estimates=True) as found:
        yield found


def places(site):
    """The pages for people, as addresses."""
    paths = [entry.path for entry in PAGES if entry.method == "GET" and not entry.data and "{asset" not in entry.path]
    return [path.format(id=site.task.id.hex(), name="drink") for path in paths if not path.endswith("chart.svg")]


def is_page(answer):
    return answer.headers["content-type"].startswith("text/html") and bool(Reader(answer.text).all("main"))


def test_pages_ignore_parameters_of_trackers(site):
    """And do not pass them on to what their scripts ask for."""
    for path in places(site):
        plain, tracked = get(site, path), get(site, f"{path}?{TRACKED}")
        assert (tracked.status_code, tracked.text) == (plain.status_code, plain.text), path
    here = path_of(site.task)
    assert get(site, f"{here}?period=0&{TRACKED}").text == get(site, f"{here}?period=0").text
    assert get(site, f"{here}/chart.svg?{TRACKED}").status_code == get(site, f"{here}/chart.svg").status_code
    assert get(site, f"/sign-in?next={here}&{TRACKED}").text == get(site, f"/sign-in?next={here}").text


def test_a_known_parameter_is_read_strictly_and_so_is_everything_that_programs_ask(site):
    wrong = get(site, f"/plan?n=0&{TRACKED}")
    assert wrong.status_code == 422
    assert is_page(wrong)
    for path in (f"{path_of(site.task)}/live", f"{path_of(site.task)}/estimate.json", "/plan/live", "/v1/tasks"):
        answer = get(site, f"{path}?utm_source=newsletter")
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_parameter")


def test_a_slash_at_the_end_leads_to_the_page(site):
    for path in places(site):
        if path == "/":
            continue
        answer = get(site, f"{path}/?{TRACKED}")
        assert (answer.status_code, answer.headers["location"]) == (308, f"{path}?{TRACKED}")
    for path in ("/%2Fexample.org/", "/tasks//", "/plan//"):
        assert get(site, path).status_code == 404
    assert get(site, "/tasks/%0D%0Ax:y/").headers["location"] == "/tasks/%0D%0Ax%3Ay"


@pytest.mark.parametrize("path", ["/absent", "/tasks/x", f"/tasks/{NOBODY}", "/tasks/x/answer", "/s/absent", "/s/", "/index.html"])
def test_an_unknown_address_gets_a_page(site, path):
    answer = get(site, path)
    assert answer.status_code == 404
    assert is_page(answer)
    assert Reader(answer.text).all("a")[-2]["href"] == "/"  # a way on; the last link is the footer's


def test_a_wrong_method_on_a_page_gets_a_page_and_programs_get_data(site):
    refused = post(site, "/plan")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
    assert is_page(refused)
    for answer, status in [
        (get(site, "/v1/absent"), 404),
        (get(site, "/v1"), 404),
        (post(site, "/healthz"), 405),
        (get(site, "/v1/tasks/"), 404),
    ]:
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, {404: "not_found", 405: "method"}[status])


def test_a_short_link_leads_to_the_survey_while_its_name_is_unique(site):
    answer = get(site, f"/s/drink?{TRACKED}")
    assert (answer.status_code, answer.headers["location"]) == (307, f"{path_of(site.task)}/answer")
    assert answer.headers["cache-control"] == "no-store"  # it may lead elsewhere tomorrow
    other = replace(site.task, question="What do you drink at night?")
    site.collector.publish(other, new_meaning=True)
    several = get(site, "/s/drink")
    assert several.status_code == 300
    links = {link["href"] for link in Reader(several.text).all("a")}
    assert {f"{path_of(task)}/answer" for task in (site.task, other)} <= links
    assert "What do you drink at night?" in several.text
    site.collector.delete_task(other.id)
    assert get(site, "/s/drink").status_code == 307
