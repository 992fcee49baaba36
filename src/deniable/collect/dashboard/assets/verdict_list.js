// The strength of a promise, in words first, and in a matching color. The server writes the same list.


import { verdicts } from "./client/index.js";
import { make } from "./dom.js";

export const verdictClass = ({ level }) => `verdict ${level.replace(" ", "-")}`;

function line(verdict) {
  const title = `${verdict.title.charAt(0).toUpperCase()}${verdict.title.slice(1)}`;
  const when = verdict.when ? make("span", { class: "condition" }, `${verdict.when}: `) : null;
  const told = [verdict.guess, verdict.beyond].filter(Boolean).join(" ");
  return make("li", { class: verdictClass(verdict) }, when, make("strong", {}, title), make("span", {}, told));
}

// The verdicts on all answers that a task may ask of this person.
export const verdictList = (task) => make("ul", { class: "verdicts" }, ...verdicts(task).map(line));
