"""Judgements of a large English model for a small one to learn from: `mtgauge train distil`.

A person's single judgement is mostly noise; a large regressor that has read all of them is not.
`distil` lets one (`mtgauge train regressor --views hyp+ref` on an English encoder) rate every
training segment into English, and sampled translations besides, which nobody has judged:

    mtgauge train distil --packed judged.npz --rater DIR --rater-encoder HUB --out OUT

    OUT/samples.npz     judged segments and sampled translations (--corpus), to begin with
    OUT/judged.npz      judged segments alone, to end with

A sampled translation's score is the mean of the rater's and, on its scale, that of the encoder's
teacher (`mtgauge train sample`). With `--slips N` rows out of English and faults (`mirrored`) join
both files, the second with a few of each only.

The score of a segment that n people judged becomes n / (n + 2) of theirs and the rest the rater's;
segments into other languages, and those without a reference, keep theirs. Validation and test data
are left as they are. The rater reads the text that the pieces spell, so it may have any tokenizer.
A head or a regressor of any view then learns from these scores as from people's.

Limits: the rater reads English; what it has seen of the same judgements it has partly memorised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from mtgauge.errors import UsageError
from mtgauge.train.judged import packed
from mtgauge.train.judged.coder import TextCoder, read_coder
from mtgauge.train.judged.codes import Book, Coded, merged
from mtgauge.train.judged.rows import LIMIT
from mtgauge.train.loop.fit import pick_device
from mtgauge.train.metrics.regressor_task import RegressorTask
from mtgauge.train.nets.regressor import HubPairs, Regressor, load_hub
from mtgauge.train.nets.weights import load_trained
from mtgauge.train.settings import Distillation

VIEW = "hyp+ref"
LENGTH = 160  # pieces of an input


def distil(settings: Distillation) -> None:
    """Write the packed files with the rater's scores."""
    settings.check()
    device = pick_device(settings.device)
    own = read_coder(settings.encoder)
    parts, facts = packed.load(settings.packed, own.digest)
    rater = Rater(settings, Tokenizer.from_file(str(own.tokenizer)), device)
    drawn = None
    if settings.corpus is not None:
        drawn = _samples(settings.corpus, settings.sample_limit, device)
    facts |= {"distilled": rater.facts | {"samples": 0 if drawn is None else len(drawn)}}
    parts |= {"train": blended(parts["train"], rater)}
    kinds = _mirrored(settings, rater, device)
    facts["distilled"] |= {name: len(rows) for name, rows in kinds.items()}

    def save(name: str, rated: dict[str, Coded]) -> None:
        packed.save(settings.out / name, rated, own.digest, facts, compressed=False)

    # people's judgements hold no copies: a few of each kind keep them known to the end
    few = [rows.take(np.arange(min(len(rows), settings.faults // 4))) for rows in kinds.values()]
    save("judged.npz", _with(parts, few))
    if drawn is not None:
        first = rater(drawn)
        second = first.mean() + first.std() * drawn.scores  # the encoder's teacher, same scale
        rated = replace(drawn, scores=(first + second) / 2)
        turned = [_turned(rated, settings.slips)] if settings.slips else []
        save("samples.npz", _with(parts, [rated, *turned, *kinds.values()]))


def _with(parts: dict[str, Coded], more: Sequence[Coded]) -> dict[str, Coded]:
    """The parts with more rows to train on, all in the book that they then share."""
    for rows in more:
        none = rows.take(np.arange(0))
        parts = {
            name: merged(part, rows if name == "train" else none) for name, part in parts.items()
        }
    return parts


def _turned(rated: Coded, most: int) -> Coded:
    """Samples c of x read the other way: x as a translation of c is as good as c is of x."""
    rows = rated.take(np.arange(min(most, len(rated))))
    numbers = {
        "hyp": rows.numbers["src"],
        "src": rows.numbers["hyp"],
        "ref": np.full(len(rows), -1),
    }
    lps = np.array([f"en-{lp.split('-')[0]}" for lp in rows.lps])
    return replace(rows, numbers=numbers, lps=lps, files=np.full(len(rows), "turned"))


def _mirrored(settings: Distillation, rater: Rater, device: torch.device) -> dict[str, Coded]:
    """Rows out of English and faults; slips are rated, in English, for both directions."""
    if not settings.slips or settings.corpus is None:
        return {}
    from mtgauge.train.embedded.sampler import ParallelCorpus
    from mtgauge.train.metrics.mirrored import build

    corpus = ParallelCorpus.load(settings.corpus, str(device))
    kinds = build(corpus, settings.slips, settings.faults)
    ratings = rater(kinds["slips"])
    return kinds | {name: replace(kinds[name], scores=ratings) for name in ("slips", "mirrored")}


class Rater:
    """Predicted z-scores of rows of pieces, read as the text that they spell."""

    def __init__(self, settings: Distillation, pieces: Tokenizer, device: torch.device) -> None:
        self.pieces = pieces
        hub = HubPairs(load_hub(settings.rater_encoder))
        self.model = Regressor(hub, ("ref",), "compare", "mlp", settings.rater_hidden)
        name = Path(settings.rater_encoder).name
        self.facts: dict[str, Any] = {"teacher": f"{name}, a regressor for {VIEW}"}
        self.facts |= load_trained(settings.rater, self.model)["warm"]
        self.model.to(device).eval()
        self.packer = TextCoder(settings.rater / "tokenizer.json", ()).packer(LENGTH)

    def __call__(self, rows: Coded) -> NDArray[np.float64]:
        read = self._read(rows)
        task = RegressorTask(self.model, self.packer, read, read, {VIEW: 1.0})
        kind = next(self.model.parameters()).device.type
        with torch.inference_mode(), torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
            return task.predict(read, VIEW)

    def _read(self, rows: Coded) -> Coded:
        """The same rows in the rater's own pieces."""
        used = np.unique(np.concatenate([rows.numbers["hyp"], rows.numbers["ref"]]))
        texts = self.pieces.decode_batch(rows.book.many(used))
        place = {text: i for i, text in enumerate(dict.fromkeys(texts))}  # many stand there twice
        number = np.array([place[text] for text in texts])
        numbers = {
            name: number[np.searchsorted(used, rows.numbers[name])] for name in ("hyp", "ref")
        }
        nothing = {"src": np.full(len(rows), -1)}
        book = Book.of(self.packer.tokenize(list(place)))
        return replace(rows, book=book, numbers=numbers | nothing)


def blended(rows: Coded, rater: Rater) -> Coded:
    """Scores into English moved towards the rater's, the more the fewer people gave them."""
    english = np.char.endswith(rows.lps, "-en") & rows.has(VIEW)
    at = np.flatnonzero(english)
    if not len(at):
        raise UsageError("--packed holds no segment into English with a reference to rate.")
    if (rows.weights[at] >= 1).any():
        raise UsageError("--packed was distilled before: its scores are no longer people's alone.")
    judges = rows.weights[at] / (1 - rows.weights[at])  # weights are n / (n + 1)
    share = judges / (judges + 2)
    scores, weights = rows.scores.copy(), rows.weights.copy()
    scores[at] = share * rows.scores[at] + (1 - share) * rater(rows.take(at))
    weights[at] = 1.0
    return replace(rows, scores=scores, weights=weights)


def _samples(corpus: Path, most: int | None, device: torch.device) -> Coded:
    from mtgauge.train.embedded.sampler import ParallelCorpus
    from mtgauge.train.embedded.samples import Samples, piece_rows

    loaded = ParallelCorpus.load(corpus, str(device))
    arrays = piece_rows(Samples.load(corpus, device), loaded)
    rows = coded_samples({k: v.cpu().numpy() for k, v in arrays.items()}, loaded.langs)
    if most is not None and most < len(rows):
        rows = rows.take(np.random.default_rng(1).permutation(len(rows))[:most])
    return rows


def coded_samples(arrays: Mapping[str, NDArray[Any]], langs: Sequence[str]) -> Coded:
    """Sampled translations into English with their scores, standardised and cut at the limit.

    `arrays` as `embedded.samples.piece_rows` makes them.
    """
    kinds = {"hyp": "sample", "src": "source", "ref": "reference"}
    columns = {name: (arrays[k], np.diff(arrays[f"{k}_start"])) for name, k in kinds.items()}
    lps = np.array([f"{lang}-en" for lang in langs])[arrays["lang"].astype(np.int64)]
    score = arrays["score"].astype(np.float64)
    cut = np.clip((score - score.mean()) / score.std(), -LIMIT, LIMIT)
    return Coded.unjudged(*Book.joined(columns), lps, "samples", cut)
