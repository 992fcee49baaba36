/** Records: what people hold where several things are asked about, each under a name and with a domain of its own. */

import { isObject, readObject, writeCanonical } from "./canonical.js";
import { domainFromJson } from "./domain_json.js";
import { DomainError, ParameterError, WireError } from "./errors.js";

/** @typedef {import("./domain.js").Domain} Domain */
/** @typedef {{name: string, domain: Domain}} Column */

/** One attribute of a record; DomainError if there is none. */
export function attributeOf(/** @type {any} */ value, /** @type {string} */ name) {
  if (isObject(value) && Object.hasOwn(value, name)) return value[name];
  throw new DomainError("values", isObject(value) ? Object.keys(value) : typeof value, {
    // names, not people's data
    allowed: `records with the attribute ${name}`,
    fix: `pass an object such as {${name}: ...}`,
  });
}

/** Objects with a value for each of some columns; other keys are ignored. */
export class Record {
  /** The record behind the plain data of its columns: each has a domain, or the only label that there is. */
  constructor(/** @type {unknown} */ data) {
    this.canonical = writeCanonical(data);
    this.columns = new Map(readColumns(data, ["domain", "only"]).map(({ name, ...column }) => [name, column]));
    const parts = [...this.columns].slice(0, 4).map(([name, { domain, only }]) => `${name}: ${domain ? domain.description : only}`);
    this.description = `records with ${parts.join("; ")}${this.columns.size > 4 ? ` ... (${this.columns.size} columns)` : ""}`;
  }

  /** Whether every record has a value of just this domain under a name. */
  holds(/** @type {string} */ name, /** @type {Domain} */ { canonical }) {
    return this.columns.get(name)?.domain?.canonical === canonical;
  }

  /** What a record holds, column by column; DomainError if something is missing or not allowed. */
  content(/** @type {unknown} */ value) {
    return [...this.columns].map(([name, { domain, only }]) => {
      const held = attributeOf(value, name);
      const found = domain ? domain.find(held) : held === only ? held : undefined;
      if (found !== undefined) return found;
      const allowed = domain ? domain.description : `${only} alone`;
      throw new DomainError(`column '${name}'`, held, { allowed, fix: "correct or drop it; nothing was counted" });
    });
  }
}

/**
 * Columns from plain data, each name once; WireError or ParameterError if there are none.
 *
 * @param {unknown} data
 * @param {string[]} kinds what a column may have next to its name
 * @returns {(Column & {only?: string})[]}
 */
export function readColumns(data, kinds = ["domain"]) {
  if (!Array.isArray(data) || !data.length) throw new WireError("columns", data, { allowed: "a list of columns", fix: "publish it again" });
  const columns = data.map((column) => {
    const { name, domain, only } = readObject("column", column, ["name"], kinds);
    const valid = only === undefined ? domain !== undefined : domain === undefined && isName(only);
    if (!valid || !isName(name))
      throw new ParameterError("column", column, { allowed: `a name and one of ${kinds}`, fix: "publish it again" });
    return only === undefined ? { name, domain: domainFromJson(domain) } : { name, only };
  });
  if (new Set(columns.map(({ name }) => name)).size === columns.length) return /** @type {any} */ (columns);
  throw new ParameterError("columns", data, { allowed: "each name once", fix: "publish it again" });
}

function isName(/** @type {unknown} */ text) {
  return typeof text === "string" && text !== "";
}
