"""How a model in training correlates with human judgements, and how well it finds translations.

Judged segments are encoded layer by layer and scored by best matches, with the reference
and with the source; the figures choose the layers and say when to stop. Use judgements that are for
choosing (WMT15, WMT16), never the test set.

    rows = coded(read_needed([Path("da16.tsv.gz")], ["source", "reference"]), tokenizer)
    print(correlations(encoder, rows))
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from mtgauge.train.embedded import objective as o
from mtgauge.train.embedded.corpus import BOS, EOS, SEP
from mtgauge.train.embedded.prepare import load_pairs, load_pieces
from mtgauge.train.judged.codes import LONGEST, Coded, FloatArray, code
from mtgauge.train.judged.rows import Rows
from mtgauge.train.loop.batching import mean_of_defined, pearson_by_pair
from mtgauge.train.nets.transformer import Causal, Encoder, Ragged, log_probability


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


@torch.no_grad()
def token_states(encoder: Encoder, texts: list[list[int]], layers: list[int]) -> list[list[Tensor]]:
    """Unit vectors of each text at each layer, without the frame."""
    device = encoder.pieces.weight.device
    out: list[list[Tensor]] = [[] for _ in layers]
    for begin in range(0, len(texts), 512):
        batch = Ragged.of(texts[begin : begin + 512], device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            states = encoder(batch)
        cuts = batch.lengths.tolist()
        for found, layer in zip(out, layers, strict=True):
            unit = F.normalize(states[layer].float(), dim=-1)
            found += [part[1:-1] for part in torch.split(unit, cuts)]
    return out


def _pad(rows: list[Tensor]) -> tuple[Tensor, Tensor]:
    padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    lengths = torch.tensor([len(r) for r in rows], device=padded.device)
    return padded, torch.arange(padded.shape[1], device=padded.device) < lengths[:, None]


@torch.no_grad()
def best_matches(left: list[Tensor], right: list[Tensor]) -> dict[str, FloatArray]:
    """P (left looked up in right), R and F of each pair of texts."""
    parts: dict[str, list[Tensor]] = {"P": [], "R": [], "F": []}
    for begin in range(0, len(left), 256):
        a, mask_a = _pad(left[begin : begin + 256])
        b, mask_b = _pad(right[begin : begin + 256])
        found = o.match(torch.bmm(a, b.transpose(1, 2)), mask_a, mask_b)
        for name, value in zip("PRF", (found.precision, found.recall, found.f), strict=True):
            parts[name].append(value)
    return {name: torch.cat(v).double().cpu().numpy() for name, v in parts.items()}


def encoder_scores(
    encoder: Encoder, rows: Coded, layers: list[int]
) -> dict[tuple[str, int, str], FloatArray]:
    """(side, layer, P | R | F) -> scores; P looks the translation's words up in the other side."""
    states = {
        side: token_states(encoder, rows.framed(column, BOS, EOS), layers)
        for side, column in (("source", "src"), ("reference", "ref"), ("hypothesis", "hyp"))
    }
    out: dict[tuple[str, int, str], FloatArray] = {}
    for side in ("reference", "source"):
        for i, layer in enumerate(layers):
            found = best_matches(states["hypothesis"][i], states[side][i])
            out |= {(side, layer, name): value for name, value in found.items()}
    return out


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
    """One line per kind of score: the mean of each file."""
    was = model.training
    model.eval()
    found = fluency_scores(model, rows)
    model.train(was)
    return "\n".join(f"{name}  {shown(means_by_file(rows, x))}" for name, x in found.items())


def correlations(encoder: Encoder, rows: Coded, layers: list[int] | None = None) -> str:
    """One line per side, layer and rule: the mean of each file."""
    was = encoder.training
    encoder.eval()
    most = encoder.shape.layers
    layers = layers or list(range(min(2, most), most + 1))
    lines = []
    for (side, layer, rule), scores in encoder_scores(encoder, rows, layers).items():
        lines.append(f"{side:9} layer {layer} {rule}  {shown(means_by_file(rows, scores))}")
    encoder.train(was)
    return "\n".join(lines)


@torch.no_grad()
def retrieval(encoder: Encoder, corpus: Path) -> str:
    """P@1 of finding the translation of a held-out sentence among its language's, both ways, by the
    cosine of mean unit vectors of the last layer; by language, the worst first. A language without
    held-out sentences is passed over."""
    was = encoder.training
    encoder.eval()
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
            rows = token_states(encoder, texts, [encoder.shape.layers])[0]
            means.append(F.normalize(torch.stack([r.mean(0) for r in rows]), dim=-1))
        near = means[0] @ means[1].T
        own = torch.arange(len(near), device=near.device)
        hits = torch.cat([near.argmax(1) == own, near.argmax(0) == own])
        found[lang] = hits.float().mean().item()
    encoder.train(was)
    worst = sorted(found.items(), key=lambda item: item[1])
    if not found:
        return "retrieval: no language has held-out sentences"
    mean = np.mean(list(found.values()))
    return f"retrieval {mean:.3f}: " + " ".join(f"{k} {v:.3f}" for k, v in worst)
