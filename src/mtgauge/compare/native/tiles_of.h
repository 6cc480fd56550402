/* Tiles of products of vectors of REAL. Included once per precision by tiles.h, hence without a guard.

   A sum over the dimensions runs in LANES lanes of the vectors' own precision, dimension k in lane
   k modulo LANES; at the end the lanes are added up in double, neighbours at half the distance each
   time. So a sum of 384 single-precision terms is rounded 24 times per lane, not 384 times. */

#define LANES (LANE_BYTES / (int)sizeof(REAL))
#define STEP (VECTOR / (int)sizeof(REAL))

typedef REAL NAMED(lanes) __attribute__((vector_size(VECTOR)));
/* the same where it lies in memory: at any place, among plain numbers */
typedef REAL NAMED(stored) __attribute__((vector_size(VECTOR), aligned(sizeof(REAL)), may_alias));

INLINE double NAMED(sum_of_lanes)(const NAMED(lanes) sums[PARTS]) {
    double lanes[LANES];
    for (int part = 0; part < PARTS; part++)
        for (int lane = 0; lane < STEP; lane++)
            lanes[part * STEP + lane] = sums[part][lane];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; lane++)
            lanes[lane] += lanes[lane + half];
    return lanes[0];
}

/* One step of a tile: LANES dimensions of each x and each y, from k on. */
INLINE void NAMED(add_step)(const REAL *const x[TILE_ROWS], const REAL *const y[TILE_COLS],
                            int64_t k, int squared,
                            NAMED(lanes) sums[TILE_ROWS][TILE_COLS][PARTS]) {
    for (int part = 0; part < PARTS; part++)
        for (int c = 0; c < TILE_COLS; c++) {
            NAMED(lanes) right = *(const NAMED(stored) *)(y[c] + k + part * STEP);
            for (int r = 0; r < TILE_ROWS; r++) {
                NAMED(lanes) left = *(const NAMED(stored) *)(x[r] + k + part * STEP);
                NAMED(lanes) apart = left - right;
                sums[r][c][part] += squared ? apart * apart : left * right;
            }
        }
}

/* Squared distances, or dot products, of TILE_ROWS rows of x from i on with TILE_COLS rows of y from
   j on, none beyond the last of either. */
INLINE void NAMED(tile)(const REAL *x, int64_t i, int64_t last_i, const REAL *y, int64_t j,
                        int64_t last_j, int64_t size, int squared,
                        double out[TILE_ROWS][TILE_COLS]) {
    const REAL *left[TILE_ROWS], *right[TILE_COLS];
    NAMED(lanes) sums[TILE_ROWS][TILE_COLS][PARTS] = {0};
    for (int r = 0; r < TILE_ROWS; r++)
        left[r] = x + smaller(i + r, last_i) * size;
    for (int c = 0; c < TILE_COLS; c++)
        right[c] = y + smaller(j + c, last_j) * size;
    int64_t k = 0;
    for (; k + LANES <= size; k += LANES)
        NAMED(add_step)(left, right, k, squared, sums);
    if (k < size) { /* the rest, filled up with zeros, which add nothing */
        REAL x_rest[TILE_ROWS][LANES] = {{0}}, y_rest[TILE_COLS][LANES] = {{0}};
        for (int r = 0; r < TILE_ROWS; r++) {
            memcpy(x_rest[r], left[r] + k, (size_t)(size - k) * sizeof(REAL));
            left[r] = x_rest[r];
        }
        for (int c = 0; c < TILE_COLS; c++) {
            memcpy(y_rest[c], right[c] + k, (size_t)(size - k) * sizeof(REAL));
            right[c] = y_rest[c];
        }
        NAMED(add_step)(left, right, 0, squared, sums);
    }
    for (int r = 0; r < TILE_ROWS; r++)
        for (int c = 0; c < TILE_COLS; c++)
            out[r][c] = NAMED(sum_of_lanes)(sums[r][c]);
}

#undef LANES
#undef STEP
