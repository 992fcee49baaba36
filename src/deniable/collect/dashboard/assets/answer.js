// The survey page: consent, the answer, one draw that costs privacy budget, a look at the report, then send it or not.

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
let number; // of the ledger entry on screen

const reporter = (more = {}) => new Reporter(board, { task: id, ledger, ...more });
const now = () => Date.now() / 1000;

// Show one step, and move the focus there for keyboards and screen readers.
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

// Return why this person cannot answer now, as far as this browser knows; null if they can.
async function obstacle(task) {
  const entries = await mine();
  const dropped = entries.length && entries.every(({ state }) => state === "refused") ? " What you didn't send still counts against your privacy budget." : "";
  if (now() < task.start) return ["Not open yet", `This task opens on ${moment(task.start)}.`];
  if (now() >= task.end) return ["Closed", `This task closed on ${moment(task.end)}.`];
  const most = task.answers === 1 ? "one answer" : `${task.answers} answers`;
  if (entries.length >= task.answers) return ["You have already answered", `This task takes ${most} from you.${dropped}`];
  const period = task.rounds ? null : task.periodAt(now());
  const given = entries.filter((entry) => entry.period === period).length;
  if (period !== null && given >= task.answersPerPeriod) {
    const next = task.periodSpan(period)[1];
    const later = next < task.end ? ` You can answer again from ${moment(next)} on.` : "";
    return ["You have already answered", `You have answered for this period.${later}${dropped}`];
  }
  if (isLess(await limit(), plus(await ledger.spent(), writtenAs(task.epsilon)))) {
    const told = `You have spent epsilon ${await spentInWords()}, and one more answer here would cost ${task.epsilon}.`;
    return ["Privacy budget used up", `${told} You can still answer tasks that cost less. The limit is yours: you can change it in My ledger.`];
  }
  return null;
}

// Show the step that this person has reached.
async function resume({ focus = false } = {}) {
  const task = await board.task(id);
  const [waiting] = await ledger.pending(id);
  if (waiting) return look(waiting);
  const stopped = await obstacle(task);
  if (stopped) return finish(...stopped, { "Privacy budget spent, all tasks": `epsilon ${await spentInWords()}` });
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
  if (!asked) return finish("No question right now", "No round of this task is open. Please come back later. Nothing was sent, and nothing was spent.");
  const value = readAnswer(form, task, asked.round.questions);
  const device = reporter({ strata: readStrata(form, task), secret: task.admission === "secret" ? admission : null });
  if (task.admission === "token" && admission) await device.enrol(admission);
  const receipt = await device.report(value, { send: false });
  form.reset();
  if (!receipt) return finish("Not your turn yet", "This round asks other people. Please come back for a later round. Nothing was sent, and nothing was spent.");
  return look((await mine()).find((entry) => entry.number === receipt.number), value, device);
}

// Show what became of the report on screen: another tab may have been faster.
async function tell() {
  const entry = (await mine()).find((each) => each.number === number);
  const receiver = (await board.task(id)).mixing ? "shuffler" : "collector";
  if (entry.state === "pending") {
    trouble(`The ${receiver} did not answer. Your report is kept unchanged: try again, or come back later.`);
    return show("review", { focus: false });
  }
  const titles = { sent: "Sent. Thank you.", refused: entry.code === "withdrawn" ? "Not sent" : "Report refused" };
  const told = {
    sent: `The ${receiver} has stored your report.`,
    refused:
      entry.code === "withdrawn"
        ? "Your report was deleted, and you have withdrawn from this task. It still counts against your privacy budget."
        : "Your report does not count in the results, but it still counts against your privacy budget.",
  };
  return finish(titles[entry.state], told[entry.state], {
    Report: stateInWords(entry),
    Cost: `epsilon ${decimal(entry.epsilon)}`,
    "Privacy budget spent, all tasks": `epsilon ${await spentInWords()}`,
  });
}

// Do one thing at a time: disable the buttons meanwhile, and show what went wrong.
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
  await board.task(id); // check the signature before anybody agrees
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
