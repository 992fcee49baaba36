/**
 * The diary: what one device keeps for one question that it answers again and again.
 *
 * It holds the personal part, drawn once, and one permanent answer for each class of values that the device has held. A ledger keeps
 * diaries permanently, because a permanent answer that is drawn twice is paid for twice. Losing one is a reset: the device starts over, and
 * later reports reveal something in addition to the earlier ones.
 *
 * Classes need WebCrypto, which answers later, and no step of a ledger may wait. So a diary is opened and its report drawn before the step,
 * and the step refuses it as `Outdated` if another tab has kept something else meanwhile: then it is opened again, and what was drawn is
 * forgotten, as if it had never been.
 */

import { sameBytes, toHex } from "./bytes.js";
import { ProtocolError } from "./errors.js";
import { SYSTEM } from "./source.js";
import { decodeReport, encodeReport } from "./wire.js";

/** @typedef {import("./mechanisms/longitudinal.js").Longitudinal} Longitudinal */
/** @typedef {Readonly<Record<string, Uint8Array>>} Kept the personal part, and permanent answers under the numbers of their classes */

/** The name under which the personal part is kept. */
export const PERSONAL = "personal";

/** What was prepared does not follow from what the ledger holds by now; nothing was spent. */
export class Outdated extends ProtocolError {
  constructor(/** @type {string} */ what) {
    super(what, "prepared too early", { allowed: "what follows from the ledger as it is", fix: "open it again; nothing was spent" });
  }
}

/** One answer to one question, between what a device has kept and what it will keep. */
export class Diary {
  #key;
  /** @type {Record<string, Uint8Array> | null} what was there when it was opened */
  #kept = null;
  /** @type {string | null} the class of the value, as soon as it is known */
  #group = null;
  /** @type {Record<string, Uint8Array>} what must be kept before the report leaves the device */
  drawn = {};

  /** A diary for a value; DomainError if the value is not allowed. The name is the question's. */
  static async of(/** @type {Longitudinal} */ spec, /** @type {unknown} */ value, name = "") {
    return new Diary(spec, await spec.keyOf(value), `${toHex(await spec.digest())}/${name}`);
  }

  constructor(/** @type {Longitudinal} */ spec, /** @type {unknown} */ key, /** @type {string} */ name) {
    this.spec = spec;
    this.#key = key;
    /** Of the question, and unlike that of any other spec: an answer is never drawn from another mechanism's. */
    this.name = name;
  }

  /** Take over what the device keeps for this question. */
  async open(/** @type {Kept} */ kept) {
    this.drawn = {};
    this.#kept = { ...kept };
    const settled = !this.spec.personalLayout.length || PERSONAL in this.#kept;
    this.#group = settled ? await this.#classOf(this.#kept) : null;
  }

  /** Whether the permanent answer for this value is there, and paid for. */
  get known() {
    return this.#group !== null && this.#group in this.#opened;
  }

  /** One report. Whatever it is drawn from is in `drawn`, if it was not kept before. */
  async report(source = SYSTEM) {
    const [spec, opened] = [this.spec, this.#opened];
    if (spec.personalLayout.length && !(PERSONAL in opened) && !(PERSONAL in this.drawn)) {
      this.drawn[PERSONAL] = encodeReport(spec.personalLayout, spec.personal(source));
    }
    const kept = { ...this.drawn, ...opened };
    const personal = this.#personalIn(kept);
    const group = await spec.classOf(this.#key, personal);
    this.#group = `${group}`;
    kept[this.#group] ??= this.drawn[this.#group] = encodeReport(spec.answerLayout, spec.permanentOf(group, personal, source));
    return spec.joined(personal, spec.instantaneous(decodeReport(spec.answerLayout, kept[this.#group]), source));
  }

  /** Throw if the answer no longer follows from what is kept: a step asks this before it pays, and adds `drawn` if it does. */
  check(/** @type {Kept} */ kept) {
    for (const name of [PERSONAL, this.#group]) {
      if (name === null) continue;
      const [then, now] = [this.#opened[name], kept[name]];
      if (then === undefined ? now !== undefined : now === undefined || !sameBytes(then, now)) throw new Outdated("diary");
    }
  }

  get #opened() {
    if (this.#kept) return this.#kept;
    const allowed = "one that was opened with what the device keeps";
    throw new ProtocolError("diary", "not opened", { allowed, fix: "call open() first" });
  }

  async #classOf(/** @type {Kept} */ kept) {
    return `${await this.spec.classOf(this.#key, this.#personalIn(kept))}`;
  }

  #personalIn(/** @type {Kept} */ kept) {
    return this.spec.personalLayout.length ? decodeReport(this.spec.personalLayout, kept[PERSONAL]) : undefined;
  }
}
