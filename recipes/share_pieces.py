"""Take the piece table out of a regressor that was trained with --freeze-embeddings.

    python recipes/share_pieces.py WHOLE OUT

WHOLE is a folder of `mtgauge train regressor`, OUT the same model without its piece table: an input
of the graph takes its place, which is given the table of the package's encoder when the model is
opened (`mtgauge/encode/shared.py`). Scores are the same to the last bit; the fingerprint is another
one, since the files are. A table that is not the encoder's to the last bit is refused.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import onnx
from onnx import helper

from mtgauge.data.output import make_folder
from mtgauge.encode.card import read_card
from mtgauge.encode.model_folder import fingerprint
from mtgauge.encode.onnx_graph import mapped_tables
from mtgauge.encode.shared import digest
from mtgauge.models import shipped
from mtgauge.train.onnx.card import write_card

NAMES = ("pieces.w", "pieces.s")
WHY = "Its piece table was not trained: it is the encoder's, and stands in that file alone."


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("whole", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    share(args.whole, args.out)


def share(whole: Path, out: Path) -> None:
    card = read_card(whole / "card.json", "regressor")
    kept = digest(mapped_tables(shipped("encoder") / "model.onnx", NAMES))
    if digest(mapped_tables(whole / "model.onnx", NAMES)) != kept:
        raise SystemExit(
            f"{whole} has another piece table than the package's encoder: train with "
            "--freeze-embeddings, from that encoder."
        )
    make_folder(out)
    (out / "model.onnx").write_bytes(without_tables(whole / "model.onnx").SerializeToString())
    shutil.copyfile(whole / "head.onnx", out / "head.onnx")
    shares = {"kind": "encoder", "names": list(NAMES), "sha256": kept, "why": WHY}
    mark = fingerprint(out, "regressor", kept)
    write_card(out, card | {"shares": shares, "fingerprint": mark})
    print(f"{card['fingerprint']} is now {mark}")


def without_tables(path: Path) -> onnx.ModelProto:
    """The model with inputs of the same names instead of the tables."""
    model = onnx.load(path)
    tables = list(model.graph.initializer)
    del model.graph.initializer[:]
    for table in tables:
        if table.name in NAMES:
            about = helper.make_tensor_value_info(table.name, table.data_type, list(table.dims))
            model.graph.input.append(about)
        else:
            model.graph.initializer.append(table)
    return model


if __name__ == "__main__":
    main()
