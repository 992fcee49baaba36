/** What the tests of sealing share: keys with a known private half, and notices about public ones. For node and for browsers. */

import { fromHex } from "../src/bytes.js";
import { sha256 } from "../src/platform.js";

const digits = (hex) =>
  btoa(String.fromCharCode(...fromHex(hex)))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=/g, "");

/** An X25519 pair from its halves in hex. */
export async function keyPair(secret, open) {
  const jwk = { kty: "OKP", crv: "X25519", x: digits(open) };
  const importing = (key, uses) => crypto.subtle.importKey("jwk", key, { name: "X25519" }, true, uses);
  return { privateKey: await importing({ ...jwk, d: digits(secret) }, ["deriveBits"]), publicKey: await importing(jwk, []) };
}

/** A notice as it is after its signature was verified. */
export async function noticeOf(role, open) {
  const key = fromHex(open);
  return { role, public: key, start: 0, end: 1, id: (await sha256(key)).slice(0, 8) };
}
