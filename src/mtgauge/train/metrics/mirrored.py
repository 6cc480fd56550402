"""Training rows out of English, and faults, for the trained metrics; nobody judged them.

From pairs (x, y) of a corpus and their mirrored slips c of y and x' of x (`embedded.mirror`):

    slips      hypothesis c,  source x,   reference y      rated by the English teacher
    mirrored   hypothesis x', source y,   reference x      the rating of c
    copies     hypothesis x,  source x,   reference y      worst; and the other way, y for y
    strangers  hypothesis of the next pair, source x, reference y      worst; and the other way

    rows = build(corpus, slips=200_000, faults=30_000, seed=1)      # {"slips": Coded, ...}

Ratings are zero until `distil` fills them in.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mtgauge.train.embedded import fixed as f
from mtgauge.train.embedded.corpus import BOS, EOS
from mtgauge.train.embedded.corrupt import laid_out
from mtgauge.train.embedded.mirror import Facts, into_foreign, slip
from mtgauge.train.embedded.sampler import ParallelCorpus
from mtgauge.train.judged.codes import Book, Coded

WORST = -2.0
LONGEST = 80  # pieces of a text with its frame


def build(corpus: ParallelCorpus, slips: int, faults: int, seed: int = 1) -> dict[str, Coded]:
    """The four kinds of rows, which share one book of texts."""
    device = corpus.source.device
    rng = torch.Generator(device=device).manual_seed(seed)
    chance = torch.rand(slips, device=device, generator=rng, dtype=torch.float64)
    rows = torch.searchsorted(corpus.chance, chance).clamp(max=len(corpus.lang) - 1)
    table = corpus.tables("student", BOS, EOS)
    back = into_foreign(corpus.folder, corpus.langs, device)
    facts = Facts.load(corpus.folder, device)
    found: dict[str, list[tuple[Tensor, Tensor]]] = {}
    wide = LONGEST - 2
    for part in torch.split(rows, 4096):
        x = laid_out(corpus.source, corpus.source_start, part, wide)
        y = laid_out(corpus.target, corpus.target_start, part, wide)
        made = slip(y, x, corpus.lang[part], corpus.slips, back, facts, 1, rng,
                    torch.full_like(y, -1))  # fmt: skip
        texts = {"x": x, "y": y, "c": made.english[:, 0], "z": made.foreign[:, 0]}
        for name, slots in texts.items():
            laid = f.lay_out(slots, table, LONGEST)
            found.setdefault(name, []).append((laid.ids[laid.inner].cpu(), laid.inner.sum(1).cpu()))
    columns = {}
    for name, parts in found.items():
        flat, sizes = (torch.cat(part).numpy() for part in zip(*parts, strict=True))
        columns[name] = (flat, sizes)
    book, number = Book.joined(columns)
    lang = np.array(corpus.langs)[corpus.lang[rows].cpu().numpy()]
    into = np.array([f"{name}-en" for name in lang])
    out = np.array([f"en-{name}" for name in lang])
    few = slice(0, faults)
    xs, ys, cs, zs = (number[name] for name in "xycz")

    def coded(name: str, hyp: NDArray[np.int64], src: NDArray[np.int64], ref: NDArray[np.int64],
              lps: NDArray[np.str_], score: float) -> Coded:  # fmt: skip
        numbers = {"hyp": hyp, "src": src, "ref": ref}
        return Coded.unjudged(book, numbers, lps, name, np.full(len(hyp), score))

    both = np.concatenate([into[few], out[few]])
    here, there = np.concatenate([xs[few], ys[few]]), np.concatenate([ys[few], xs[few]])
    strange = np.concatenate([np.roll(ys[few], 1), np.roll(zs[few], 1)])
    return {
        "slips": coded("slips", cs, xs, ys, into, 0.0),
        "mirrored": coded("mirrored", zs, ys, xs, out, 0.0),
        "copies": coded("copies", here, here, there, both, WORST),
        "strangers": coded("strangers", strange, here, there, both, WORST),
    }
