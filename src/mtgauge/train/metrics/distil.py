"""Judgements of a large English model for a small one to learn from: `mtgauge train distil`.

A person's single judgement is mostly noise; a large regressor that has read all of them is not.
`distil` lets one (`mtgauge train regressor --views hyp+ref` on an English encoder) rate every
training segment into English, and sampled translations besides, which nobody has judged:

    mtgauge train distil --judged judged.npz --teacher DIR --teacher-encoder HUB --out OUT

    OUT/samples.npz     judged segments and sampled translations (--corpus), to begin with
    OUT/judged.npz      judged segments alone, to end with

With `--slips N` rows out of English and faults (`mirrored`) join both, the second with a few only.

The score of a segment that n people judged becomes n / (n + 2) of theirs and the rest the
teacher's; segments into other languages, and those without a reference, keep theirs. Validation and
test data are left as they are. The teacher reads the text that the pieces spell, so it may have any
tokenizer. A head or a regressor of any view then learns from these scores as from people's.

Limits: the teacher reads English; what it has seen of the same judgements it has partly by heart.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from mtgauge.errors import UsageError
from mtgauge.train.judged import codes as coded
from mtgauge.train.judged.codes import Book, Coded
from mtgauge.train.loop.loop import pick_device
from mtgauge.train.metrics.regressor_run import EncoderFolder, read_folder
from mtgauge.train.metrics.regressor_task import RegressorTask
from mtgauge.train.nets.regressor import HubPairs, Regressor, load_hub
from mtgauge.train.onnx.folder import load_warm

if TYPE_CHECKING:
    from mtgauge.encode.tokens.pairs import Packer

VIEW = "hyp+ref"
LENGTH = 160  # pieces of an input


def run(args: argparse.Namespace) -> int:
    device = pick_device(args.device)
    own = read_folder(args.encoder)
    parts, facts = coded.load(args.judged, own.tokenizer_digest)
    teacher = Teacher(args, Tokenizer.from_file(str(own.tokenizer)), device)
    args.out.mkdir(parents=True, exist_ok=True)
    drawn = None if args.corpus is None else _samples(args.corpus, args.samples, device)
    facts |= {"distilled": teacher.facts | {"samples": 0 if drawn is None else len(drawn)}}
    parts |= {"train": blended(parts["train"], teacher)}
    kinds = _mirrored(args.corpus, args.slips, args.faults, device) if args.slips else {}
    facts["distilled"] |= {name: len(rows) for name, rows in kinds.items()}
    if kinds:
        heard = teacher(kinds["slips"])
        for name in ("slips", "mirrored"):
            kinds[name] = kinds[name].scored(heard, kinds[name].weights)
    # people's judgements hold no copies: a few of each kind keep them known to the end
    some = [rows.take(np.arange(min(len(rows), args.faults // 4))) for rows in kinds.values()]
    digest = own.tokenizer_digest
    coded.save(args.out / "judged.npz", _with(parts, some), digest, facts, small=False)
    if drawn is not None:
        first = teacher(drawn)
        second = first.mean() + first.std() * drawn.scores  # the encoder's teacher, same scale
        rated = drawn.scored((first + second) / 2, drawn.weights)
        turned = [_turned(rated, args.slips)] if args.slips else []
        whole = _with(parts, [rated, *turned, *kinds.values()])
        coded.save(args.out / "samples.npz", whole, digest, facts, small=False)
    return 0


def _with(parts: dict[str, Coded], more: list[Coded]) -> dict[str, Coded]:
    """The parts with more rows to train on, all in the book that they then share."""
    for rows in more:
        none = rows.take(np.arange(0))
        parts = {
            name: coded.merged(part, rows if name == "train" else none)
            for name, part in parts.items()
        }
    return parts


def _turned(rated: Coded, most: int) -> Coded:
    """Samples c of x read the other way: x as a translation of c is as good as c is of x."""
    rows = rated.take(np.arange(min(most, len(rated))))
    numbers = {"hyp": rows.numbers["src"], "src": rows.numbers["hyp"],
               "ref": np.full(len(rows), -1)}  # fmt: skip
    lps = np.array([f"en-{lp.split('-')[0]}" for lp in rows.lps])
    return replace(rows, numbers=numbers, lps=lps, files=np.full(len(rows), "turned"))


def _mirrored(corpus: Path, slips: int, faults: int, device: torch.device) -> dict[str, Coded]:
    from mtgauge.train.embedded.sampler import Corpus
    from mtgauge.train.metrics.mirrored import build

    return build(Corpus.load(corpus, str(device)), slips, faults)


class Teacher:
    """Predicted z-scores of rows of pieces, read as the text that they spell."""

    def __init__(self, args: argparse.Namespace, pieces: Tokenizer, device: torch.device) -> None:
        self.pieces = pieces
        hub = HubPairs(load_hub(args.teacher_encoder))
        self.model = Regressor(hub, ("ref",), "compare", "mlp", args.teacher_hidden)
        name = Path(args.teacher_encoder).name
        self.facts: dict[str, Any] = {"teacher": f"{name}, a regressor for {VIEW}"}
        self.facts |= load_warm(args.teacher / "weights.safetensors", self.model)["warm"]
        self.model.to(device).eval()
        folder = EncoderFolder(Path(args.teacher) / "tokenizer.json", ())
        self.packer: Packer = folder.packer(LENGTH)

    def __call__(self, rows: Coded) -> NDArray[np.float64]:
        read = self._read(rows)
        task = RegressorTask(self.model, self.packer, read, read, {VIEW: 1.0})
        kind = next(self.model.parameters()).device.type
        with torch.inference_mode(), torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
            return task.predict(read, VIEW)

    def _read(self, rows: Coded) -> Coded:
        """The same rows in the teacher's own pieces."""
        used = np.unique(np.concatenate([rows.numbers["hyp"], rows.numbers["ref"]]))
        texts = self.pieces.decode_batch(rows.book.many(used))
        place = {text: i for i, text in enumerate(dict.fromkeys(texts))}  # many stand there twice
        found = self.packer.tokenize(list(place))
        flat = np.fromiter((piece for ids in found for piece in ids), np.int32)
        start = np.concatenate([[0], np.cumsum([len(ids) for ids in found])]).astype(np.int64)
        number = np.array([place[text] for text in texts])
        numbers = {
            name: number[np.searchsorted(used, rows.numbers[name])] for name in ("hyp", "ref")
        }
        return Coded(
            Book(flat, start),
            numbers | {"src": np.full(len(rows), -1)},
            rows.lps,
            rows.files,
            rows.scores,
            rows.weights,
            rows.raw,
        )


def blended(rows: Coded, teacher: Teacher) -> Coded:
    """Scores into English moved towards the teacher's, the more the fewer people gave them."""
    english = np.char.endswith(rows.lps, "-en") & rows.has(VIEW)
    at = np.flatnonzero(english)
    if not len(at):
        raise UsageError("--judged holds no segment into English with a reference to rate.")
    if (rows.weights[at] >= 1).any():
        raise UsageError("--judged was distilled before: its scores are no longer people's alone.")
    judges = rows.weights[at] / (1 - rows.weights[at])  # weights are n / (n + 1)
    share = judges / (judges + 2)
    scores, weights = rows.scores.copy(), rows.weights.copy()
    scores[at] = share * rows.scores[at] + (1 - share) * teacher(rows.take(at))
    weights[at] = 1.0
    return rows.scored(scores, weights)


def _samples(corpus: Path, most: int | None, device: torch.device) -> Coded:
    from mtgauge.train.embedded.sampler import Corpus
    from mtgauge.train.embedded.samples import Samples, piece_rows

    loaded = Corpus.load(corpus, str(device))
    arrays = piece_rows(Samples.load(corpus, device), loaded)
    rows = coded.samples({k: v.cpu().numpy() for k, v in arrays.items()}, loaded.langs, "samples")
    if most is not None and most < len(rows):
        rows = rows.take(np.random.default_rng(1).permutation(len(rows))[:most])
    return rows
