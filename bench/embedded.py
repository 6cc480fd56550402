"""The embedded models: sentences a second on one core, opening time, resident memory; retrieval.

    python bench/embedded.py [--sentences 192] [--export WEIGHTS CORPUS]
    python bench/embedded.py --retrieval CORPUS

--retrieval prints P@1: how often the translation of a held-out sentence (what `mtgauge train
prepare` kept out) is the nearest of a thousand by the cosine of mean vectors of the last layer.

The peer, in the same run, is the same encoder in float32, its int8 weights unpacked beforehand.
With --export the fast form (`mtgauge train export --form rows`) is timed beside them.
CPU time of one thread is used, so that a busy machine says little about the ratios.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

MODELS = Path(__file__).parent.parent / "src" / "mtgauge" / "models"


def unpacked(path: Path) -> bytes:
    """The model with every MatMulNBits as a float32 MatMul."""
    model = onnx.load(path)
    tables = {t.name: t for t in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "MatMulNBits":
            whole, scale = (numpy_helper.to_array(tables[n]) for n in node.input[1:3])
            weight = ((whole.astype(np.float32) - 128) * scale[..., None]).reshape(len(whole), -1)
            plain = numpy_helper.from_array(np.ascontiguousarray(weight.T), node.input[1] + "f")
            model.graph.initializer.append(plain)
            node.CopyFrom(helper.make_node("MatMul", [node.input[0], plain.name], node.output))
    blob: bytes = model.SerializeToString()
    return blob


def opened(model: bytes | str) -> tuple[Any, float]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    began = time.perf_counter()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session, time.perf_counter() - began


def means(session: Any, rows: list[list[int]]) -> np.ndarray:
    """Unit mean vector of the last layer for each row of pieces."""
    out = np.zeros((len(rows), 384))
    for part in np.array_split(np.argsort([len(r) for r in rows]), max(1, len(rows) // 48)):
        ids = np.zeros((len(part), max(len(rows[i]) for i in part)), np.int64)
        for line, i in zip(ids, part, strict=True):
            line[: len(rows[i])] = rows[i]
        mask = (ids > 0).astype(np.int64)
        states = session.run(["layer_6"], {"input_ids": ids, "attention_mask": mask})[0]
        mean = (states * mask[..., None]).sum(1)
        out[part] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    return out


def print_retrieval(corpus: Path) -> None:
    from mtgauge.train.build import load_pieces
    from mtgauge.train.prepare import load_pairs

    pieces = load_pieces(corpus, "student")
    session, _ = opened(str(MODELS / "encoder" / "model.onnx"))
    print("| language | pairs | to English | from English |\n| --- | --- | --- | --- |")
    for lang in sorted(file.stem for file in corpus.glob("??.npz")):
        pairs = load_pairs(corpus / "heldout.npz", lang + ".")
        x, y = (
            means(session, [
                [1, *[int(p) for word in side.row(i) for p in pieces.row(int(word))][:200], 2]
                for i in range(len(pairs))
            ])
            for side in (pairs.source, pairs.target)
        )  # fmt: skip
        near, own = x @ y.T, np.arange(len(pairs))
        to, back = (near.argmax(1) == own).mean(), (near.argmax(0) == own).mean()
        print(f"| {lang} | {len(pairs)} | {to:.3f} | {back:.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=192)
    parser.add_argument("--pieces", type=int, default=32)
    parser.add_argument("--export", type=Path, nargs=2, metavar=("WEIGHTS", "CORPUS"))
    parser.add_argument("--retrieval", type=Path, metavar="CORPUS")
    args = parser.parse_args()
    if args.retrieval:
        print_retrieval(args.retrieval)
        return
    size = (args.sentences, args.pieces)
    ids = np.random.default_rng(0).integers(300, 48_000, size)
    given = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    path = MODELS / "encoder" / "model.onnx"
    models: dict[str, bytes | str] = {
        "encoder, int8": str(path),
        "encoder, float32": unpacked(path),
    }
    with tempfile.TemporaryDirectory() as folder:
        if args.export:
            from mtgauge.train.export import export

            weights, corpus = args.export
            export("encoder", weights, corpus, Path(folder), form="rows")
            models["encoder, int8 rows"] = (Path(folder) / "model.onnx").read_bytes()
    rates: dict[str, float] = {}
    opening: dict[str, float] = {}
    sessions: dict[str, Any] = {}
    for name, model in models.items():
        sessions[name], opening[name] = opened(model)
    for name in [*sessions] * 3:
        began = time.process_time()
        for part in range(0, len(ids), 64):
            batch = {key: value[part : part + 64] for key, value in given.items()}
            sessions[name].run(["layer_5"], batch)
        rate = len(ids) / (time.process_time() - began)
        rates[name] = max(rate, rates.get(name, 0.0))
    session, opening["fluency, int8"] = opened(str(MODELS / "fluency" / "model.onnx"))
    began = time.process_time()
    session.run(None, {"input_ids": ids[:32]})
    rates["fluency, int8"] = 32 / (time.process_time() - began)
    base = rates["encoder, float32"]
    print(f"{args.pieces} pieces a sentence, one core, layer 5\n")
    print("| model | sentences/s | to float32 | opens in |\n| --- | --- | --- | --- |")
    for name, rate in rates.items():
        print(f"| {name} | {rate:.0f} | {rate / base:.2f} | {opening[name]:.2f} s |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak resident memory with all of them open: {peak:.0f} MB")


if __name__ == "__main__":
    main()
