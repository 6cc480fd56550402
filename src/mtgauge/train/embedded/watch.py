"""How a model in training correlates with human judgements, and how well it finds translations.

Judged segments are encoded layer by layer and scored by best matches, with the reference
and with the source; the figures choose the layers and say when to stop. Use judgements that are for
choosing (WMT15, WMT16), never the test set.

    rows = coded(read_needed([Path("da16.tsv.gz")], ["source", "reference"]), tokenizer)
    print(correlations(encoder, rows))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from mtgauge.data.codes import bases
from mtgauge.encode.transformer import Causal, Encoder, Ragged, log_probability
from mtgauge.train.embedded import objective as o
from mtgauge.train.embedded.corpus import BOS, EOS, SEP
from mtgauge.train.embedded.prepare import load_pairs, load_pieces
from mtgauge.train.judged.codes import LONGEST, Coded, FloatArray, code
from mtgauge.train.judged.rows import Rows
from mtgauge.train.loop.batching import mean_of_defined, pearson_by_pair


def coded(rows: Rows, tokenizer: Tokenizer) -> Coded:
    """Rows as pieces of a tokenizer."""

    def tokenize(texts: Sequence[str]) -> list[list[int]]:
        found = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [item.ids for item in found]

    return code([rows], tokenize)[0]


def means_by_file(rows: Coded, scores: FloatArray) -> dict[str, float]:
    """Pearson with the human scores, the mean over the language pairs of each file."""
    found = pearson_by_pair(rows.groups, scores, rows.scores)
    files: dict[str, list[float]] = {}
    for name in sorted(set(rows.groups)):
        files.setdefault(name.rsplit(" ", 1)[0], []).append(found[name])
    return {file: mean_of_defined(values) for file, values in files.items()}


def shown(means: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.3f}" for name, value in means.items())


def by_direction(found: Mapping[str, float]) -> str:
    """The mean of each file, into English and out of it, of values by file and language pair."""
    means: dict[str, list[float]] = {}
    for group, value in found.items():
        file, lp = group.rsplit(" ", 1)
        direction = "into" if bases(lp)[1] == "en" else "out"
        means.setdefault(f"{file} {direction}", []).append(value)
    return shown({name: mean_of_defined(values) for name, values in means.items()})


def by_pair(found: Mapping[str, float]) -> str:
    return " ".join(f"{group} {value:.2f}" for group, value in found.items())


def encoder_states(encoder: Encoder, batch: Ragged) -> list[Tensor]:
    device = batch.ids.device.type
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        states: list[Tensor] = encoder(batch)
    return states


@torch.no_grad()
def best_matches(
    states_of: Callable[[Ragged], Mapping[int, Tensor] | Sequence[Tensor]],
    first: list[list[int]],
    second: list[list[int]],
    layers: Sequence[int],
    device: torch.device,
) -> dict[tuple[int, str], FloatArray]:
    """(layer, P | R | F) -> scores; P looks the words of the second texts up in the first."""
    found: dict[tuple[int, str], list[Tensor]] = {}
    for begin in range(0, len(first), 256):
        part = slice(begin, begin + 256)
        batch = Ragged.of([*first[part], *second[part]], device)
        states = states_of(batch)
        for layer in layers:
            match, _ = o.match_versions(states[layer], batch, len(batch) // 2, 1)
            for name, value in zip("PRF", match.three, strict=True):
                found.setdefault((layer, name), []).append(value)
    return {key: torch.cat(values).double().cpu().numpy() for key, values in found.items()}


def halves(
    first: list[list[int]], second: list[list[int]]
) -> tuple[list[list[int]], list[list[int]]]:
    """Framed texts as the two halves of `<s> x <sep> y </s>`; a long x is cut."""
    return [row[:-1][:120] for row in first], [[SEP, *row[1:]] for row in second]


@torch.no_grad()
def fluency_scores(model: Causal, rows: Coded) -> dict[str, FloatArray]:
    """Mean log-probability of the translation alone and given the source, and of the source given
    the translation."""
    device = model.pieces.weight.device

    def pairs(first: list[list[int]], second: list[list[int]]) -> list[list[int]]:
        return [[*a, *b] for a, b in zip(*halves(first, second), strict=True)]

    source, hypothesis = rows.framed("src", BOS, EOS), rows.framed("hyp", BOS, EOS)
    out = {}
    for name, texts, scored_texts in (
        ("alone", hypothesis, hypothesis),
        ("given", pairs(source, hypothesis), hypothesis),
        ("reverse", pairs(hypothesis, source), source),
    ):
        means = []
        for begin in range(0, len(texts), 512):
            batch = Ragged.of(texts[begin : begin + 512], device)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                hidden = model(batch)
                log_p = log_probability(hidden, model.pieces.weight, batch.ids.roll(-1)).float()
            left = batch.lengths[batch.row] - batch.position
            mine = [len(h) for h in scored_texts[begin : begin + 512]]
            length = torch.tensor(mine, device=device)[batch.row]
            # positions that predict a piece of the translation (its end too, its start not)
            scored = (left >= 2) & (left <= length)
            total = log_p.new_zeros(len(batch)).index_add(0, batch.row, log_p * scored)
            count = log_p.new_zeros(len(batch)).index_add(0, batch.row, scored.float())
            means.append(total / count)
        out[name] = torch.cat(means).double().cpu().numpy()
    return out


def fluency_correlations(model: Causal, rows: Coded) -> str:
    """One line per kind of score: the mean of each file, into English and out of it."""
    with evaluated(model):
        found = fluency_scores(model, rows)
    lines = []
    for name, scores in found.items():
        by_group = pearson_by_pair(rows.groups, scores, rows.scores)
        by_group.pop("average")
        pairs = f"  | {by_pair(by_group)}" if name == "given" else ""
        lines.append(f"{name:7}  {by_direction(by_group)}{pairs}")
    return "\n".join(lines)


def correlations(encoder: Encoder, rows: Coded) -> str:
    """One line per side, layer and rule: the mean of each file."""
    most, device = encoder.shape.layers, encoder.pieces.weight.device
    layers = range(min(2, most), most + 1)
    hypotheses, lines = rows.framed("hyp", BOS, EOS), []
    with evaluated(encoder):
        for side, column in (("reference", "ref"), ("source", "src")):
            found = best_matches(
                partial(encoder_states, encoder), rows.framed(column, BOS, EOS), hypotheses,
                layers, device,
            )  # fmt: skip
            for (layer, rule), scores in found.items():
                lines.append(f"{side:9} layer {layer} {rule}  {shown(means_by_file(rows, scores))}")
    return "\n".join(lines)


@contextmanager
def evaluated(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode, and as it was afterwards."""
    was = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was)


@torch.no_grad()
def retrieval(encoder: Encoder, corpus: Path) -> str:
    """P@1 of finding the translation of a held-out sentence among its language's, both ways, by the
    cosine of mean unit vectors of the last layer; by language, the worst first. A language without
    held-out sentences is passed over."""
    pieces, found = load_pieces(corpus, "student"), dict[str, float]()
    for lang in sorted(file.stem for file in corpus.glob("??.npz")):
        pairs = load_pairs(corpus / "heldout.npz", lang + ".")
        if not len(pairs):
            continue
        means = []
        for side in (pairs.source, pairs.target):
            texts = [
                [BOS, *[int(x) for w in side.row(i) for x in pieces.row(int(w))][:LONGEST], EOS]
                for i in range(len(pairs))
            ]
            with evaluated(encoder):
                means.append(_mean_vectors(encoder, texts))
        near = means[0] @ means[1].T
        own = torch.arange(len(near), device=near.device)
        hits = torch.cat([near.argmax(1) == own, near.argmax(0) == own])
        found[lang] = hits.float().mean().item()
    worst = sorted(found.items(), key=lambda item: item[1])
    if not found:
        return "retrieval: no language has held-out sentences"
    mean = np.mean(list(found.values()))
    return f"retrieval {mean:.3f}: " + " ".join(f"{k} {v:.3f}" for k, v in worst)


def _mean_vectors(encoder: Encoder, texts: list[list[int]]) -> Tensor:
    """Unit means of the unit vectors of each text's last layer, without the frame."""
    means = []
    for begin in range(0, len(texts), 512):
        batch = Ragged.of(texts[begin : begin + 512], encoder.pieces.weight.device)
        unit = F.normalize(encoder_states(encoder, batch)[-1].float(), dim=-1)
        inside = (batch.position > 0) & (batch.position < batch.lengths[batch.row] - 1)
        means.append(o.word_means(unit[inside], batch.row[inside], len(batch)))
    return F.normalize(torch.cat(means), dim=-1)
