// What a report says, in words: the mechanism gives them, and values are shown by their names.

import { columnsInWords } from "./client/words.js";
import { listed, nameOf, valueAt } from "./values.js";

const named = (domain, { values, none }) =>
  values.length ? listed(values.map((key) => nameOf(domain, valueAt(domain, Number(key))))) : [none];

// `itself` says whether the mechanism is asked about the answer itself, and not about a part of it.
export async function inWords(spec, report, itself) {
  if (!itself) return [`a hint about a part of your answer: ${columnsInWords(spec.layout, report)}`];
  const words = await spec.words(report);
  return words.flatMap((part) => (typeof part === "string" ? [part] : named(spec.domain, part)));
}
