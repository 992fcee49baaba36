/** Every mechanism by its name, a line for each file. What is not here cannot be asked for. */

export { BloomRR } from "./bloom_rr.js";
export { DBitFlip } from "./dbitflip.js";
export { DBitFlipPM } from "./dbitflip_pm.js";
export { DiscreteLaplace } from "./discrete_laplace.js";
export { GRR } from "./grr.js";
export { HadamardResponse } from "./hadamard_response.js";
export { HRR } from "./hrr.js";
export { Hybrid } from "./hybrid.js";
export { LOLOHA } from "./loloha.js";
export { LongitudinalGRR } from "./longitudinal_grr.js";
export { LongitudinalUnary } from "./longitudinal_unary.js";
export { BLH, OLH } from "./olh.js";
export { Duchi, OneBitMean } from "./one_bit.js";
export { OneBitMeanPM } from "./one_bit_mean_pm.js";
export { PGR } from "./pgr.js";
export { RAPPOR } from "./rappor.js";
export { RR } from "./rr.js";
export { RWS } from "./rws.js";
export { SHE } from "./she.js";
export { SignRR } from "./sign_rr.js";
export { CMS, FLH, HCMS } from "./sketches.js";
export { SubsetSelection } from "./subset_selection.js";
export { OUE, SUE, THE } from "./unary.js";
export { Piecewise, SquareWave } from "./windows.js";
