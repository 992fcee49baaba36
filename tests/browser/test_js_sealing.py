"""Sealing in Chromium: its own X25519 and AES make the vectors' bytes, and what a person sends through a real shuffler is counted."""

from __future__ import annotations

import socket
import time

import pytest
from playwright.sync_api import expect

from deniable.client import MemoryLedger, Reporter
from deniable.client.board import Board
from deniable.client.transport import HTTPTransport
from tests.browser.answering import agree, draw, fill, send
from tests.browser.conftest import PATIENCE, Watched
from tests.browser.device import open_device
from tests.conftest import vectors
from tests.system.load import wait_for
from tests.system.shuffled_crowd import ShufflerProcess

SEALING = vectors("sealing")
MIXED = """
name = "mixed"
question = "What do you drink?"
owner = "the tests"
trust = "shuffle"
epsilon = 1.0
lasts = "2 hours"
period = "1 hour"
late = "1 hour"
answers = 2
minimum_batch = 40
[domain]
categories = ["tea", "coffee", "water", "milk"]
[mechanism]
name = "GRR"
[shuffle]
epsilon = 0.36
delta = 1e-3
shufflers = [{{ url = "{url}", key = "{key}" }}]
"""
HOUR = 3600


@pytest.fixture
def page(context, client):
    return open_device(context, client, "https://collector.example", "ab" * 32)


# --- the vectors ---


def test_chromium_seals_as_python_opens(page):
    sealed = page.evaluate(
        """async (cases) => {
      const { sealReport } = await import("/clients/js/src/sealing.js");
      const { keyPair, noticeOf } = await import("/clients/js/test/sealed.js");
      const made = async ({ task: text, envelope, publics, ephemerals }) => {
        const [task, [sent]] = [await deniable.Task.fromJson(text), deniable.openBatch(deniable.fromHex(envelope))];
        const last = publics.length - 1;
        const notices = await Promise.all(publics.map((key, i) => noticeOf(i < last ? "shuffler" : "analyst", key)));
        const next = async () => { const pair = ephemerals.shift(); return keyPair(pair.private, pair.public); };
        return deniable.toHex(await sealReport(task, sent, { analyst: notices[last], shufflers: notices.slice(0, last) }, next));
      };
      return Promise.all(cases.map(made));
    }""",
        SEALING["cases"],
    )
    assert sealed == [case["seals"][0] for case in SEALING["cases"]]


def test_chromium_makes_the_message_of_the_rfc_and_refuses_keys_that_hide_nothing(page):
    sealed, refused = page.evaluate(
        """async ({ hpke, refused_keys }) => {
      const { hpkeSeal } = await import("/clients/js/src/hpke.js");
      const { keyPair } = await import("/clients/js/test/sealed.js");
      const bytes = deniable.fromHex;
      const made = hpke.map(async ({ public: key, info, plain, aad, ephemeral, ephemeral_public }) => {
        const fixed = { ephemeral: await keyPair(ephemeral, ephemeral_public), aad: bytes(aad) };
        return deniable.toHex(await hpkeSeal(bytes(key), bytes(info), bytes(plain), fixed));
      });
      const attempt = ({ public: key }) => hpkeSeal(bytes(key), bytes(""), bytes("00")).then(() => "", ({ name }) => name);
      return [await Promise.all(made), await Promise.all(refused_keys.map(attempt))];
    }""",
        {name: SEALING[name] for name in ("hpke", "refused_keys")},
    )
    assert sealed == [case["sealed"] for case in SEALING["hpke"]]
    assert refused == ["WireError"] * 3


def test_chromium_believes_the_same_keys_and_tasks(page):
    outcomes, tasks = page.evaluate(
        """async ({ notices, refused_tasks }) => {
      const { readKeys } = await import("/clients/js/src/notice.js");
      const read = ({ body, key, now, role, since }) => readKeys(new TextEncoder().encode(body), deniable.fromHex(key), now, role, since)
        .then(({ public: found }) => deniable.toHex(found), ({ name }) => name);
      const refused = refused_tasks.map(({ task }) => deniable.Task.fromJson(task).then(() => "taken", ({ name }) => name));
      return [await Promise.all(notices.map(read)), await Promise.all(refused)];
    }""",
        {name: SEALING[name] for name in ("notices", "refused_tasks")},
    )
    assert outcomes == [case["outcome"] for case in SEALING["notices"]]
    assert set(tasks) == {"WireError"}


# --- the whole way ---


@pytest.fixture
def shuffler(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    found = ShufflerProcess(tmp_path / "shuffler", "--port", str(port))
    found.address = f"http://127.0.0.1:{port}"
    with found:
        yield found
        if found.process is not None:
            found.kill()


def test_a_person_in_a_browser_is_one_of_a_shuffled_batch(server, shuffler, client, context, browser):
    """Some by Python, one by the client on another site, one by the survey page: both epsilons shown, nothing sent to the collector."""
    task = server.task(MIXED.format(url=shuffler.address, key=shuffler.ring.identity.hex()), server.token("admin"))
    shuffler.serve(task, server.url)
    board = Board(HTTPTransport(server.url))
    for number in range(45):
        ledger = MemoryLedger(lifetime_epsilon=8)
        ledger.consent(task.id)
        with Reporter(board if number else server.url, task=task.id, ledger=ledger) as reporter:  # one opens its own ways, and closes them
            assert reporter.report(("tea", "milk")[number % 2]).state == "sent"
    board.close()
    board.transport.close()

    device = open_device(context, client, server.url, task.id.hex())
    device.evaluate("(task) => ledger.consent(task)", task.id.hex())
    with device.expect_request(lambda request: request.method == "POST") as posted:
        receipt = device.evaluate("() => reporter.report('coffee')")
    assert (receipt["state"], posted.value.url) == ("sent", f"{shuffler.address}/v1/seals")

    answering, watched = browser.new_context(base_url=server.url), Watched()
    answering.set_default_timeout(PATIENCE)
    watched.watch(answering)
    page = answering.new_page()
    page.goto(f"/tasks/{task.id.hex()}/answer")
    short = page.locator("#shuffled")
    for text in ("at most epsilon = 0.36 about you (delta = 0.001)", "only your own noise protects you", "a batch of at least 40"):
        expect(short).to_contain_text(text)
    expect(page.locator("footer")).to_contain_text(shuffler.address)
    agree(page)
    fill(page, "water")
    draw(page)
    expect(page.locator("#told")).to_have_text("water")
    expect(page.locator("#verdict")).to_contain_text("2.72 times as likely")
    expect(page.locator("#report")).to_contain_text("everything else is encrypted")
    shown = page.locator("#report pre").text_content()
    page.reload()
    expect(page.locator("#leaving")).to_contain_text("your browser cannot open it again")
    with page.expect_request(lambda request: request.method == "POST") as posted:
        send(page)
    assert posted.value.post_data_buffer[4:].hex() == shown.replace(" ", "").replace("\n", "")
    expect(page.locator("#receipt")).to_contain_text("The shuffler has stored your report")
    posts = [url for url in watched.requests if "/v1/reports" in url or "/v1/seals" in url]
    assert posts == [f"{shuffler.address}/v1/seals"]
    assert watched.complaints == []
    answering.close()

    shuffler.end_period()
    server.ahead(HOUR)
    analyst = server.token("analyst")
    status = f"/v1/tasks/{task.id.hex()}/status"
    wait_for(lambda: any(period["reports"] == 47 for period in server.get(status, analyst).json["periods"]))
    assert time.time() < task.end  # or else nothing above says what it should
