"""Everything that the dashboard answers, in one table. The menu is made from it."""

from __future__ import annotations

from dataclasses import dataclass

TASK = "/tasks/{id}"
ANSWER = f"{TASK}/answer"
"""Where a person answers a task in the browser."""
SHORT = "/s/{name}"
"""A link to share: the task by its name, as long as no other has it."""
LEDGER = "/ledger"
"""Where a person sees what this browser has told."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Something to be seen. ``name`` is that of the method of ``Views`` that answers; ``menu`` is what the menu calls it."""

    path: str
    name: str
    method: str = "GET"
    menu: str = ""
    data: bool = False
    """True for what programs read: failures are told as data, too, and a parameter that nobody knows is one."""
    slow: bool = False
    """True for what everyone may have computed at length: one at a time, in a thread apart from all other pages."""


PAGES = (
    Page(path="/", name="tasks", menu="Tasks"),
    Page(path=TASK, name="task"),
    Page(path=f"{TASK}/live", name="task_live", data=True),
    Page(path=f"{TASK}/chart.svg", name="task_chart"),
    Page(path=f"{TASK}/estimate.json", name="estimate_json", data=True),
    Page(path=f"{TASK}/estimate.parquet", name="estimate_parquet", data=True),
    Page(path=f"{TASK}/compare", name="compare"),
    Page(path=f"{TASK}/compare/live", name="compare_live", data=True),
    Page(path=f"{TASK}/compare/chart.svg", name="compare_chart"),
    Page(path=ANSWER, name="answer"),
    Page(path=f"{TASK}/open/{{asset:path}}", name="publication", data=True),
    Page(path=SHORT, name="short"),
    Page(path=LEDGER, name="ledger", menu="My ledger"),
    Page(path="/plan", name="plan", menu="Planner", slow=True),
    Page(path="/plan/live", name="plan_live", data=True, slow=True),
    Page(path="/plan/chart.svg", name="plan_chart", slow=True),
    Page(path="/log", name="log", menu="Public log"),
    Page(path="/sign-in", name="sign_in"),
    Page(path="/sign-in", name="enter", method="POST"),
    Page(path="/sign-out", name="leave", method="POST"),
    Page(path="/assets/{asset}", name="asset"),
    Page(path="/assets/client/{asset:path}", name="client"),
)
