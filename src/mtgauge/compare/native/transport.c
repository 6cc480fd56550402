/* Exact transport: the solver and the relaxed bound.

   The solver is the successive-shortest-path method on dual potentials (the transportation form of
   Jonker and Volgenant's assignment algorithm). It keeps a flow F and potentials u, v with

       c_ij - u_i - v_j >= 0 for all i, j,      and = 0 where F_ij > 0,

   which makes F optimal for the mass that it has moved so far; v starts at the column minima and u
   at the row minima of what is left. Then, while some row has mass left, Dijkstra's search on the
   reduced costs finds the nearest column that still wants mass, going on from a full column through
   the rows that feed it; the potentials move by the distances found, and the path is filled.

   Masses are whole numbers, so no dust of rounding is ever carried around: a row is empty or it is
   not. They are moved in large units first, only the rest in ones (Edmonds and Karp's scaling): were
   a row split as soon as a column can take a part of it, most paths would take back such a splinter
   and end their search after moving next to nothing. With 500 rows of 49 and 490 columns of 50 the
   unit is 49, the first phase an assignment, and the second needs 50 searches, not 800. Costs are double precision. Rows are padded to whole vectors with infinite cost. */

#include "lanes.h"

#define LARGE 80 /* rows from which on unlike masses are moved in phases, */
#define PHASES 4 /* and how many come before that of ones */

/* One problem, and the room to solve it in. */
typedef struct {
    int64_t n, m, width;     /* rows, columns, columns with padding */
    double *c;               /* (n, width) costs */
    int64_t *left, *right;   /* (n), (width) masses that are still to be moved */
    int64_t unit, wanting;   /* mass is moved in multiples of it; columns that want one at least */
    int64_t *feeders, *sent; /* (m, n) the rows that feed each column, and how much they send */
    int64_t *degree;         /* (m) how many they are */
    double *u, *v;           /* (n), (width) potentials */
    /* columns of one search: distance, row before, potential or -inf once the column is done */
    double *near, *open_v;
    int64_t *via;
    double *col_near;        /* distance of columns that are done */
    double *row_near;        /* rows of the search: distance, column before, search of last visit */
    int64_t *row_via, *seen;
    int64_t *rows, *cols;    /* what the search has reached, in order */
    int64_t *at_row, *at_col; /* places of rows and columns in the matrix that was given */
} problem;

/* Where the flow from row i to column j stands in the list of j; degree[j] if there is none. */
INLINE int64_t place_of(const problem *p, int64_t i, int64_t j) {
    const int64_t *feeders = p->feeders + j * p->n;
    int64_t at = 0;
    while (at < p->degree[j] && feeders[at] != i)
        at++;
    return at;
}

INLINE void feed(problem *p, int64_t i, int64_t j, int64_t mass) {
    int64_t at = place_of(p, i, j), slot = j * p->n + at;
    if (at == p->degree[j]) {
        p->degree[j]++;
        p->feeders[slot] = i;
        p->sent[slot] = 0;
    }
    p->sent[slot] += mass;
}

INLINE void take_back(problem *p, int64_t i, int64_t j, int64_t mass) {
    int64_t at = place_of(p, i, j), slot = j * p->n + at;
    p->sent[slot] -= mass;
    if (p->sent[slot] == 0) { /* the last of the list takes its place */
        int64_t last = j * p->n + --p->degree[j];
        p->feeders[slot] = p->feeders[last];
        p->sent[slot] = p->sent[last];
    }
}

/* Fill the path found from the row `source` to the column `sink`; whether its source or one of the
   flows that it takes back is used up, or no column wants more, which ends the search. */
static int fill_path(problem *p, int64_t source, int64_t sink) {
    int64_t room = p->left[source]; /* the least flow that the path takes back from a row */
    for (int64_t i = p->via[sink]; i != source; i = p->via[p->row_via[i]]) {
        int64_t j = p->row_via[i];
        room = smaller(room, p->sent[j * p->n + place_of(p, i, j)]);
    }
    int64_t mass = smaller(room, p->right[sink]);
    mass -= mass % p->unit;
    p->left[source] -= mass;
    p->right[sink] -= mass;
    p->wanting -= p->right[sink] < p->unit;
    for (int64_t j = sink;;) {
        int64_t i = p->via[j];
        feed(p, i, j, mass);
        if (i == source)
            break;
        j = p->row_via[i];
        take_back(p, i, j, mass);
    }
    return room - mass < p->unit || p->wanting == 0;
}

/* Distances over the row i, whose own is base + u_i: where they are shorter than those found so far
   they take their place. Returns the least of all. */
INLINE double relax(problem *p, int64_t i, double base) {
    const double *c = p->c + i * p->width;
    reals least = all_lanes(INFINITE), start = all_lanes(base);
    wholes row = i - (wholes){0};
    for (int64_t j = 0; j < p->width; j += WIDE) {
        reals way = *(const reals *)(c + j) - *(reals *)(p->open_v + j) + start;
        reals before = *(reals *)(p->near + j);
        wholes old = *(wholes *)(p->via + j), shorter = (wholes)(way < before);
        before = lesser(before, way);
        *(reals *)(p->near + j) = before;
        *(wholes *)(p->via + j) = (row & shorter) | (old & ~shorter);
        least = lesser(least, before);
    }
    return least_lane(least);
}

/* Distances over the row that the search starts from. */
INLINE double first_row(problem *p, int64_t source) {
    const double *c = p->c + source * p->width;
    reals least = all_lanes(INFINITE), start = all_lanes(-p->u[source]);
    wholes row = source - (wholes){0};
    for (int64_t j = 0; j < p->width; j += WIDE) {
        reals v = *(reals *)(p->v + j), way = *(const reals *)(c + j) - v + start;
        *(reals *)(p->open_v + j) = v;
        *(reals *)(p->near + j) = way;
        *(wholes *)(p->via + j) = row;
        least = lesser(least, way);
    }
    return least_lane(least);
}

INLINE double least_of(const double *values, int64_t width) {
    reals least = all_lanes(INFINITE);
    for (int64_t j = 0; j < width; j += WIDE)
        least = lesser(least, *(const reals *)(values + j));
    return least_lane(least);
}

/* One search from a row that has mass left, and the paths that it fills. */
static void search_from(problem *p, int64_t source, int64_t search) {
    int64_t n_rows = 1, n_cols = 0;
    p->rows[0] = source;
    p->row_near[source] = 0.0;
    p->seen[source] = search;
    double least = first_row(p, source);
    for (;;) {
        int64_t sink = 0;
        while (p->near[sink] != least)
            sink++;
        if (p->right[sink] >= p->unit && fill_path(p, source, sink))
            break;
        /* the column is full, but the tree still stands: the search goes on */
        p->cols[n_cols++] = sink;
        p->col_near[sink] = least;
        p->open_v[sink] = -INFINITE; /* from now on every way to it is infinitely long */
        p->near[sink] = INFINITE;
        double next = INFINITE;
        int relaxed = 0;
        for (int64_t r = 0; r < p->degree[sink]; r++) {
            int64_t i = p->feeders[sink * p->n + r];
            if (p->seen[i] == search)
                continue;
            p->seen[i] = search;
            p->row_via[i] = sink;
            p->row_near[i] = least;
            p->rows[n_rows++] = i;
            next = relax(p, i, least - p->u[i]);
            relaxed = 1;
        }
        least = relaxed ? next : least_of(p->near, p->width);
    }
    for (int64_t r = 0; r < n_rows; r++)
        p->u[p->rows[r]] += least - p->row_near[p->rows[r]];
    for (int64_t k = 0; k < n_cols; k++)
        p->v[p->cols[k]] -= least - p->col_near[p->cols[k]];
}

/* First potentials, and all flow that they allow at once. */
static void start(problem *p) {
    int64_t width = p->width;
    memcpy(p->v, p->c, (size_t)width * sizeof(double));
    for (int64_t i = 1; i < p->n; i++)
        for (int64_t j = 0; j < width; j += WIDE)
            *(reals *)(p->v + j) =
                lesser(*(reals *)(p->v + j), *(const reals *)(p->c + i * width + j));
    for (int64_t j = p->m; j < width; j++)
        p->v[j] = -INFINITE;
    for (int64_t j = 0; j < p->m; j++)
        p->degree[j] = 0;
    for (int64_t i = 0; i < p->n; i++) {
        const double *c = p->c + i * width;
        reals lanes = all_lanes(INFINITE);
        for (int64_t j = 0; j < width; j += WIDE)
            lanes = lesser(lanes, *(const reals *)(c + j) - *(reals *)(p->v + j));
        double least = least_lane(lanes);
        p->seen[i] = -1;
        p->u[i] = least;
        for (int64_t j = 0; j < p->m && p->left[i] >= p->unit; j++)
            if (p->right[j] >= p->unit && c[j] - p->v[j] <= least) {
                int64_t mass = smaller(p->left[i], p->right[j]);
                mass -= mass % p->unit;
                p->left[i] -= mass;
                p->right[j] -= mass;
                feed(p, i, j, mass);
            }
    }
}

/* The unit of the first phase: a row's mass where rows are alike. Otherwise a power of two, about
   the greatest mass; in small problems 1, since phases would cost more than they save. */
static int64_t first_unit(const problem *p) {
    int64_t least = p->left[0], most = 1, most_right = 1, unit = 1;
    for (int64_t i = 0; i < p->n; i++) {
        least = smaller(least, p->left[i]);
        most = larger(most, p->left[i]);
    }
    if (most / 2 < least)
        return least;
    for (int64_t j = 0; j < p->m; j++)
        most_right = larger(most_right, p->right[j]);
    while (p->n >= LARGE && unit <= smaller(most, most_right) / 2)
        unit *= 2;
    return unit;
}

/* The unit after this one has to divide it, so that all flows are multiples of the unit in use. */
INLINE int64_t next_unit(int64_t unit, int64_t phase) {
    return unit % 4 == 0 && phase < PHASES ? unit / 4 : 1;
}

static void solve(problem *p) {
    p->unit = first_unit(p);
    start(p);
    int64_t search = 0;
    for (int64_t phase = 1;; phase++) {
        p->wanting = 0;
        for (int64_t j = 0; j < p->m; j++)
            p->wanting += p->right[j] >= p->unit;
        for (int64_t source = 0; source < p->n; source++)
            while (p->left[source] >= p->unit && p->wanting > 0)
                search_from(p, source, ++search);
        if (p->unit == 1)
            return;
        p->unit = next_unit(p->unit, phase);
    }
}

/* Which of the points have mass, and how much; returns their number. */
static int64_t with_mass(const int64_t *masses, int64_t size, int64_t *at, int64_t *mass) {
    int64_t found = 0;
    for (int64_t i = 0; i < size; i++)
        if (masses[i] > 0) {
            at[found] = i;
            mass[found++] = masses[i];
        }
    return found;
}

INLINE int64_t padded(int64_t size) { return (size + 7) / 8 * 8; }

static int make_room(problem *p, scratch *room, int64_t longest) {
    int64_t top = padded(longest);
    size_t line = rounded((size_t)top * 8), square = rounded((size_t)longest * (size_t)top * 8);
    if (!reserve(room, 16 * line + 3 * square))
        return 0;
    double **reals_of[] = {&p->u, &p->v, &p->near, &p->open_v, &p->col_near, &p->row_near};
    int64_t **wholes_of[] = {&p->left, &p->right, &p->degree, &p->via, &p->row_via,
                             &p->seen, &p->rows, &p->cols, &p->at_row, &p->at_col};
    for (size_t k = 0; k < sizeof reals_of / sizeof *reals_of; k++)
        *reals_of[k] = piece(room, line);
    for (size_t k = 0; k < sizeof wholes_of / sizeof *wholes_of; k++)
        *wholes_of[k] = piece(room, line);
    p->c = piece(room, square);
    p->feeders = piece(room, square);
    p->sent = piece(room, square);
    return 1;
}

INLINE void swap(int64_t **a, int64_t **b) {
    int64_t *held = *a;
    *a = *b;
    *b = held;
}

/* Problems lo to hi of a batch: cost[k] in units of mass; with `want` the flow and v, too.

   Problem k has shape (shapes[2 k], shapes[2 k + 1]); left[left_at[k]...] and right[right_at[k]...]
   are its whole-number masses. Rows and columns without mass are left out of the problem. */
KERNEL solve_range(const double *flat, const int64_t *starts, const int64_t *shapes,
                   const int64_t *left, const int64_t *left_at, const int64_t *right,
                   const int64_t *right_at, int64_t lo, int64_t hi, double *cost, int64_t want,
                   double *flow, double *potentials) {
    problem p;
    scratch room;
    int64_t longest = 1;
    for (int64_t k = 2 * lo; k < 2 * hi; k++)
        longest = larger(longest, shapes[k]);
    if (!make_room(&p, &room, longest))
        return 1;
    for (int64_t k = lo; k < hi; k++) {
        int64_t all_m = shapes[2 * k + 1];
        const double *given = flat + starts[k];
        p.n = with_mass(left + left_at[k], shapes[2 * k], p.at_row, p.left);
        p.m = with_mass(right + right_at[k], all_m, p.at_col, p.right);
        if (p.n == 0) { /* no mass to move */
            cost[k] = 0.0;
            continue;
        }
        int64_t row_step = all_m, col_step = 1;
        int turned = p.n < p.m; /* rows on the longer side: less mass each, fewer have to be split */
        if (turned) {
            int64_t n = p.n;
            p.n = p.m, p.m = n;
            swap(&p.left, &p.right);
            swap(&p.at_row, &p.at_col);
            row_step = 1, col_step = all_m;
        }
        p.width = padded(p.m);
        for (int64_t i = 0; i < p.n; i++) {
            const double *row = given + p.at_row[i] * row_step;
            double *c = p.c + i * p.width;
            for (int64_t j = 0; j < p.m; j++)
                c[j] = row[p.at_col[j] * col_step];
            for (int64_t j = p.m; j < p.width; j++)
                c[j] = INFINITE;
        }
        for (int64_t j = p.m; j < p.width; j++)
            p.right[j] = 0;
        solve(&p);
        double total = 0.0;
        for (int64_t j = 0; j < p.m; j++)
            for (int64_t r = 0; r < p.degree[j]; r++) {
                int64_t i = p.feeders[j * p.n + r];
                double mass = (double)p.sent[j * p.n + r];
                total += mass * p.c[i * p.width + j];
                if (want)
                    flow[starts[k] + p.at_row[i] * row_step + p.at_col[j] * col_step] = mass;
            }
        cost[k] = total;
        if (want && turned)
            for (int64_t i = 0; i < p.n; i++)
                potentials[right_at[k] + p.at_row[i]] = p.u[i];
        else if (want)
            for (int64_t j = 0; j < p.m; j++)
                potentials[right_at[k] + p.at_col[j]] = p.v[j];
    }
    free(room.block);
    return 0;
}

/* RWMD: each side sends its mass to the nearest point with mass; the greater of the two. */
KERNEL relaxed_range(const double *flat, const int64_t *starts, const int64_t *shapes,
                     const int64_t *left, const int64_t *left_at, const int64_t *right,
                     const int64_t *right_at, int64_t lo, int64_t hi, double *cost) {
    int64_t longest = 1;
    scratch room;
    for (int64_t k = 2 * lo; k < 2 * hi; k++)
        longest = larger(longest, shapes[k]);
    if (!reserve(&room, 2 * rounded((size_t)padded(longest) * 8)))
        return 1;
    double *row = piece(&room, (size_t)padded(longest) * 8);
    double *by_col = piece(&room, (size_t)padded(longest) * 8);
    for (int64_t k = lo; k < hi; k++) {
        int64_t n = shapes[2 * k], m = shapes[2 * k + 1], width = padded(m);
        const int64_t *a = left + left_at[k], *b = right + right_at[k];
        const double *c = flat + starts[k];
        double from_rows = 0.0, from_cols = 0.0;
        for (int64_t j = 0; j < width; j++)
            row[j] = by_col[j] = INFINITE;
        for (int64_t i = 0; i < n; i++, c += m) {
            if (a[i] == 0)
                continue;
            for (int64_t j = 0; j < m; j++)
                row[j] = b[j] > 0 ? c[j] : INFINITE;
            for (int64_t j = 0; j < width; j += WIDE)
                *(reals *)(by_col + j) = lesser(*(reals *)(by_col + j), *(reals *)(row + j));
            from_rows += (double)a[i] * least_of(row, width);
        }
        for (int64_t j = 0; j < m; j++)
            from_cols += b[j] > 0 ? (double)b[j] * by_col[j] : 0.0;
        cost[k] = from_rows > from_cols ? from_rows : from_cols;
    }
    free(room.block);
    return 0;
}
