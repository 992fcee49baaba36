// What a report says, in words, as far as it can be said: a person should recognize what leaves the device.

import { getBit } from "./client/bits.js";
import { listed, nameOf, valueAt } from "./values.js";

const MOST_FITTING = 256;

const all = (spec) => Array.from({ length: spec.domainSize }, (_, place) => nameOf(spec.domain, valueAt(spec.domain, place)));
const marked = (names, bits) => names.filter((_, place) => getBit(bits, place));
const among = (chosen, names) => (chosen.length ? listed(chosen) : [`none of the ${names.length.toLocaleString("en")}`]);

const gridPoint = (point, count) => `the grid point ${(point + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`;

const WORDS = {
  GRR: (spec, symbol) => ["the answer: ", ...listed([all(spec)[symbol]])],
  RR: (spec, bit) => ["the answer: ", ...listed([all(spec)[bit]])],
  SubsetSelection: (spec, members) => [`a set of ${spec.size} answers: `, ...listed(marked(all(spec), members))],
  DBitFlip: (spec, [buckets, bits]) => {
    const spoken = [buckets].flat().map((place) => all(spec)[place]);
    return ["about ", ...listed(spoken), ", which were drawn at random, these are marked: ", ...among(marked(spoken, bits), spoken)];
  },
  SHE: (spec) => [`a noisy number for each of the ${spec.domainSize.toLocaleString("en")} answers`],
};
WORDS.OneBitMean = WORDS.Duchi = WORDS.SignRR = WORDS.OneBitMeanPM = (_spec, bit) => [`the bit ${bit}`];
WORDS.Piecewise = WORDS.SquareWave = WORDS.DiscreteLaplace = (spec, point) => [gridPoint(point, spec.layout[0].limit)];
WORDS.Hybrid = (spec, point) => {
  const cells = spec.layout[0].limit - 2; // the last two are a bit
  return [point < cells ? gridPoint(point, cells) : `the bit ${point - cells}`];
};
WORDS.OUE = WORDS.SUE = WORDS.THE = (spec, bits) => ["these answers are marked: ", ...among(marked(all(spec), bits), all(spec))];

// The parts of a report where nothing better can be said.
function parts(spec, report) {
  const fields = spec.layout.length === 1 ? [report] : report;
  const told = spec.layout.map((column, i) => {
    if ("bits" in column) {
      const set = Array.from({ length: column.bits }, (_, place) => getBit(fields[i], place)).filter(Boolean).length;
      return `${set} of ${column.bits} bits set`;
    }
    return column.limit === 2 ** 64 || column.count > 1 ? `a ${column.name} drawn at random` : `${column.name} ${fields[i]} of ${column.limit}`;
  });
  return `${told.slice(0, -1).join(", ")}${told.length > 1 ? " and " : ""}${told.at(-1)}`;
}

// `itself` says whether the mechanism is asked about the answer itself, and not about a part of it.
export async function inWords(spec, report, law, itself) {
  if (itself && WORDS[spec.mechanism]) return WORDS[spec.mechanism](spec, report);
  const hint = `${itself ? "a hint" : "a hint about a part of your answer"}: ${parts(spec, report)}`;
  if (!itself || !law || !spec.domain.listed || spec.domain.size > MOST_FITTING) return [hint];
  const names = all(spec);
  const weights = await Promise.all(names.map((_, place) => law.weight(place)));
  const best = weights.reduce((most, weight) => (weight[0] * most[1] > most[0] * weight[1] ? weight : most));
  const fitting = names.filter((_, place) => weights[place][0] * best[1] === best[0] * weights[place][1]);
  return [`${hint}. It fits: `, ...listed(fitting)];
}
