// My ledger: what this browser has sent and spent, read from the browser alone. Nothing on this page uses the network.

import { decimal, toHex } from "./client/index.js";
import { ledger, limit, moment, spentInWords, stateInWords, USUAL } from "./account.js";
import { bytes, facts, make, quoted, trouble } from "./dom.js";

const place = document.getElementById("ledger");

function entryItem(entry) {
  const about = { When: moment(entry.when), Cost: `epsilon ${decimal(entry.epsilon)}`, State: stateInWords(entry), Period: String(entry.period) };
  const report = entry.report.length ? bytes(entry.report) : null;
  return make("li", {}, facts(about), report);
}

async function taskItem(id, entries) {
  const agreed = await ledger.consented(id);
  const last = entries.at(-1);
  const act = async () => {
    await (agreed ? ledger.withdraw(id) : ledger.consent(id));
    await draw();
    document.getElementById(`change-${id}`).focus();
  };
  const button = make("button", { type: "button", class: "plain", id: `change-${id}`, onclick: () => guarded(act) }, agreed ? "Withdraw" : "Agree again");
  const consent = make("span", {}, agreed ? "You agreed to this task." : "You withdrew from this task. It gets nothing more from you.");
  const title = make("h2", {}, make("a", { href: `/tasks/${id}` }, quoted(last.question)));
  const name = make("p", {}, quoted(last.name), " ", make("code", {}, `${id.slice(0, 16)}…`));
  const reports = make("ol", { class: "told" }, ...entries.map(entryItem));
  return make("li", {}, title, name, make("div", { class: "actions" }, consent, button), reports);
}

// The limit, which only the person can change.
async function limitForm() {
  const field = make("input", { id: "limit", name: "limit", inputmode: "decimal", autocomplete: "off", value: decimal(await limit()), "aria-describedby": "about-limit" });
  const act = async () => {
    const chosen = field.value.trim();
    if (!(Number(chosen) > 0 && Number(chosen) < Infinity)) throw new Error("Enter a number above 0, such as 10. Your limit is unchanged.");
    await ledger.setLimit(chosen);
    await draw();
    document.getElementById("limit").focus();
  };
  const about = `The most that this browser may ever spend here. Above ${USUAL}, someone who collects all your answers learns most of them. If you set it below what you have spent, this browser answers nothing more.`;
  const submit = (event) => {
    event.preventDefault();
    guarded(act);
  };
  const label = make("label", { for: "limit" }, "Your limit (epsilon)");
  const row = make("div", { class: "actions" }, make("button", { class: "plain" }, "Change my limit"));
  return make("form", { onsubmit: submit, id: "limit-form" }, label, field, make("p", { id: "about-limit", class: "when" }, about), row);
}

async function draw() {
  const entries = await ledger.entries();
  const tasks = new Map();
  for (const entry of entries) tasks.set(toHex(entry.task), [...(tasks.get(toHex(entry.task)) ?? []), entry]);
  const items = await Promise.all([...tasks].map(([id, found]) => taskItem(id, found)));
  const [spent, text] = [await spentInWords(), await ledger.statement()];
  const summary = make("p", { class: "headline" }, make("span", { class: "value" }, "Privacy budget spent (epsilon)"), make("strong", { class: "share", id: "spent" }, spent));
  const count = { "Reports drawn": String(entries.length), Sent: String(entries.filter(({ state }) => state === "sent").length) };
  const nothing = entries.length ? null : make("p", { class: "notice" }, "You have not answered anything yet.");
  const [, ...meaning] = text.split("\n\n")[0].split("\n"); // its first line repeats the number above
  const promise = make("p", {}, meaning.join(" "));
  const whole = make("details", {}, make("summary", {}, "Show the ledger as text"), make("pre", { tabindex: "0", "aria-label": "Statement" }, text));
  place.replaceChildren(summary, promise, await limitForm(), facts(count), nothing ?? make("ul", { class: "cards" }, ...items), whole);
}

async function guarded(action) {
  trouble("");
  try {
    await action();
  } catch (error) {
    trouble(error.message);
  }
}

await guarded(draw);
document.addEventListener("visibilitychange", () => document.hidden || guarded(draw));
