/** Places on a line: which of some neighboring intervals holds a value, and the parity of some bits of its key. */

import { readObject } from "./canonical.js";
import { domainFromJson } from "./domain_json.js";
import { ParameterError } from "./errors.js";

const HEXADECIMAL = /^(0|[1-9a-f][0-9a-f]*)$/;

/** Which interval holds a value's key; they cover the whole domain, the first begins at 0. */
export class Interval {
  constructor(/** @type {unknown} */ data) {
    const { domain, starts } = readObject("encoder", data, ["encoder", "domain", "starts"]);
    this.domain = listed(domain);
    const shaped = Array.isArray(starts) && starts.length > 0 && starts.every(isHexadecimal);
    /** @type {bigint[]} */
    this.starts = shaped ? starts.map((text) => BigInt(`0x${text}`)) : [-1n];
    if (this.starts[0] !== 0n || this.starts.some((start, i) => start >= (this.starts[i + 1] ?? this.domain.size))) {
      const allowed = `0, and then rising hexadecimal numbers below ${this.domain.size}`;
      throw new ParameterError("starts", starts, { allowed, fix: "sort them; the first interval begins at 0" });
    }
    this.inputs = BigInt(this.starts.length);
  }

  async encode(/** @type {unknown} */ value) {
    const key = /** @type {bigint} */ (this.domain.content(value));
    let [low, high] = [0, this.starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= key) low = middle;
      else high = middle;
    }
    return BigInt(low);
  }
}

/** Whether a value's key has an odd number of ones under a mask. */
export class Parity {
  constructor(/** @type {unknown} */ data) {
    const { domain, mask } = readObject("encoder", data, ["encoder", "domain", "mask"]);
    this.domain = listed(domain);
    this.mask = isHexadecimal(mask) ? BigInt(`0x${mask}`) : 0n;
    this.inputs = 2n;
    if (this.mask <= 0n || this.mask >> BigInt(this.domain.keyBits)) {
      const allowed = `a hexadecimal number above 0, of ${this.domain.keyBits} bits`;
      throw new ParameterError("mask", mask, { allowed, fix: "choose a mask within the bits of this domain's keys" });
    }
  }

  async encode(/** @type {unknown} */ value) {
    const under = /** @type {bigint} */ (this.domain.content(value)) & this.mask;
    return BigInt(under.toString(2).replaceAll("0", "").length & 1);
  }
}

function isHexadecimal(/** @type {unknown} */ text) {
  return typeof text === "string" && HEXADECIMAL.test(text);
}

function listed(/** @type {unknown} */ data) {
  const domain = domainFromJson(data);
  if (domain.listed) return domain;
  throw new ParameterError("domain", data, { allowed: "a listed domain, whose order counts", fix: "publish it again" });
}
