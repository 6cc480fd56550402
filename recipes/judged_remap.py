"""Learn the encoder's own remaps from people's scores: one matrix for all pairs out of English.

    python recipes/judged_remap.py da15.tsv.gz da16.tsv.gz da18-choose.tsv.gz --out remaps
    python recipes/judged_remap.py ... --hold-out         # each pair left out in turn, scored alone

The encoder's teacher was English, so what it learned about good and bad translations it knows of
English translations. Out of English a linear map W of the source's vectors repairs part of that:

    word        s(x, y) = mean_j max_i cos(x_i W, y_j)            the best matches of xmoverscore
    sentence    s(x, y) = cos(mean_i x_i W, mean_j y_j)           cosine
    loss        1 - Pearson(s, people) + mean_k max(0, 1 + (s(x', y_k) - s(x_k, y_k)) / deviation)

over batches of one file and language pair; x' is the source of another row, so that W goes on
reading it, and its loss counts by `UNRELATED`. Judged pairs into English are read backwards, the
English translation as the source: it is as good a source as it is a translation. W begins as the
identity; W of several seeds are averaged, which linear maps allow.

Give it years and pairs that are for choosing, never a test set: WMT15, WMT16, and en-de, en-et and
en-tr of WMT18. OUT/word/en-mul.remap and OUT/sentence/en-mul.remap are what the encoder's folder
holds in `remaps`. With three seeds it takes about 15 minutes of a core.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize, relu

import mtgauge
from mtgauge.data.codes import bases
from mtgauge.data.judged_files import read
from mtgauge.data.segments import Segments
from mtgauge.encode import load_encoder
from mtgauge.encode.ragged import IntArray, distinct
from mtgauge.encode.remap.maps import MANY, Remap, RemapFacts
from mtgauge.encode.tokens.encoder import Encoder
from mtgauge.metric import FloatArray, Task

UNITS = ("word", "sentence")
LONGEST = 80  # pieces of a text that count
MOST = 4000  # rows of one file and pair in an epoch: large pairs would drown the others
UNRELATED = 0.3
WARM = 20  # steps until the rate is full


@dataclass
class Side:
    """Texts of one side, and which of them each row has."""

    vectors: list[Tensor]  # (n, d) per distinct text
    of: IntArray

    def lengths(self, rows: IntArray) -> IntArray:
        return np.array([len(self.vectors[i]) for i in self.of[rows]])

    def padded(self, rows: IntArray) -> tuple[Tensor, Tensor]:
        """(b, l, d) unit vectors, and (b, l): which of them are there."""
        texts = [self.vectors[i][:LONGEST] for i in self.of[rows]]
        block = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True).float()
        lengths = torch.tensor([len(text) for text in texts])
        return normalize(block, dim=-1), torch.arange(block.shape[1]) < lengths[:, None]


@dataclass
class Group:
    """Judged rows of one file and language pair, English on the left."""

    name: str
    lp: str
    left: Side
    right: Side
    human: FloatArray
    systems: IntArray
    odds: FloatArray  # what the piece pairs of the target language say, see encode/ngrams.py
    rows: IntArray = field(init=False)

    def __post_init__(self) -> None:
        filled = (self.left.lengths(np.arange(len(self.human))) > 0) & (
            self.right.lengths(np.arange(len(self.human))) > 0
        )
        self.rows = np.flatnonzero(filled & np.isfinite(self.human))

    @property
    def held(self) -> bool:
        """Whether it is of the direction that is learned, and no mirrored pair."""
        return bases(self.lp)[0] == "en"


def groups_of(files: Sequence[Path], encoder: Encoder) -> list[Group]:
    found = []
    for file in files:
        for judged in read(file):
            if judged.sources is None or judged.hypotheses is None:
                raise SystemExit(f"{file} {judged.lp} has no sources or no translations.")
            sides = _side(judged.sources, encoder), _side(judged.hypotheses, encoder)
            left, right = sides if bases(judged.lp)[0] == "en" else sides[::-1]
            numbers = np.unique(np.array(judged.systems), return_inverse=True)[1]
            odds = piece_pairs(judged.hypotheses, judged.lp)
            found.append(Group(judged.data, judged.lp, left, right, judged.human, numbers, odds))
            print(f"{judged.data}: {len(found[-1].rows)} rows", flush=True)
    return found


def piece_pairs(texts: Sequence[str], lp: str) -> FloatArray:
    metric = mtgauge.load("fluency:lm=ngrams").resolve(Task(frozenset(), lp))
    return metric.statistics(Segments(list(texts), lang=lp))[:, 0]


def _side(texts: Sequence[str], encoder: Encoder) -> Side:
    unique, of = distinct([text.lower() if encoder.lowercase else text for text in texts])
    vectors: list[Tensor] = []
    for start in range(0, len(unique), 1024):
        tokens = encoder.encode(unique[start : start + 1024], encoder.default_layer["source"])
        for begin, end in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True):
            inside = tokens.vectors[begin:end][~tokens.special[begin:end]]
            vectors.append(torch.from_numpy(inside.astype(np.float16)))
        encoder.forget()
    return Side(vectors, of)


def scores(
    unit: str, w: Tensor, left: tuple[Tensor, Tensor], right: tuple[Tensor, Tensor]
) -> Tensor:
    """s(x, y) of a batch."""
    (x, x_in), (y, y_in) = left, right
    if unit == "sentence":
        means = [(v * i[..., None]).sum(1) for v, i in (left, right)]
        found: Tensor = torch.cosine_similarity(means[0] @ w, means[1])
        return found
    cosines = torch.einsum("bid,bjd->bij", normalize(x @ w, dim=-1), y)
    best = cosines.masked_fill(~x_in[:, :, None], -1.0).max(1)[0]
    mean: Tensor = (best * y_in).sum(1) / y_in.sum(1)
    return mean


def pearson(a: Tensor, b: Tensor) -> Tensor:
    a, b = a - a.mean(), b - b.mean()
    r: Tensor = (a * b).sum() / (a.norm() * b.norm() + 1e-6)
    return r


def batches(
    groups: Sequence[Group], size: int, rng: np.random.Generator
) -> Iterator[tuple[Group, IntArray]]:
    """Batches of one group and of rows about as long as each other, in random order."""
    found = []
    for group in groups:
        rows = rng.permutation(group.rows)[:MOST]
        order = np.argsort(group.right.lengths(rows) + rng.normal(0, 8, len(rows)))
        parts = np.array_split(rows[order], max(len(rows) // size, 1))
        found += [(group, part) for part in parts]
    for i in rng.permutation(len(found)):
        yield found[i]


def train(groups: Sequence[Group], unit: str, args: argparse.Namespace, seed: int) -> Tensor:
    """The matrix that one seed finds."""
    rng = np.random.default_rng(seed)
    steps = [b for _ in range(args.epochs) for b in batches(groups, args.batch, rng)]
    w = torch.eye(groups[0].left.vectors[0].shape[1], requires_grad=True)
    adam = torch.optim.Adam([w], betas=(0.9, 0.98))
    for step, (group, rows) in enumerate(steps):
        rate = args.rate * min(1.0, (step + 1) / WARM) * max(0.02, 1 - step / len(steps))
        adam.param_groups[0]["lr"] = rate
        left, right = group.left.padded(rows), group.right.padded(rows)
        found = scores(unit, w, left, right)
        loss = 1 - pearson(found, torch.from_numpy(group.human[rows]).float())
        by = int(rng.integers(1, len(rows) - 1))
        wrong = scores(unit, w, (left[0].roll(by, 0), left[1].roll(by, 0)), right)
        deviation = found.std().detach() + 1e-4
        loss = loss + UNRELATED * relu(1 + (wrong - found) / deviation).mean()
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    return w.detach()


@torch.inference_mode()
def measured(group: Group, unit: str, w: Tensor, weight: float) -> dict[str, float]:
    """Pearson with people by segment and by system, and how often another source scores as well.

    Also with the piece pairs' odds times `weight` added.
    """
    order = group.rows[np.argsort(group.right.lengths(group.rows), kind="stable")]
    right, wrong = (np.empty(len(group.human)) for _ in range(2))
    for start in range(0, len(order), 256):
        rows = order[start : start + 256]
        x, y = group.left.padded(rows), group.right.padded(rows)
        right[rows] = scores(unit, w, x, y)
        wrong[rows] = scores(unit, w, (x[0].roll(7, 0), x[1].roll(7, 0)), y)
    found = {"unrelated": float((wrong[order] >= right[order]).mean())}
    human, systems = group.human[order], group.systems[order]
    for name, values in (("", right), (" with pairs", right + weight * group.odds)):
        found[f"r{name}"] = float(np.corrcoef(values[order], human)[0, 1])
        if len(set(systems)) > 2:
            counts = np.maximum(np.bincount(systems), 1)
            means = [np.bincount(systems, v) / counts for v in (values[order], human)]
            there = np.bincount(systems) > 0
            found[f"systems{name}"] = float(np.corrcoef(means[0][there], means[1][there])[0, 1])
    return found


def held_out(groups: Sequence[Group], args: argparse.Namespace) -> None:
    """What matrices that never saw a language pair do for it, beside no matrix."""
    for unit in args.units:
        kept: dict[str, list[dict[str, float]]] = {"none": [], "learned": []}
        for lp in sorted({group.lp for group in groups if group.held}):
            others = [group for group in groups if group.lp != lp]
            w = torch.stack([train(others, unit, args, seed) for seed in args.seeds]).mean(0)
            for group in (g for g in groups if g.lp == lp):
                for name, matrix in (("none", torch.eye(len(w))), ("learned", w)):
                    found = measured(group, unit, matrix, args.ngrams)
                    kept[name].append(found)
                    shown = "  ".join(f"{k} {v:.3f}" for k, v in found.items())
                    print(f"{unit} {group.name} without {lp}, {name}: {shown}", flush=True)
        for name, rows in kept.items():
            keys = dict.fromkeys(key for row in rows for key in row)
            means = {k: np.mean([row[k] for row in rows if k in row]) for k in keys}
            shown = "  ".join(f"{k} {v:.4f}" for k, v in means.items())
            print(f"{unit} mean, {name}: {shown}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("judged", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--hold-out", action="store_true")
    parser.add_argument("--encoder", default="embedded")
    parser.add_argument("--units", nargs="+", choices=UNITS, default=UNITS)
    parser.add_argument("--seeds", nargs="+", type=int, default=(1, 2, 3))
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--ngrams", type=float, default=0.125, help="weight of the piece pairs")
    args = parser.parse_args()
    if args.hold_out == (args.out is not None):
        parser.error("say either --out or --hold-out")
    encoder = load_encoder(args.encoder)
    groups = groups_of(args.judged, encoder)
    if args.hold_out:
        held_out(groups, args)
        return
    layer = encoder.resolve(encoder.default_layer["source"])[0]
    for unit in args.units:
        w = torch.stack([train(groups, unit, args, seed) for seed in args.seeds]).mean(0)
        facts = RemapFacts(
            "judged", f"en-{MANY}", encoder.name, encoder.fingerprint, layer, unit,
            pairs=sum(len(group.rows) for group in groups),
        )  # fmt: skip
        out = args.out / unit / f"en-{MANY}.remap"
        out.parent.mkdir(parents=True, exist_ok=True)
        Remap(facts, w.numpy().astype(np.float32)).save(out)
        print(out, flush=True)


if __name__ == "__main__":
    main()
