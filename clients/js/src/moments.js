/** Points in time as text in ISO 8601, to the microsecond; with a time zone, or by the clock on the wall where none is known. */

const SHAPE = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d:\d\d)?$/;
const CANONICAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?([+-]\d\d:\d\d)?$/;
const MILLION = 1_000_000n;

/** @typedef {{seconds: import("./decimal.js").Rational, aware: boolean}} Moment seconds since 1970; whether a time zone is known */

/**
 * The moment that a Date or a text means; undefined if it means none. A Date always has a time zone.
 *
 * @returns {Moment | undefined}
 */
export function readMoment(/** @type {unknown} */ value) {
  if (value instanceof Date) {
    const milliseconds = value.getTime();
    return Number.isNaN(milliseconds) ? undefined : { seconds: [BigInt(milliseconds), 1000n], aware: true };
  }
  const [, minute, second = "00", part = "", zone] = (typeof value === "string" && SHAPE.exec(value)) || [];
  if (minute === undefined || minute < "0001") return undefined;
  const date = new Date(`${minute}:${second}Z`);
  const real = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${minute}:${second}`); // not the 30th of February
  const offset = minutesOf(zone);
  if (!real || offset === undefined) return undefined;
  const microseconds = BigInt(date.getTime() - 60_000 * offset) * 1000n + BigInt(part.padEnd(6, "0"));
  return { seconds: [microseconds, MILLION], aware: zone !== undefined };
}

/** Whether a text is a moment as Python writes it: seconds always, all six digits of a fraction or none, no Z. */
export function isCanonicalMoment(/** @type {unknown} */ text) {
  if (typeof text !== "string") return false;
  const [whole, part] = CANONICAL.exec(text) ?? [];
  return whole !== undefined && part !== ".000000" && !text.endsWith("-00:00") && readMoment(text) !== undefined;
}

/** How far a time zone is ahead, in minutes; undefined if it is none. */
function minutesOf(zone = "Z") {
  if (zone === "Z") return 0;
  const [hours, minutes] = zone.slice(1).split(":").map(Number);
  if (hours > 23 || minutes > 59) return undefined;
  return (zone[0] === "-" ? -1 : 1) * (60 * hours + minutes);
}
