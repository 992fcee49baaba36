// The answers that people can give: the values of a domain, their names, and how to read them from the fields of a page.

import { taskDomain } from "./client/answerable.js";
import { fromHex } from "./client/index.js";
import { quoted } from "./dom.js";

// What the answer to a question may be. Searches ask about parts of an answer; the answer is still a value of the task's own domain.
export const domainOf = (task, question) => (task.rounds ? taskDomain(task) : question.spec.domain);

// The value at a place of a domain that can be listed.
export function valueAt(domain, place) {
  return domain.labels ? domain.labels[place] : domain.low + BigInt(place);
}

export function nameOf(domain, value) {
  if (domain.truths) return Number(value) ? "yes" : "no";
  if (value instanceof Date) return value.toLocaleString();
  if (value instanceof Uint8Array) return `0x${Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  return value === "" ? "nothing, an empty text" : String(value);
}

// Names one after the other, not more than so many.
export function listed(names, most = 12) {
  const parts = names.slice(0, most).flatMap((name, i) => (i ? [", ", quoted(name)] : [quoted(name)]));
  return names.length > most ? [...parts, ` and ${(names.length - most).toLocaleString("en")} more`] : parts;
}

// How to read the text of a field, where the page does not say it.
export function kindOf(domain) {
  if (domain.labels) return "label";
  if (domain.position) return domain.times ? (domain.aware ? "time" : "clock") : "number";
  return domain.low !== undefined ? "integer" : domain.description.startsWith("text") ? "text" : "bytes";
}

// The text of a field as a value of a domain; the domain refuses what does not fit. A time without a zone stays as it was typed.
export function parse(domain, kind, text) {
  if (kind === "label") return domain.labels[Number(text)];
  if (kind === "number") return /^-?[0-9]+$/.test(text) ? BigInt(text) : text.trim() ? Number(text) : text;
  if (kind === "time") return new Date(text);
  if (kind === "integer") return /^-?[0-9]+$/.test(text) ? BigInt(text) : text;
  return kind === "bytes" ? (fromHex(text.toLowerCase()) ?? text) : text;
}

// The answer in a form: a value, or a record for several questions; null for no answer.
export function readAnswer(form, task, questions) {
  const record = {};
  for (const field of form.querySelectorAll("[data-answer]")) {
    const { attribute, kind } = field.dataset;
    const question = attribute ? questions.find(({ encoder }) => encoder.name === attribute) : questions[0];
    const chosen = field.querySelector("input[type=radio]:checked");
    const text = chosen ? chosen.value : field.querySelector("input:not([type=radio], [type=checkbox]), select").value;
    if (text === "none" && chosen) return null;
    if (field.querySelector("[data-none]")?.checked) return null;
    record[attribute] = parse(domainOf(task, question), kind, text);
  }
  return "" in record ? record[""] : record;
}

// The labels, which are sent without noise.
export function readStrata(form, task) {
  const chosen = [...form.querySelectorAll("[data-stratum]")].map((field) => {
    const [name, labels] = task.strata[Number(field.dataset.stratum)];
    return [name, labels[Number(field.value)]];
  });
  return Object.fromEntries(chosen);
}
