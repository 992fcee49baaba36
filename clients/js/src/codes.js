/**
 * Values as bit strings of one length, the most significant bit first: the key of an integer or a label; text in UTF-8, filled up with
 * bytes 0xFF; bytes, then 0x80, then zeros, one byte more than the longest.
 */

import { readBigEndian } from "./bytes.js";
import { Bytes, Text } from "./domain.js";

/** @typedef {import("./domain.js").Domain} Domain */

/** The length of every code. */
export function codeBits(/** @type {Domain} */ domain) {
  return domain instanceof Bytes ? 8 * codeBytes(domain) : domain.keyBits;
}

function codeBytes(/** @type {Bytes} */ domain) {
  return domain.maxLength + (domain instanceof Text ? 0 : 1);
}

/** The code of a value, as a number; DomainError if the value is not allowed. */
export function codeOf(/** @type {Domain} */ domain, /** @type {unknown} */ value) {
  const content = domain.content(value);
  if (!(content instanceof Uint8Array)) return content;
  const code = new Uint8Array(codeBytes(/** @type {Bytes} */ (domain))).fill(domain instanceof Text ? 0xff : 0);
  code.set(content);
  if (!(domain instanceof Text)) code[content.length] = 0x80;
  return readBigEndian(code);
}
