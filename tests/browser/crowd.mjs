/** People with a device each, in one process: what they hold and draw comes in the first line, then each line lets all of them answer. */

import { createInterface } from "node:readline";

import { Board, MemoryLedger, Reporter, Source, SYSTEM } from "../../clients/js/src/index.js";

/** The words that it was given, in order. */
class Words extends Source {
  constructor(words) {
    super();
    this.left = words.map((word) => BigInt(`0x${word}`));
  }

  word() {
    if (!this.left.length) throw new Error("more words are drawn than were given");
    return this.left.shift();
  }
}

let board;
let devices;
for await (const line of createInterface({ input: process.stdin })) {
  const told = JSON.parse(line);
  if (!board) {
    board = new Board(told.url, { keepRounds: true });
    devices = told.people.map(({ value, words, strata, secret, code }) => {
      const ledger = new MemoryLedger({ lifetimeEpsilon: 8 });
      return { value, strata, secret, code, ledger, source: words ? new Words(words) : SYSTEM };
    });
    for (const { ledger } of devices) await ledger.consent(told.task);
    board.id = told.task;
    console.log("[]");
    continue;
  }
  board.refresh();
  const answer = async ({ value, strata, secret, code, ledger, source }) => {
    const clock = told.now === null ? undefined : () => told.now;
    const reporter = new Reporter(board, { task: board.id, ledger, strata, secret, source, clock });
    if (code) await reporter.enrol(code);
    const receipt = await reporter.report(value);
    return receipt && { ...receipt, epsilon: receipt.epsilon.map(String) };
  };
  console.log(JSON.stringify(await Promise.all(devices.map(answer))));
}
