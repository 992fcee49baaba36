/**
 * The errors that deniable raises, one class per kind of mistake.
 *
 * Every message says four things: which parameter, what was received, what is allowed, and how to fix it. The same facts
 * are properties of the error, so that a program need not parse the text.
 */

export class DeniableError extends Error {
  /**
   * @param {string} parameter
   * @param {unknown} received
   * @param {{allowed: string, fix: string, cause?: unknown}} more
   */
  constructor(parameter, received, { allowed, fix, cause }) {
    super(`${parameter}: got ${shorten(received)}; allowed: ${allowed}; ${fix}`, cause === undefined ? undefined : { cause });
    this.parameter = parameter;
    this.received = received;
    this.allowed = allowed;
    this.fix = fix;
  }

  get name() {
    return this.constructor.name;
  }
}

/** A mechanism, question or method was configured with something it cannot honor. */
export class ParameterError extends DeniableError {}

/** A value lies outside the declared domain, or has the wrong type for it. */
export class DomainError extends DeniableError {}

/** The privacy that would be spent is more than what is left; nothing was sent. */
export class BudgetExceeded extends DeniableError {}

/** Bytes are not a well-formed image: truncated, padded, corrupted, of another version or of another spec. */
export class WireError extends DeniableError {}

/** A protocol was driven out of order, or where it cannot run. */
export class ProtocolError extends DeniableError {}

/** The ledger cannot be read or written; nothing was sent. */
export class LedgerError extends DeniableError {}

/** No answer came from a collector; whether the request arrived is not known. */
export class TransportError extends DeniableError {}

/**
 * Run a reader; whatever it refuses as a parameter or a value is refused as bytes: they came from elsewhere.
 *
 * @template T
 * @param {string} parameter
 * @param {unknown} received
 * @param {string} allowed
 * @param {() => T} read
 * @returns {T}
 */
export function reading(parameter, received, allowed, read) {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError || !(error instanceof DeniableError)) throw error;
    throw new WireError(parameter, received, { allowed, fix: error.message, cause: error });
  }
}

/** A value as a message shows it, cut so that it stays readable whatever was passed in. */
export function shorten(/** @type {unknown} */ value, limit = 80) {
  const text = show(value);
  return text.length <= limit ? text : `${text.slice(0, limit - 3)}...`;
}

function show(/** @type {unknown} */ value) {
  if (value instanceof Uint8Array)
    return `bytes ${Array.from(value.subarray(0, 40), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  try {
    return JSON.stringify(value, (_, item) => (typeof item === "bigint" ? `${item}` : item)) ?? String(value);
  } catch {
    return `<${typeof value}>`; // a value that contains itself
  }
}
