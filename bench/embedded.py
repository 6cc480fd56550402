"""The embedded models: sentences a second on one core, opening time, resident memory; retrieval.

    python bench/embedded.py [--models FOLDER] [--sentences 192] [--pieces 32]
    python bench/embedded.py --retrieval CORPUS

FOLDER holds `encoder` and `fluency` as `mtgauge train export` writes them (the package's).
The encoder runs up to the layer that metrics use by default, as they run it. The peer, in the same
run, is the same model in float32, its int8 weights unpacked beforehand. CPU time of one thread is
used, the best of several rounds in turn, so that a busy machine says little about the ratios.

Memory and opening time are those of a fresh process that opens the models as a metric does, and
reads 64 sentences.

--retrieval prints P@1, the mean of both directions: how often the translation of a held-out
sentence (what `mtgauge train prepare` kept out) is the nearest of all of them by the cosine of mean
vectors of the last layer; and by that cosine over its mean with the four nearest neighbours of
either side (the ratio margin of Artetxe and Schwenk 2019), which is how translations are searched
for.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from mtgauge.encode.trim import keep_outputs

MODELS = Path(__file__).parent.parent / "src" / "mtgauge" / "models"
TOKENS = 512  # a batch, as in mtgauge.encode.embedded
ROUNDS = 5
INTEGER = "MatMulIntegerToFloat"


def unpacked(path: Path) -> bytes:
    """The model with every int8 product as a float32 MatMul, and nothing quantised before it."""
    model = onnx.load(path)
    graph = model.graph
    tables = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    made_by = {output: node for node in graph.node for output in node.output}
    steps_of = {node.input[0]: node for node in graph.node if node.op_type == "Mul"}

    def plain(node: NodeProto, x: str, factor: Any = 1.0) -> None:
        turned = node.input[1] not in tables  # the piece table, by a Transpose
        name = made_by[node.input[1]].input[0] if turned else node.input[1]
        whole = tables[name].T if turned else tables[name]
        weight = whole * tables[node.input[3]] * np.reshape(factor, (-1, 1))
        float32 = numpy_helper.from_array(weight.astype(np.float32), name + ".float32")
        graph.initializer.append(float32)
        node.CopyFrom(helper.make_node("MatMul", [x, float32.name], node.output))

    for node in list(graph.node):
        if node.op_type == INTEGER:
            balanced = made_by[made_by[made_by[node.input[0]].input[0]].input[0]]
            plain(node, balanced.input[0], tables[balanced.input[1]])
            scaled = steps_of[node.output[0]]
            scaled.CopyFrom(helper.make_node("Identity", node.output, scaled.output))
        elif node.op_type == "Scan":
            body: GraphProto = node.attribute[0].g
            for inner in body.node:
                if inner.op_type == INTEGER:
                    plain(inner, inner.input[0])
                    body.input[0].type.tensor_type.elem_type = TensorProto.FLOAT
    for node in graph.node:
        if node.op_type == "QuantizeLinear":
            node.CopyFrom(helper.make_node("Identity", node.input[:1], node.output))
    blob: bytes = model.SerializeToString()
    return blob


def opened(model: bytes) -> tuple[Any, float]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    began = time.perf_counter()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session, time.perf_counter() - began


def means(session: Any, rows: list[list[int]], output: str, dim: int) -> np.ndarray:
    """Unit mean vector of a layer for each row of pieces, its end marks among them."""
    out = np.zeros((len(rows), dim))
    for part in np.array_split(np.argsort([len(r) for r in rows]), max(1, len(rows) // 48)):
        ids = np.zeros((len(part), max(len(rows[i]) for i in part)), np.int64)
        for line, i in zip(ids, part, strict=True):
            line[: len(rows[i])] = rows[i]
        mask = (ids > 0).astype(np.int64)
        states = session.run([output], {"input_ids": ids, "attention_mask": mask})[0]
        mean = (states * mask[..., None]).sum(1)
        out[part] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    return out


def print_retrieval(models: Path, corpus: Path) -> None:
    from mtgauge.train.embedded.prepare import load_pairs, load_pieces

    pieces = load_pieces(corpus, "student")
    session, _ = opened((models / "encoder" / "model.onnx").read_bytes())
    card = json.loads((models / "encoder" / "card.json").read_text(encoding="utf-8"))
    print("| language | pairs | cosine | margin |\n| --- | --- | --- | --- |")
    for lang in sorted(file.stem for file in corpus.glob("??.npz")):
        pairs = load_pairs(corpus / "heldout.npz", lang + ".")
        if not len(pairs):
            continue
        x, y = (
            means(session, [
                [1, *[int(p) for word in side.row(i) for p in pieces.row(int(word))][:200], 2]
                for i in range(len(pairs))
            ], f"layer_{card['layers']}", card["dim"])
            for side in (pairs.source, pairs.target)
        )  # fmt: skip
        near = x @ y.T
        plain, margin = found_first(near), found_first(near / around(near))
        print(f"| {lang} | {len(pairs)} | {plain:.3f} | {margin:.3f} |", flush=True)


def around(near: np.ndarray, neighbours: int = 4) -> np.ndarray:
    """Mean similarity of each pair's two texts to their nearest neighbours."""
    rows = np.sort(near, 1)[:, -neighbours:].mean(1)
    columns = np.sort(near, 0)[-neighbours:].mean(0)
    return np.asarray((rows[:, None] + columns) / 2)


def found_first(near: np.ndarray) -> float:
    own = np.arange(len(near))
    hits = np.concatenate([near.argmax(1) == own, near.argmax(0) == own])
    return float(hits.mean())


def best_rates(runs: dict[str, Callable[[], int]]) -> dict[str, float]:
    """Sentences a second of each run, which returns how many it read; all take turns."""
    rates = dict.fromkeys(runs, 0.0)
    for name in [*runs] * ROUNDS:
        began = time.process_time()
        count = runs[name]()
        rates[name] = max(rates[name], count / (time.process_time() - began))
    return rates


def print_speed(models: Path, sentences: int, pieces: int) -> None:
    card = json.loads((models / "encoder" / "card.json").read_text(encoding="utf-8"))
    layer = f"layer_{card['default_layer']['reference']}"
    random = np.random.default_rng(0)
    texts = random.integers(300, card["vocabulary"], (sentences, pieces))
    pairs = np.concatenate([texts, texts[:, ::-1]], axis=1)
    pairs[:, pieces - 1] = 5  # the separator after the source
    runs: dict[str, Callable[[], int]] = {}

    def add(name: str, session: Any, output: str, ids: np.ndarray) -> None:
        size = max(1, TOKENS // ids.shape[1])

        def run() -> int:
            for at in range(0, len(ids), size):
                given = {"input_ids": ids[at : at + size]}
                if output != "logprobs":
                    given["attention_mask"] = np.ones_like(given["input_ids"])
                session.run([output], given)
            return len(ids)

        runs[name] = run

    for kind, output in (("encoder", layer), ("fluency", "logprobs")):
        path = models / kind / "model.onnx"
        for form, model in (("int8", path.read_bytes()), ("float32", unpacked(path))):
            session, _ = opened(keep_outputs(model, [output]))
            add(f"{kind}, {form}", session, output, texts)
            if kind == "fluency":
                add(f"fluency given a source, {form}", session, output, pairs)
    rates = best_rates(runs)
    print(f"{pieces} pieces a sentence, one core; the encoder up to {layer}\n")
    print("| model | int8, sentences/s | float32 | ratio |\n| --- | --- | --- | --- |")
    for name in [name.removesuffix(", int8") for name in rates if name.endswith("int8")]:
        fast, slow = rates[f"{name}, int8"], rates[f"{name}, float32"]
        print(f"| {name} | {fast:.0f} | {slow:.0f} | {fast / slow:.2f} |")


def print_resident(models: Path) -> None:
    """In a process of its own: what each model adds when a metric opens it."""
    from mtgauge import encode, load
    from mtgauge.data.segments import Segments

    texts = [f"This is sentence number {i}, and it is read by the model." for i in range(64)]

    def read_encoder() -> None:
        encoder = encode.load_encoder(str(models / "encoder"))
        encoder.encode(texts, encoder.default_layer["reference"])

    steps: dict[str, Callable[[], object]] = {
        "encoder": read_encoder,
        "fluency": lambda: encode.load_language_model(str(models / "fluency")).logprobs(texts),
        "regressor": lambda: load("regressor").statistics(Segments(texts, texts)),
    }
    print("\n| opened, and 64 sentences read | seconds | resident | peak |")
    print("| --- | --- | --- | --- |")
    for name, step in {"mtgauge alone": lambda: None, **steps}.items():
        began = time.perf_counter()
        step()
        took = time.perf_counter() - began
        print(f"| {name} | {took:.2f} | {memory('VmRSS')} MB | {memory('VmHWM')} MB |")


def memory(field: str) -> int:
    """A number of megabytes from /proc."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=MODELS)
    parser.add_argument("--sentences", type=int, default=192)
    parser.add_argument("--pieces", type=int, default=32)
    parser.add_argument("--retrieval", type=Path, metavar="CORPUS")
    parser.add_argument("--resident", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.retrieval:
        print_retrieval(args.models, args.retrieval)
    elif args.resident:
        print_resident(args.models)
    else:
        print_speed(args.models, args.sentences, args.pieces)
        sys.stdout.flush()
        again = [sys.executable, __file__, "--resident", "--models", str(args.models)]
        subprocess.run(again, check=True)


if __name__ == "__main__":
    main()
