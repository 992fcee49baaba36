// Counting supports of hashed reports. cuda.py launches these; THREADS, KEYS (in each thread) and TILE (reports in shared memory) are its.
//
// A report supports a key x if u = a x + b, or (a + high)(c + low) + b for keys of 64 bits, lies in its symbol's interval, modulo 2^64.
// Intervals begin and end on multiples of 2^32, so the upper half of u - start decides, and is less than the interval's width or not.
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ u64 starts(u64 symbol, u64 range) { return (((symbol << 32) + range - 1) / range) << 32; }

// The last word of each seed becomes b - start; and the width of the symbol's interval, over 2^32.
extern "C" __global__ void prepare(const u64* seeds, int words, const u32* symbols, u64 range, long n, u64* ready, u32* widths) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 start = starts(symbols[i], range);
    widths[i] = (u32)((starts((u64)symbols[i] + 1, range) - start) >> 32);
    for (int k = 0; k < words; k++) ready[words * i + k] = seeds[words * i + k];
    ready[words * i + words - 1] -= start;
}

// u modulo 2^64 by 32-bit halves, of which only the upper one is used: the lower product is there for its carry.
__device__ __forceinline__ u32 upper_half(u32 a, u32 b, u32 low, u32 high) {
    u32 lower, upper;
    asm("{mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, %5;}" : "=r"(lower), "=r"(upper) : "r"(a), "r"(b), "r"(low), "r"(high));
    return upper;
}

// count -= (upper < width), by the borrow of a subtraction: a comparison and a conditional addition would take as long as the hashing.
__device__ __forceinline__ void count_down(u32& count, u32 upper, u32 width) {
    asm("{.reg .u32 rest; sub.cc.u32 rest, %1, %2; subc.u32 %0, %0, 0;}" : "+r"(count) : "r"(upper), "r"(width));
}

#define FOR_EACH_KEY _Pragma("unroll") for (int k = 0; k < KEYS; k++)
#define FOR_EACH_TILE \
    long end = min(n, (blockIdx.y + 1) * share); \
    for (long tile = blockIdx.y * share; tile < end; tile += TILE)

// Keys first, first + 1, ...: the next one's u is one addition away. Counts are floats, which another unit adds: exact up to 2^24 reports.
extern "C" __global__ void __launch_bounds__(THREADS) count_range(
    const ulonglong2* ready, const u32* widths, long n, long share, u64 first, long size, u64* supports
) {
    __shared__ ulonglong2 seed[TILE];
    __shared__ u32 width[TILE];
    float count[KEYS] = {};
    long place = (blockIdx.x * (long)THREADS + threadIdx.x) * KEYS;
    u64 key = first + place;
    FOR_EACH_TILE {
        __syncthreads();
        for (int i = threadIdx.x; i < TILE; i += THREADS) {
            bool there = tile + i < end;  // nothing lies in an interval of width 0
            seed[i] = there ? ready[tile + i] : make_ulonglong2(0, 0);
            width[i] = there ? widths[tile + i] : 0;
        }
        __syncthreads();
        #pragma unroll 4
        for (int i = 0; i < TILE; i++) {
            u64 step = seed[i].x, u = step * key + seed[i].y;
            u32 limit = width[i];
            FOR_EACH_KEY {
                if ((u32)(u >> 32) < limit) count[k] += 1.0f;
                u += step;
            }
        }
    }
    FOR_EACH_KEY if (place + k < size) atomicAdd(&supports[place + k], (u64)count[k]);
}

extern "C" __global__ void __launch_bounds__(THREADS) count_short(
    const ulonglong2* ready, const u32* widths, long n, long share, const u64* keys, long size, u64* supports
) {
    __shared__ ulonglong2 seed[TILE];
    __shared__ u32 width[TILE];
    u32 x[KEYS], count[KEYS] = {};
    long first = blockIdx.x * (long)(THREADS * KEYS) + threadIdx.x;
    FOR_EACH_KEY x[k] = first + k * THREADS < size ? (u32)keys[first + k * THREADS] : 0;
    FOR_EACH_TILE {
        __syncthreads();
        for (int i = threadIdx.x; i < TILE; i += THREADS) {
            bool there = tile + i < end;
            seed[i] = there ? ready[tile + i] : make_ulonglong2(0, 0);
            width[i] = there ? widths[tile + i] : 0;
        }
        __syncthreads();
        #pragma unroll 4
        for (int i = 0; i < TILE; i++) {
            u32 a = (u32)seed[i].x, above_a = (u32)(seed[i].x >> 32), b = (u32)seed[i].y, above_b = (u32)(seed[i].y >> 32);
            u32 limit = width[i];
            FOR_EACH_KEY count_down(count[k], upper_half(a, x[k], b, above_b) + above_a * x[k], limit);
        }
    }
    FOR_EACH_KEY if (first + k * THREADS < size) atomicAdd(&supports[first + k * THREADS], (u64)(0 - count[k]));
}

extern "C" __global__ void __launch_bounds__(THREADS) count_long(
    const u64* ready, const u32* widths, long n, long share, const u64* keys, long size, u64* supports
) {
    __shared__ ulonglong2 seed[TILE];
    __shared__ u64 rest[TILE];
    __shared__ u32 width[TILE];
    u32 low[KEYS], high[KEYS], count[KEYS] = {};
    long first = blockIdx.x * (long)(THREADS * KEYS) + threadIdx.x;
    FOR_EACH_KEY {
        u64 key = first + k * THREADS < size ? keys[first + k * THREADS] : 0;
        low[k] = (u32)key;
        high[k] = (u32)(key >> 32);
    }
    FOR_EACH_TILE {
        __syncthreads();
        for (int i = threadIdx.x; i < TILE; i += THREADS) {
            bool there = tile + i < end;
            seed[i] = there ? make_ulonglong2(ready[3 * (tile + i)], ready[3 * (tile + i) + 1]) : make_ulonglong2(0, 0);
            rest[i] = there ? ready[3 * (tile + i) + 2] : 0;
            width[i] = there ? widths[tile + i] : 0;
        }
        __syncthreads();
        #pragma unroll 4
        for (int i = 0; i < TILE; i++) {
            u32 b = (u32)rest[i], above_b = (u32)(rest[i] >> 32), limit = width[i];
            FOR_EACH_KEY {
                u64 a = seed[i].x + high[k], c = seed[i].y + low[k];
                u32 upper = upper_half((u32)a, (u32)c, b, above_b) + (u32)(a >> 32) * (u32)c + (u32)a * (u32)(c >> 32);
                count_down(count[k], upper, limit);
            }
        }
    }
    FOR_EACH_KEY if (first + k * THREADS < size) atomicAdd(&supports[first + k * THREADS], (u64)(0 - count[k]));
}
