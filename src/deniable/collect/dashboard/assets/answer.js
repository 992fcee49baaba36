// A person answers a task: consent, the answer, one draw that is paid for, a look at the report, and then it is sent or dropped.

import { Board, BudgetExceeded, decimal, Reporter, toHex, writtenAs } from "./client/index.js";
import { isLess, plus } from "./client/decimal.js";
import { ledger, limit, moment, spentInWords, stateInWords } from "./account.js";
import { facts, make, trouble } from "./dom.js";
import { Review } from "./review.js";
import { readAnswer, readStrata } from "./values.js";

const STEPS = ["consent", "answer", "review", "done"];
const id = document.getElementById("main").dataset.liveSource;
const form = document.getElementById("answer-form");
const board = new Board(location.origin);
let number; // of the entry that is looked at

const reporter = (more = {}) => new Reporter(board, { task: id, ledger, ...more });
const now = () => Date.now() / 1000;

// Shows one step, and brings whoever uses a keyboard or a screen reader there.
function show(step, { focus = true } = {}) {
  for (const name of STEPS) document.getElementById(name).hidden = name !== step;
  document.getElementById("starting").hidden = true;
  document.querySelector("details.statement").open = step === "consent";
  document.getElementById("main").dataset.step = step;
  if (focus) document.getElementById(`${step}-title`).focus();
}

function finish(title, told, pairs = {}) {
  document.getElementById("done-title").textContent = title;
  document.getElementById("receipt").replaceChildren(make("p", {}, told), facts(pairs));
  show("done");
}

const mine = async () => (await ledger.entries()).filter((entry) => toHex(entry.task) === id);

// Why nothing can be answered now, as far as this browser knows; null if it can.
async function obstacle(task) {
  const entries = await mine();
  const dropped = entries.length && entries.every(({ state }) => state === "refused") ? " What was dropped stays paid for." : "";
  if (now() < task.start) return ["Not yet", `This task asks from ${moment(task.start)} on.`];
  if (now() >= task.end) return ["Closed", `This task asked until ${moment(task.end)}.`];
  if (entries.length >= task.answers) return ["You have answered", `This task takes ${task.answers} of your answers, and has them.${dropped}`];
  const period = task.rounds ? null : task.periodAt(now());
  const given = entries.filter((entry) => entry.period === period).length;
  if (period !== null && given >= task.answersPerPeriod) {
    const next = task.periodSpan(period)[1];
    const later = next < task.end ? ` It asks again from ${moment(next)} on.` : "";
    return ["You have answered", `This period has your answer.${later}${dropped}`];
  }
  if (isLess(await limit(), plus(await ledger.spent(), writtenAs(task.epsilon)))) {
    const told = `This browser has told as much as it may: epsilon ${await spentInWords()}. One more answer would cost ${task.epsilon}.`;
    return ["Enough was told", `${told} It can still answer tasks that cost less. The limit is yours: you can change it in My ledger.`];
  }
  return null;
}

// Where this person stands.
async function resume({ focus = false } = {}) {
  const task = await board.task(id);
  const [waiting] = await ledger.pending(id);
  if (waiting) return look(waiting);
  const stopped = await obstacle(task);
  if (stopped) return finish(...stopped, { "Spent so far, all tasks": `epsilon ${await spentInWords()}` });
  const agreed = await ledger.consented(id);
  const enrolled = task.admission === "token" && (await ledger.recall(id, "tokens"));
  if (enrolled) document.getElementById("admission-field")?.remove();
  return show(agreed ? "answer" : "consent", { focus });
}

async function look(entry, value, device = reporter()) {
  const task = await board.task(id);
  number = entry.number;
  const envelope = await device.opened(entry);
  const review = new Review({ task, asked: await board.asked(task, now()), entry, envelope, value });
  document.getElementById("report").replaceChildren(await review.element());
  show("review");
}

async function draw() {
  const [task, admission] = [await board.task(id), form.querySelector("[data-admission]")?.value.trim()];
  const asked = await board.asked(task, now());
  if (!asked) return finish("Nothing is asked now", "No round of this task is open. Nothing was drawn, and nothing was spent.");
  const value = readAnswer(form, task, asked.round.questions);
  const device = reporter({ strata: readStrata(form, task), secret: task.admission === "secret" ? admission : null });
  if (task.admission === "token" && admission) await device.enrol(admission);
  const receipt = await device.report(value, { send: false });
  form.reset();
  if (!receipt) return finish("This round asks others", "Your device drew a later turn. Nothing was drawn for this one, and nothing was spent.");
  return look((await mine()).find((entry) => entry.number === receipt.number), value, device);
}

// What became of the report that was looked at: another tab may have been faster.
async function tell() {
  const entry = (await mine()).find((each) => each.number === number);
  const receiver = (await board.task(id)).mixing ? "shuffler" : "collector";
  if (entry.state === "pending") {
    trouble(`The ${receiver} did not answer. The report is kept as it is: try again, or come back later.`);
    return show("review", { focus: false });
  }
  const titles = { sent: "Sent. Thank you.", refused: entry.code === "withdrawn" ? "Not sent" : "Refused" };
  const told = {
    sent: `The ${receiver} has stored your report.`,
    refused: entry.code === "withdrawn" ? "The report is gone, and your consent withdrawn. What it cost stays: it was drawn." : "It was not counted.",
  };
  return finish(titles[entry.state], told[entry.state], {
    Report: stateInWords(entry),
    Cost: `epsilon ${decimal(entry.epsilon)}`,
    "Spent so far, all tasks": `epsilon ${await spentInWords()}`,
  });
}

// One thing at a time: whatever is being done keeps the buttons still, and says so if it fails.
async function doing(action) {
  const buttons = [...document.querySelectorAll("section.step button")];
  trouble("");
  buttons.forEach((button) => (button.disabled = true));
  try {
    await action();
  } catch (error) {
    document.getElementById("starting").hidden = true;
    if (error instanceof BudgetExceeded) await resume({ focus: true });
    trouble(error instanceof BudgetExceeded ? `Nothing was drawn. ${error.message}` : error.message);
  } finally {
    buttons.forEach((button) => (button.disabled = false));
  }
}

const on = (name, action) => document.getElementById(name)?.addEventListener("click", () => doing(action));

on("agree", async () => {
  await board.task(id); // verified before anybody agrees to it
  await ledger.consent(id);
  ledger.persist();
  await resume({ focus: true });
});
on("send", async () => {
  await reporter().flush();
  await tell();
});
on("drop", async () => {
  await ledger.withdraw(id);
  await tell();
});
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  doing(draw);
});
for (const box of document.querySelectorAll("[data-none]")) {
  box.addEventListener("change", () => {
    for (const field of box.closest("[data-answer]").querySelectorAll("input:not([data-none]), select")) field.disabled = box.checked;
  });
}
if (form) await doing(resume);
