"""Machine translations of the corpus by our own language model: `mtgauge train sample`.

Invented corruptions are not what translation systems write. A small model that was given the source
makes the mistakes of its larger relatives: fluent, and wrong in meaning. For many rows x, y of a
corpus `draw` keeps a few translations c of x, drawn at temperatures from .1 to .9, and how the
English teacher rates each against y (best-match F, as in `objective`). The encoder then learns to
rate (c, x) as the teacher rates (c, y), and the language model to rate log p(c | x) so.

    samples = draw(corpus, model, teacher, Sampling(rows=500_000, each=2))
    samples.save(corpus.folder)                     # samples.npz; new words join the corpus
    samples = Samples.load(folder, "cuda")
    samples.padded(rows)                            # (rows, each, longest) word types, -1 pads

Translations are rows of word types like the corpus itself; a word that the corpus has never seen
becomes a new type of it (`types.txt.xz`, `pieces.npz` and `english.npy` grow).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mtgauge.encode.transformer import Causal, Ragged
from mtgauge.errors import ResourceError
from mtgauge.train.embedded import objective as o
from mtgauge.train.embedded.corpus import BOS, EOS, SEP
from mtgauge.train.embedded.corrupt import Table, expand, flat_rows, framed, laid_out
from mtgauge.train.embedded.decode import translate
from mtgauge.train.embedded.new_words import as_words
from mtgauge.train.embedded.sampler import ParallelCorpus
from mtgauge.train.embedded.teacher import FIRST, LAST, Teacher
from mtgauge.train.progress import say
from mtgauge.train.settings import Sampling

FILE = "samples.npz"
COOL, HOT = 0.1, 0.9


@dataclass(frozen=True)
class Samples:
    """`each` translations of every corpus row in `row` (sorted), as word types, and their ratings.

    Translation k of row[i] is words[start[i * each + k] : start[i * each + k + 1]].
    """

    row: Tensor
    words: Tensor
    start: Tensor
    score: Tensor
    each: int

    def save(self, folder: Path) -> None:
        arrays = {name: getattr(self, name).cpu().numpy() for name in ("row", "start", "score")}
        words = self.words.cpu().numpy().astype(np.int32)
        np.savez(folder / FILE, words=words, each=np.int64(self.each), **arrays)

    @classmethod
    def load(cls, folder: Path, device: str | torch.device) -> Samples:
        if not (folder / FILE).exists():
            raise ResourceError(f"{folder} has no {FILE}: `mtgauge train sample` makes it.")
        with np.load(folder / FILE, allow_pickle=False) as stored:
            parts = {
                name: torch.from_numpy(stored[name]).to(device)
                for name in ("row", "words", "start", "score")
            }
            return cls(**parts, each=int(stored["each"]))

    def at(self, rows: Tensor) -> Tensor:
        """Numbers (rows, each) of the translations of corpus rows, all of which must have them."""
        first = torch.searchsorted(self.row, rows) * self.each
        return first[:, None] + torch.arange(self.each, device=rows.device)

    def padded(self, rows: Tensor) -> Tensor:
        """Word types (rows, each, longest), -1 where a translation has ended."""
        return laid_out(self.words, self.start, self.at(rows))


def draw(corpus: ParallelCorpus, model: Causal, teacher: Teacher, settings: Sampling) -> Samples:
    """Translate rows drawn by their chance, `each` times; the corpus gets the new words."""
    settings.check()
    each, layer = settings.each, settings.layer
    device = corpus.source.device
    rng = torch.Generator(device=device).manual_seed(settings.seed)
    # missed now rather than after the translating
    teacher.refuse_above(layer)
    corpus.tables("teacher", FIRST, LAST)
    chosen = _choose(corpus, settings.rows, rng)
    table = corpus.tables("student", BOS, EOS)
    model.to(device).eval()
    began = time.monotonic()
    found: list[Tensor] = []
    order: list[Tensor] = []
    many = chosen.repeat_interleave(each)
    for part in _like_length(many, corpus, settings.batch):
        heat = COOL + (HOT - COOL) * torch.rand(len(part), device=device, generator=rng)
        prefixes, most = _prefixes(corpus, many[part], table, model.shape.positions)
        found.append(translate(model, prefixes, heat, most, rng))
        order.append(part)
        if len(found) % 20 == 1:
            done = sum(len(x) for x in order)
            say(f"{done} of {len(many)} translations, {done / (time.monotonic() - began):.0f}/s")
    back = torch.argsort(torch.cat(order))
    lengths = torch.cat([(x >= 0).sum(1) for x in found])
    flat = torch.cat([x[x >= 0] for x in found])
    drawn = Ragged(flat, F.pad(lengths.cumsum(0), (1, 0)), 0).take(back)
    words, start = as_words(corpus.folder, drawn.ids, drawn.start)
    samples = Samples(chosen, words, start, torch.zeros(len(many), device=device), each)
    say("translations as words; the teacher rates them")
    return _rated(samples, corpus, teacher, layer)


def _choose(corpus: ParallelCorpus, rows: int, rng: torch.Generator) -> Tensor:
    """Distinct rows, about `rows` of them where the corpus has as many."""
    device = corpus.source.device
    chosen = torch.empty(0, dtype=torch.long, device=device)
    for _ in range(8):
        if len(chosen) >= min(rows, len(corpus.lang)):
            break
        chance = torch.rand(rows, device=device, generator=rng, dtype=torch.float64)
        more = torch.searchsorted(corpus.chance, chance).clamp(max=len(corpus.lang) - 1)
        chosen = torch.unique(torch.cat([chosen, more]))
    few = torch.randperm(len(chosen), device=device, generator=rng)[:rows]
    return chosen[few].sort().values


def _like_length(rows: Tensor, corpus: ParallelCorpus, batch: int) -> Iterator[Tensor]:
    """Places in `rows`, in batches of sources of like length."""
    length = corpus.source_start.diff()[rows]
    yield from torch.split(torch.argsort(length, stable=True), batch)


def _prefixes(
    corpus: ParallelCorpus, rows: Tensor, table: Table, positions: int
) -> tuple[Ragged, int]:
    """`<s> x <sep>` of each row, and how many pieces a translation may have."""
    words, starts = framed(corpus.padded(rows, "source"), table.frame)
    batch, _ = expand(words, starts, table)
    ids = batch.ids.clone()
    ids[batch.start[1:] - 1] = SEP
    wanted, _ = expand(*framed(corpus.padded(rows, "target"), table.frame), table)
    usual = int(torch.quantile(wanted.lengths.float(), 0.98).item())
    most = min(int(1.3 * usual) + 6, max(16, positions - batch.longest))
    return Ragged(ids, batch.start, batch.longest), most


def _rated(samples: Samples, corpus: ParallelCorpus, teacher: Teacher, layer: int) -> Samples:
    """The samples with the teacher's best-match F of each against its reference."""
    table = corpus.tables("teacher", FIRST, LAST)
    score = torch.zeros_like(samples.score)
    length = samples.start.diff()
    longest = torch.stack([length[k :: samples.each] for k in range(samples.each)]).amax(0)
    for part in torch.split(torch.argsort(longest), 2048):
        rows = samples.row[part]
        target, slots = corpus.padded(rows, "target"), samples.padded(rows).flatten(0, 1)
        batch, _, _ = flat_rows([target, slots], table)
        found, _ = o.match_versions(teacher(batch, layer), batch, len(rows), samples.each)
        score[samples.at(rows).flatten()] = found.f.float()
    return replace(samples, score=score)


def piece_rows(samples: Samples, corpus: ParallelCorpus) -> dict[str, Tensor]:
    """Student pieces (unframed, ragged) of source, reference and translation, one row per sample.

    `source`, `source_start`, `reference`, ..., `sample`, `sample_start`, and `score`, `lang`.
    """
    table = corpus.tables("student", BOS, EOS)
    out: dict[str, list[Tensor]] = {}
    for part in torch.split(torch.arange(len(samples.row), device=samples.row.device), 20_000):
        rows = samples.row[part]
        source, target = corpus.padded(rows, "source"), corpus.padded(rows, "target")
        each = samples.each
        for name, slots in (
            ("source", source.repeat_interleave(each, 0)),
            ("reference", target.repeat_interleave(each, 0)),
            ("sample", samples.padded(rows).flatten(0, 1)),
        ):
            batch, _, _ = flat_rows([slots], table)
            inside = (batch.position > 0) & (batch.position < batch.lengths[batch.row] - 1)
            out.setdefault(name, []).append(batch.ids[inside])
            out.setdefault(name + "_start", []).append(batch.lengths - 2)
    found = {name: torch.cat(parts) for name, parts in out.items()}
    for name in ("source", "reference", "sample"):
        found[name + "_start"] = F.pad(found[name + "_start"].cumsum(0), (1, 0))
    lang = corpus.lang[samples.row].repeat_interleave(samples.each)
    return found | {"score": samples.score, "lang": lang}
