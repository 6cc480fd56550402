/* tiles_of.h for single and for double precision: names end in _float and _double. */

#ifndef MTGAUGE_TILES_H
#define MTGAUGE_TILES_H

#include "lanes.h"

/* Rows and columns of the tile whose sums run side by side: as many as there are registers for.
   Each sum is its own, so the shape does not move a bit. */
#if PARTS == 1
#define TILE_ROWS 4
#define TILE_COLS 4
#elif PARTS == 2 || defined(__aarch64__)
#define TILE_ROWS 2
#define TILE_COLS 2
#else
#define TILE_ROWS 1
#define TILE_COLS 2
#endif

typedef double two __attribute__((vector_size(16)));
typedef double four __attribute__((vector_size(32)));
typedef double eight __attribute__((vector_size(64)));
typedef float eight_floats __attribute__((vector_size(32)));

/* Lanes as eight doubles, neighbours at half the distance added up. */
INLINE eight eight_of_float(const float lanes[16]) {
    eight_floats low, high;
    memcpy(&low, lanes, sizeof low);
    memcpy(&high, lanes + 8, sizeof high);
    return __builtin_convertvector(low, eight) + __builtin_convertvector(high, eight);
}

INLINE eight eight_of_double(const double lanes[8]) {
    eight all;
    memcpy(&all, lanes, sizeof all);
    return all;
}

INLINE double sum_of_eight(eight lanes) {
    four halves[2];
    two quarters[2];
    memcpy(halves, &lanes, sizeof halves);
    halves[0] += halves[1];
    memcpy(quarters, halves, sizeof quarters);
    quarters[0] += quarters[1];
    return quarters[0][0] + quarters[0][1];
}

/* The sums of as many as a tile has columns: four at a time share their last steps. */
INLINE void sums_of_eights(const eight lanes[TILE_COLS], double out[TILE_COLS]) {
#if TILE_COLS == 4 && VECTOR == 64
    __m256d halves[4];
    for (int c = 0; c < 4; c++)
        halves[c] = _mm512_castpd512_pd256((__m512d)lanes[c])
                    + _mm512_extractf64x4_pd((__m512d)lanes[c], 1);
    __m256d first = _mm256_permute2f128_pd(halves[0], halves[2], 0x20)
                    + _mm256_permute2f128_pd(halves[0], halves[2], 0x31);
    __m256d second = _mm256_permute2f128_pd(halves[1], halves[3], 0x20)
                     + _mm256_permute2f128_pd(halves[1], halves[3], 0x31);
    _mm256_storeu_pd(out, _mm256_hadd_pd(first, second));
#else
    for (int c = 0; c < TILE_COLS; c++)
        out[c] = sum_of_eight(lanes[c]);
#endif
}

#define REAL float
#define NAMED(name) name##_float
#include "tiles_of.h"
#undef REAL
#undef NAMED

#define REAL double
#define NAMED(name) name##_double
#include "tiles_of.h"
#undef REAL
#undef NAMED

#endif
