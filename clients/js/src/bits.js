/** Bits packed as a report carries them: bit 0 in the lowest bit of the first byte, unused high bits zero. */

/** Whether the number of ones is odd, in an integer below 2^31. */
export function parity(/** @type {number} */ number) {
  let folded = number ^ (number >>> 16);
  folded ^= folded >>> 8;
  folded ^= folded >>> 4;
  return (0x6996 >>> (folded & 15)) & 1;
}

export function getBit(/** @type {Uint8Array} */ bits, /** @type {number} */ place) {
  return (bits[place >>> 3] >>> (place & 7)) & 1;
}

export function setBit(/** @type {Uint8Array} */ bits, /** @type {number} */ place, /** @type {number | boolean} */ value) {
  if (value) bits[place >>> 3] |= 1 << (place & 7);
  else bits[place >>> 3] &= ~(1 << (place & 7));
}

/** The number of ones. */
export function countBits(/** @type {Uint8Array} */ bits) {
  let count = 0;
  for (const byte of bits) count += ones(byte);
  return count;
}

/** Where the bit of this value and rank stands, counting from the lowest. */
export function placeOf(/** @type {Uint8Array} */ bits, /** @type {0 | 1} */ value, /** @type {number} */ rank) {
  let left = rank;
  for (let i = 0; ; i++) {
    const found = value ? bits[i] : ~bits[i] & 255;
    if (left >= ones(found)) {
      left -= ones(found);
      continue;
    }
    for (let place = 0; ; place++) if ((found >>> place) & 1 && left-- === 0) return 8 * i + place;
  }
}

function ones(/** @type {number} */ byte) {
  let count = 0;
  for (let rest = byte; rest; rest &= rest - 1) count++;
  return count;
}
