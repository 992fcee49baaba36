// Chances as people read them: small ones as odds, and none of them rounded up to certainty.

export const number = (value, digits = 2) => value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

// Up to here a chance is shown in percent; above it, by how rarely it fails.
const NEARLY = 0.9995;
const RARE = 1_000_000;

// A chance in words, however small or large it is; `bits` is its binary logarithm.
export function chanceInWords(bits) {
  const chance = 2 ** bits;
  if (chance >= NEARLY) {
    const once = Math.round(-1 / Math.expm1(bits * Math.LN2));
    return once < RARE ? `all but 1 in ${once.toLocaleString("en")}` : `all but less than 1 in ${RARE.toLocaleString("en")}`;
  }
  if (chance >= 0.01) return `${number(100 * chance, 1)} %`;
  if (chance >= 1 / RARE) return `1 in ${Math.round(1 / chance).toLocaleString("en")}`;
  return `1 in 10^${Math.floor(-bits * Math.log10(2))}`;
}
