/** What the tests share: the vectors, and a source that replays words. */

import { readFileSync } from "node:fs";

import { fromPlain } from "../src/canonical.js";
import { Source } from "../src/source.js";

export const FOLDER = new URL("../../../vectors/", import.meta.url);

export function vectors(name) {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8"));
}

/** The words that it was given, in order. */
export class ReplaySource extends Source {
  consumed = 0;

  constructor(words) {
    super();
    this.all = words.map((word) => BigInt(`0x${word}`));
  }

  word() {
    if (this.consumed === this.all.length) throw new Error("more words are drawn than were recorded");
    return this.all[this.consumed++];
  }
}

/** A value as vectors carry it: plain, or a set or a record of plain ones. */
export function valueOf(plain) {
  if (Array.isArray(plain)) return plain.map(fromPlain);
  if (typeof plain !== "object" || !("record" in plain)) return fromPlain(plain);
  return Object.fromEntries(Object.entries(plain.record).map(([name, item]) => [name, fromPlain(item)]));
}
