/** The device half of deniable, byte-compatible with Python's: specs, encoders, tasks, rounds, envelopes. */

export { fromHex, toHex } from "./bytes.js";
export { encoderFromJson } from "./encoders.js";
export { MEDIA_TYPE, openBatch, packEnvelope } from "./envelope.js";
export { BudgetExceeded, DeniableError, DomainError, ParameterError, ProtocolError, WireError } from "./errors.js";
export { writtenAs } from "./probability.js";
export { Question, Round } from "./question.js";
export { MECHANISMS, specFromJson } from "./registry.js";
export { OpenedRound } from "./round.js";
export { Source, SYSTEM } from "./source.js";
export { Spec } from "./spec.js";
export { Task } from "./task.js";
