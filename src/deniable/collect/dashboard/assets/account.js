// This browser's privacy account with the collector at this address: one for all tasks and all tabs.

import { IndexedDBLedger, decimal } from "./client/index.js";

// From this epsilon on, the factor by which an observer can be surer is no longer worth being called protection.
const LIFETIME = 10;

export const ledger = new IndexedDBLedger({ lifetimeEpsilon: LIFETIME });

export const moment = (seconds) => `${new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ")} UTC`;

// What was spent so far, in words.
export async function spentInWords() {
  return `${decimal(await ledger.spent())} of ${LIFETIME}`;
}

// What became of a report, in words.
export function stateInWords({ state, code }) {
  if (state === "sent") return "sent";
  if (state === "pending") return "drawn, not sent";
  if (code === "withdrawn") return "dropped, never sent";
  return `refused by the collector (${code})`;
}
