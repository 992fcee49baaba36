// This browser's privacy account with the collector at this address: one for all tasks and all tabs. Its limit is the person's. It begins at
// 10, or less if the collector proposes less; from the first look on it is kept, and nobody but the person changes it, on "my ledger".

import { IndexedDBLedger, decimal } from "./client/index.js";

// From this epsilon on, the factor by which an observer can be surer is no longer worth being called protection.
export const USUAL = 10;
const proposed = Number(document.getElementById("main").dataset.lifetime);

export const ledger = new IndexedDBLedger({ lifetimeEpsilon: proposed > 0 && proposed < USUAL ? proposed : USUAL });

// All that this browser may spend.
export async function limit() {
  await ledger.keepLimit();
  return ledger.limit();
}

export const moment = (seconds) => `${new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ")} UTC`;

// What was spent so far, in words.
export async function spentInWords() {
  return `${decimal(await ledger.spent())} of ${decimal(await limit())}`;
}

// What became of a report, in words.
export function stateInWords({ state, code }) {
  if (state === "sent") return "sent";
  if (state === "pending") return "drawn, not sent";
  if (code === "withdrawn") return "dropped, never sent";
  return `refused by the collector (${code})`;
}
