/** Who is counted: a task takes reports from everybody, from those who share a secret, or one for each one-time token. */

import { SMALLEST_FACTOR, smallFactor } from "./blind_rsa.js";
import { fromHex } from "./bytes.js";
import { ParameterError, ProtocolError } from "./errors.js";

const MODULUS_BYTES = 256;
const MOST_TOKENS = 366;
const DAY = 86_400;

/** Who is counted in a task: "open" where it says nothing. */
export function readAdmission(/** @type {Record<string, any>} */ content) {
  if (!("admission" in content)) return "open";
  if (content.admission === "secret" || content.admission === "token") return /** @type {string} */ (content.admission);
  throw new ParameterError("admission", content.admission, {
    allowed: '"secret", "token" or nothing',
    fix: "upgrade deniable or check the name",
  });
}

/** The RSA modulus by which one-time tokens are signed; empty where no tokens are asked for. */
export function readIssuer(/** @type {Record<string, any>} */ content) {
  const issuer = "issuer" in content ? fromHex(content.issuer) : new Uint8Array();
  const tokens = content.admission === "token";
  const odd = issuer?.length === MODULUS_BYTES && issuer[0] >= 0x80 && issuer[MODULUS_BYTES - 1] % 2 === 1;
  if (issuer && (tokens ? odd : !("issuer" in content))) return issuer;
  throw new ParameterError("issuer", content.issuer, {
    allowed: "an RSA modulus of 2048 bits, for tokens only",
    fix: "publish the task again",
  });
}

/** Throw if an issuer's key has a small factor: a device's check before it enrols, reports or shows the task. */
export function checkIssuer(/** @type {import("./task.js").Task} */ { admission, issuer }) {
  const factor = admission === "token" ? smallFactor(issuer) : null;
  if (factor === null) return;
  const allowed = `an RSA modulus of 2048 bits without factors below ${SMALLEST_FACTOR}`;
  throw new ProtocolError("issuer", `a multiple of ${factor}`, { allowed, fix: "do not trust this collector" });
}

/** Who chooses the hash function of a report that brings its own: "own", the device, where it says nothing; or its token. */
export function readSeeds(/** @type {Record<string, any>} */ content) {
  if (!("seeds" in content)) return "own";
  if (content.seeds === "assigned" && content.admission === "token") return "assigned";
  throw new ParameterError("seeds", content.seeds, {
    allowed: '"assigned", by one-time tokens, or nothing',
    fix: "publish the task again: a device that can draw again can search for a seed",
  });
}

/**
 * Refuse a task that could not keep its word about tokens: one spent twice is known by the reports that are kept.
 *
 * @param {import("./task.js").Task} task
 */
export function checkTokens({ admission, answers, start, end, period, late, retention, rounds }) {
  if (admission !== "token") return;
  const least = Math.ceil((end - start + late) / DAY) + 1;
  if (answers > MOST_TOKENS || ((rounds || period < end - start) && retention < least)) {
    const allowed = `at most ${MOST_TOKENS} answers, and reports that are kept for ${least} days`;
    throw new ParameterError("answers, retention", [answers, retention], { allowed, fix: "publish the task again" });
  }
}
