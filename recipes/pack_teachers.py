"""The two teachers' published weights, as `mtgauge train` reads them.

    python recipes/pack_teachers.py english model.safetensors --out teacher.npz
    python recipes/pack_teachers.py reader SmolLM2.gguf --out DIR      # reader-1.npz, reader-2.npz

`english` is all-mpnet-base-v2 (Apache-2.0), stored as int8 rows, about a quarter of fp32: the
--teacher of `train teacher`, `sample` and `encoder`. `reader` is SmolLM2-135M-Instruct
(Apache-2.0), the blocks of a GGUF file as they are (F32, Q4_1 and Q8_0 are read): the --reader of
`train fluency`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.torch import load_file

from mtgauge.train.nets.weights import quantise_rows


def pack_english(weights: Path, out: Path) -> None:
    """A safetensors file of the English teacher, as `Teacher.load` reads it."""
    found = {name: value.float().numpy() for name, value in load_file(weights).items()}
    np.savez(out, **quantise_rows(found))  # type: ignore[arg-type]


def pack_reader(gguf_file: Path, folder: Path, parts: int = 2) -> None:
    """The raw blocks of every tensor, spread over `parts` files of like size."""
    from gguf import GGUFReader

    tensors = GGUFReader(str(gguf_file)).tensors
    size, files = [0] * parts, [dict[str, NDArray[np.generic]]() for _ in range(parts)]
    for tensor in sorted(tensors, key=lambda t: -t.n_bytes):
        least = size.index(min(size))
        size[least] += tensor.n_bytes
        files[least][f"{tensor.name}:{tensor.tensor_type.name}"] = np.asarray(tensor.data)
    folder.mkdir(parents=True, exist_ok=True)
    for i, file in enumerate(files):
        np.savez(folder / f"reader-{i + 1}.npz", **file)  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("which", choices=("english", "reader"))
    parser.add_argument("weights", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    (pack_english if args.which == "english" else pack_reader)(args.weights, args.out)


if __name__ == "__main__":
    main()
