// The look at a report before it is sent: your answer, what would be sent, and how well the one hides the other.

import { chanceInWords, number } from "./chance.js";
import { Attribute, Identity } from "./client/encoders.js";
import { log2 } from "./client/law.js";
import { bytes, facts, make, quoted } from "./dom.js";
import { inWords } from "./report_words.js";
import { domainOf, kindOf, listed, nameOf, parse, valueAt } from "./values.js";
import { verdictList } from "./verdict_list.js";

const MOST_ROWS = 12;
const MOST_LISTED = 4096;

const factor = ([n, d]) => number(Number((n * 10_000n) / d) / 10_000);

export class Review {
  // `envelope` is null if the report is sealed and the page was reloaded: the browser cannot open it any more.
  constructor({ task, asked, entry, envelope, value }) {
    Object.assign(this, { task, entry, envelope, value });
    this.question = envelope && asked?.period === envelope.period ? asked.round.questions[envelope.question] : null;
    if (this.question) {
      this.report = this.question.spec.decode(this.envelope.payload);
      this.law = this.question.spec.law(this.report);
      this.domain = domainOf(task, this.question);
      this.own = this.#part(value);
    }
  }

  #part(value) {
    const { encoder } = this.question;
    return encoder instanceof Attribute && value !== null && value !== undefined ? value[encoder.name] : value;
  }

  async element() {
    const closed = [this.envelope ? "a randomized report" : "a randomized report, encrypted: your browser cannot open it again"];
    const sent = this.question ? await inWords(this.question.spec, this.report, this.#itself) : closed;
    const told = make("dd", { id: "told" }, ...this.#typed());
    const leaving = make("dd", { id: "leaving" }, ...sent);
    const pairs = [
      make("div", {}, make("dt", {}, "You answered"), told),
      make("div", {}, make("dt", {}, "What would be sent"), leaving),
    ];
    const besides = facts({ "Sent with it, without noise": this.#besides(), "The whole report": bytes(this.entry.report) });
    return make("div", {}, make("dl", { class: "facing" }, ...pairs), besides, this.question ? await this.#deniable() : "");
  }

  get #itself() {
    return this.question.encoder instanceof Identity || this.question.encoder instanceof Attribute;
  }

  #typed() {
    if (this.value === undefined) return ["not stored (this page was reloaded)"];
    if (!this.question) return ["what you typed"];
    const several = this.question.encoder instanceof Attribute;
    const own = this.value === null ? this.task.default : this.own;
    const note = this.value === null ? " (you have no answer)" : "";
    return [...(several ? [quoted(this.question.encoder.name), ": "] : []), quoted(nameOf(this.domain, own)), note];
  }

  #besides() {
    const period = `${this.task.rounds ? "round" : "period"} ${this.entry.period}`;
    if (this.task.mixing) return make("span", {}, `the task's id; ${period}; everything else is encrypted for the collector, and again for the shuffler`);
    const labels = Object.entries(this.task.stratumLabels(this.envelope.stratum)).map(([name, label]) => `${name}: ${label}`);
    const token = { open: [], secret: ["a proof that you know the secret"], token: ["a one-time token"] }[this.task.admission];
    return make("span", {}, ["the task's id", period, ...labels, ...token, "a random report number"].join("; "));
  }

  // --- how well the answer is hidden ---

  async #row(value, name) {
    const { encoder } = this.question;
    const input = await encoder.encode(encoder instanceof Attribute ? { [encoder.name]: value } : value);
    const { domain } = this.question.spec; // a number between two grid points has chances between theirs
    const weight = await this.law.weight(domain.position ? domain.position(input) : await domain.key(input));
    return { name, weight, own: this.own !== undefined && nameOf(this.domain, value) === nameOf(this.domain, this.#held) };
  }

  get #held() {
    return this.own === null ? this.task.default : this.own;
  }

  async #deniable() {
    const title = make("h3", {}, "How well this hides your answer");
    const judged = verdictList(this.task);
    if (!this.law) return make("div", {}, title, judged, make("p", { id: "verdict" }, `${this.#limit}. ${this.question.spec.whyNoLaw}`));
    const open = !this.domain.listed || this.domain.size > MOST_LISTED || Boolean(this.domain.position);
    let rows = open ? [] : await Promise.all(this.#values().map((value) => this.#row(value, [quoted(nameOf(this.domain, value))])));
    if (open && this.own !== undefined) rows = [await this.#row(this.#held, [quoted(nameOf(this.domain, this.#held))])];
    const shown = rows.length > MOST_ROWS ? grouped(rows) : rows;
    const body = make("tbody");
    const chances = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Chances" });
    const verdict = make("p", { id: "verdict" });
    const show = (lines) => {
      const largest = Math.max(...lines.map(({ weight }) => log2(weight)));
      body.replaceChildren(...lines.map((line) => this.#line(line, largest)));
      verdict.replaceChildren(this.#verdict(lines));
    };
    const head = make("tr", {}, ...["If your answer is", "the chance of exactly this report is"].map((text) => make("th", { scope: "col" }, text)));
    const caption = `Exact chances under ${this.question.spec.mechanism}${this.#given()}`;
    chances.append(make("table", { class: "chances" }, make("caption", {}, make("span", {}, caption)), make("thead", {}, head), body));
    show(shown);
    return make("div", {}, title, judged, verdict, chances, open ? this.#comparing(shown, show) : "");
  }

  #values() {
    return Array.from({ length: Number(this.domain.size) }, (_, place) => valueAt(this.domain, place));
  }

  #given() {
    const drawn = this.question.spec.layout.find((column) => column.drawn);
    return drawn ? `, given its ${drawn.name}, which does not depend on your answer` : "";
  }

  #line({ name, weight, own }, largest) {
    const bits = this.law.common + log2(weight);
    const bar = make("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--part", 2 ** (log2(weight) - largest));
    const cell = make("th", { scope: "row" }, ...name, own ? make("span", { class: "yours" }, "yours") : "");
    return make("tr", own ? { class: "own" } : {}, cell, make("td", {}, bar, make("span", { class: "chance" }, chanceInWords(bits))));
  }

  get #limit() {
    const { epsilon } = this.question.spec;
    const bound = number(Math.ceil(100 * Math.exp(epsilon)) / 100);
    return `No answer makes any report more than ${bound} times as likely as another (e to the power of ${epsilon})`;
  }

  #verdict(rows) {
    if (rows.length < 2) return `${this.#limit}. Compare yours with another answer:`;
    const most = rows.reduce((a, b) => (a.weight[0] * b.weight[1] >= b.weight[0] * a.weight[1] ? a : b));
    const least = rows.reduce((a, b) => (a.weight[0] * b.weight[1] <= b.weight[0] * a.weight[1] ? a : b));
    const own = rows.find((row) => row.own);
    const same = (row) => row.weight[0] * most.weight[1] === most.weight[0] * row.weight[1];
    const ratio = factor([most.weight[0] * least.weight[1], most.weight[1] * least.weight[0]]);
    const here = `${this.#limit}; for this one the factor is ${ratio}.`;
    if (!own) return here;
    if (!same(own)) return `Other answers make this report more likely than yours does. ${here}`;
    if (rows.some((row) => !row.own && same(row))) return `Other answers make this report exactly as likely as yours does. ${here}`;
    return `Your answer makes this report most likely. People with other answers send it too, as often as the chances below show. ${here}`;
  }

  // Where answers cannot be listed, people pick one to compare with.
  #comparing(rows, show) {
    const kind = kindOf(this.domain);
    const box = make("input", { id: "other", type: "text", autocomplete: "off" });
    const add = async (event) => {
      event.preventDefault();
      try {
        const value = kind === "label" ? box.value : parse(this.domain, kind, box.value);
        const row = await this.#row(value, [quoted(nameOf(this.domain, value))]);
        if (!row.own) rows.push({ ...row, own: false });
        show(rows);
        box.setCustomValidity("");
      } catch (error) {
        box.setCustomValidity(error.message);
        box.reportValidity();
      }
    };
    const label = make("label", { for: "other" }, "Another answer");
    const field = make("div", { class: "field" }, label, box);
    box.addEventListener("input", () => box.setCustomValidity(""));
    return make("form", { class: "choice", onsubmit: add }, field, make("div", { class: "actions" }, make("button", { class: "plain" }, "Compare")));
  }
}

// Group the answers that make this report equally likely.
function grouped(rows) {
  const groups = new Map();
  for (const row of rows.filter(({ own }) => !own)) {
    const key = row.weight.join("/");
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const told = [...groups.values()].map((group) => ({
    name: [`${group.length.toLocaleString("en")} ${rows.some(({ own }) => own) ? "other answers" : "answers"}: `, ...listed(group.map(({ name }) => name[0].textContent), 5)],
    weight: group[0].weight,
    own: false,
  }));
  told.sort((a, b) => (b.weight[0] * a.weight[1] > a.weight[0] * b.weight[1] ? 1 : -1));
  return [...rows.filter(({ own }) => own), ...told.slice(0, MOST_ROWS)];
}
