/**
 * The way to a collector: `fetch`, and the patience that an unreliable network needs.
 *
 * A request asks for something public or carries a report under its own id, so each of them can be repeated without harm.
 */

import { concat } from "./bytes.js";
import { ParameterError, TransportError } from "./errors.js";

const LARGEST_RESPONSE = 2 ** 22;
/** Milliseconds for a whole exchange, from connecting to the last byte of the answer. */
const TIMEOUT = 10_000;
export const ATTEMPTS = 4;
const FIRST_WAIT = 0.5;
/** Seconds. A collector that asks for more patience gets all of it: the device gives up for now. */
const LONGEST_WAIT = 60;

/** @typedef {{status: number, retryAfter: number, body: Uint8Array}} Answer */
/** @typedef {(seconds: number) => unknown} Sleep */

export function sleepFor(/** @type {number} */ seconds) {
  return new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
}

/** Requests to one address: without cookies, referrer or cache, and without following redirects. */
export class Transport {
  #prefix;
  #fetch;

  constructor(/** @type {string} */ address, /** @type {typeof globalThis.fetch} */ fetch = (...request) => globalThis.fetch(...request)) {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password) {
      throw new ParameterError("address", address, {
        allowed: "https://host, with a port and a path if need be",
        fix: "check the address",
      });
    }
    if (url.protocol === "http:" && !/^(localhost|127\.[0-9.]+|\[::1\])$/.test(url.hostname)) {
      throw new ParameterError("address", address, { allowed: "https, or http to this machine itself", fix: "use https" });
    }
    this.#prefix = url.origin + url.pathname.replace(/\/+$/, "");
    this.#fetch = fetch;
  }

  /**
   * Send a request and wait for its answer; TransportError if no whole one came in time.
   *
   * @param {"GET" | "POST"} method
   * @param {string} path
   * @param {{body: Uint8Array, type: string}} [content]
   * @returns {Promise<Answer>}
   */
  async request(method, path, content) {
    try {
      return await beforeDeadline((signal) => this.#exchange(method, path, content, signal));
    } catch (error) {
      throw new TransportError(`${method} ${path}`, /** @type {Error} */ (error)?.name, {
        allowed: "a whole answer from the collector itself",
        fix: `try again later, or check address and network (${/** @type {Error} */ (error)?.message})`,
        cause: error,
      });
    }
  }

  /**
   * @param {"GET" | "POST"} method
   * @param {string} path
   * @param {{body: Uint8Array, type: string} | undefined} content
   * @param {AbortSignal} signal
   */
  async #exchange(method, path, content, signal) {
    const answer = await this.#fetch(this.#prefix + path, {
      method,
      body: /** @type {BodyInit | undefined} */ (content?.body),
      headers: content ? { "content-type": content.type } : {},
      credentials: "omit",
      cache: "no-store",
      redirect: "error", // as of a hotel's login page: it does not lead to the collector
      referrerPolicy: "no-referrer",
      signal,
    });
    if (answer.status >= 300 && answer.status < 400) throw new Error(`a redirect, status ${answer.status}`);
    const wait = answer.headers.get("retry-after") ?? "";
    return { status: answer.status, retryAfter: /^[0-9]+$/.test(wait) ? Number(wait) : 0, body: await readBody(answer, signal) };
  }
}

/**
 * What comes of an exchange, if it comes before the deadline.
 *
 * A signal alone does not end it. With `redirect: "error"`, node's fetch keeps no more than a weak reference from the signal to the request
 * once the headers are there: after a garbage collection the signal has no effect, and a body that drips goes on for as long as it likes.
 *
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} exchange
 * @returns {Promise<T>}
 */
async function beforeDeadline(exchange) {
  const controller = new AbortController();
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      const error = new DOMException(`no whole answer within ${TIMEOUT / 1000} seconds`, "TimeoutError");
      controller.abort(error);
      reject(error);
    }, TIMEOUT);
  });
  try {
    return await Promise.race([exchange(controller.signal), /** @type {Promise<never>} */ (late)]);
  } finally {
    clearTimeout(timer);
  }
}

/** The body of an answer, if it is not longer than a device reads; it is cut off when the signal says so. */
async function readBody(/** @type {Response} */ answer, /** @type {AbortSignal} */ signal) {
  const reader = answer.body?.getReader();
  signal.addEventListener("abort", () => reader?.cancel(signal.reason).catch(() => {})); // already at its end, or broken
  const parts = [];
  for (let size = 0; reader;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    if (size <= LARGEST_RESPONSE) continue;
    await reader.cancel();
    throw new Error(`more than ${LARGEST_RESPONSE} bytes`);
  }
  return concat(...parts);
}

/**
 * The answer to a request that is repeated while the collector is away or busy.
 *
 * Waits double from one attempt to the next, less a random part of up to a half: devices that failed together do not come back together.
 * What the collector asks for in `Retry-After` is the least wait. The last answer is returned as it is, and if there was none, its
 * TransportError thrown.
 *
 * @param {() => Promise<Answer>} request
 * @param {{sleep: Sleep, source: import("./source.js").Source}} means
 * @returns {Promise<Answer>}
 */
export async function persist(request, { sleep, source }) {
  let wait = FIRST_WAIT;
  for (let left = ATTEMPTS - 1; ; left--) {
    let least = 0;
    try {
      const answer = await request();
      least = answer.retryAfter;
      if (!isTemporary(answer.status) || !left || least > LONGEST_WAIT) return answer;
    } catch (error) {
      if (!left || !(error instanceof TransportError)) throw error;
    }
    await sleep(Math.max(least, wait * (1 - Number(source.word()) / 2 ** 65)));
    wait = Math.min(2 * wait, LONGEST_WAIT);
  }
}

/** Whether the same request may be answered otherwise later. */
export function isTemporary(/** @type {number} */ status) {
  return status === 408 || status === 429 || status >= 500;
}
