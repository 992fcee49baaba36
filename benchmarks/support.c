/* Counting which keys hashed reports support, as one would write it in C: the yardstick for kernels/hashing.py.
 *
 * A report is a seed (a, b) and a symbol below count; it supports a key if u = a key + b (mod 2^64) falls into the symbol's
 * share of the 2^64 values, that is, if u - start < width. Keys are first, first + 1, ..., so the next u is one addition away.
 */
#include <stddef.h>
#include <stdint.h>

static uint64_t share_start(uint64_t symbol, uint64_t count)
{
    return (((symbol << 32) + count - 1) / count) << 32; /* symbol = count wraps to 0, which is 2^64 */
}

void support_of_range(const uint64_t *restrict seeds, const uint8_t *restrict symbols, size_t n, uint64_t count, uint64_t first,
                      uint32_t *restrict supports, size_t keys)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t start = share_start(symbols[i], count);
        const uint64_t width = share_start((uint64_t)symbols[i] + 1, count) - start;
        const uint64_t step = seeds[2 * i];
        uint64_t u = step * first + seeds[2 * i + 1] - start;
        for (size_t j = 0; j < keys; j++) {
            supports[j] += u < width;
            u += step;
        }
    }
}
