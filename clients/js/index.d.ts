/** The device half of deniable, byte-compatible with the Python library. */

/** Integers as documents carry them: a number below 2^53, a BigInt from there on. */
export type Integer = number | bigint;
/** What a person may hold: a label or text, an integer, bytes; for an `Attribute` question a record of these. */
export type Value = string | Integer | boolean | Uint8Array | { readonly [attribute: string]: string | Integer | boolean | Uint8Array };
/** One field of a report: a number, several numbers or 64-bit words, or packed bits. */
export type Field = Integer | readonly Integer[] | Uint8Array;
/** A report of one column is its field, a report of several is the array of its fields. */
export type Report = Field | readonly Field[];
/** A document as it was published: its bytes, or the text that they are. */
export type Document = Uint8Array | string;
/** Numerator and denominator, in lowest terms. */
export type Rational = readonly [bigint, bigint];

// --- errors: parameter, what was received, what is allowed, and the fix, as properties too ---

export class DeniableError extends Error {
  constructor(parameter: string, received: unknown, more: { allowed: string; fix: string; cause?: unknown });
  readonly parameter: string;
  readonly received: unknown;
  readonly allowed: string;
  readonly fix: string;
}
/** Something was configured that cannot be honored. */
export class ParameterError extends DeniableError {}
/** A value lies outside the declared domain. */
export class DomainError extends DeniableError {}
/** The privacy that would be spent is more than what is left; nothing was sent. */
export class BudgetExceeded extends DeniableError {}
/** Bytes are not what they should be. */
export class WireError extends DeniableError {}
/** A protocol was driven out of order, or where it cannot run. */
export class ProtocolError extends DeniableError {}

// --- randomness ---

/** Randomness as 64-bit words; the primitives consume them as docs/reference/source.md says. */
export class Source {
  word(): bigint;
  words(count: number): bigint[];
  bernoulli(threshold: bigint): boolean;
  pick(cumulative: ArrayLike<bigint>): number;
  below<T extends Integer>(count: T): T;
  bernoulliBits(threshold: bigint, count: number): Uint8Array;
}
/** The browser's own generator. */
export const SYSTEM: Source;

// --- mechanisms ---

export interface Domain {
  /** Whether the values can be listed. */
  readonly listed: boolean;
  /** The number of values, where they can be listed. */
  readonly size: bigint;
  /** What is allowed, in a few words. */
  readonly description: string;
  /** The labels of a list of categories. */
  readonly labels?: readonly string[];
  /** The limits of integers. */
  readonly low?: bigint;
  readonly high?: bigint;
  /** The most bytes of a text or byte string. */
  readonly maxLength?: number;
  /** The integer that stands for a value; DomainError if the value is not allowed. */
  key(value: unknown): Promise<bigint>;
}

/** One mechanism with its parameters, as a collector published it. */
export class Spec {
  private constructor();
  readonly mechanism: string;
  readonly domain: Domain;
  readonly epsilon: number;
  /** The integers over 2^64 that decide every draw. */
  readonly thresholds: Readonly<Record<string, bigint>>;
  readonly canonical: Uint8Array;
  /** One person's report. */
  randomize(value: Value, source?: Source): Promise<Report>;
  encode(report: Report): Uint8Array;
  /** WireError unless the bytes are a well-formed report. */
  decode(payload: Uint8Array): Report;
  /** SHA-256 of the canonical JSON. */
  digest(): Promise<Uint8Array>;
}
/** Every mechanism by its name. */
export const MECHANISMS: ReadonlyMap<string, unknown>;
/** WireError unless the document is a spec whose thresholds are the ones that its epsilon allows. */
export function specFromJson(data: Document): Spec;

// --- questions, rounds, tasks ---

export interface Encoder {
  encode(value: Value, source?: Source): Promise<Value>;
}
/** The encoder behind plain data, as `JSON.parse` gives it. */
export function encoderFromJson(data: unknown): Encoder;

export class Question {
  private constructor();
  readonly name: string;
  readonly spec: Spec;
  readonly encoder: Encoder;
  readonly share: Rational;
  /** One person's report: encoded, then randomized. */
  answer(value: Value, source?: Source): Promise<Report>;
}

export class Round {
  private constructor();
  readonly questions: readonly Question[];
  /** Tickets are drawn below it. */
  readonly scale: number;
  /** The question for the holder of a ticket that was drawn below a scale; null for those who are not asked now. */
  questionOf(ticket: Integer, scale?: number): Question | null;
}

/** What a collector asks, of whom, how often and under which promise. Times are seconds since 1970. */
export class Task {
  private constructor();
  static fromJson(data: Document): Promise<Task>;
  /** SHA-256 of the canonical JSON: compare it with the id that the app was built with. */
  readonly id: Uint8Array;
  readonly canonical: Uint8Array;
  readonly name: string;
  readonly question: string;
  readonly owner: string;
  readonly statement: string;
  /** What one answer costs a person at most. */
  readonly epsilon: number;
  /** The collector's Ed25519 public key. */
  readonly key: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly period: number;
  /** Whether periods are rounds, which the collector opens and signs. */
  readonly rounds: boolean;
  readonly answersPerPeriod: number;
  readonly answers: number;
  readonly strata: readonly (readonly [string, readonly string[]])[];
  readonly default: string | Integer | Uint8Array | undefined;
  readonly minimumBatch: number;
  readonly late: number;
  readonly retention: number;
  /** Who is counted. */
  readonly admission: "open" | "secret" | "token";
  /** The RSA modulus by which one-time tokens are signed; empty where none are asked for. */
  readonly issuer: Uint8Array;
  periodAt(time: number): number | null;
  readonly periodCount: number;
  periodSpan(period: number): [number, number];
  readonly stratumCount: number;
  stratum(labels: Readonly<Record<string, string>>): number;
  stratumLabels(number: number): Record<string, string>;
  /** The questions of a task of one round. */
  survey(): Round;
}

/** A round of a task as its collector opened and signed it. */
export class OpenedRound {
  private constructor();
  static fromJson(data: Document): OpenedRound;
  readonly canonical: Uint8Array;
  readonly task: Uint8Array;
  readonly number: number;
  readonly scale: number;
  readonly round: Round;
  readonly state: Uint8Array;
  questionOf(ticket: Integer): Question | null;
}

// --- what is sent ---

export interface Envelope {
  task: Uint8Array;
  period: number;
  question: number;
  stratum: number;
  id: Uint8Array;
  payload: Uint8Array;
  token?: Uint8Array;
}
export const MEDIA_TYPE: string;
export function packEnvelope(envelope: Envelope): Uint8Array;
export function openBatch(data: Uint8Array, limits?: { most?: number }): Required<Envelope>[];

// --- small things that a ledger needs ---

export function toHex(bytes: Uint8Array): string;
/** The bytes behind lower-case hexadecimal digits; null for any other text. */
export function fromHex(text: unknown): Uint8Array | null;
/** The number that an epsilon was written as: 0.1 is a tenth. */
export function writtenAs(decimal: number | string): Rational;
