// A report in words: the mechanism provides them, and values are shown by their names.

import { columnsInWords } from "./client/words.js";
import { listed, nameOf, valueAt } from "./values.js";

const named = (domain, { values, none }) =>
  values.length ? listed(values.map((key) => nameOf(domain, valueAt(domain, Number(key))))) : [none];

// `itself` is true if the mechanism gets the answer itself, not a part of it.
export async function inWords(spec, report, itself) {
  if (!itself) return [`a hint about a part of your answer: ${columnsInWords(spec.layout, report)}`];
  const words = await spec.words(report);
  return words.flatMap((part) => (typeof part === "string" ? [part] : named(spec.domain, part)));
}
