/** Rounds in, one verdict each out: whether the browser's client answers them, and with which kind of error it does not. */

import { text } from "node:stream/consumers";

import { checkAnswerable } from "../../clients/js/src/answerable.js";
import { Round } from "../../clients/js/src/index.js";

const verdict = (protocol, question) => {
  try {
    checkAnswerable({ protocol }, new Round([question], "0"));
    return "answered";
  } catch (error) {
    return error.constructor.name;
  }
};

console.log(JSON.stringify(JSON.parse(await text(process.stdin)).map(([protocol, question]) => verdict(protocol, question))));
