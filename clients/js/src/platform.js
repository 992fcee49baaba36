/** What the platform computes for us: hashes, HMAC, signatures, the exchange of keys and a cipher, by WebCrypto. */

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
    fix: "serve the page over HTTPS: anyone who can change it on its way can read answers before they are randomized",
  });
}

/** WebCrypto; browsers have it in secure contexts only. */
export function subtle() {
  requireSecureContext("crypto.subtle");
  if (globalThis.crypto?.subtle) return crypto.subtle;
  throw new ProtocolError("crypto.subtle", "nothing", {
    allowed: "a page from https or from localhost",
    fix: "serve the page over HTTPS: browsers offer cryptography to no others",
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

/**
 * A key for one exchange.
 *
 * @returns {Promise<CryptoKeyPair>}
 */
export async function ephemeralKey() {
  return /** @type {Promise<CryptoKeyPair>} */ (sealing(() => subtle().generateKey({ name: "X25519" }, false, ["deriveBits"])));
}

/** The public half of a pair as bytes. */
export async function publicBytes(/** @type {CryptoKeyPair} */ { publicKey }) {
  return new Uint8Array(await subtle().exportKey("raw", publicKey));
}

/** The secret that a key pair shares with the owner of another key; null if it is zeros, as a key of small order makes it. */
export async function exchange(/** @type {CryptoKeyPair} */ { privateKey }, /** @type {Uint8Array} */ other) {
  const algorithm = { name: "X25519" };
  const key = await sealing(() => subtle().importKey("raw", /** @type {BufferSource} */ (other), algorithm, true, []));
  try {
    const secret = new Uint8Array(await subtle().deriveBits(/** @type {any} */ ({ ...algorithm, public: key }), privateKey, 256));
    return secret.some(Boolean) ? secret : null;
  } catch (error) {
    if (/** @type {Error} */ (error).name === "OperationError") return null; // the standard lets platforms refuse such a key by themselves
    throw error;
  }
}

/**
 * AES-GCM with a tag of 16 bytes.
 *
 * @param {Uint8Array} key
 * @param {Uint8Array} iv
 * @param {Uint8Array} content
 * @param {Uint8Array} additionalData
 */
export async function encrypt(key, iv, content, additionalData) {
  const imported = await subtle().importKey("raw", /** @type {BufferSource} */ (key), "AES-GCM", false, ["encrypt"]);
  const algorithm = /** @type {AesGcmParams} */ ({ name: "AES-GCM", iv, additionalData, tagLength: 128 });
  return new Uint8Array(await subtle().encrypt(algorithm, imported, /** @type {BufferSource} */ (content)));
}

/**
 * What the platform computes, if it knows X25519.
 *
 * @template T
 * @param {() => Promise<T>} compute
 * @returns {Promise<T>}
 */
async function sealing(compute) {
  try {
    return await compute();
  } catch (error) {
    if (/** @type {Error} */ (error).name !== "NotSupportedError") throw error;
    throw new ProtocolError("X25519", "not supported", {
      allowed: "a browser that can seal: Chrome 133, Firefox 130, Safari 17, node 20, or later",
      fix: "use a newer one; nothing was sent",
      cause: error,
    });
  }
}
