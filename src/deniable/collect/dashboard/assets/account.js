// This browser's privacy budget at this collector, shared by all tasks and tabs. The limit starts at 10, or less if the collector proposes
// less. Once set, only the person changes it, in "My ledger".

import { IndexedDBLedger, decimal } from "./client/index.js";

// Above this epsilon, an observer can become so much surer that it no longer counts as protection.
export const USUAL = 10;
const proposed = Number(document.getElementById("main").dataset.lifetime);

export const ledger = new IndexedDBLedger({ lifetimeEpsilon: proposed > 0 && proposed < USUAL ? proposed : USUAL });

// The most that this browser may spend.
export async function limit() {
  await ledger.keepLimit();
  return ledger.limit();
}

export const moment = (seconds) => `${new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ")} UTC`;

// What this browser has spent, in words.
export async function spentInWords() {
  return `${decimal(await ledger.spent())} of ${decimal(await limit())}`;
}

// The state of a report, in words.
export function stateInWords({ state, code }) {
  if (state === "sent") return "sent";
  if (state === "pending") return "drawn, not sent";
  if (code === "withdrawn") return "dropped, never sent";
  return `refused by the collector (${code})`;
}
