/** Cells of a table: where a record falls among the combinations of some of its columns, and the parities of such cells. */

import { readNumber, readObject } from "./canonical.js";
import { ParameterError, WireError } from "./errors.js";
import { attributeOf, readColumns } from "./records.js";

const MOST_CELLS = 1n << 31n;

/** The cell that a record falls into, as one number, the last column changing fastest; with masks, a parity of its keys. */
export class Cell {
  constructor(/** @type {unknown} */ data) {
    const { columns, masks } = readObject("encoder", data, ["encoder", "columns"], ["masks"]);
    this.columns = readColumns(columns);
    if (masks !== undefined && (!Array.isArray(masks) || masks.length !== this.columns.length)) {
      throw new WireError("masks", masks, { allowed: "a mask for each column, or none", fix: "publish it again" });
    }
    const cells = this.columns.reduce((product, { domain }) => product * domain.size, 1n);
    if (!this.columns.every(({ domain }) => domain.listed) || cells > MOST_CELLS) {
      const allowed = `columns that can be listed, ${MOST_CELLS} cells in all`;
      throw new ParameterError("columns", columns, { allowed, fix: "ask about fewer columns at once" });
    }
    this.masks = masks === undefined ? undefined : this.columns.map((_, i) => BigInt(readNumber("masks", masks[i])));
    if (this.masks?.some((mask, i) => mask <= 0n || mask >> BigInt(this.columns[i].domain.keyBits))) {
      throw new ParameterError("masks", masks, { allowed: "from 1 to the largest number of a key's bits", fix: "publish it again" });
    }
    this.inputs = this.masks ? 2n : cells;
  }

  async encode(/** @type {unknown} */ value) {
    let [cell, ones] = [0n, 0];
    for (const [i, { name, domain }] of this.columns.entries()) {
      const key = /** @type {bigint} */ (domain.content(attributeOf(value, name)));
      cell = cell * domain.size + key;
      if (this.masks) ones += (key & this.masks[i]).toString(2).replaceAll("0", "").length;
    }
    return this.masks ? BigInt(ones & 1) : cell;
  }
}
