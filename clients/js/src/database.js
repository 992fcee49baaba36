/** The database behind the ledger in the browser: its stores, its versions, and its errors in our words. */

import { LedgerError } from "./errors.js";

/** Version 2 has permanent answers; a ledger of version 1 gets a place for them, and keeps all that it has. */
const VERSION = 2;
/** Entries by their number; consents and tickets by the task; what is kept by task and name; permanent answers by task, name and class. */
export const STORES = /** @type {const} */ (["entry", "consent", "ticket", "kept", "diary"]);

/** All keys that begin with these parts: no part of a key is a list, and a list is above all that is none. */
export function below(/** @type {string[]} */ parts) {
  return IDBKeyRange.bound(parts, [...parts, []]);
}

/**
 * The result of a request.
 *
 * @returns {Promise<any>}
 */
export function done(/** @type {IDBRequest} */ request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * The database, made if there is none; where there was one before, a new one is refused.
 *
 * @param {string} name
 * @param {boolean} expected
 * @param {() => void} lost
 * @returns {Promise<IDBDatabase>}
 */
export async function openDatabase(name, expected, lost) {
  if (!globalThis.indexedDB)
    throw new LedgerError("indexedDB", "nothing", { allowed: "a browser that keeps data", fix: "use MemoryLedger, which keeps nothing" });
  const request = indexedDB.open(name, VERSION);
  request.onupgradeneeded = ({ oldVersion }) => {
    if (expected && oldVersion === 0) return /** @type {IDBTransaction} */ (request.transaction).abort();
    const missing = STORES.filter((store) => !request.result.objectStoreNames.contains(store));
    missing.forEach((store) => request.result.createObjectStore(store, store === "entry" ? { keyPath: "number" } : {}));
  };
  const database = /** @type {IDBDatabase} */ (await done(request));
  database.onclose = lost;
  database.onversionchange = () => {
    database.close(); // a newer page of this origin brings the ledger up to date
    lost();
  };
  return database;
}

/** An error of the database as one of ours; what we refused ourselves stays what it is. */
export function failure(/** @type {string} */ name, /** @type {unknown} */ error) {
  if (error !== null && !(error instanceof DOMException)) return error;
  const fix = `try again (${error ?? "the step was given up"}); nothing was sent. Do not clear the site's data, which hold what was spent`;
  return new LedgerError("ledger", name, { allowed: `a ledger of version ${VERSION} in this browser's IndexedDB`, fix, cause: error });
}
