/** What the platform computes for us: hashes, HMAC and signatures, by WebCrypto. */

import { ProtocolError } from "./errors.js";

/**
 * Refuse a page that anybody on the way could have changed. Node and its like have no such pages, and say nothing about it.
 *
 * @param {string} parameter
 */
export function requireSecureContext(parameter) {
  if (globalThis.isSecureContext !== false) return;
  throw new ProtocolError(parameter, `a page from ${globalThis.location?.origin ?? "elsewhere"}`, {
    allowed: "a page from https or from localhost",
    fix: "serve the page by HTTPS: whoever can change it on its way reads the answers before they are randomized",
  });
}

/** WebCrypto; browsers have it in secure contexts only. */
export function subtle() {
  requireSecureContext("crypto.subtle");
  if (globalThis.crypto?.subtle) return crypto.subtle;
  throw new ProtocolError("crypto.subtle", "nothing", {
    allowed: "a page from https or from localhost",
    fix: "serve the page by HTTPS: browsers keep cryptography from all others",
  });
}

export async function sha256(/** @type {Uint8Array} */ content) {
  return digest("SHA-256", content);
}

export async function sha384(/** @type {Uint8Array} */ content) {
  return digest("SHA-384", content);
}

async function digest(/** @type {string} */ name, /** @type {Uint8Array} */ content) {
  return new Uint8Array(await subtle().digest(name, /** @type {BufferSource} */ (content)));
}

export async function hmacSha256(/** @type {Uint8Array} */ key, /** @type {Uint8Array} */ content) {
  const imported = await subtle().importKey("raw", /** @type {BufferSource} */ (key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await subtle().sign("HMAC", imported, /** @type {BufferSource} */ (content)));
}

/**
 * Whether a signature verifies under a public key, by the platform's own reading of the algorithm; a key that is none verifies nothing.
 *
 * @param {"raw" | "jwk"} format
 * @param {Uint8Array | JsonWebKey} key
 * @param {{name: string, [parameter: string]: unknown}} algorithm
 * @param {Uint8Array} message
 * @param {Uint8Array} signature
 */
export async function verifies(format, key, algorithm, message, signature) {
  let imported;
  try {
    imported = await subtle().importKey(/** @type {any} */ (format), /** @type {any} */ (key), algorithm, false, ["verify"]);
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    if (/** @type {Error} */ (error).name !== "NotSupportedError") return false;
    throw new ProtocolError(algorithm.name, "not supported", {
      allowed: "a browser that verifies such signatures: Chrome 137, Firefox 129, Safari 17, node 20, or later",
      fix: "use a newer one; nothing was sent",
      cause: error,
    });
  }
  return subtle().verify(algorithm, imported, /** @type {BufferSource} */ (signature), /** @type {BufferSource} */ (message));
}
