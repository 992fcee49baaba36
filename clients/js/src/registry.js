/** Every mechanism by its name. Specs are read through this table alone. */

import { documentBytes, parseCanonical, readObject, writeCanonical } from "./canonical.js";
import { utf8 } from "./bytes.js";
import { reading, WireError } from "./errors.js";
import * as mechanisms from "./mechanisms/index.js";
import { Spec } from "./spec.js";

/** @type {Map<string, typeof Spec>} */
export const MECHANISMS = new Map(Object.entries(mechanisms));

/** The spec behind its canonical JSON, bytes or text; WireError if there is none. */
export function specFromJson(/** @type {Uint8Array | string} */ data) {
  const bytes = documentBytes(data);
  return specFromContent(parseCanonical(bytes), bytes);
}

/** The spec behind a part of a document that is canonical as a whole, so that its own canonical text is the one that stands there. */
export function specFromContent(/** @type {unknown} */ content, canonical = utf8(writeCanonical(content))) {
  const { mechanism, parameters, thresholds } = readObject("spec", content, ["mechanism", "parameters", "thresholds"]);
  const kind = MECHANISMS.get(mechanism);
  if (!kind)
    throw new WireError("mechanism", mechanism, { allowed: `one of ${[...MECHANISMS.keys()]}`, fix: "upgrade deniable or check the name" });
  return reading("spec", content, `valid parameters of ${mechanism}`, () =>
    new kind(mechanism, readObject("parameters", parameters, ["domain", "epsilon"], Object.keys(parameters))).settle(thresholds, canonical),
  );
}
