/** What the body of an answer says, if it is a collector's or a shuffler's. */

/** What an answer says in JSON; undefined if it is none, as somebody else's. */
export function parsed(/** @type {Uint8Array} */ body) {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** The code of an answer that says what is wrong; undefined if it says nothing, as somebody else's. */
export function errorCode(/** @type {import("./transport.js").Answer} */ answer) {
  return parsed(answer.body)?.error?.code;
}
