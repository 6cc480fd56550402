/* The transport problems of Semantic Travel Distance; semantic.py has the formulas.

   Everything follows from the dot products g of the words of a pair, since the dot product of two
   n-grams is the sum of those of their words, and a centroid is a sum of n-grams. */

#include "tiles.h"

#define UNITS 0x1p60

INLINE double root(double square) { return __builtin_sqrt(square > 0.0 ? square : 0.0); }

/* The nearest whole number, of two as near the even one, of 0 <= x < 2^62. */
INLINE int64_t nearest(double x) {
    return (int64_t)(x < 0x1p52 ? (x + 0x1p52) - 0x1p52 : x);
}

/* e^x for |x| < 700 to about one unit in the last place, the same on every machine: x = k ln 2 + r,
   Taylor's series of e^r, |r| <= ln(2) / 2, up to r^13 / 13!. */
static double exponential(double x) {
    static const double inverse[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800,
                                     1.0 / 3628800,    1.0 / 362880,    1.0 / 40320,
                                     1.0 / 5040,       1.0 / 720,       1.0 / 120,
                                     1.0 / 24,         1.0 / 6,         1.0 / 2};
    double turns = x * 1.4426950408889634;
    int64_t k = (int64_t)(turns < 0 ? turns - 0.5 : turns + 0.5);
    /* ln 2 in two parts, the first with so few digits that its product with k is exact */
    double r = (x - (double)k * 0x1.62e42feep-1) - (double)k * 0x1.a39ef35793c76p-33;
    double sum = inverse[0];
    for (size_t t = 1; t < sizeof inverse / sizeof *inverse; t++)
        sum = sum * r + inverse[t];
    int64_t bits = (k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return (1.0 + (r + r * r * sum)) * power;
}

/* Number the words of a text by first appearance; returns how many there are by now. */
static int64_t number_words(const int64_t *words, int64_t size, int64_t *names, int64_t found,
                            int64_t *out) {
    for (int64_t k = 0; k < size; k++) {
        int64_t at = 0;
        while (at < found && names[at] != words[k])
            at++;
        if (at == found)
            names[found++] = words[k];
        out[k] = at;
    }
    return found;
}

/* The n-grams of both texts, V: their words, and per text where each stands and how often. */
typedef struct {
    int64_t n, size, most; /* order, number of n-grams, room for words of each */
    int64_t *keys, *words; /* (size), (size, most) */
    double *place[2];      /* relative place of its last occurrence; 0 where it is not */
    int64_t *count[2];
} vocabulary;

/* Enter the n-grams of a text into V; a text shorter than n repeats its last word. */
static void enter(vocabulary *v, int side, const int64_t *text, int64_t size, int64_t base) {
    int64_t n = v->n, listed = larger(size - n + 1, 1);
    for (int64_t k = 0; k < listed; k++) {
        int64_t key = 0, at = 0;
        for (int64_t t = 0; t < n; t++)
            key = key * base + text[smaller(k + t, size - 1)];
        while (at < v->size && v->keys[at] != key)
            at++;
        if (at == v->size) {
            v->size++;
            v->keys[at] = key;
            for (int64_t t = 0; t < n; t++)
                v->words[at * v->most + t] = text[smaller(k + t, size - 1)];
            v->place[0][at] = v->place[1][at] = 0.0;
            v->count[0][at] = v->count[1][at] = 0;
        }
        v->place[side][at] = (double)(k + 1) / (double)listed;
        v->count[side][at]++;
    }
}

/* Shares of a mass as whole numbers that sum to 2^60; the greatest takes what rounding leaves. */
static void to_whole(int64_t size, const double *mass, double total, int64_t *whole) {
    int64_t left = (int64_t)UNITS, greatest = 0;
    for (int64_t i = 0; i < size; i++) {
        whole[i] = nearest(mass[i] / total * UNITS);
        left -= whole[i];
        if (whole[i] > whole[greatest])
            greatest = i;
    }
    whole[greatest] += left;
}

/* nSIM of one text as whole numbers that sum to 2^60. `dots` is symmetric. */
static void similar_masses(const vocabulary *v, int side, const double *dots, int of_set,
                           double *mass, int64_t *whole) {
    int64_t size = v->size;
    const int64_t *count = v->count[side];
    double total = 0.0, square = 0.0;
    for (int64_t i = 0; i < size; i++) {
        mass[i] = 0.0;
        total += (double)(of_set ? smaller(count[i], 1) : count[i]);
    }
    for (int64_t j = 0; j < size; j++) {
        double weight = (double)(of_set ? smaller(count[j], 1) : count[j]) / total;
        if (weight > 0)
            for (int64_t i = 0; i < size; i++)
                mass[i] += weight * dots[j * size + i];
    }
    for (int64_t j = 0; j < size; j++)
        square += (double)(of_set ? smaller(count[j], 1) : count[j]) / total * mass[j];
    double norm = root(square);
    total = 0.0;
    for (int64_t i = 0; i < size; i++) {
        double length = norm * root(dots[i * size + i]);
        double similar = length > 0 ? mass[i] / length : 0.0;
        mass[i] = exponential(v->place[side][i] > 0 ? 1.0 : similar);
        total += mass[i];
    }
    to_whole(size, mass, total, whole);
}

/* Mass by count and word weight, as whole numbers that sum to 2^60; by count if all weigh 0. */
static void counted_masses(const vocabulary *v, int side, const int64_t *names,
                           const double *weights, double *mass, int64_t *whole) {
    double total = 0.0;
    for (int64_t i = 0; i < v->size; i++) {
        mass[i] = 0.0;
        for (int64_t t = 0; t < v->n; t++)
            mass[i] += (double)v->count[side][i] * weights[names[v->words[i * v->most + t]]]
                       / (double)v->n;
        total += mass[i];
    }
    if (total <= 0.0)
        for (int64_t i = 0; i < v->size; i++) {
            mass[i] = (double)v->count[side][i];
            total += mass[i];
        }
    to_whole(v->size, mass, total, whole);
}

/* O_ij: i in the reference against j in the hypothesis; the other way round if that is 0. */
INLINE double moved(double place_i, double place_j, double other_i, double other_j) {
    double far = 0.0;
    if (place_i > 0 && other_j > 0)
        far = __builtin_fabs(place_i - other_j);
    if (far == 0.0 && other_i > 0 && place_j > 0)
        far = __builtin_fabs(other_i - place_j);
    return far;
}

/* From the dot products of n-grams to ground distances, in place. */
static void to_distances(const vocabulary *v, double *dots, double semantic, double order,
                         double *norms) {
    int64_t size = v->size;
    const double *place = v->place[0], *other = v->place[1];
    for (int64_t i = 0; i < size; i++)
        norms[i] = root(dots[i * size + i]);
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < size; j++) {
            double length = norms[i] * norms[j];
            double similar = length > 0 ? dots[i * size + j] / length : 0.0;
            similar = similar < 0.0 ? 0.0 : similar > 1.0 ? 1.0 : similar;
            double apart = i == j ? 0.0 : 1.0 - similar;
            dots[i * size + j] =
                semantic * apart + order * moved(place[i], place[j], other[i], other[j]);
        }
}

/* Dot products of the words of a pair, in double: their vectors are widened first. */
static void word_products(const float *table, int64_t d, const int64_t *names, int64_t known,
                          double *vectors, double *g) {
    double found[TILE_ROWS][TILE_COLS];
    for (int64_t i = 0; i < known; i++)
        for (int64_t k = 0; k < d; k++)
            vectors[i * d + k] = table[names[i] * d + k];
    for (int64_t i = 0; i < known; i += TILE_ROWS)
        for (int64_t j = i / TILE_COLS * TILE_COLS; j < known; j += TILE_COLS) {
            tile_double(vectors, i, known - 1, vectors, j, known - 1, d, 0, found);
            for (int r = 0; r < TILE_ROWS && i + r < known; r++)
                for (int c = 0; c < TILE_COLS && j + c < known; c++)
                    g[(i + r) * known + j + c] = g[(j + c) * known + i + r] = found[r][c];
        }
}

/* The transport problems of pairs lo to hi, one per order: costs, shapes and whole-number masses.

   table (types, d) holds the words' vectors; text t is words[offsets[t]...offsets[t + 1]]; pair p
   is text lefts[p] with text rights[p]. weights is NULL for nSIM. Problem o of pair p is number
   (p - lo) n_orders + o: its costs start at starts[...], its masses at mass_at[...]. */
KERNEL travel_problems(const float *table, int64_t d, const int64_t *words, const int64_t *offsets,
                       const int64_t *lefts, const int64_t *rights, int64_t lo, int64_t hi,
                       const int64_t *orders, int64_t n_orders, double semantic, double order,
                       int64_t of_set, int64_t cancel, const double *weights, double *flat,
                       const int64_t *starts, int64_t *shapes, int64_t *left, int64_t *right,
                       const int64_t *mass_at) {
    int64_t longest = 1;
    vocabulary v = {.most = 1};
    for (int64_t p = lo; p < hi; p++) {
        int64_t a_size = offsets[lefts[p] + 1] - offsets[lefts[p]];
        longest = larger(longest, a_size + offsets[rights[p] + 1] - offsets[rights[p]]);
    }
    for (int64_t o = 0; o < n_orders; o++)
        v.most = larger(v.most, orders[o]);
    size_t line = rounded((size_t)longest * 8), square = rounded((size_t)(longest * longest) * 8);
    size_t all = rounded((size_t)(longest * d) * 8), grams = rounded((size_t)(longest * v.most) * 8);
    scratch room;
    if (!reserve(&room, 9 * line + square + all + grams))
        return 1;
    int64_t *names = piece(&room, line), *a = piece(&room, line), *b = piece(&room, line);
    double *mass = piece(&room, line), *g = piece(&room, square), *vectors = piece(&room, all);
    v.keys = piece(&room, line);
    v.words = piece(&room, grams);
    for (int side = 0; side < 2; side++) {
        v.place[side] = piece(&room, line);
        v.count[side] = piece(&room, line);
    }
    for (int64_t p = lo; p < hi; p++) {
        int64_t a_size = offsets[lefts[p] + 1] - offsets[lefts[p]];
        int64_t b_size = offsets[rights[p] + 1] - offsets[rights[p]];
        int64_t known = number_words(words + offsets[lefts[p]], a_size, names, 0, a);
        known = number_words(words + offsets[rights[p]], b_size, names, known, b);
        word_products(table, d, names, known, vectors, g);
        for (int64_t o = 0; o < n_orders; o++) {
            int64_t at = (p - lo) * n_orders + o;
            int64_t *one = left + mass_at[at], *other = right + mass_at[at];
            double *dots = flat + starts[at];
            v.n = orders[o];
            v.size = 0;
            enter(&v, 0, a, a_size, known);
            enter(&v, 1, b, b_size, known);
            for (int64_t i = 0; i < v.size; i++)
                for (int64_t j = 0; j < v.size; j++) {
                    double total = 0.0;
                    for (int64_t t = 0; t < v.n; t++)
                        total += g[v.words[i * v.most + t] * known + v.words[j * v.most + t]];
                    dots[i * v.size + j] = total;
                }
            shapes[2 * at] = shapes[2 * at + 1] = v.size;
            if (weights) {
                counted_masses(&v, 0, names, weights, mass, one);
                counted_masses(&v, 1, names, weights, mass, other);
            } else {
                similar_masses(&v, 0, dots, of_set != 0, mass, one);
                similar_masses(&v, 1, dots, of_set != 0, mass, other);
            }
            to_distances(&v, dots, semantic, order, mass);
            for (int64_t i = 0; cancel && i < v.size; i++) {
                int64_t common = smaller(one[i], other[i]);
                one[i] -= common;
                other[i] -= common;
            }
        }
    }
    free(room.block);
    return 0;
}
