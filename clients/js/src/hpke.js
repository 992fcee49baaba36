/**
 * Hybrid public key encryption (RFC 9180), the sender's half: X25519, HKDF-SHA256, AES-128-GCM, base mode, one message for each key.
 *
 * Every message has an ephemeral key of its own, made by WebCrypto and forgotten, so the first nonce of its context is the only one that
 * is ever used. All that is derived is at most one block of HKDF, which is one HMAC.
 */

import { bigEndian, concat, utf8 } from "./bytes.js";
import { WireError } from "./errors.js";
import { encrypt, ephemeralKey, exchange, hmacSha256, publicBytes } from "./platform.js";

const KEM_ID = bigEndian(0x0020n, 2);
const KEM_SUITE = concat(utf8("KEM"), KEM_ID);
const SUITE = concat(utf8("HPKE"), KEM_ID, bigEndian(1n, 2), bigEndian(1n, 2));
const LABEL = utf8("HPKE-v1");
const NOTHING = new Uint8Array();
/** HMAC fills a short key with zeros, so these are the salt "", which WebCrypto does not take. */
const NO_SALT = new Uint8Array(32);
const BASE_MODE = Uint8Array.of(0);

/** What sealing adds: the encapsulated key and the tag. */
export const HPKE_BYTES = 48;

/**
 * A message that only the holder of the private key can open: encapsulated key, ciphertext, tag. WireError if the key hides nothing.
 *
 * @param {Uint8Array} key
 * @param {Uint8Array} info what the message is bound to
 * @param {Uint8Array} content
 * @param {{ephemeral?: CryptoKeyPair, aad?: Uint8Array}} [fixed] for vectors
 */
export async function hpkeSeal(key, info, content, { ephemeral, aad = NOTHING } = {}) {
  const own = ephemeral ?? (await ephemeralKey());
  const [encapsulated, secret] = [await publicBytes(own), await exchange(own, key)];
  // A point of small order: the secret is zeros, which everybody knows.
  if (secret === null) throw new WireError("key", key, { allowed: "an X25519 key that is not of small order", fix: "do not seal for it" });
  const shared = await expand(KEM_SUITE, await extract(KEM_SUITE, NO_SALT, "eae_prk", secret), "shared_secret", concat(encapsulated, key), 32);
  const hashes = [await extract(SUITE, NO_SALT, "psk_id_hash", NOTHING), await extract(SUITE, NO_SALT, "info_hash", info)];
  const context = concat(BASE_MODE, ...hashes);
  const scheduled = await extract(SUITE, shared, "secret", NOTHING);
  const [messageKey, nonce] = [await expand(SUITE, scheduled, "key", context, 16), await expand(SUITE, scheduled, "base_nonce", context, 12)];
  return concat(encapsulated, await encrypt(messageKey, nonce, content, aad));
}

/**
 * LabeledExtract of RFC 9180, section 4.
 *
 * @param {Uint8Array} suite
 * @param {Uint8Array} salt
 * @param {string} label
 * @param {Uint8Array} material
 */
async function extract(suite, salt, label, material) {
  return hmacSha256(salt, concat(LABEL, suite, utf8(label), material));
}

/**
 * LabeledExpand of RFC 9180, section 4, for at most the 32 bytes of one block.
 *
 * @param {Uint8Array} suite
 * @param {Uint8Array} key
 * @param {string} label
 * @param {Uint8Array} info
 * @param {number} length
 */
async function expand(suite, key, label, info, length) {
  const labeled = concat(bigEndian(BigInt(length), 2), LABEL, suite, utf8(label), info);
  return (await hmacSha256(key, concat(labeled, Uint8Array.of(1)))).slice(0, length);
}
