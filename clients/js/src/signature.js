/**
 * Ed25519 signatures, verified: that a task or a round is what the holder of a key signed.
 *
 * WebCrypto checks the equation. What it may let pass is refused here, as in Python: points in another spelling than their one, and keys
 * and commitments of small order, for which a signature says nothing.
 */

import { concat, utf8 } from "./bytes.js";
import { verifies } from "./platform.js";

/** What stands before a document when it is signed, so that no signature can be taken for one of another kind. */
export const TASK_CONTEXT = utf8("deniable task 1\n");
export const ROUND_CONTEXT = utf8("deniable round 1\n");
export const KEY_CONTEXT = utf8("deniable key 1\n");

const P = (1n << 255n) - 19n;
/** The y of the points of order 8, up to its sign. */
const EIGHTH = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;
/** The y of every point whose order divides 8. */
const SMALL = new Set([0n, 1n, P - 1n, EIGHTH, P - EIGHTH]);

/** Whether this is a signature of a document of a kind, under the key. */
export async function isSigned(
  /** @type {Uint8Array} */ key,
  /** @type {Uint8Array} */ context,
  /** @type {Uint8Array} */ document,
  /** @type {Uint8Array} */ signature,
) {
  return verifySignature(key, concat(context, document), signature);
}

/** Whether this is a signature of the message under the key. */
export async function verifySignature(
  /** @type {Uint8Array} */ key,
  /** @type {Uint8Array} */ message,
  /** @type {Uint8Array} */ signature,
) {
  if (key.length !== 32 || signature.length !== 64 || !isSound(key) || !isSound(signature.subarray(0, 32))) return false;
  return verifies("raw", key, { name: "Ed25519" }, message, signature);
}

/** Whether 32 bytes spell their y canonically, and none of a point of small order. */
function isSound(/** @type {Uint8Array} */ point) {
  let y = 0n;
  for (let i = 31; i >= 0; i--) y = (y << 8n) | BigInt(i === 31 ? point[i] & 0x7f : point[i]);
  return y < P && !SMALL.has(y);
}
