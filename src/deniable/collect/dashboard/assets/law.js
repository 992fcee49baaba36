// The law of every mechanism: how likely a report is under each answer, exactly, from the integers over 2^64 that decide every draw.
//
// `lawOf(spec, report)` gives the chance as a common factor, 2^common, times a weight for each key, an exact fraction. What a device draws
// without looking at its answer (a hash function, a row, which answers to speak about) is taken as given: it says nothing.

import { countBits, getBit, parity } from "./client/bits.js";
import { reduced } from "./client/decimal.js";
import { publicFunction } from "./client/hashing.js";
import { ONE } from "./client/source.js";

// The binary logarithm of a positive fraction, however large its parts are.
export function log2([numerator, denominator]) {
  const large = (number) => {
    const bits = number.toString(2).length;
    return bits > 1000 ? bits - 60 + Math.log2(Number(number >> BigInt(bits - 60))) : Math.log2(Number(number));
  };
  return large(numerator) - large(denominator);
}

const only = (weight) => ({ common: 0, weight });
const share = (threshold, parts = 1) => reduced([threshold, ONE * BigInt(parts)]);

// One symbol: each of so many that fit the answer, or each of the others.
const kept = ({ thresholds: { keep } }, fits, own, others) => (fits ? share(keep, own) : share(ONE - keep, others));

// Bits that are all drawn alike, but for those of the answer: `up` is the threshold of a one, `own` that of a one in the answer's place.
function bitLaw(bits, count, up, own, placesOf) {
  const ones = countBits(bits);
  const common = ones * log2([up, ONE]) + (count - ones) * log2([ONE - up, ONE]);
  const weight = async (key) =>
    (await placesOf(key)).reduce(
      ([n, d], place) => reduced(getBit(bits, place) ? [n * own, d * up] : [n * (ONE - own), d * (ONE - up)]),
      [1n, 1n],
    );
  return { common, weight };
}

function logBinomial(n, k) {
  let sum = 0;
  for (let i = 0; i < Math.min(k, n - k); i++) sum += Math.log2((n - i) / (i + 1));
  return sum;
}

function inverse(number, prime) {
  let [result, base] = [1n, number % prime];
  for (let power = prime - 2n; power; power >>= 1n) {
    if (power & 1n) result = (result * base) % prime;
    base = (base * base) % prime;
  }
  return result;
}

// One bit about a number: its chance grows evenly from low to high. The place is a grid point, or a fraction between two of them.
const oneBit = ({ thresholds: { first, step } }, bit) =>
  only((place) => {
    const [n, d] = Array.isArray(place) ? place : [BigInt(place), 1n];
    const one = first * d + step * n;
    return reduced([bit ? one : ONE * d - one, ONE * d]);
  });

const unary = (spec, bits) =>
  bitLaw(bits, spec.domainSize, spec.thresholds.raise_other, spec.thresholds.keep, (key) => [Number(key)]);
const hashed = (spec, symbolOf, symbol) => only(async (key) => kept(spec, (await symbolOf(key)) === symbol, 1, spec.hashRange - 1));
const cellOf = ({ functions: { family, salt } }, number) => async (key) => family.symbol(await publicFunction(salt, number), BigInt(key));

export const LAWS = {
  GRR: (spec, symbol) => only((key) => kept(spec, Number(key) === symbol, 1, spec.domainSize - 1)),
  RR: ({ thresholds }, bit) =>
    only((key) => {
      const yes = Number(key) ? thresholds.yes_if_true : thresholds.yes_if_false;
      return share(bit ? yes : ONE - yes);
    }),
  OUE: unary,
  SUE: unary,
  THE: unary,
  SubsetSelection: (spec, members) => {
    const { size, domainSize: d, thresholds } = spec;
    const [own, other] = [
      [thresholds.keep * BigInt(d), ONE * BigInt(size)],
      [(ONE - thresholds.keep) * BigInt(d), ONE * BigInt(d - size)],
    ];
    return { common: -logBinomial(d, size), weight: (key) => reduced(getBit(members, Number(key)) ? own : other) };
  },
  OLH: (spec, [seed, symbol]) => hashed(spec, (key) => spec.family.symbol([seed].flat().map(BigInt), BigInt(key)), symbol),
  BLH: (spec, report) => LAWS.OLH(spec, report),
  FLH: (spec, [number, symbol]) => hashed(spec, cellOf(spec, number), symbol),
  HRR: (spec, [row, sign]) => only((key) => kept(spec, parity(row & Number(key)) === sign, 1, 1)),
  HCMS: (spec, [number, row, sign]) => only(async (key) => kept(spec, parity(row & (await cellOf(spec, number)(key))) === sign, 1, 1)),
  HadamardResponse: (spec, symbol) => {
    const { blocks, order } = spec;
    const fits = (key) =>
      Math.floor(symbol / order) === key % blocks && parity((symbol % order) & (1 + Math.floor(key / blocks))) === 0;
    return only((key) => kept(spec, fits(Number(key)), order / 2, blocks * order - order / 2));
  },
  PGR: (spec, index) => {
    const point = spec.coordinates(index);
    const product = (key) => spec.coordinates(Number(key)).reduceRight((sum, x, i) => sum + x * point[point.length - 1 - i], 0n);
    return only((key) => kept(spec, product(key) % spec.modulus === 0n, spec.orthogonal, spec.points - spec.orthogonal));
  },
  RWS: (spec, [step, shift]) => {
    const modulus = BigInt(spec.modulus);
    const back = inverse(BigInt(step) + 1n, modulus);
    const place = (key) => ((BigInt(key) + modulus - BigInt(shift)) * back) % modulus;
    return only((key) => kept(spec, place(key) < BigInt(spec.size), spec.size, spec.modulus - spec.size));
  },
  CMS: (spec, [number, bits]) =>
    bitLaw(bits, spec.width, spec.thresholds.raise_other, spec.thresholds.keep, async (key) => [await cellOf(spec, number)(key)]),
  BloomRR: (spec, [cohort, bits]) =>
    bitLaw(bits, spec.bits, spec.thresholds.flip, ONE - spec.thresholds.flip, async (key) => {
      const filter = await spec.filters.of(cohort, BigInt(key));
      return Array.from({ length: spec.bits }, (_, place) => place).filter((place) => getBit(filter, place));
    }),
  DBitFlip: (spec, [buckets, bits]) =>
    bitLaw(bits, spec.bits, ONE - spec.thresholds.keep, spec.thresholds.keep, (key) => {
      const place = [buckets].flat().indexOf(Number(key));
      return place < 0 ? [] : [place];
    }),
  OneBitMean: oneBit,
  Duchi: oneBit,
  SignRR: oneBit,
  SHE: ({ weights, points }, noisy) => ({
    common: noisy.reduce((sum, point) => sum + log2([weights[point], ONE]), 0),
    weight: (key) => reduced([weights[points - 1 - noisy[Number(key)]], weights[noisy[Number(key)]]]),
  }),
};

// Null for a mechanism whose chances cannot be told from one report, such as those that answer again and again.
export function lawOf(spec, report) {
  if (!Object.hasOwn(LAWS, spec.mechanism)) return null;
  const { common, weight } = LAWS[spec.mechanism](spec, report);
  return { common, weight: async (key) => weight(key) };
}
