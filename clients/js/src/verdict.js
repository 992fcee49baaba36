/**
 * Verdicts: how strong a promise is, in the words of Python's `contract.verdict`, which `vectors/verdicts.json` holds.
 *
 * A verdict covers all answers that a task may ask of one person, with one verdict for each condition that matters: whether a shuffler is
 * honest, and, where noise is drawn once and reused, whether the answer changes. Nothing is rounded up to certainty.
 */

/** @typedef {"strong" | "moderate" | "weak" | "very weak" | "none"} Level */

/** @type {[Level, number][]} the largest strength of each level */
const LIMITS = [
  ["strong", 1],
  ["moderate", 3],
  ["weak", 6],
  ["very weak", Infinity],
];
const AWAY = "This nearly gives your answer away: ";
const GUESSER = "omeone who had narrowed it down to two answers";
const RARE = 1_000_000;
/** What reused noise does not hide, whatever epsilon is. */
const PATTERN = "Not covered: that it changes and when, which can show for certain, and what that gives away.";

/** What (epsilon, delta) means for a person; `when` is the condition under which it holds, if there is one. */
export class Verdict {
  constructor(/** @type {number} */ epsilon, delta = 0, when = "", beyond = "") {
    this.epsilon = epsilon;
    this.delta = delta;
    this.when = when;
    /** What it does not cover, as a sentence. */
    this.beyond = beyond;
    Object.freeze(this);
  }

  /** The logarithm of the best odds of a guess between two answers, to three decimals: epsilon, or slightly more with a delta. */
  get strength() {
    if (this.epsilon === Infinity || this.delta >= 1) return Infinity;
    const odds = this.epsilon + Math.log1p(this.delta * Math.exp(-this.epsilon)) - Math.log1p(-this.delta);
    return Math.floor(1000 * odds + 0.5) / 1000;
  }

  /** @returns {Level} */
  get level() {
    const found = LIMITS.find(([, limit]) => this.strength <= limit);
    return this.strength === Infinity || !found ? "none" : found[0];
  }

  /** The level in words for respondents. */
  get title() {
    return `${this.level === "none" ? "no" : this.level} privacy`;
  }

  /** How often a guess between two answers is right at most, in words: rounded up, but never to certainty. */
  get guess() {
    if (this.level === "none") return "This can give your answer away for certain.";
    const odds = Math.exp(Math.min(this.epsilon, 700)); // beyond it, doubles overflow
    const right = 1 - (1 - this.delta) / (1 + odds);
    if (right <= 0.99) {
      const often = `${Math.ceil(100 * right)} times in 100. Guessing blindly gives 50.`;
      const firm = this.level === "strong" || this.level === "moderate";
      return firm ? `Even s${GUESSER} would guess right at most ${often}` : `S${GUESSER} could guess right ${often}`;
    }
    const once = Math.ceil((1 + odds) / (1 - this.delta));
    const seldom = once < RARE ? `as rarely as once in ${once.toLocaleString("en")} times` : "less than once in a million times";
    return `${this.level === "very weak" ? `${AWAY}s` : "S"}${GUESSER} could guess wrong ${seldom}.`;
  }

  toString() {
    const first = `${capital(this.when ? `${this.when}: ${this.title}` : this.title)}.`;
    return [first, this.guess, this.beyond].filter(Boolean).join(" ");
  }
}

/** The verdicts on all answers that a task may ask of one person, those that need the most trust first. */
export function verdicts(/** @type {import("./task.js").Task} */ task) {
  const { answers, epsilon, mixing } = task;
  const together = answers > 1 ? [`all ${answers.toLocaleString("en")} answers together`] : [];
  const questions = task.rounds ? [] : (task.survey().questions ?? []);
  const paid = (/** @type {number} */ values) =>
    questions.length ? Math.max(...questions.map(({ spec }) => spec.paidAnswers(answers, values))) : answers;
  const [still, changing] = [paid(1), paid(answers)];
  const reused = questions.some(({ spec }) => spec.paidAnswers(answers, 1) < answers);
  const found = [];
  if (mixing) {
    const who = mixing.shufflers.length === 1 ? "the shuffler" : "one of the shufflers";
    found.push(new Verdict(answers * mixing.epsilon, Math.min(answers * mixing.delta, 1), when(`if ${who} is honest`, ...together)));
  }
  const conditions = mixing ? ["if shuffler and collector work together"] : [];
  if (reused) {
    found.push(new Verdict(still * epsilon, 0, when(...conditions, "if your answer stays the same", ...together)));
    conditions.push("if your answer changes");
  }
  const beyond = reused ? PATTERN : "";
  return [...found, new Verdict(changing * epsilon, 0, when(...conditions, ...together), beyond)];
}

const capital = (/** @type {string} */ text) => text.charAt(0).toUpperCase() + text.slice(1);
const when = (/** @type {string[]} */ ...conditions) => capital(conditions.join(", "));
