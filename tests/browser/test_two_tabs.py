"""Tabs that share a ledger: none spends what another has spent, and a page that is killed tells nothing twice."""

from __future__ import annotations

import pytest

from deniable.contract.envelope import open_batch
from tests.browser.device import open_device

ONCE = """
name = "once"
question = "Tea?"
owner = "the tests"
epsilon = 1.0
lasts = "1 day"
minimum_batch = 1
[domain]
categories = ["no", "yes"]
"""
OFTEN = """
name = "often"
question = "Tea?"
owner = "the tests"
epsilon = 0.1
weak_privacy = true
lasts = "1 day"
answers = 1000
answers_per_period = 1000
minimum_batch = 1
[domain]
categories = ["no", "yes"]
"""
AT_ONCE = """(attempts) => Promise.all(Array.from({ length: attempts }, () =>
  reporter.report("yes").then((receipt) => receipt.state, (error) => error.name)))"""
GO = AT_ONCE.replace("Promise.all", "{ window.outcome = Promise.all", 1) + "; }"
ENTRIES = "() => ledger.entries().then((entries) => entries.map(({ state, report }) => [state, deniable.toHex(report)]))"


def published(server, toml):
    return server.task(toml, server.token("admin"))


def counted(server, task):
    """How many reports the collector has counted; their ids are different, or they would be one."""
    assert server.seal(task.id, 0, server.token("admin")).status == 204
    return server.get(f"/v1/tasks/{task.id.hex()}/estimate?period=0", server.token("analyst")).json["answers"][0]["estimate"]["n"]


@pytest.mark.parametrize(("toml", "room"), [(ONCE, 1), (OFTEN, 7)], ids=["one answer for each period", "a lifetime's epsilon"])
def test_two_tabs_cannot_spend_twice(server, client, context, toml, room):
    """Each tries many times at the same moment. Without the transaction around look and write, both would see room for their own."""
    task = published(server, toml)
    tabs = [open_device(context, client, server.url, task.id.hex(), lifetimeEpsilon="0.7" if room > 1 else 8) for _ in range(2)]
    tabs[0].evaluate("(task) => ledger.consent(task)", task.id.hex())
    for tab in tabs:
        tab.evaluate(GO, 25)
    outcomes = [state for tab in tabs for state in tab.evaluate("() => outcome")]
    assert sorted(outcomes) == ["BudgetExceeded"] * (50 - room) + ["sent"] * room
    assert len(tabs[1].evaluate(ENTRIES)) == room
    assert counted(server, task) == room


@pytest.mark.parametrize("arrives", [False, True], ids=["before it is sent", "before the answer comes"])
def test_a_tab_that_is_killed_tells_the_same_later_and_nothing_twice(server, client, context, arrives):
    task = published(server, ONCE)
    tab = open_device(context, client, server.url, task.id.hex())
    tab.evaluate("(task) => ledger.consent(task)", task.id.hex())
    tab.route("**/v1/reports", lambda _: None)  # it is never answered
    with tab.expect_request("**/v1/reports") as request:
        tab.evaluate("() => { reporter.report('yes'); }")
    first = request.value.post_data_buffer
    if arrives:
        assert context.request.post(f"{server.url}/v1/reports", data=first, headers=request.value.headers).status == 201
    tab.close()
    again = open_device(context, client, server.url, task.id.hex())
    assert again.evaluate(ENTRIES) == [["pending", first.hex()]]
    assert again.evaluate(AT_ONCE, 3) == ["BudgetExceeded"] * 3
    with again.expect_request("**/v1/reports") as request:
        assert again.evaluate("() => reporter.flush().then((receipts) => receipts.map(({ state }) => state))") == ["sent"]
    assert request.value.post_data_buffer == first
    assert again.evaluate(ENTRIES) == [["sent", first.hex()]]
    assert counted(server, task) == 1
    assert open_batch(first)[0].task == task.id


def test_a_tab_is_killed_before_it_has_spent(server, client, context):
    """Nothing was told, nothing is spent: the next tab answers afresh."""
    task = published(server, ONCE)
    tab = open_device(context, client, server.url, task.id.hex())
    tab.evaluate("(task) => ledger.consent(task)", task.id.hex())
    tab.evaluate("""(id) => reporter.task().then((task) => {
      const make = () => { window.reached = true; throw new Error("killed"); };
      return ledger.spend(task, { period: 0, epsilon: 1, when: 0, make }).catch(() => {});
    })""")
    assert tab.evaluate("() => reached")
    tab.close()
    again = open_device(context, client, server.url, task.id.hex())
    assert again.evaluate(ENTRIES) == []
    assert again.evaluate(AT_ONCE, 1) == ["sent"]


def test_what_one_tab_withdraws_the_other_does_not_send(server, client, context):
    task = published(server, ONCE)
    one, other = (open_device(context, client, server.url, task.id.hex()) for _ in range(2))
    one.evaluate("(task) => ledger.consent(task)", task.id.hex())
    one.route("**/v1/reports", lambda route: route.abort())
    one.evaluate(
        """([url, task]) => {
      const asleep = new Promise((resolve) => { window.fellAsleep = resolve; });
      window.asleep = asleep;
      const sleep = () => { fellAsleep(true); return new Promise((resolve) => { window.wake = resolve; }); };
      const patient = new deniable.Reporter(url, { task, ledger, sleep });
      window.outcome = patient.report("yes").then((receipt) => receipt.state, (error) => error.parameter);
    }""",
        [server.url, task.id.hex()],
    )
    assert one.evaluate("() => asleep")
    other.evaluate("(task) => ledger.withdraw(task)", task.id.hex())
    one.unroute("**/v1/reports")
    one.evaluate("() => wake()")
    assert one.evaluate("() => outcome") == "consent"
    assert other.evaluate(ENTRIES) == [["refused", ""]]
    assert server.get(f"/v1/tasks/{task.id.hex()}/status", server.token("analyst")).json["periods"] == []
