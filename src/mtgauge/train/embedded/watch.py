"""How a model in training correlates with human judgements, and how well it finds translations.

Judged segments (`judged`) are encoded layer by layer and scored by best matches, with the reference
and with the source; the figures choose the layers and say when to stop. Use judgements that are for
choosing (WMT15, WMT16), never the test set.

    judged = Judged.of(read([Path("da16.tsv.gz")]), tokenizer)
    print(correlations(encoder, judged))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from mtgauge.data.judgements import data_name
from mtgauge.errors import InputError
from mtgauge.train.embedded import objective as o
from mtgauge.train.embedded.corpus import BOS, EOS, SEP
from mtgauge.train.embedded.prepare import load_pairs, load_pieces
from mtgauge.train.judged.rows import Rows, refuse_bad
from mtgauge.train.judged.rows import read as read_rows
from mtgauge.train.nets.transformer import Causal, Encoder, Ragged, log_probability

FloatArray = NDArray[np.float64]
LONGEST = 200  # pieces of a text


@dataclass(frozen=True)
class Judged:
    """Judged segments as pieces (framed); `group` is the file and the language pair."""

    source: list[list[int]]
    reference: list[list[int]]
    hypothesis: list[list[int]]
    human: FloatArray
    group: list[str]

    @classmethod
    def of(cls, rows: Rows, tokenizer: Tokenizer, frame: tuple[int, int] = (BOS, EOS)) -> Judged:
        """A text that the rows do not have becomes an empty one (`read` refuses it if asked)."""
        texts = []
        for column in (rows.sources, rows.references, rows.hypotheses):
            encoded = tokenizer.encode_batch([t or "" for t in column], add_special_tokens=False)
            texts.append([[frame[0], *item.ids[:LONGEST], frame[1]] for item in encoded])
        name = {file: data_name(Path(file)) for file in set(rows.files)}
        group = [f"{name[f]} {lp}" for f, lp in zip(rows.files, rows.lps, strict=True)]
        return cls(texts[0], texts[1], texts[2], rows.scores, group)

    def pearson(self, scores: FloatArray) -> dict[str, float]:
        """Pearson with the human scores by group."""
        names = np.array(self.group)
        return {
            name: float(np.corrcoef(scores[names == name], self.human[names == name])[0, 1])
            for name in sorted(set(self.group))
        }

    @staticmethod
    def means(found: dict[str, float]) -> dict[str, float]:
        """The mean over the language pairs of each file."""
        files: dict[str, list[float]] = {}
        for name, value in sorted(found.items()):
            files.setdefault(name.rsplit(" ", 1)[0], []).append(value)
        return {file: float(np.mean(values)) for file, values in files.items()}


def read(
    files: Sequence[Path], target: str | None = "en", needs: Sequence[str] = ()
) -> Rows:  # fmt: skip
    """Judged segments into one language (any: None), their scores cut as in `judged`.

    What would give a number without a meaning is refused: missing, constant or raw scores, two
    files of one name, and rows without a text that is needed (`source`, `reference`, `hypothesis`).
    """
    named: dict[str, Path] = {}
    for file in files:
        if (other := named.setdefault(data_name(file), file)) != file:
            raise InputError(
                f"{other} has the same name, and correlations are told by it",
                file=file,
                remedy="Rename one of them.",
            )
    rows = refuse_bad(read_rows(files))
    mine = [i for i, lp in enumerate(rows.lps) if target is None or lp.endswith("-" + target)]
    if not mine:
        found = ", ".join(sorted(set(rows.lps)))
        raise InputError(f"no judged segments into {target}, only of {found}", file=files[0])
    rows = rows.take(mine)
    for need in needs:
        _refuse_without(rows, need)
    return refuse_flat(rows)


def _refuse_without(rows: Rows, need: str) -> None:
    column = {"source": rows.sources, "reference": rows.references, "hypothesis": rows.hypotheses}
    texts = column[need]
    without = [i for i, text in enumerate(texts) if not (text or "").strip()]
    if without:
        raise InputError(
            f"{len(without)} of {len(rows)} segments have no {need}",
            file=rows.files[without[0]],
            remedy=f"Fill column {need}, or take those rows out.",
        )


def refuse_flat(rows: Rows, part: str = "") -> Rows:
    """The rows, if every language pair of a file has two scores that differ: there is no
    correlation with fewer."""
    seen: dict[tuple[str, str], set[float]] = {}
    for file, lp, score in zip(rows.files, rows.lps, rows.scores, strict=True):
        seen.setdefault((file, lp), set()).add(float(score))
    for (file, lp), scores in seen.items():
        if len(scores) < 2:
            raise InputError(
                f"{lp} has no two different scores{part}",
                file=file,
                remedy="Take the pair out, or give more of it.",
            )
    return rows


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
    encoder: Encoder, judged: Judged, layers: list[int]
) -> dict[tuple[str, int, str], FloatArray]:
    """(side, layer, P | R | F) -> scores; P looks the translation's words up in the other side."""
    states = {
        side: token_states(encoder, getattr(judged, side), layers)
        for side in ("source", "reference", "hypothesis")
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
def fluency_scores(model: Causal, judged: Judged) -> dict[str, FloatArray]:
    """Mean log-probability of the translation alone and given the source, and of the source given
    the translation."""
    device = model.pieces.weight.device

    def pairs(first: list[list[int]], second: list[list[int]]) -> list[list[int]]:
        return [[*a, *b] for a, b in zip(*halves(first, second), strict=True)]

    source, hypothesis = judged.source, judged.hypothesis
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


def correlations(encoder: Encoder, judged: Judged, layers: list[int] | None = None) -> str:
    """One line a side, layer and rule: the mean of each file."""
    was = encoder.training
    encoder.eval()
    most = encoder.shape.layers
    layers = layers or list(range(min(2, most), most + 1))
    lines = []
    for (side, layer, rule), scores in encoder_scores(encoder, judged, layers).items():
        found = judged.means(judged.pearson(scores))
        shown = "  ".join(f"{k} {v:.3f}" for k, v in found.items())
        lines.append(f"{side:9} layer {layer} {rule}  {shown}")
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
