/** Histories of ledgers, replayed step by step; without anything of node's, so that browsers replay them too. */

import { BudgetExceeded, decimal, Diary, fromHex, Source, specFromJson, Task, toHex } from "../src/index.js";
import { spell } from "../src/probability.js";

/** What came of a history, in the shape of the vectors; `open` makes a ledger. */
export async function replayHistory({ lifetime_epsilon: lifetimeEpsilon, steps }, texts, open) {
  const tasks = Object.fromEntries(await Promise.all(Object.entries(texts).map(async ([name, text]) => [name, await Task.fromJson(text)])));
  const ledger = open({ lifetimeEpsilon });
  const told = [];
  for (const step of steps) told.push(await take(ledger, tasks[step.task], step));
  const spent = await ledger.spent();
  return {
    steps: told,
    entries: (await ledger.entries()).map(plainEntry),
    spent: fraction(spent),
    statement: await ledger.statement(),
    kept: await keptBy(ledger, tasks),
    pending: (await Promise.all(Object.values(tasks).map((task) => ledger.pending(task.id)))).flat().map(({ number }) => number),
    consistent: decimal(spent) === `${/epsilon (\S+) of/.exec(await ledger.statement())[1]}`,
  };
}

/** One step with what came of it. */
async function take(ledger, task, { refused: _, place: __, then: ___, known: ____, drawn: _____, ...step }) {
  if (step.diary) delete step.report; // it is drawn, not given
  if (step.do === "settle") return { ...step, then: (await ledger.settle(step.number, step.state, step.code)).state };
  if (step.do !== "spend") {
    await ledger[step.do](task.id);
    return step;
  }
  const places = [];
  const [diary, drawn] = step.diary ? await drawFrom(ledger, task, step) : [null, {}];
  const make = (place) => {
    places.push(place);
    return fromHex(drawn.report ?? step.report);
  };
  const { period, when } = step;
  try {
    await ledger.spend(task, { period, epsilon: { nan: NaN, inf: Infinity }[step.epsilon] ?? Number(step.epsilon), when, make, diary });
    return { ...step, ...drawn, place: places.length === 1 ? places[0] : `made ${places.length} times` };
  } catch (error) {
    if (!(error instanceof BudgetExceeded) || places.length) throw error;
    const { parameter, received, allowed, fix } = error;
    return { ...step, refused: { parameter, received: written(parameter, received), allowed, fix } };
  }
}

/** The diary of a step, with a report drawn from it before the ledger looks: what it refuses is forgotten. */
async function drawFrom(ledger, task, { diary: { spec: text, value, question }, words }) {
  const spec = specFromJson(text);
  const diary = await Diary.of(spec, value, question);
  await diary.open((await ledger.kept(task.id))[diary.name] ?? {});
  const report = toHex(spec.encode(await diary.report(new Words(words))));
  return [diary, { known: diary.known, drawn: hexed(diary.drawn), report }];
}

/** What is kept for each task, as text; tasks without are left out. */
async function keptBy(ledger, tasks) {
  const found = await Promise.all(Object.entries(tasks).map(async ([name, { id }]) => [name, Object.entries(await ledger.kept(id))]));
  const plain = ([name, diaries]) => [name, Object.fromEntries(diaries.map(([question, kept]) => [question, hexed(kept)]))];
  return Object.fromEntries(found.filter(([, diaries]) => diaries.length).map(plain));
}

function hexed(kept) {
  return Object.fromEntries(Object.entries(kept).map(([name, answer]) => [name, toHex(answer)]));
}

/** Words as they were recorded. */
class Words extends Source {
  constructor(words) {
    super();
    this.left = words.map((word) => BigInt(`0x${word}`));
  }

  word() {
    if (!this.left.length) throw new Error("more words are drawn than were recorded");
    return this.left.shift();
  }
}

/** A number as Python shows it. */
function written(parameter, received) {
  if (typeof received !== "number" || parameter !== "epsilon") return `${received}`;
  return Number.isFinite(received) ? spell(received) : `${received}`.replace("Infinity", "inf").toLowerCase();
}

function fraction([numerator, denominator]) {
  return denominator === 1n ? `${numerator}` : `${numerator}/${denominator}`;
}

function plainEntry({ task, report, epsilon, ...rest }) {
  return { ...rest, task: toHex(task), report: toHex(report), epsilon: fraction(epsilon) };
}
