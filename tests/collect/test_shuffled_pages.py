"""Shuffle trust as analysts and everybody else see it: pages, answers as files, and open publications that can be counted again."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from deniable.client import GRR
from deniable.collect.analysis.analyst import ReportSelection, TooFew, compare, estimate
from deniable.collect.analysis.answer import METADATA
from deniable.collect.dashboard.task_pages import both_errors
from deniable.collect.publication.export import publish_reports
from deniable.collect.publication.verification import read_publication, verify_publication
from deniable.collect.tasks.batch_price import price
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.domain import Categories
from deniable.errors import WireError
from deniable.sealing.identity import sign
from tests.collect.crowd import HOUR, NOON, envelope
from tests.collect.looking import Reader, dashboard, get, path_of, sign_in
from tests.collect.mixing import MINIMUM, hand_in, published, reports, shuffle_task

DRINKS = ("tea", "coffee", "water", "milk")


@pytest.fixture
def site(tmp_path):
    with dashboard(tmp_path) as site:
        sign_in(site)
        yield site


def drinks(task, people):
    return [envelope(task, DRINKS[place % 4]) for place in range(people)]


def test_a_page_tells_both_epsilons_the_batches_and_both_errors(site):
    spec = GRR(domain=Categories(*DRINKS), epsilon=1.0)
    task = shuffle_task(site.collector.registry.key, spec, minimum_batch=20)
    site.collector.publish(task)
    for people in (MINIMUM, 3 * MINIMUM):
        assert hand_in(site.collector, task, drinks(task, people)) == "taken"
    page, news = Reader(get(site, path_of(task)).text), get(site, f"{path_of(task)}/live").json()
    assert {tag["data-live"] for _, tag in page.tags if "data-live" in tag} == set(news["texts"])
    told = {name.removeprefix("shuffled-"): text for name, text in news["texts"].items() if name.startswith("shuffled-")}
    assert (told["batches"], told["sizes"]) == ("2", f"{MINIMUM}, {3 * MINIMUM}")
    assert told["epsilon"] == f"{price(task, MINIMUM).epsilon:.4g}, delta = 0.001"
    here, local = both_errors(task, 4 * MINIMUM)
    assert 2 * here < local  # what the shuffler was worth
    assert "Shuffle: each device adds some noise itself" in page.text
    assert "must not run the shuffler" in page.text
    assert "https://shuffler.example.org" in page.text
    assert "Local: each device" in Reader(get(site, path_of(site.task)).text).text


def test_files_say_from_which_batches_they_come(collector):
    task = published(collector)
    for period in (0, 1):
        assert hand_in(collector, task, reports(task, MINIMUM + period), period=0) == "taken"
    answer = estimate(collector, task.id)
    about = json.loads(pq.read_schema(_file(answer.to_parquet())).metadata[METADATA])
    assert about["shuffle"] == answer.to_json()["shuffle"]
    assert about["shuffle"]["sizes"] == [MINIMUM, MINIMUM + 1]


def _file(data):
    import io

    return io.BytesIO(data)


def test_a_comparison_names_the_batches_of_both_sides(collector, clock):
    task = published(collector)
    assert hand_in(collector, task, reports(task, MINIMUM)) == "taken"
    clock.now = NOON + HOUR + 60
    from deniable.collect.collector import Collector

    later = Collector(collector.store, clock=clock)
    assert hand_in(later, task, reports(task, MINIMUM + 7, period=1), period=1) == "taken"
    changes = compare(later, task.id, ReportSelection((0,)), ReportSelection((1,))).to_json()
    assert changes["shuffle"]["sizes"] == [MINIMUM, MINIMUM + 7]
    assert estimate(later, task.id, ReportSelection((1,))).to_json()["shuffle"]["sizes"] == [MINIMUM + 7]
    with pytest.raises(TooFew):
        estimate(later, task.id, ReportSelection((5,)))


def test_a_publication_is_counted_and_priced_again(collector, tmp_path):
    task = published(collector)
    for people in (MINIMUM + 5, MINIMUM):
        assert hand_in(collector, task, reports(task, people)) == "taken"
    collector.seal(task.id, 0)
    publish_reports(collector, task.id, tmp_path / "open")
    publication = verify_publication(tmp_path / "open", task=task.id)
    assert publication.reports == 2 * MINIMUM + 5
    assert [batch.reports for batch in publication.mixed.batches] == [MINIMUM, MINIMUM + 5]
    assert publication.answer().to_json()["shuffle"] == estimate(collector, task.id).to_json()["shuffle"]


@pytest.mark.parametrize(
    "lie",
    [
        lambda batches: [batches[0] | {"epsilon": "0.01"}],
        lambda batches: [batches[0] | {"epsilon": "0.5"}],
        lambda batches: [batches[0] | {"reports": MINIMUM - 1}],
        lambda batches: [batches[0] | {"reports": 10 * MINIMUM}],
        lambda batches: [batches[0] | {"period": 3}],
        lambda batches: [],
        lambda batches: [{"period": 0}],
    ],
)
def test_a_publication_that_promises_what_does_not_hold_is_refused(collector, tmp_path, lie):
    """Even one that the collector itself has signed."""
    task = published(collector)
    assert hand_in(collector, task, reports(task, MINIMUM + 5)) == "taken"
    collector.seal(task.id, 0)
    publish_reports(collector, task.id, tmp_path / "open")
    path = tmp_path / "open" / "manifest.json"
    content = parse_canonical(path.read_bytes())
    content.pop("signature")
    content["mixed"] = lie(content["mixed"])
    signature = sign(collector.store.signing_key(), b"deniable publication 1\n", canonical_json(content)).hex()
    path.write_bytes(canonical_json(content | {"signature": signature}))
    with pytest.raises(WireError):
        read_publication(tmp_path / "open", task=task.id)


def test_a_publication_of_local_trust_is_as_it_was(collector, tmp_path):
    from tests.collect.crowd import send, survey_task
    from tests.collect.mixing import drink

    task = survey_task(collector.registry.key, drink(), name="local")
    collector.publish(task)
    assert send(collector, *(envelope(task, place % 4) for place in range(30))) == {}
    collector.seal(task.id, 0)
    publish_reports(collector, task.id, tmp_path / "open")
    assert "mixed" not in parse_canonical((tmp_path / "open" / "manifest.json").read_bytes())
    assert "shuffle" not in json.loads((tmp_path / "open" / "estimates.json").read_bytes())
    assert replace(verify_publication(tmp_path / "open", task=task.id)).mixed is None
