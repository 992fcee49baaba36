/**
 * What a person's answer may be, and the integer that stands for it.
 *
 * A domain maps each allowed value to a key: the value's index where the domain can be listed, a 64-bit hash of the content where it
 * cannot (text, bytes). Integers are numbers or BigInts, bytes are a Uint8Array.
 */

import { isText, utf8 } from "./bytes.js";
import { DomainError, ParameterError } from "./errors.js";
import { stringKey } from "./hashing.js";
import { ONE } from "./source.js";

const LONGEST_STRING = 65_535;

/** The set of allowed values. */
export class Domain {
  /** Whether keys are the indices 0..size - 1. */
  listed = true;
  /** The number of values, where they can be listed. */
  size = 0n;
  /** What is allowed, in a few words. */
  description = "";
  /** The canonical JSON: domains are the same if these are. */
  canonical = "";

  /** The number of bits that hold every key. */
  get keyBits() {
    return this.listed ? (this.size - 1n).toString(2).length : 64;
  }

  /**
   * The key of a value, or the bytes of one whose key is their hash; undefined if the value is not allowed.
   *
   * @returns {bigint | Uint8Array | undefined}
   */
  find(/** @type {unknown} */ _value) {
    return undefined;
  }

  /** What `find` gives for a value that must be allowed; DomainError if it is not. */
  content(/** @type {unknown} */ value) {
    const found = this.find(value);
    if (found !== undefined) return found;
    throw this.refuse(value);
  }

  /** The error for a value that is not allowed. */
  refuse(/** @type {unknown} */ value) {
    return new DomainError("value", value, { allowed: this.description, fix: "correct or drop it; nothing was counted" });
  }

  /** The integer that stands for a value; DomainError if the value is not allowed. */
  async key(/** @type {unknown} */ value) {
    const content = this.content(value);
    return content instanceof Uint8Array ? stringKey(content) : content;
  }
}

/** The integers from low to high, both included. From 0 on they are called indices; of two, false and true are indices as well. */
export class Integers extends Domain {
  constructor(/** @type {number | bigint} */ low, /** @type {number | bigint} */ high, indices = false) {
    super();
    this.low = BigInt(low);
    this.high = BigInt(high);
    this.size = this.high - this.low + 1n;
    if (this.low < -(1n << 63n) || this.low >= this.high || this.high >= ONE || this.size > ONE) {
      throw new ParameterError("low, high", [low, high], {
        allowed: "integers, low < high, at most 2^64 values of 64 bits",
        fix: "narrow them",
      });
    }
    this.truths = indices && this.size === 2n;
    this.description = `integers from ${this.low} to ${this.high}`;
  }

  find(/** @type {unknown} */ value) {
    const whole = typeof value === "bigint" || Number.isSafeInteger(value) || (this.truths && typeof value === "boolean");
    const number = whole ? BigInt(/** @type {number | bigint | boolean} */ (value)) : this.low - 1n;
    return this.low <= number && number <= this.high ? number - this.low : undefined;
  }
}

/** A list of labels. */
export class Categories extends Domain {
  constructor(/** @type {unknown} */ labels) {
    super();
    if (!Array.isArray(labels) || labels.length < 2 || !labels.every(isText) || new Set(labels).size < labels.length) {
      throw new ParameterError("labels", labels, { allowed: "two or more different strings", fix: "list the possible answers" });
    }
    /** @type {string[]} */
    this.labels = labels;
    this.places = new Map(this.labels.map((label, i) => [label, BigInt(i)]));
    this.size = BigInt(labels.length);
    this.description = `one of ${this.labels.slice(0, 6).join(", ")}${labels.length > 6 ? ` ... (${labels.length} labels)` : ""}`;
  }

  find(/** @type {unknown} */ value) {
    return this.places.get(/** @type {string} */ (value));
  }
}

/** Byte strings of at most so many bytes; their keys are hashes. */
export class Bytes extends Domain {
  listed = false;

  constructor(/** @type {number | bigint} */ maxLength) {
    super();
    this.maxLength = Number(maxLength);
    if (this.maxLength < 1 || this.maxLength > LONGEST_STRING) {
      throw new ParameterError("max_length", maxLength, { allowed: `from 1 to ${LONGEST_STRING}`, fix: "bound it by the longest value" });
    }
    this.description = `bytes, at most ${maxLength} long`;
  }

  find(/** @type {unknown} */ value) {
    return value instanceof Uint8Array && value.length <= this.maxLength ? value : undefined;
  }
}

/** Text of at most so many bytes in UTF-8, compared byte by byte: no case folding, no normalization. */
export class Text extends Bytes {
  constructor(/** @type {number | bigint} */ maxLength) {
    super(maxLength);
    this.description = `text of at most ${maxLength} bytes in UTF-8`;
  }

  find(/** @type {unknown} */ value) {
    return isText(value) ? super.find(utf8(/** @type {string} */ (value))) : undefined;
  }
}
