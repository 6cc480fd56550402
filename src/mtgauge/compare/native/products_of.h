/* Kernels over vectors of REAL. Included once per precision by products.c, hence without a guard. */

/* Squared Euclidean distances by differences: equal points are exactly 0 apart.

   Pair p is text lefts[p] of x with text rights[p] of y; text t has rows x_at[t] to x_at[t + 1]. */
KERNEL NAMED(squared)(const REAL *x, const int64_t *x_at, const int64_t *lefts, const REAL *y,
                           const int64_t *y_at, const int64_t *rights, const int64_t *starts,
                           int64_t size, int64_t lo, int64_t hi, double *flat) {
    double found[TILE_ROWS][TILE_COLS];
    for (int64_t p = lo; p < hi; p++) {
        int64_t x_start = x_at[lefts[p]], n = x_at[lefts[p] + 1] - x_start;
        int64_t y_start = y_at[rights[p]], m = y_at[rights[p] + 1] - y_start;
        const REAL *left = x + x_start * size, *right = y + y_start * size;
        double *out = flat + starts[p];
        for (int64_t i = 0; i < n; i += TILE_ROWS)
            for (int64_t j = 0; j < m; j += TILE_COLS) {
                NAMED(tile)(left, i, n - 1, right, j, m - 1, size, 1, found);
                for (int r = 0; r < TILE_ROWS && i + r < n; r++)
                    for (int c = 0; c < TILE_COLS && j + c < m; c++)
                        out[(i + r) * m + j + c] = found[r][c];
            }
    }
    return 0;
}

/* The best dot product of each row of pair p with one of the other side: those of the left text are
   written from rows_at[p] on, of the right one from columns_at[p] on. */
KERNEL NAMED(best)(const REAL *x, const int64_t *x_at, const int64_t *lefts, const REAL *y,
                        const int64_t *y_at, const int64_t *rights, int64_t size, int64_t lo,
                        int64_t hi, double *rows, const int64_t *rows_at, double *columns,
                        const int64_t *columns_at) {
    double found[TILE_ROWS][TILE_COLS];
    for (int64_t p = lo; p < hi; p++) {
        int64_t x_start = x_at[lefts[p]], n = x_at[lefts[p] + 1] - x_start;
        int64_t y_start = y_at[rights[p]], m = y_at[rights[p] + 1] - y_start;
        const REAL *left = x + x_start * size, *right = y + y_start * size;
        double *by_row = rows + rows_at[p], *by_col = columns + columns_at[p];
        for (int64_t i = 0; i < n; i++)
            by_row[i] = -INFINITE;
        for (int64_t j = 0; j < m; j++)
            by_col[j] = -INFINITE;
        for (int64_t i = 0; i < n; i += TILE_ROWS)
            for (int64_t j = 0; j < m; j += TILE_COLS) {
                NAMED(tile)(left, i, n - 1, right, j, m - 1, size, 0, found);
                for (int r = 0; r < TILE_ROWS && i + r < n; r++)
                    for (int c = 0; c < TILE_COLS && j + c < m; c++) {
                        double value = found[r][c];
                        by_row[i + r] = value > by_row[i + r] ? value : by_row[i + r];
                        by_col[j + c] = value > by_col[j + c] ? value : by_col[j + c];
                    }
            }
    }
    return 0;
}
