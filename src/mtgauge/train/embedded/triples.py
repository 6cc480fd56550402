"""Judged segments as arrays of fixed shape: source, translation and reference.

    judged = judged_texts([Path("da16.tsv.gz")], corpus, device)
    source, translation, reference = judged.texts(slice(0, 128))
    print(report(encoder, judged, layers=[5]))

Rows are sorted by length, so that neighbours share a width. `report` is what a training chooses by:
correlations into English and out of it, and whether a copy of the source beats its translation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mtgauge.train.embedded import fixed as f
from mtgauge.train.embedded.corpus import EOS
from mtgauge.train.embedded.sampler import load_tokenizer
from mtgauge.train.embedded.watch import Judged, read
from mtgauge.train.nets.transformer import Encoder


@dataclass(frozen=True)
class Triples:
    """Judged rows as padded pieces, sorted by length; text 0 source, 1 translation, 2 reference."""

    ids: Tensor  # (3, n, most) uint16 as int32
    length: Tensor  # (3, n), 2 where there is no text
    human: Tensor
    group: Tensor
    groups: list[str]
    longest: np.ndarray  # (n,) on the host
    order: np.ndarray  # row of the judged data

    @classmethod
    def of(cls, judged: Judged, device: str, most: int = 128) -> Triples:
        columns = (judged.source, judged.hypothesis, judged.reference)
        rows = [[[*t[: most - 1], EOS] if len(t) > most else t for t in c] for c in columns]
        length = np.array([[len(t) for t in c] for c in rows])
        order = np.argsort(length.max(0), kind="stable")
        ids = np.zeros((3, len(order), most), np.int32)
        for k, column in enumerate(rows):
            for i, at in enumerate(order):
                ids[k, i, : len(column[at])] = column[at]
        names = sorted(set(judged.group))
        number = {name: i for i, name in enumerate(names)}
        group = np.array([number[judged.group[i]] for i in order])
        human = judged.human[order].astype(np.float32)

        def put(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        longest = length.max(0)[order]
        return cls(put(ids), put(length[:, order]), put(human), put(group), names, longest, order)

    def __len__(self) -> int:
        return len(self.order)

    def texts(self, part: slice) -> list[f.Texts]:
        wide = int(-(-self.longest[part].max() // 8) * 8)
        wide = min(wide, self.ids.shape[2])
        return [f.framed_ids(self.ids[k, part, :wide].long(), self.length[k, part])
                for k in range(3)]  # fmt: skip


def states_of(encoder: Encoder, texts: Sequence[f.Texts], layer: int) -> list[Tensor]:
    """Unit vectors of several lists of texts in one pass."""
    found = f.unit(f.encode(encoder, f.together(texts))[layer])
    return list(torch.split(found, [len(t.ids) for t in texts]))


def judged_texts(files: Sequence[Path], corpus: Path, device: str) -> Triples | None:
    if not files:
        return None
    rows = read(files, None, ["source", "hypothesis"])
    return Triples.of(Judged.of(rows, load_tokenizer(corpus)), device)


@torch.no_grad()
def report(encoder: Encoder, judged: Triples, layers: Sequence[int]) -> str:
    """Pearson with people by group: translation against source (turned) and reference; and how
    often a copy of the source is at least as near to it as the translation."""
    device = judged.ids.device
    was = encoder.training
    encoder.eval()
    lines = []
    scores: dict[str, list[Tensor]] = {}
    for begin in range(0, len(judged), 512):
        texts = judged.texts(slice(begin, begin + 512))
        inner = [t.inner for t in texts]
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            states = f.encode(encoder, f.together(texts))
        for layer in layers:
            x, c, r = torch.chunk(f.unit(states[layer]), 3)
            free = f.match(c[:, None], inner[1][:, None], f.turned(x), inner[0])
            copy = f.match(x[:, None], inner[0][:, None], f.turned(x), inner[0])
            ref = f.match(c[:, None], inner[1][:, None], r, inner[2])
            for name, value in (
                ("src P", free.precision),
                ("src R", free.recall),
                ("src F", free.f),
                ("ref F", ref.f),
                ("copy", copy.precision),
            ):
                scores.setdefault(f"layer {layer} {name}", []).append(value[:, 0])
    human, group = judged.human.cpu().numpy(), judged.group.cpu().numpy()
    for layer in layers:
        own = torch.cat(scores[f"layer {layer} src P"])
        same = torch.cat(scores.pop(f"layer {layer} copy"))
        lines.append(f"layer {layer} copies win {(same >= own).float().mean().item():.3f}")
    for name, parts in scores.items():
        values = torch.cat(parts).double().cpu().numpy()
        found = {
            g: np.corrcoef(values[group == i], human[group == i])[0, 1]
            for i, g in enumerate(judged.groups)
        }
        means: dict[str, list[float]] = {}
        for g, r in found.items():
            file, lp = g.rsplit(" ", 1)
            means.setdefault(file + (" into" if lp.endswith("-en") else " out"), []).append(r)
        shown = "  ".join(f"{k} {np.mean(v):.3f}" for k, v in means.items())
        if name.endswith(("src P", "ref F")):
            shown += "  | " + " ".join(f"{g} {r:.2f}" for g, r in found.items())
        lines.append(f"{name:14} {shown}")
    encoder.train(was)
    return "\n".join(lines)
