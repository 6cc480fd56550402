"""Many matrices of different shapes in one buffer, row by row, one after another.

packed = Matrices.pack([costs_a, costs_b])
packed[1]                                # a view of the second matrix
len(packed), packed.shapes               # 2, [[n0, m0], [n1, m1]]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtgauge.errors import UsageError


@dataclass(frozen=True)
class Matrices:
    """`flat` holds matrix i, of shape `shapes[i]`, from `starts[i]` on."""

    flat: NDArray[np.float64]
    shapes: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.shapes.ndim != 2 or self.shapes.shape[1:] != (2,):
            raise UsageError(f"Shapes have to be (k, 2), not {self.shapes.shape}.")
        wanted = int(self.shapes.prod(axis=1).sum())
        if self.flat.shape != (wanted,):
            raise UsageError(f"{len(self.flat)} values where the shapes need {wanted}.")

    @classmethod
    def pack(cls, matrices: Sequence[ArrayLike]) -> Matrices:
        arrays = [np.asarray(matrix, dtype=np.float64) for matrix in matrices]
        for i, array in enumerate(arrays):
            if array.ndim != 2:
                raise UsageError(f"Matrix {i} has shape {array.shape}: it needs two axes.")
        shapes = np.array([a.shape for a in arrays], dtype=np.int64).reshape(len(arrays), 2)
        flat = np.concatenate([a.ravel() for a in arrays]) if arrays else np.empty(0)
        return cls(flat, shapes)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        sizes = self.shapes.prod(axis=1)
        return np.asarray(np.cumsum(sizes) - sizes, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, i: int) -> NDArray[np.float64]:
        n, m = self.shapes[i].tolist()
        start = int(self.starts[i])
        return self.flat[start : start + n * m].reshape(n, m)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return (self[i] for i in range(len(self)))
