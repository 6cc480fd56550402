"""Best matches of units that lie on a GPU: products and maxima there, scores alone come back.

    y_mean_p = sum_j w_j max_i x_i . y_j          x_mean_p = sum_i w_i max_j x_i . y_j

    means = best_means(x, (x_starts, x_sizes, x_weights), y, (y_starts, y_sizes, y_weights))

x and y are blocks of float32 vectors; pair p compares rows x_starts[p] : x_starts[p] + x_sizes[p]
of x with those of y. Pairs of like size are padded to one batched product in float32 (no tf32), so
that scores agree with the CPU's (`greedy.py`) to about 1e-6. The same code runs on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Int = NDArray[np.int64]
Float = NDArray[np.float64]
NUMBERS = 2**27  # of one side's padded vectors at once: 512 MB
ALIKE = 0.75  # a pair smaller than this share of the largest waits for the next product


class Side(NamedTuple):
    """Where the units of each pair are in a block, and what every unit of the block weighs."""

    block: Tensor  # (M, d)
    starts: Int  # (p,)
    sizes: Int  # (p,)
    weights: Float  # (M,)


def best_means(x: Side, y: Side) -> Float:
    """(p, 2): weighted means of the best matches of y's units and of x's (precision, recall)."""
    import torch

    largest = np.maximum(x.sizes, y.sizes)
    order = np.argsort(-largest, kind="stable")
    if not len(order):
        return np.empty((0, 2))
    device = x.block.device
    means = torch.empty((len(order), 2), dtype=torch.float64, device=device)
    with torch.inference_mode():
        sides = [_sent(side, order) for side in (x, y)]
        for lo, hi in _batches(largest[order], x.block.shape[1]):
            a, b = (_padded(side, slice(lo, hi)) for side in sides)
            products = torch.bmm(a.vectors, b.vectors.transpose(1, 2))
            inside = a.inside[:, :, None] & b.inside[:, None, :]
            products.masked_fill_(~inside, -torch.inf)
            means[lo:hi, 0] = b.mean(products.amax(1))
            means[lo:hi, 1] = a.mean(products.amax(2))
    found = np.empty((len(order), 2))
    found[order] = means.cpu().numpy()
    return found


class _Sent(NamedTuple):
    """A side whose pairs are in order of size, with all of it on the device."""

    block: Tensor
    starts: Tensor
    sizes: Tensor
    weights: Tensor
    lengths: Int  # the sizes, for the host


class _Padded(NamedTuple):
    vectors: Tensor  # (pairs, longest, d)
    weights: Tensor  # (pairs, longest)
    inside: Tensor  # (pairs, longest)

    def mean(self, best: Tensor) -> Tensor:
        """Weighted means of what each unit's best match is worth, of each pair."""
        import torch

        kept = torch.where(self.inside, best.double() * self.weights, 0.0)
        return kept.sum(1) / torch.where(self.inside, self.weights, 0.0).sum(1)


def _sent(side: Side, order: Int) -> _Sent:
    from mtgauge.encode.tokens.device import upload

    device = side.block.device
    starts, sizes = side.starts[order], side.sizes[order]
    return _Sent(
        side.block,
        upload(starts, device),
        upload(sizes, device),
        upload(side.weights, device),
        sizes,
    )


def _padded(side: _Sent, pairs: slice) -> _Padded:
    import torch

    longest = int(side.lengths[pairs].max())
    step = torch.arange(longest, device=side.block.device)
    inside = step < side.sizes[pairs, None]
    at = torch.where(inside, side.starts[pairs, None] + step, 0).flatten()
    vectors = side.block.index_select(0, at).view(len(inside), longest, -1)
    return _Padded(vectors, side.weights[at].view(inside.shape), inside)


def _batches(falling: Int, width: int) -> Iterator[tuple[int, int]]:
    """Pairs from lo to hi whose sizes are alike, few enough for the memory."""
    lo = 0
    while lo < len(falling):
        fit = max(NUMBERS // max(int(falling[lo]) * width, 1), 1)
        like = int(np.searchsorted(-falling, -ALIKE * falling[lo], side="right"))
        hi = min(lo + fit, like)
        yield lo, hi
        lo = hi
