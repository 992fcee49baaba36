/** The ledger in the browser: what a device spent survives the page, a crash and a loss of power, and is shared by all tabs. */

import { readId } from "./budget.js";
import { fromHex, toHex } from "./bytes.js";
import { below, done, failure, openDatabase, STORES } from "./database.js";
import { PERSONAL } from "./diary.js";
import { dropped, expend, settled } from "./entry.js";
import { Ledger, readLimit } from "./ledger.js";

/** @typedef {import("./entry.js").Entry} Entry */
/** @typedef {import("./ledger.js").TaskId} TaskId */
/** Where the person's limit is kept: no task has this id. */
const LIMIT = ["", "lifetime epsilon"];

/** @typedef {{[name in typeof STORES[number]]: IDBObjectStore}} Stores */

/**
 * A ledger in one IndexedDB database of the page's origin and storage partition: a page that is embedded in another site has one of its own.
 *
 * Every step is one transaction with strict durability. Those that write exclude each other, in all tabs and workers, before they read: two
 * tabs never both see the last of the budget. A step awaits its own requests and nothing else, or else the browser would end it; it is
 * done when the browser says that everything is on the disk, and only then its caller hears of it.
 *
 * A database that vanished while the page was open is not started afresh. A page that is opened after the site's data were cleared cannot
 * know, and starts an empty ledger.
 */
export class IndexedDBLedger extends Ledger {
  #name;
  /** @type {Promise<IDBDatabase> | null} */
  #open = null;
  #seen = false;

  constructor(/** @type {{lifetimeEpsilon: number | string | import("./decimal.js").Rational, name?: string}} */ options) {
    super(options);
    this.#name = options.name ?? "deniable";
  }

  // --- the database ---

  async #database() {
    this.#open ??= openDatabase(this.#name, this.#seen, () => (this.#open = null));
    try {
      const database = await this.#open;
      this.#seen = true;
      return database;
    } catch (error) {
      this.#open = null;
      throw failure(this.#name, error);
    }
  }

  /**
   * One transaction, alone and durable; undone by any error.
   *
   * @template T
   * @param {"readonly" | "readwrite"} mode
   * @param {(stores: Stores) => Promise<T>} run
   * @returns {Promise<T>}
   */
  async #step(mode, run) {
    const database = await this.#database();
    return new Promise((resolve, reject) => {
      /** @type {IDBTransaction} */
      let transaction;
      try {
        transaction = database.transaction(STORES, mode, { durability: "strict" });
      } catch (error) {
        reject(failure(this.#name, error));
        return;
      }
      /** @type {T} */
      let result;
      /** @type {unknown} */
      let refusal = null;
      transaction.oncomplete = () => (refusal === null ? resolve(result) : reject(failure(this.#name, refusal)));
      transaction.onabort = () => reject(failure(this.#name, refusal ?? transaction.error));
      const stores = Object.fromEntries(STORES.map((name) => [name, transaction.objectStore(name)]));
      run(/** @type {Stores} */ (stores)).then(
        (value) => (result = value),
        (error) => {
          refusal = error;
          try {
            transaction.abort();
          } catch {
            // the browser has given it up already
          }
        },
      );
    });
  }

  /** Ask the browser to keep the ledger when it runs out of room; whether it will. */
  async persist() {
    return (await globalThis.navigator?.storage?.persist?.()) ?? false;
  }

  /** Close the connection; the next step opens it again. */
  async close() {
    (await this.#open)?.close();
    this.#open = null;
  }

  // --- the limit ---

  /** All that may ever be spent: what the person set, or else what the app promised. */
  async limit() {
    return this.#step("readonly", async ({ kept }) => this.#limitOf(await done(kept.get(LIMIT))));
  }

  /** Let the person set what may be spent in all, for every tab from now on. What was spent stays spent. */
  async setLimit(/** @type {number | string | import("./decimal.js").Rational} */ epsilon) {
    const limit = toText(readLimit(epsilon));
    await this.#step("readwrite", ({ kept }) => done(kept.put(limit, LIMIT)));
  }

  /** Keep the app's limit if none is kept, so that from now on the person alone changes it. */
  async keepLimit() {
    await this.#keep("kept", LIMIT, () => toText(this.lifetimeEpsilon));
  }

  #limitOf(/** @type {string | undefined} */ kept) {
    return kept === undefined ? this.lifetimeEpsilon : fromText(kept);
  }

  // --- the ledger ---

  async consent(/** @type {TaskId} */ task) {
    const id = toHex(readId(task));
    await this.#step("readwrite", ({ consent }) => done(consent.put(true, id)));
  }

  async withdraw(/** @type {TaskId} */ task) {
    const id = toHex(readId(task));
    await this.#step("readwrite", async ({ consent, entry }) => {
      await done(consent.delete(id));
      const entries = /** @type {Entry[]} */ ((await done(entry.getAll())).map(toEntry)).filter((item) => toHex(item.task) === id);
      await Promise.all(entries.map((item) => done(entry.put(toRecord(dropped(item))))));
    });
  }

  async consented(/** @type {TaskId} */ task) {
    const id = toHex(readId(task));
    return this.#step("readonly", async ({ consent }) => (await done(consent.get(id))) === true);
  }

  async ticket(/** @type {TaskId} */ task, /** @type {() => number} */ draw) {
    return this.#keep("ticket", toHex(readId(task)), draw);
  }

  async remember(/** @type {TaskId} */ task, /** @type {string} */ name, /** @type {() => Uint8Array | Promise<Uint8Array>} */ draw) {
    return this.#keep("kept", [toHex(readId(task)), name], draw);
  }

  async recall(/** @type {TaskId} */ task, /** @type {string} */ name) {
    const key = [toHex(readId(task)), name];
    return this.#step("readonly", async ({ kept }) => /** @type {Uint8Array | null} */ ((await done(kept.get(key))) ?? null));
  }

  /** What a device keeps for a task's longitudinal questions: by the diary's name, permanent answers by class. */
  async kept(/** @type {TaskId} */ task) {
    const id = toHex(readId(task));
    const records = await this.#step("readonly", ({ diary }) => done(diary.getAll(below([id]))));
    /** @type {Record<string, Record<string, Uint8Array>>} */
    const found = {};
    for (const { name, group, answer } of records) (found[name] ??= {})[group] = answer;
    return found;
  }

  async permanentAnswers() {
    const keys = await this.#step("readonly", ({ diary }) => done(diary.getAllKeys()));
    return keys.filter((/** @type {string[]} */ [, , group]) => group !== PERSONAL).length;
  }

  async spend(/** @type {import("./task.js").Task} */ task, /** @type {import("./entry.js").Expense} */ expense) {
    const [id, name] = [toHex(task.id), expense.diary?.name];
    return this.#step("readwrite", async ({ consent, entry, diary, kept: named }) => {
      const answers = name === undefined ? [] : done(diary.getAll(below([id, name])));
      const [agreed, records, rows, limit] = await Promise.all([done(consent.get(id)), done(entry.getAll()), answers, done(named.get(LIMIT))]);
      const kept = Object.fromEntries(rows.map((/** @type {any} */ { group, answer }) => [group, answer]));
      const made = expend(task, expense, records.map(toEntry), agreed === true, this.#limitOf(limit), kept);
      const drawn = Object.entries(expense.diary?.drawn ?? {});
      // Added, not put: a permanent answer is never overwritten.
      const added = drawn.map(([group, answer]) => done(diary.add({ name, group, answer }, [id, /** @type {string} */ (name), group])));
      await Promise.all([done(entry.add(toRecord(made))), ...added]);
      return made;
    });
  }

  async settle(/** @type {number} */ number, /** @type {import("./entry.js").State} */ state, code = "") {
    return this.#step("readwrite", async ({ entry }) => {
      const record = await done(entry.get(number));
      const made = settled(record && toEntry(record), number, state, code);
      await done(entry.put(toRecord(made)));
      return made;
    });
  }

  async entries() {
    return this.#step("readonly", async ({ entry }) => (await done(entry.getAll())).map(toEntry));
  }

  /**
   * What a store has under a key, or what is drawn now. Drawing may take its time, so it comes before the step that looks again.
   *
   * @param {"ticket" | "kept"} name
   * @param {IDBValidKey} key
   * @param {() => any} draw
   */
  async #keep(name, key, draw) {
    const found = await this.#step("readonly", (stores) => done(stores[name].get(key)));
    if (found !== undefined) return found;
    const drawn = await draw();
    return this.#step("readwrite", async (stores) => {
      const first = await done(stores[name].get(key));
      if (first === undefined) await done(stores[name].add(drawn, key));
      return first ?? drawn;
    });
  }
}

/** An entry as the database keeps it: the id and the exact epsilon as text. */
function toRecord(/** @type {Entry} */ entry) {
  return { ...entry, task: toHex(entry.task), epsilon: toText(entry.epsilon) };
}

/** @returns {Entry} */
function toEntry(/** @type {any} */ record) {
  return Object.freeze({ ...record, task: fromHex(record.task), epsilon: fromText(record.epsilon) });
}

function toText(/** @type {import("./decimal.js").Rational} */ epsilon) {
  return epsilon.join("/");
}

/** @returns {import("./decimal.js").Rational} */
function fromText(/** @type {string} */ epsilon) {
  const [numerator, denominator] = epsilon.split("/").map(BigInt);
  return [numerator, denominator];
}
