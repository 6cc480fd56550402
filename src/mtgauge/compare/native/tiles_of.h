/* Tiles of products of vectors of REAL. Included once per precision by tiles.h, hence without a guard.

   A sum over the dimensions runs in LANES lanes of the vectors' own precision, dimension k in lane
   k modulo LANES; at the end the lanes are added up in double, neighbours at half the distance each
   time. So a sum of 384 single-precision terms is rounded 24 times per lane, not 384 times. */

#define LANES (LANE_BYTES / (int)sizeof(REAL))
#define STEP (VECTOR / (int)sizeof(REAL))

typedef REAL NAMED(lanes) __attribute__((vector_size(VECTOR)));
/* the same where it lies in memory: at any place, among plain numbers */
typedef REAL NAMED(stored) __attribute__((vector_size(VECTOR), aligned(sizeof(REAL)), may_alias));

/* Adds LANES dimensions from k on to the sums of a tile's first columns. */
INLINE void NAMED(add_up)(const REAL *const x[TILE_ROWS], const REAL *const y[TILE_COLS], int64_t k,
                          int columns, int squared,
                          NAMED(lanes) sums[TILE_ROWS][TILE_COLS][PARTS]) {
    for (int part = 0; part < PARTS; part++)
        for (int c = 0; c < columns; c++) {
            NAMED(lanes) right = *(const NAMED(stored) *)(y[c] + k + part * STEP);
            for (int r = 0; r < TILE_ROWS; r++) {
                NAMED(lanes) left = *(const NAMED(stored) *)(x[r] + k + part * STEP);
                NAMED(lanes) apart = left - right;
                sums[r][c][part] += squared ? apart * apart : left * right;
            }
        }
}

INLINE void NAMED(sum_tile)(const REAL *const x[TILE_ROWS], const REAL *const y[TILE_COLS],
                            int64_t size, int columns, int squared,
                            double out[TILE_ROWS][TILE_COLS]) {
    NAMED(lanes) sums[TILE_ROWS][TILE_COLS][PARTS];
    for (int r = 0; r < TILE_ROWS; r++) /* one by one: as a whole they would be cleared in memory */
        for (int c = 0; c < TILE_COLS; c++)
            for (int part = 0; part < PARTS; part++)
                sums[r][c][part] = (NAMED(lanes)){0};
    int64_t whole = size - size % LANES;
    for (int64_t k = 0; k < whole; k += LANES)
        NAMED(add_up)(x, y, k, columns, squared, sums);
    if (whole < size) { /* the rest, filled up with zeros, which add nothing */
        REAL x_rest[TILE_ROWS][LANES] = {{0}}, y_rest[TILE_COLS][LANES] = {{0}};
        const REAL *left[TILE_ROWS], *right[TILE_COLS];
        for (int r = 0; r < TILE_ROWS; r++)
            left[r] = memcpy(x_rest[r], x[r] + whole, (size_t)(size - whole) * sizeof(REAL));
        for (int c = 0; c < TILE_COLS; c++)
            right[c] = memcpy(y_rest[c], y[c] + whole, (size_t)(size - whole) * sizeof(REAL));
        NAMED(add_up)(left, right, 0, columns, squared, sums);
    }
    for (int r = 0; r < TILE_ROWS; r++) {
        eight each[TILE_COLS];
        for (int c = 0; c < TILE_COLS; c++) {
            REAL kept[LANES];
            memcpy(kept, sums[r][c], sizeof kept);
            each[c] = NAMED(eight_of)(kept);
        }
        sums_of_eights(each, out[r]);
    }
}

/* Functions of their own, so that the sums stay in registers. */
static __attribute__((noinline)) void NAMED(sum_squares)(
    const REAL *const x[TILE_ROWS], const REAL *const y[TILE_COLS], int64_t size, int64_t columns,
    double out[TILE_ROWS][TILE_COLS]) {
    if (columns >= TILE_COLS)
        NAMED(sum_tile)(x, y, size, TILE_COLS, 1, out);
    else if (columns == 1)
        NAMED(sum_tile)(x, y, size, 1, 1, out);
    else if (columns == 2)
        NAMED(sum_tile)(x, y, size, 2 < TILE_COLS ? 2 : TILE_COLS, 1, out);
    else
        NAMED(sum_tile)(x, y, size, 3 < TILE_COLS ? 3 : TILE_COLS, 1, out);
}

static __attribute__((noinline)) void NAMED(sum_products)(
    const REAL *const x[TILE_ROWS], const REAL *const y[TILE_COLS], int64_t size, int64_t columns,
    double out[TILE_ROWS][TILE_COLS]) {
    if (columns >= TILE_COLS)
        NAMED(sum_tile)(x, y, size, TILE_COLS, 0, out);
    else if (columns == 1)
        NAMED(sum_tile)(x, y, size, 1, 0, out);
    else if (columns == 2)
        NAMED(sum_tile)(x, y, size, 2 < TILE_COLS ? 2 : TILE_COLS, 0, out);
    else
        NAMED(sum_tile)(x, y, size, 3 < TILE_COLS ? 3 : TILE_COLS, 0, out);
}

/* Squared distances, or dot products, of TILE_ROWS rows of x from i on with TILE_COLS rows of y from
   j on, none beyond the last of either. */
INLINE void NAMED(tile)(const REAL *x, int64_t i, int64_t last_i, const REAL *y, int64_t j,
                        int64_t last_j, int64_t size, int squared,
                        double out[TILE_ROWS][TILE_COLS]) {
    const REAL *left[TILE_ROWS], *right[TILE_COLS];
    for (int r = 0; r < TILE_ROWS; r++)
        left[r] = x + smaller(i + r, last_i) * size;
    for (int c = 0; c < TILE_COLS; c++)
        right[c] = y + smaller(j + c, last_j) * size;
    (squared ? NAMED(sum_squares) : NAMED(sum_products))(left, right, size, last_j - j + 1, out);
}

#undef LANES
#undef STEP
