/** A round of a task as its collector opened it: signed, logged, and as immutable as the task itself. */

import { fromHex } from "./bytes.js";
import { documentBytes, parseCanonical, readObject } from "./canonical.js";
import { reading, WireError } from "./errors.js";
import { isReduced, Round } from "./question.js";

const VERSION = 1;
const NAMES = ["version", "task", "number", "scale", "first", "questions", "state"];

/** Devices get the questions without their candidates, which only the tally needs. */
export class OpenedRound {
  /** The round behind its canonical JSON, bytes or text; WireError if there is none. */
  static fromJson(/** @type {Uint8Array | string} */ data) {
    const bytes = documentBytes(data);
    return reading("round", bytes, "a valid round", () => new OpenedRound(readObject("round", parseCanonical(bytes), NAMES), bytes));
  }

  constructor(/** @type {Record<string, any>} */ content, /** @type {Uint8Array} */ canonical) {
    const [task, state] = [fromHex(content.task), fromHex(content.state)];
    this.canonical = canonical;
    this.round = new Round(content.questions, content.first);
    const { version, number, scale, first, questions } = content;
    const whole = Number.isInteger(number) && number >= 0 && Number.isInteger(scale) && scale >= 1 && scale % this.round.scale === 0;
    const canonically = isReduced(first) && questions.every((/** @type {any} */ item) => isReduced(item.share) && !("candidates" in item));
    if (!task || !state || version !== VERSION || !whole || !canonically) {
      throw new WireError("round", content, {
        allowed: "the canonical form of this version",
        fix: "send the bytes as they were published",
      });
    }
    /** The id of its task. */
    this.task = task;
    /** The SHA-256 of the protocol's state. */
    this.state = state;
    this.number = /** @type {number} */ (number);
    /** Tickets are drawn below this; the same in every round. */
    this.scale = /** @type {number} */ (scale);
    Object.freeze(this);
  }

  /** The question for the holder of a ticket; null if it is not the ticket's turn. */
  questionOf(/** @type {number} */ ticket) {
    return this.round.questionOf(ticket, this.scale);
  }
}
