/* TER's edits: Tercom's greedy search for block shifts, with sacrebleu's limits (see shifts.py).

   Words are numbers. A shift leaves the words before it alone, so the distance of a candidate is
   recomputed from the first moved row on. */

#include "lanes.h"

enum { BEAM = 25, LONGEST_SHIFT = 10, FARTHEST_SHIFT = 50, MOST_CANDIDATES = 1000 };
enum { KEEP, SUBSTITUTE, DELETE, INSERT };
#define UNREACHED (1 << 30)

/* The tables of one pair: distances of all beginnings and the last edit of each, (n + 1, m + 1). */
typedef struct {
    int64_t n, m;
    const int64_t *ref;
    int32_t *cost, *trial;
    int8_t *op, *trial_op;
    int64_t *align, *ref_wrong;           /* (m) */
    int64_t *hyp, *best, *moved, *hyp_wrong; /* (n) */
    int8_t *path;                          /* (n + m) */
} pair;

/* Fill rows `first`... of the edit-distance table; the row before must be there. */
static void distance(const pair *p, const int64_t *hyp, int32_t *cost, int8_t *op, int64_t first) {
    int64_t n = p->n, m = p->m, line = m + 1;
    if (first == 1)
        for (int64_t j = 0; j <= m; j++) {
            cost[j] = (int32_t)j;
            op[j] = INSERT;
        }
    double ratio = (double)m / (double)n;
    int64_t beam = BEAM;
    if (ratio / 2 > BEAM) { /* so unequal in length that two rows might not overlap */
        double wide = ratio / 2 + BEAM;
        beam = (int64_t)wide + ((double)(int64_t)wide < wide);
    }
    for (int64_t i = first; i <= n; i++) {
        int64_t middle = (int64_t)((double)i * ratio);
        int64_t low = larger(0, middle - beam), high = smaller(line, middle + beam);
        const int32_t *above = cost + (i - 1) * line;
        int32_t *here = cost + i * line;
        int8_t *what = op + i * line;
        if (i == n)
            high = line;
        for (int64_t j = 0; j < line; j++)
            here[j] = UNREACHED;
        for (int64_t j = low; j < high; j++) {
            if (j == 0) {
                here[0] = above[0] + 1;
                what[0] = DELETE;
                continue;
            }
            /* of equals the first: substitution, deletion, insertion */
            int same = hyp[i - 1] == p->ref[j - 1];
            int32_t best = above[j - 1] + !same;
            int8_t edit = same ? KEEP : SUBSTITUTE;
            if (above[j] + 1 < best) {
                best = above[j] + 1;
                edit = DELETE;
            }
            if (here[j - 1] + 1 < best) {
                best = here[j - 1] + 1;
                edit = INSERT;
            }
            if (best < UNREACHED) {
                here[j] = best;
                what[j] = edit;
            }
        }
    }
}

/* For each reference word the hypothesis word it stands at, and which words are wrong. */
static void alignment(pair *p) {
    int64_t steps = 0, i = p->n, j = p->m;
    while (i > 0 || j > 0) {
        int8_t what = p->op[i * (p->m + 1) + j];
        p->path[steps++] = what;
        i -= what != INSERT;
        j -= what != DELETE;
    }
    i = j = -1;
    while (steps-- > 0) {
        int8_t what = p->path[steps];
        if (what != INSERT)
            p->hyp_wrong[++i] = what != KEEP;
        if (what != DELETE) {
            p->ref_wrong[++j] = what != KEEP;
            p->align[j] = i;
        }
    }
}

/* `words` with words[start] to words[start + length] taken out and put before `target`.

   A target inside the run itself counts in words after it, which is Tercom's reading. */
static void move(const int64_t *words, int64_t n, int64_t start, int64_t length, int64_t target,
                 int64_t *out) {
    int64_t place = target > start + length ? target - length : target, i = 0;
    for (int64_t k = 0; k < n; k++) {
        if (k >= start && k < start + length)
            continue;
        if (i == place)
            i += length;
        out[i++] = words[k];
    }
    for (int64_t k = 0; k < length; k++)
        out[place + k] = words[start + k];
}

/* Whether a rank is above another, by its first number that differs. */
static int above(const int64_t *rank, const int64_t *other) {
    for (int k = 0; k < 4; k++)
        if (rank[k] != other[k])
            return rank[k] > other[k];
    return 0;
}

/* The move that lowers the distance most, into p->best: returns by how much. */
static int64_t best_shift(pair *p, int64_t *tried) {
    int64_t n = p->n, m = p->m, line = m + 1, end = n * line + m;
    int64_t best_rank[4] = {-UNREACHED, 0, 0, 0};
    alignment(p);
    for (int64_t h = 0; h < n; h++)
        for (int64_t r = larger(0, h - FARTHEST_SHIFT); r < smaller(m, h + FARTHEST_SHIFT + 1); r++) {
            int64_t wrong_h = 0, wrong_r = 0;
            int64_t longest = smaller(LONGEST_SHIFT, smaller(n - h, m - r));
            for (int64_t length = 1; length <= longest; length++) {
                if (p->hyp[h + length - 1] != p->ref[r + length - 1])
                    break;
                wrong_h += p->hyp_wrong[h + length - 1];
                wrong_r += p->ref_wrong[r + length - 1];
                if (!wrong_h || !wrong_r || (h <= p->align[r] && p->align[r] < h + length))
                    continue;
                int64_t last = -1;
                for (int64_t offset = -1; offset < length; offset++) {
                    int64_t target = r + offset == -1 ? 0 : p->align[r + offset] + 1;
                    if (target == last)
                        continue;
                    last = target;
                    move(p->hyp, n, h, length, target, p->moved);
                    int64_t row = smaller(h, target) + 1; /* the first row that the move changes */
                    memcpy(p->trial + (row - 1) * line, p->cost + (row - 1) * line,
                           (size_t)line * sizeof(int32_t));
                    distance(p, p->moved, p->trial, p->trial_op, row);
                    ++*tried;
                    int64_t rank[4] = {p->cost[end] - p->trial[end], length, -h, -target};
                    if (above(rank, best_rank)) {
                        memcpy(best_rank, rank, sizeof rank);
                        int64_t *held = p->best;
                        p->best = p->moved;
                        p->moved = held;
                    }
                }
                if (*tried >= MOST_CANDIDATES)
                    return best_rank[0];
            }
        }
    return best_rank[0];
}

/* Edits that turn the hypothesis into the reference. */
static int64_t edits(pair *p) {
    if (p->n == 0 || p->m == 0)
        return p->n + p->m;
    for (int64_t shifts = 0, tried = 0;; shifts++) {
        distance(p, p->hyp, p->cost, p->op, 1);
        int64_t gain = best_shift(p, &tried);
        if (tried >= MOST_CANDIDATES || gain <= 0)
            return shifts + p->cost[p->n * (p->m + 1) + p->m];
        int64_t *held = p->hyp;
        p->hyp = p->best;
        p->best = held;
    }
}

/* Edits of pairs lo to hi (left[k], right[k]) of texts; text t is words[start[t]...start[t + 1]]. */
KERNEL all_edits(const int64_t *words, const int64_t *start, const int64_t *left,
                 const int64_t *right, int64_t lo, int64_t hi, int64_t *out) {
    int64_t n = 1, m = 1;
    for (int64_t k = lo; k < hi; k++) {
        n = larger(n, start[left[k] + 1] - start[left[k]]);
        m = larger(m, start[right[k] + 1] - start[right[k]]);
    }
    size_t cells = (size_t)(n + 1) * (size_t)(m + 1), longest = (size_t)(n + m) * 8;
    scratch room;
    pair p;
    if (!reserve(&room, 2 * rounded(4 * cells) + 2 * rounded(cells) + 7 * rounded(longest)))
        return 1;
    p.cost = piece(&room, 4 * cells);
    p.trial = piece(&room, 4 * cells);
    p.op = piece(&room, cells);
    p.trial_op = piece(&room, cells);
    p.align = piece(&room, longest);
    p.ref_wrong = piece(&room, longest);
    p.hyp = piece(&room, longest);
    p.best = piece(&room, longest);
    p.moved = piece(&room, longest);
    p.hyp_wrong = piece(&room, longest);
    p.path = piece(&room, longest);
    for (int64_t k = lo; k < hi; k++) {
        p.n = start[left[k] + 1] - start[left[k]];
        p.m = start[right[k] + 1] - start[right[k]];
        p.ref = words + start[right[k]];
        memcpy(p.hyp, words + start[left[k]], (size_t)p.n * sizeof(int64_t));
        out[k] = edits(&p);
    }
    free(room.block);
    return 0;
}
