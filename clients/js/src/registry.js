/** Every mechanism by its name. Specs are read through this table alone. */

import { documentBytes, parseCanonical, readObject, writeCanonical } from "./canonical.js";
import { utf8 } from "./bytes.js";
import { reading, WireError } from "./errors.js";
import { BloomRR } from "./mechanisms/bloom_rr.js";
import { DBitFlip } from "./mechanisms/dbitflip.js";
import { DBitFlipPM } from "./mechanisms/dbitflip_pm.js";
import { DiscreteLaplace } from "./mechanisms/discrete_laplace.js";
import { GRR } from "./mechanisms/grr.js";
import { HadamardResponse } from "./mechanisms/hadamard_response.js";
import { HRR } from "./mechanisms/hrr.js";
import { Hybrid } from "./mechanisms/hybrid.js";
import { LOLOHA } from "./mechanisms/loloha.js";
import { LongitudinalGRR } from "./mechanisms/longitudinal_grr.js";
import { LongitudinalUnary } from "./mechanisms/longitudinal_unary.js";
import { BLH, OLH } from "./mechanisms/olh.js";
import { Duchi, OneBitMean } from "./mechanisms/one_bit.js";
import { OneBitMeanPM } from "./mechanisms/one_bit_mean_pm.js";
import { PGR } from "./mechanisms/pgr.js";
import { RAPPOR } from "./mechanisms/rappor.js";
import { RR } from "./mechanisms/rr.js";
import { RWS } from "./mechanisms/rws.js";
import { SHE } from "./mechanisms/she.js";
import { SignRR } from "./mechanisms/sign_rr.js";
import { CMS, FLH, HCMS } from "./mechanisms/sketches.js";
import { SubsetSelection } from "./mechanisms/subset_selection.js";
import { OUE, SUE, THE } from "./mechanisms/unary.js";
import { Piecewise, SquareWave } from "./mechanisms/windows.js";
import { Spec } from "./spec.js";

/** @type {Map<string, typeof Spec>} */
export const MECHANISMS = new Map(
  Object.entries({
    BLH,
    BloomRR,
    CMS,
    DBitFlip,
    DBitFlipPM,
    DiscreteLaplace,
    Duchi,
    FLH,
    GRR,
    HadamardResponse,
    HCMS,
    HRR,
    Hybrid,
    LOLOHA,
    LongitudinalGRR,
    LongitudinalUnary,
    OLH,
    OneBitMean,
    OneBitMeanPM,
    OUE,
    PGR,
    Piecewise,
    RAPPOR,
    RR,
    RWS,
    SHE,
    SignRR,
    SquareWave,
    SubsetSelection,
    SUE,
    THE,
  }),
);

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
