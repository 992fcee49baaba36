/** What the platform computes for us: SHA-256 and HMAC, by WebCrypto. */

import { ProtocolError } from "./errors.js";

/** WebCrypto; browsers have it in secure contexts only. */
export function subtle() {
  if (globalThis.crypto?.subtle) return crypto.subtle;
  throw new ProtocolError("crypto.subtle", "nothing", {
    allowed: "a page from https or from localhost",
    fix: "serve the page by HTTPS: browsers keep cryptography from all others",
  });
}

export async function sha256(/** @type {Uint8Array} */ content) {
  return new Uint8Array(await subtle().digest("SHA-256", /** @type {BufferSource} */ (content)));
}

export async function hmacSha256(/** @type {Uint8Array} */ key, /** @type {Uint8Array} */ content) {
  const imported = await subtle().importKey("raw", /** @type {BufferSource} */ (key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await subtle().sign("HMAC", imported, /** @type {BufferSource} */ (content)));
}
