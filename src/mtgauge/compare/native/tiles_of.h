/* Tiles of products of vectors of REAL. Included once per precision by tiles.h, hence without a guard.

   A sum over the dimensions runs in LANES lanes of the vectors' own precision, dimension k in lane
   k modulo LANES; at the end the lanes are added up in double, neighbours at half the distance each
   time. So a sum of 384 single-precision terms is rounded 24 times per lane, not 384 times. */

#define LANES (LANE_BYTES / (int)sizeof(REAL))
#define STEP (VECTOR / (int)sizeof(REAL))

typedef REAL NAMED(lanes) __attribute__((vector_size(VECTOR)));
/* the same where it lies in memory: at any place, among plain numbers */
typedef REAL NAMED(stored) __attribute__((vector_size(VECTOR), aligned(sizeof(REAL)), may_alias));

/* Adds to the sums of a tile the dimensions from 0 to `size`, a multiple of LANES. A function of its
   own, so that the sums stay in registers. */
INLINE void NAMED(add_up)(const REAL *const x[TILE_ROWS], const REAL *const y[TILE_COLS],
                          int64_t size, int squared, REAL kept[TILE_ROWS][TILE_COLS][LANES]) {
    NAMED(lanes) sums[TILE_ROWS][TILE_COLS][PARTS];
    memcpy(sums, kept, sizeof sums);
    for (int64_t k = 0; k < size; k += LANES)
        for (int part = 0; part < PARTS; part++)
            for (int c = 0; c < TILE_COLS; c++) {
                NAMED(lanes) right = *(const NAMED(stored) *)(y[c] + k + part * STEP);
                for (int r = 0; r < TILE_ROWS; r++) {
                    NAMED(lanes) left = *(const NAMED(stored) *)(x[r] + k + part * STEP);
                    NAMED(lanes) apart = left - right;
                    sums[r][c][part] += squared ? apart * apart : left * right;
                }
            }
    memcpy(kept, sums, sizeof sums);
}

static __attribute__((noinline)) void NAMED(add_squares)(
    const REAL *const x[TILE_ROWS], const REAL *const y[TILE_COLS], int64_t size,
    REAL kept[TILE_ROWS][TILE_COLS][LANES]) {
    NAMED(add_up)(x, y, size, 1, kept);
}

static __attribute__((noinline)) void NAMED(add_products)(
    const REAL *const x[TILE_ROWS], const REAL *const y[TILE_COLS], int64_t size,
    REAL kept[TILE_ROWS][TILE_COLS][LANES]) {
    NAMED(add_up)(x, y, size, 0, kept);
}

/* Squared distances, or dot products, of TILE_ROWS rows of x from i on with TILE_COLS rows of y from
   j on, none beyond the last of either. */
INLINE void NAMED(tile)(const REAL *x, int64_t i, int64_t last_i, const REAL *y, int64_t j,
                        int64_t last_j, int64_t size, int squared,
                        double out[TILE_ROWS][TILE_COLS]) {
    const REAL *left[TILE_ROWS], *right[TILE_COLS];
    REAL kept[TILE_ROWS][TILE_COLS][LANES] __attribute__((aligned(LANE_BYTES))) = {{{0}}};
    int64_t whole = size - size % LANES;
    for (int r = 0; r < TILE_ROWS; r++)
        left[r] = x + smaller(i + r, last_i) * size;
    for (int c = 0; c < TILE_COLS; c++)
        right[c] = y + smaller(j + c, last_j) * size;
    (squared ? NAMED(add_squares) : NAMED(add_products))(left, right, whole, kept);
    if (whole < size) { /* the rest, filled up with zeros, which add nothing */
        REAL x_rest[TILE_ROWS][LANES] = {{0}}, y_rest[TILE_COLS][LANES] = {{0}};
        for (int r = 0; r < TILE_ROWS; r++) {
            memcpy(x_rest[r], left[r] + whole, (size_t)(size - whole) * sizeof(REAL));
            left[r] = x_rest[r];
        }
        for (int c = 0; c < TILE_COLS; c++) {
            memcpy(y_rest[c], right[c] + whole, (size_t)(size - whole) * sizeof(REAL));
            right[c] = y_rest[c];
        }
        (squared ? NAMED(add_squares) : NAMED(add_products))(left, right, LANES, kept);
    }
    for (int r = 0; r < TILE_ROWS; r++)
        for (int c = 0; c < TILE_COLS; c++)
            out[r][c] = sum_of_eight(NAMED(eight_of)(kept[r][c]));
}

#undef LANES
#undef STEP
