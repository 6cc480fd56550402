"""The compiled loops of transport: the solver and the relaxed bound.

The solver is the successive-shortest-path method on dual potentials (the transportation form of
Jonker and Volgenant's assignment algorithm). It keeps a flow F and potentials u, v with

    c_ij - u_i - v_j >= 0 for all i, j,      and = 0 where F_ij > 0,

which makes F optimal for the mass that it has moved so far; v starts at the column minima and u
at the row minima of what is left. Then, while some row has mass left, Dijkstra's search on the
reduced costs finds the nearest column that still wants mass, going on from a full column through
the rows that feed it; the potentials move by the distances found, and the path is filled.

Masses are whole numbers (int64), so no dust of rounding is ever carried around: a row is empty
or it is not. Costs are double precision. Rows are padded to whole vectors with infinite cost.
"""

# Numba infers the types of what follows; annotations would not be read by it.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from mtgauge.compare.jit import fmin, inner, kernel

LANES = 4


@inner
def _send(mass, source, sink, via, row_via, flow, feeders, degree):
    """Send `mass` along the path found from the row `source` to the column `sink`."""
    j = sink
    while True:
        i = via[j]
        at = 0
        while at < degree[j] and feeders[j, at] != i:
            at += 1
        if at == degree[j]:
            feeders[j, at] = i
            degree[j] += 1
            flow[j, i] = mass
        else:
            flow[j, i] += mass
        if i == source:
            break
        j = row_via[i]
        flow[j, i] -= mass
        if flow[j, i] == 0:
            at = 0
            while feeders[j, at] != i:
                at += 1
            degree[j] -= 1
            feeders[j, at] = feeders[j, degree[j]]


@inner
def _solve(c, left, right, flow, feeders, degree, u, v, open_v, near, via,
           row_near, row_via, seen, rows, cols, col_near):  # fmt: skip
    """Optimal flow of one problem, in place.

    c (n, width) costs; left (n), right (width) masses, used up; flow (m, n) transposed;
    feeders (m, n) and degree (m): the rows that feed each column; u (n), v (width) potentials.
    The rest is scratch: `near`, `via` and `open_v` belong to the columns of one search (distance,
    row before, potential or -inf once the column is done), `row_near`, `row_via` to its rows.
    """
    width = c.shape[1]
    m, n = flow.shape
    for j in range(width):
        v[j] = c[0, j]
    for i in range(1, n):
        for j in range(width):
            v[j] = fmin(v[j], c[i, j])
    for j in range(m, width):
        v[j] = -np.inf
    for j in range(m):
        degree[j] = 0
    for i in range(n):
        seen[i] = -1
        least = np.inf
        for j in range(width):
            least = fmin(least, c[i, j] - v[j])
        u[i] = least
        for j in range(m):
            if right[j] > 0 and c[i, j] - v[j] <= least:
                mass = min(left[i], right[j])
                flow[j, i] = mass
                left[i] -= mass
                right[j] -= mass
                feeders[j, degree[j]] = i
                degree[j] += 1
                if left[i] == 0:
                    break
    search = 0
    for source in range(n):
        while left[source] > 0:
            search += 1
            n_rows, n_cols = 1, 0
            rows[0] = source
            row_near[source] = 0.0
            seen[source] = search
            least = np.inf
            base = -u[source]
            for j in range(width):
                open_v[j] = v[j]
                near[j] = c[source, j] - v[j] + base
                via[j] = source
            for j in range(width):
                least = fmin(least, near[j])
            while True:
                sink = 0
                while near[sink] != least:
                    sink += 1
                if right[sink] > 0:
                    room = left[source]  # the least flow that the path takes back from a row
                    j, i = sink, via[sink]
                    while i != source:
                        j = row_via[i]
                        room = min(room, flow[j, i])
                        i = via[j]
                    mass = min(room, right[sink])
                    left[source] -= mass
                    right[sink] -= mass
                    _send(mass, source, sink, via, row_via, flow, feeders, degree)
                    if mass == room:
                        break
                    # the column is full, but the tree still stands: the search goes on
                cols[n_cols] = sink
                n_cols += 1
                col_near[sink] = least
                open_v[sink] = -np.inf  # from now on every way to it is infinitely long
                near[sink] = np.inf
                for r in range(degree[sink]):
                    i = feeders[sink, r]
                    if seen[i] != search:
                        seen[i] = search
                        row_via[i] = sink
                        row_near[i] = least
                        rows[n_rows] = i
                        n_rows += 1
                        base = least - u[i]
                        for j in range(width):
                            way = c[i, j] - open_v[j] + base
                            before, row = near[j], via[j]
                            shorter = -np.int64(way < before)
                            near[j] = fmin(before, way)
                            via[j] = row ^ ((row ^ i) & shorter)  # i where shorter, else row
                least = np.inf
                for j in range(width):
                    least = fmin(least, near[j])
            for r in range(n_rows):
                u[rows[r]] += least - row_near[rows[r]]
            for r in range(n_cols):
                v[cols[r]] -= least - col_near[cols[r]]


@inner
def _with_mass(masses, start, size, at, mass):
    """Which of the points have mass, and how much; returns their number."""
    found = 0
    for i in range(size):
        if masses[start + i] > 0:
            at[found], mass[found] = i, masses[start + i]
            found += 1
    return found


@kernel
def solve_range(flat, starts, shapes, left, left_at, right, right_at, lo, hi,
                cost, want, flow, potentials):  # fmt: skip
    """Problems lo to hi of a batch: cost[p] in units of mass; with `want` the flow and v, too.

    left[left_at[p]:] and right[right_at[p]:] are the whole-number masses. Rows and columns
    without mass are left out of the problem.
    """
    longest = 1
    for p in range(lo, hi):
        longest = max(longest, shapes[p, 0], shapes[p, 1])
    top = (longest + LANES - 1) // LANES * LANES
    c_buffer = np.empty(longest * top)
    buffers = np.empty((2, longest * longest), np.int64)
    # By number: unpacked at once they would be arrays of unknown stride, and loops over them slow.
    reals, whole = np.empty((6, top)), np.empty((10, top), np.int64)
    u, v, open_v, near = reals[0], reals[1], reals[2], reals[3]
    row_near, col_near = reals[4], reals[5]
    a, b, degree, at_row, at_col = whole[0], whole[1], whole[2], whole[3], whole[4]
    via, row_via, seen, rows, cols = whole[5], whole[6], whole[7], whole[8], whole[9]
    for p in range(lo, hi):
        all_m, start = shapes[p, 1], starts[p]
        n = _with_mass(left, left_at[p], shapes[p, 0], at_row, a)
        m = _with_mass(right, right_at[p], all_m, at_col, b)
        if n == 0:  # no mass to move
            cost[p] = 0.0
            continue
        row_step, col_step = all_m, 1
        turned = n < m  # rows on the longer side: less mass each, fewer of them have to be split
        if turned:
            n, m, a, b, at_row, at_col = m, n, b, a, at_col, at_row
            row_step, col_step = 1, all_m
        width = (m + LANES - 1) // LANES * LANES
        c = c_buffer[: n * width].reshape((n, width))
        for i in range(n):
            row = start + at_row[i] * row_step
            for j in range(m):
                c[i, j] = flat[row + at_col[j] * col_step]
            for j in range(m, width):
                c[i, j] = np.inf
        for j in range(m, width):
            b[j] = 0
        sent = buffers[0, : n * m].reshape((m, n))
        feeders = buffers[1, : n * m].reshape((m, n))
        _solve(c, a, b, sent, feeders, degree, u, v, open_v, near, via,
               row_near, row_via, seen, rows, cols, col_near)  # fmt: skip
        total = 0.0
        for j in range(m):
            for r in range(degree[j]):
                i = feeders[j, r]
                total += sent[j, i] * c[i, j]
                if want:
                    flow[start + at_row[i] * row_step + at_col[j] * col_step] = sent[j, i]
        cost[p] = total
        if want and turned:
            for i in range(n):
                potentials[right_at[p] + at_row[i]] = u[i]
        elif want:
            for j in range(m):
                potentials[right_at[p] + at_col[j]] = v[j]


@kernel
def relaxed_range(flat, starts, shapes, left, left_at, right, right_at, lo, hi, cost):  # fmt: skip
    """RWMD: each side sends its mass to the nearest point with mass; the greater of the two."""
    for p in range(lo, hi):
        n, m = shapes[p, 0], shapes[p, 1]
        a, b = left[left_at[p] : left_at[p] + n], right[right_at[p] : right_at[p] + m]
        c = flat[starts[p] : starts[p] + n * m].reshape((n, m))
        by_row, by_col = 0.0, 0.0
        for i in range(n):
            least = np.inf
            for j in range(m):
                if b[j] > 0:
                    least = fmin(least, c[i, j])
            by_row += a[i] * least if a[i] > 0 else 0.0
        for j in range(m):
            least = np.inf
            for i in range(n):
                if a[i] > 0:
                    least = fmin(least, c[i, j])
            by_col += b[j] * least if b[j] > 0 else 0.0
        cost[p] = max(by_row, by_col)
