/** The device half of deniable, byte-compatible with the Python library. */

/** Integers as documents carry them: a number below 2^53, a BigInt from there on. */
export type Integer = number | bigint;
/** One value: a label or text, a number, bytes; a point in time as a Date, or as text in ISO 8601, with or without a time zone. */
export type Single = string | Integer | boolean | Uint8Array | Date;
/** What a person may hold: a value; a record of values, for tables and models; a set of items, each once. */
export type Value = Single | { readonly [attribute: string]: Single } | readonly Single[] | ReadonlySet<Single>;
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
/** The ledger cannot be read or written; nothing was sent. */
export class LedgerError extends DeniableError {}
/** No answer came from a collector; whether the request arrived is not known. */
export class TransportError extends DeniableError {}

// --- randomness ---

/** Randomness as 64-bit words; the primitives consume them as docs/reference/source.md says. */
export class Source {
  word(): bigint;
  words(count: number): bigint[];
  bernoulli(threshold: bigint): boolean;
  bernoulliRatio(numerator: bigint, denominator: bigint): boolean;
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
  /** The steps of the grid between two numbers, or two points in time. */
  readonly steps?: number;
  /** Whether numbers out of range count as the nearest end. */
  readonly clip?: boolean;
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
  /** What a report costs behind an encoder that draws no input with a probability above 1 / `sampling`. */
  epsilonAfter(sampling: number): number;
  /** For how many of so many answers a person who holds so many different values over time pays epsilon, at most. */
  paidAnswers(answers: number, values: number): number;
  /** One person's report. */
  randomize(value: Value, source?: Source): Promise<Report>;
  encode(report: Report): Uint8Array;
  /** WireError unless the bytes are a well-formed report. */
  decode(payload: Uint8Array): Report;
  /** How likely a report is under each answer; null where `whyNoLaw` says why. */
  law(report: Report): ReportLaw | null;
  /** Why there is no law, in a sentence for the respondent; empty where there is one. */
  readonly whyNoLaw: string;
  /** What a report says, in words: texts, and values by their keys. */
  words(report: Report): Words | Promise<Words>;
  /** Whether every value of the domain has a report, drawn with fresh noise. */
  readonly answersAll: boolean;
  /** Whether reports are drawn from a permanent answer, which the device must keep. */
  readonly memoized: boolean;
  /** How many words of a report, its first, a token can assign. */
  readonly assignedWords: number;
  /** SHA-256 of the canonical JSON. */
  digest(): Promise<Uint8Array>;
}
/** The chance of a report is 2^common times the weight of the answer's key: an integer, or where it lies on a grid, as a fraction. */
export interface ReportLaw {
  readonly common: number;
  weight(key: Integer | Rational): Promise<Rational>;
}
/** Texts, and lists of values by their keys, with what to say if there are none. */
export type Words = readonly (string | { readonly values: readonly number[]; readonly none?: string })[];
/** A mechanism whose reports are drawn from a permanent answer: `epsilon` is what all reports about one value tell. */
export interface LongitudinalSpec extends Spec {
  /** What one report tells. */
  readonly firstEpsilon: number;
}
/** Every mechanism by its name. */
export const MECHANISMS: ReadonlyMap<string, unknown>;
/** WireError unless the document is a spec whose thresholds are the ones that its epsilon allows. */
export function specFromJson(data: Document): Spec;

// --- questions, rounds, tasks ---

export interface Encoder {
  /** What a mechanism is asked about; DomainError if the value is not allowed. Some encoders draw from the source. */
  encode(value: Value, source: Source): Promise<Single>;
  /** No input is drawn with a probability above 1 / this; only of encoders that sample. */
  readonly sampling?: number;
}
/** The encoder behind plain data, as `JSON.parse` gives it. */
export function encoderFromJson(data: unknown): Encoder;

export class Question {
  private constructor();
  readonly name: string;
  readonly spec: Spec;
  readonly encoder: Encoder;
  readonly share: Rational;
  /** What an answer costs, encoder and mechanism together. */
  readonly epsilon: number;
  /** One person's report: encoded, then randomized, under the seed that was assigned to it, if any. */
  answer(value: Value, source?: Source, seed?: bigint[]): Promise<Report>;
}

export class Round {
  private constructor();
  readonly questions: readonly Question[];
  /** Tickets are drawn below it. */
  readonly scale: number;
  /** The question for the holder of a ticket that was drawn below a scale; null for those who are not asked now. */
  questionOf(ticket: Integer, scale?: number): Question | null;
}

/** What is claimed about a shuffled batch, and who shuffles. */
export interface Mixing {
  /** Of a batch of `minimum` reports or more, as long as one shuffler is honest and no part of the collector. */
  readonly epsilon: number;
  readonly delta: number;
  readonly minimum: number;
  /** In the order in which a report passes them; the keys are Ed25519 public keys. */
  readonly shufflers: readonly { readonly url: string; readonly key: Uint8Array }[];
  /** Bytes that every packed envelope is padded to. */
  readonly size: number;
  /** The share of people who are assumed honest and distinct: an exact fraction. */
  readonly honest: string;
  readonly threshold: { readonly minimum: number; readonly sigma: string } | null;
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
  /** Points in time as text. */
  readonly default: string | Integer | Uint8Array | undefined;
  readonly minimumBatch: number;
  readonly late: number;
  readonly retention: number;
  /** Who is counted. */
  readonly admission: "open" | "secret" | "token";
  /** The RSA modulus by which one-time tokens are signed; empty where none are asked for. */
  readonly issuer: Uint8Array;
  /** Who chooses the hash function of a report that brings its own: the device, or its one-time token. */
  readonly seeds: "own" | "assigned";
  /** Who is trusted: nobody, or one honest shuffler; then `mixing` says who shuffles. `epsilon` holds in any case. */
  readonly model: "local" | "shuffle";
  /** Null where nobody shuffles. */
  readonly mixing: Mixing | null;
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

// --- the ledger: what a device has reported, to whom and at what cost, and the rules that stop it from reporting more ---

/** A task by its id: 32 bytes, or 64 hexadecimal digits. */
export type TaskId = Uint8Array | string;
/** `pending` waits to be sent, `refused` stays spent. */
export type State = "pending" | "sent" | "refused";

/** One expense, as the person may read it. */
export interface Entry {
  readonly number: number;
  /** The task's id. */
  readonly task: Uint8Array;
  readonly name: string;
  readonly question: string;
  readonly period: number;
  /** What it cost, exactly; `decimal` writes it for people. */
  readonly epsilon: Rational;
  /** Seconds since 1970, by the device's own clock. */
  readonly when: number;
  /** The whole envelope, or the seal around it, as it was or will be sent; empty once it was withdrawn. */
  readonly report: Uint8Array;
  readonly state: State;
  /** Why it was refused; empty otherwise. */
  readonly code: string;
}

/** What a device keeps for one question: `personal`, and permanent answers under the numbers of their classes. */
export type Kept = Readonly<Record<string, Uint8Array>>;

/**
 * One answer to a question that is answered again and again, between what a device has kept and what it will keep. Open it with what the
 * ledger keeps under its name, draw the report, and spend with it: the step keeps what was drawn, or nothing at all.
 */
export class Diary {
  private constructor();
  /** DomainError if the value is not allowed. `name` is the question's. */
  static of(spec: LongitudinalSpec, value: Value, name?: string): Promise<Diary>;
  readonly spec: LongitudinalSpec;
  /** Under which a ledger keeps it. */
  readonly name: string;
  open(kept: Kept): Promise<void>;
  /** Whether the permanent answer for this value is there, and paid for. */
  readonly known: boolean;
  report(source?: Source): Promise<Report>;
  /** What must be kept before the report leaves the device. */
  readonly drawn: Kept;
}

/** What a device has spent and may still spend. Every method is one step: atomic, and durable where the ledger is. */
export class Ledger {
  protected constructor(options: { lifetimeEpsilon: number | string | Rational });
  readonly lifetimeEpsilon: Rational;
  /** All that may ever be spent, over all tasks: `lifetimeEpsilon`, unless the ledger keeps another limit. */
  limit(): Promise<Rational>;
  /** Record that the person agreed to a task. After a withdrawal it may be given again; what was spent stays spent. */
  consent(task: TaskId): Promise<void>;
  /** Record that the person no longer agrees: reports not yet sent are dropped, further ones refused. */
  withdraw(task: TaskId): Promise<void>;
  consented(task: TaskId): Promise<boolean>;
  /** The device's ticket in a task: drawn when first asked for, and the same ever after. */
  ticket(task: TaskId, draw: () => number): Promise<number>;
  /** What a device keeps for a task under a name: drawn when first asked for, and the same ever after. */
  remember(task: TaskId, name: string, draw: () => Uint8Array | Promise<Uint8Array>): Promise<Uint8Array>;
  /** The same; null if nothing was drawn. */
  recall(task: TaskId, name: string): Promise<Uint8Array | null>;
  /**
   * Check the caps, make the report, record both: BudgetExceeded, and nothing made, if a cap forbids it. `make` is called once, after all
   * checks, with the number of answers that the task had before. It must not wait for anything; if it throws, nothing was spent.
   * With a `diary` whose permanent answer is known the report costs nothing, and whatever it drew is kept with the report. ProtocolError,
   * and nothing spent, if it was opened with something else than what is kept by now: open it again.
   */
  spend(
    task: Task,
    expense: { period: number; epsilon: number; when: number; make: (place: number) => Uint8Array; diary?: Diary | null },
  ): Promise<Entry>;
  /** What a device keeps for a task's longitudinal questions: by the diary's name. They stay when the person withdraws. */
  kept(task: TaskId): Promise<Record<string, Kept>>;
  /** How many permanent answers are kept, over all tasks. */
  permanentAnswers(): Promise<number>;
  /** Record what became of a report. One that was sent stays sent, whatever the answer to a later resend. */
  settle(number: number, state: State, code?: string): Promise<Entry>;
  /** Every expense, the oldest first. */
  entries(): Promise<Entry[]>;
  /** A task's reports that wait to be sent, the oldest first. */
  pending(task: TaskId): Promise<Entry[]>;
  /** The sum of all epsilons so far, over all tasks. */
  spent(): Promise<Rational>;
  /** What this device has reported so far and how much that reveals, in plain words. */
  statement(): Promise<string>;
}

/** A ledger that ends with the page, or with node. */
export class MemoryLedger extends Ledger {
  constructor(options: { lifetimeEpsilon: number | string | Rational });
}

/**
 * A ledger in the browser, one for each origin, storage partition and name, shared safely by any number of tabs and workers; it survives the
 * page and a loss of power. Clearing the site's data forgets what was spent. A page that is embedded in another site, a private window
 * and another profile each have a ledger and a limit of their own. The lifetime's epsilon is the app's promise and is not kept, unless
 * `keepLimit` or `setLimit` keep a limit.
 */
export class IndexedDBLedger extends Ledger {
  constructor(options: { lifetimeEpsilon: number | string | Rational; name?: string });
  /** Let the person set what may be spent in all, for every tab from now on; what was spent stays spent. */
  setLimit(epsilon: number | string | Rational): Promise<void>;
  /** Keep the app's limit if none is kept, so that from now on the person alone changes it. */
  keepLimit(): Promise<void>;
  /** Ask the browser to keep the ledger when it runs out of room; whether it will. */
  persist(): Promise<boolean>;
  /** Close the connection; the next step opens it again. */
  close(): Promise<void>;
}

// --- the reporter: a person's answer, randomized on the device, paid for in its ledger, and sent ---

/** What became of an answer. */
export interface Receipt {
  /** `pending`: `flush` sends it again. */
  readonly state: State;
  /** Why it was refused; empty otherwise. */
  readonly code: string;
  readonly period: number;
  readonly epsilon: Rational;
  /** Of its entry in the ledger. */
  readonly number: number;
}

export interface NetworkOptions {
  /** In place of the platform's own. */
  fetch?: typeof fetch;
  /** Waits for so many seconds. */
  sleep?: (seconds: number) => unknown;
  source?: Source;
}

/** What a task asks now: the period, or number of the round, and the questions on the scale of their tickets. */
export interface Asked {
  readonly period: number;
  readonly round: Round;
  readonly scale: number;
}

/** A public X25519 key to seal for, signed by the party that opens the seals. */
export interface KeyNotice {
  readonly role: "analyst" | "shuffler";
  readonly public: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** What seals name the key by. */
  readonly id: Uint8Array;
}

/** A collector's tasks and rounds, fetched once and believed only under its signature; for any number of reporters. */
export class Board {
  /** `keepRounds`: the current round is kept until `refresh`, and not fetched every time. */
  constructor(collector: string, options?: NetworkOptions & { keepRounds?: boolean });
  task(id: TaskId): Promise<Task>;
  /** What a task asks at a time in seconds; null before its start, after its end, and while no round is open. */
  asked(task: Task, now: number): Promise<Asked | null>;
  /** The keys that a report to a task of shuffle trust is sealed for at a time; fetched once, and again when one of them ended. */
  keys(task: Task, now: number): Promise<{ readonly analyst: KeyNotice; readonly shufflers: readonly KeyNotice[] }>;
  refresh(): void;
}

/** One device's part in one task of one collector. */
export class Reporter {
  /** `task` is the id that the app was built with, `strata` are the person's labels, `secret` is what those who take part share. */
  constructor(
    collector: string | Board,
    options: NetworkOptions & {
      task: TaskId;
      ledger: Ledger;
      strata?: Readonly<Record<string, string>>;
      secret?: string | null;
      /** The time in seconds since 1970. */
      clock?: () => number;
    },
  );
  readonly taskId: Uint8Array;
  readonly ledger: Ledger;
  /** Sent in the clear. */
  strata: Record<string, string>;
  /** The task, fetched and verified: what to show to a person before asking for consent. */
  task(): Promise<Task>;
  /** Redeem a code for the one-time tokens of this task, which the ledger keeps; nothing if it has them already. */
  enrol(code: string): Promise<void>;
  /**
   * Randomize an answer, pay for it and send it. Null, and nothing spent, if nothing is asked of this device now. A value of null is no
   * answer: the task's default is sent in its place, or nothing if it has none. BudgetExceeded if the person did not agree or a cap is
   * reached. With `send: false` the report waits in the ledger for `flush`, to be looked at before it leaves: it is paid for by then.
   */
  report(value: Value | null, options?: { send?: boolean }): Promise<Receipt | null>;
  /** Send what is still pending of this task, the same bytes as before; stop at the first that gets no answer. */
  flush(): Promise<Receipt[]>;
  /** The envelope of an entry of this task, to be looked at; null if it is sealed, and not by this reporter: nobody here can open it. */
  opened(entry: Entry): Promise<Required<Envelope> | null>;
}

// --- how strong a promise is ---

export type Level = "strong" | "moderate" | "weak" | "very weak" | "none";
/** What (epsilon, delta) is worth to a person. */
export class Verdict {
  constructor(epsilon: number, delta?: number, when?: string, beyond?: string);
  readonly epsilon: number;
  readonly delta: number;
  /** Under which condition it holds; empty if under any. */
  readonly when: string;
  /** What it does not cover, as a sentence; empty where that is nothing. */
  readonly beyond: string;
  /** The logarithm of the best odds of a guess between two answers, in thousandths. */
  readonly strength: number;
  readonly level: Level;
  /** The level as people read it. */
  readonly title: string;
  /** How often a guess between two answers is right, at most. */
  readonly guess: string;
  toString(): string;
}
/** The verdicts on all answers that a task may ask of one person: show them before asking for consent. */
export function verdicts(task: Task): Verdict[];

// --- small things ---

export function toHex(bytes: Uint8Array): string;
/** The bytes behind lower-case hexadecimal digits; null for any other text. */
export function fromHex(text: unknown): Uint8Array | null;
/** The number that an epsilon was written as: 0.1 is a tenth. */
export function writtenAs(decimal: number | string): Rational;
/** A sum of epsilons as people write it. */
export function decimal(number: Rational): string;
