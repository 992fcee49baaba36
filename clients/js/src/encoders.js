/**
 * Encoders: from what a person holds to what a mechanism is asked about.
 *
 * An encoder runs on the device before the mechanism. All of them take `(value, source)` and give a promise; a few draw from the source.
 */

import { bigEndian } from "./bytes.js";
import { isObject, readInteger, readNumber, readObject } from "./canonical.js";
import { Cell } from "./cells.js";
import { ClusterSide, Magnitude } from "./clusters.js";
import { codeBits, codeOf } from "./codes.js";
import { domainFromJson } from "./domain_json.js";
import { ParameterError, reading, WireError } from "./errors.js";
import { Gradient } from "./gradient.js";
import { HashFamily, publicFunction } from "./hashing.js";
import { Interval, Parity } from "./lines.js";
import { attributeOf } from "./records.js";
import { HeldCount, Overflow, PadAndSample, SetCode } from "./sets.js";
import { ONE } from "./source.js";

const LONGEST_INPUT = 64;
const LONGEST_HASH = 31;

/** @typedef {{encode(value: any, source: import("./source.js").Source): any, readonly sampling?: number}} Encoder */

/** The value itself. */
export class Identity {
  constructor(/** @type {unknown} */ data) {
    readObject("encoder", data, ["encoder"]);
  }

  async encode(/** @type {unknown} */ value) {
    return value;
  }
}

/** One attribute of a record. */
export class Attribute {
  constructor(/** @type {unknown} */ data) {
    this.name = readObject("encoder", data, ["encoder", "name"]).name;
    if (typeof this.name !== "string") throw new WireError("encoder", data, { allowed: "string parameters", fix: "publish it again" });
  }

  async encode(/** @type {any} */ value) {
    return attributeOf(value, this.name);
  }
}

/** The first bits of a value's code, or where they stand in a list of candidates. */
export class Prefix {
  constructor(/** @type {unknown} */ data) {
    const { domain, length, candidates } = readObject("encoder", data, ["encoder", "domain", "length"], ["candidates"]);
    this.domain = domainFromJson(domain);
    this.length = readInteger("length", length, 1, codeBits(this.domain));
    this.inputs = 1n << BigInt(this.length);
    this.candidates = readCandidates(candidates, this.inputs);
  }

  async encode(/** @type {unknown} */ value) {
    const prefix = codeOf(this.domain, value) >> BigInt(codeBits(this.domain) - this.length);
    if (this.candidates) return placeAmong(this.candidates, prefix);
    return this.length <= LONGEST_INPUT ? prefix : bigEndian(prefix, Math.ceil(this.length / 8));
  }
}

/** A piece of a value's code, after some bits of a public hash of the whole value. */
export class Fragment {
  constructor(/** @type {unknown} */ data) {
    const fields = readObject("encoder", data, ["encoder", "domain", "start", "length", "hash_bits", "salt", "function"]);
    this.domain = domainFromJson(fields.domain);
    this.bits = codeBits(this.domain);
    this.start = readInteger("start", fields.start, 0, this.bits - 1);
    this.hashBits = readInteger("hash_bits", fields.hash_bits, 0, LONGEST_HASH);
    this.length = readInteger("length", fields.length, 1, Math.min(this.bits - this.start, LONGEST_INPUT - this.hashBits));
    this.salt = word("salt", fields.salt);
    this.function = word("function", fields.function);
    this.inputs = 1n << BigInt(this.hashBits + this.length);
  }

  async encode(/** @type {unknown} */ value) {
    const cut = bitsOf(codeOf(this.domain, value), this.bits, this.start, this.length);
    return (BigInt(await this.hash(value)) << BigInt(this.length)) | cut;
  }

  /** The public hash of a whole value; 0 where there is none. */
  async hash(/** @type {unknown} */ value) {
    if (!this.hashBits) return 0;
    const family = new HashFamily({ keyBits: this.domain.keyBits, range: 2 ** this.hashBits, shared: true });
    return family.symbol(await publicFunction(this.salt, this.function), await this.domain.key(value));
  }
}

/** Segments of a value's code, joined in the order given, or where they stand in a list of candidates. */
export class Segments {
  constructor(/** @type {unknown} */ data) {
    const { domain, parts, candidates } = readObject("encoder", data, ["encoder", "domain", "parts"], ["candidates"]);
    this.domain = domainFromJson(domain);
    this.bits = codeBits(this.domain);
    const inside = (/** @type {unknown} */ part) => {
      const [start, length] = Array.isArray(part) && part.length === 2 && part.every(Number.isInteger) ? part : [0, 0];
      return 0 <= start && 0 < length && start + length <= this.bits;
    };
    const whole = Array.isArray(parts) && parts.length > 0 && parts.every(inside);
    const total = whole ? parts.reduce((sum, [, length]) => sum + length, 0) : Infinity;
    if (total > LONGEST_INPUT) {
      const allowed = `starts and lengths within ${this.bits} bits, ${LONGEST_INPUT} bits in all`;
      throw new ParameterError("parts", parts, { allowed, fix: "choose parts within the bits of this domain's codes" });
    }
    /** @type {[number, number][]} */
    this.parts = parts;
    this.inputs = 1n << BigInt(total);
    this.candidates = readCandidates(candidates, this.inputs);
  }

  async encode(/** @type {unknown} */ value) {
    const code = codeOf(this.domain, value);
    const join = (/** @type {bigint} */ joined, /** @type {[number, number]} */ [start, length]) =>
      (joined << BigInt(length)) | bitsOf(code, this.bits, start, length);
    const joined = this.parts.reduce(join, 0n);
    return this.candidates ? placeAmong(this.candidates, joined) : joined;
  }
}

const ENCODERS = new Map(
  Object.entries({
    Attribute,
    Cell,
    ClusterSide,
    Fragment,
    Gradient,
    HeldCount,
    Identity,
    Interval,
    Magnitude,
    Overflow,
    PadAndSample,
    Parity,
    Prefix,
    Segments,
    SetCode,
  }),
);

/**
 * The encoder behind plain data; WireError if it is none.
 *
 * @returns {Encoder}
 */
export function encoderFromJson(/** @type {any} */ data) {
  const kind = ENCODERS.get(isObject(data) ? data.encoder : undefined);
  if (!kind) throw new WireError("encoder", data, { allowed: `one of ${[...ENCODERS.keys()]}`, fix: "upgrade deniable or check the name" });
  return reading("encoder", data, "a valid encoder", () => Object.freeze(new kind(data)));
}

function word(/** @type {string} */ name, /** @type {unknown} */ value) {
  const number = BigInt(readNumber(name, value));
  if (0n <= number && number < ONE) return number;
  throw new ParameterError(name, value, { allowed: "an integer from 0 to 2^64 - 1", fix: "publish it again" });
}

/** Bits start..start + length - 1 of a code, the most significant first. */
function bitsOf(/** @type {bigint} */ code, /** @type {number} */ bits, /** @type {number} */ start, /** @type {number} */ length) {
  return (code >> BigInt(bits - start - length)) & ((1n << BigInt(length)) - 1n);
}

/** The position of each candidate; undefined without candidates. */
function readCandidates(/** @type {unknown} */ texts, /** @type {bigint} */ size) {
  if (texts === undefined) return undefined;
  const shaped = Array.isArray(texts) && texts.every((text) => typeof text === "string" && /^(0|[1-9a-f][0-9a-f]*)$/.test(text));
  const listed = shaped ? texts.map((text) => BigInt(`0x${text}`)) : [size];
  if (listed.some((candidate, i) => candidate >= (listed[i + 1] ?? size))) {
    const allowed = `hexadecimal numbers below ${size}, each larger than the one before`;
    throw new ParameterError("candidates", texts, { allowed, fix: "sort them and drop repetitions" });
  }
  return new Map(listed.map((candidate, i) => [candidate, i]));
}

/** Where an input stands among candidates; their number if it is none of them. */
function placeAmong(/** @type {Map<bigint, number>} */ candidates, /** @type {bigint} */ input) {
  return candidates.get(input) ?? candidates.size;
}
