/** Reading a domain back from plain data, through the constructors that check it. */

import { isObject, readNumber, readObject, writeCanonical } from "./canonical.js";
import { Bytes, Categories, Integers, Text } from "./domain.js";
import { WireError } from "./errors.js";
import { Numbers } from "./numbers.js";
import { Subsets } from "./subsets.js";

/**
 * The domain behind plain data; WireError or ParameterError if it is none.
 *
 * @returns {import("./domain.js").Domain}
 */
export function domainFromJson(/** @type {any} */ data) {
  const domain = read(data);
  domain.canonical = writeCanonical(data);
  return domain;
}

function read(/** @type {any} */ data) {
  const field = (/** @type {string[]} */ ...names) => {
    const fields = readObject("domain", data, ["kind", ...names]);
    return names.map((name) => (name === "labels" ? fields[name] : readNumber(name, fields[name])));
  };
  switch (isObject(data) ? data.kind : undefined) {
    case "index":
      return new Integers(0, BigInt(field("size")[0]) - 1n, true);
    case "categories":
      return new Categories(field("labels")[0]);
    case "integers":
      return new Integers(field("low", "high")[0], field("low", "high")[1]);
    case "numbers":
      return new Numbers(data);
    case "subsets": {
      const { items } = readObject("domain", data, ["kind", "items"]);
      // Refused before it is read, however deep sets lie in each other.
      if (isObject(items) && items.kind === "subsets") throw new WireError("items", items, { allowed: "no sets", fix: "publish it again" });
      return new Subsets(domainFromJson(items));
    }
    case "bytes":
      return new Bytes(field("max_length")[0]);
    case "text":
      return new Text(field("max_length")[0]);
    default:
      throw new WireError("domain", data, {
        allowed: "kind index, categories, integers, numbers, subsets, bytes or text",
        fix: "use a newer client, or the one in Python: this one cannot answer such a task",
      });
  }
}
