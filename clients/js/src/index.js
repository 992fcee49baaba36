/** The device half of deniable, byte-compatible with Python's: specs, encoders, tasks, rounds, envelopes, the ledger, the reporter. */

export { Board } from "./board.js";
export { decimal } from "./budget.js";
export { fromHex, toHex } from "./bytes.js";
export { Diary } from "./diary.js";
export { encoderFromJson } from "./encoders.js";
export { MEDIA_TYPE, openBatch, packEnvelope } from "./envelope.js";
export {
  BudgetExceeded,
  DeniableError,
  DomainError,
  LedgerError,
  ParameterError,
  ProtocolError,
  TransportError,
  WireError,
} from "./errors.js";
export { IndexedDBLedger } from "./indexeddb.js";
export { Ledger, MemoryLedger } from "./ledger.js";
export { writtenAs } from "./probability.js";
export { Question, Round } from "./question.js";
export { MECHANISMS, specFromJson } from "./registry.js";
export { Reporter } from "./reporter.js";
export { OpenedRound } from "./round.js";
export { Source, SYSTEM } from "./source.js";
export { Spec } from "./spec.js";
export { Task } from "./task.js";
export { Verdict, verdicts } from "./verdict.js";
