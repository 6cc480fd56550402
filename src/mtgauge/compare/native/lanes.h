/* Vectors as wide as the machine's, and what every kernel shares.

   The same sources are compiled for several instruction sets (backend/native.py). All of them give
   the same bits: sums run in lanes whose number does not depend on the width of a vector (LANE_BYTES
   of them at a time, in as many vectors as that takes), and products are never fused with sums
   (-ffp-contract=off). No function of the maths library is called, only square roots, which are
   exact everywhere.

   A kernel works on problems lo to hi of a batch, each on its own, and writes each result to its own
   place: a result cannot depend on batch, threads or order. It returns 0, or 1 where there is not
   enough memory. Whole numbers are int64_t, arrays are contiguous; Python has checked all of them. */

#ifndef MTGAUGE_LANES_H
#define MTGAUGE_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define KERNEL __declspec(dllexport) int
#else
#define KERNEL __attribute__((visibility("default"))) int
#endif
#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
#include <immintrin.h>
#define VECTOR 64
#elif defined(__AVX__)
#include <immintrin.h>
#define VECTOR 32
#else
#define VECTOR 16
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#endif

#define LANE_BYTES 64              /* the widest vector there is */
#define PARTS (LANE_BYTES / VECTOR) /* vectors that hold all lanes */
#define WIDE (VECTOR / 8)          /* doubles in a vector */
#define INFINITE __builtin_inf()

typedef double reals __attribute__((vector_size(VECTOR)));
typedef int64_t wholes __attribute__((vector_size(VECTOR)));

/* The lesser of two, lane by lane, as one instruction; there are no NaNs. */
INLINE reals lesser(reals a, reals b) {
#if defined(__AVX512F__)
    return (reals)_mm512_min_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX__)
    return (reals)_mm256_min_pd((__m256d)a, (__m256d)b);
#elif defined(__SSE2__)
    return (reals)_mm_min_pd((__m128d)a, (__m128d)b);
#elif defined(__aarch64__)
    return (reals)vminq_f64((float64x2_t)a, (float64x2_t)b);
#else
    wholes first = (wholes)(a < b);
    return (reals)(((wholes)a & first) | ((wholes)b & ~first));
#endif
}

INLINE double least_lane(reals a) {
    double least = a[0];
    for (int lane = 1; lane < WIDE; lane++)
        least = a[lane] < least ? a[lane] : least;
    return least;
}

INLINE reals all_lanes(double value) {
    return value - (reals){0};
}

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Scratch: one block of memory, handed out in pieces that start at whole vectors. */
typedef struct {
    char *block, *next;
} scratch;

INLINE size_t rounded(size_t bytes) { return (bytes + LANE_BYTES - 1) / LANE_BYTES * LANE_BYTES; }

INLINE int reserve(scratch *from, size_t bytes) {
    from->block = malloc(bytes + LANE_BYTES);
    from->next = (char *)rounded((size_t)from->block);
    return from->block != NULL;
}

INLINE void *piece(scratch *from, size_t bytes) {
    void *found = from->next;
    from->next += rounded(bytes);
    return found;
}

#endif
