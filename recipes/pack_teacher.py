"""The English teacher's published weights, as `mtgauge train` reads them.

    python recipes/pack_teacher.py model.safetensors --out teacher.npz

For all-mpnet-base-v2 (Apache-2.0): int8 rows, about a quarter of fp32, the --teacher of `mtgauge
train teacher`, `sample` and `encoder`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from safetensors.torch import load_file

from mtgauge.train.nets.weights import quantise_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("weights", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    found = {name: value.float().numpy() for name, value in load_file(args.weights).items()}
    np.savez(args.out, **quantise_rows(found))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
