"""Training of the multilingual encoder: `mtgauge train encoder`.

One step draws translation pairs (x, y), makes graded versions c of each y (`corrupt`), encodes all
of them at once, and adds up the losses of `objective`:

    cross     (c, x) follows the teacher's (c, y), word by word and sentence by sentence    layer 5
    english   (c, y) follows it too, and so do all similarities of their words          layers 4, 5
    late      translations against other sentences and own bad versions, by best matches    layer 5
    sentence  translations against other sentences by mean vectors; the teacher's mean      layer 6
    masked    pieces of `x </s> y` hidden and guessed (TLM)                                 layer 6

    train(Corpus.load(folder, "cuda"), Teacher.load(...), Settings(seconds=800), out)

It resumes from weights alone (`start`): several short runs add up. Deterministic by seed in steps
(`steps=`); with `seconds=` the learning rate follows the clock.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtgauge.train import objective as o
from mtgauge.train.corpus import BOS, EOS, MASK
from mtgauge.train.corrupt import Table, corrupt, expand, framed
from mtgauge.train.model import Encoder, Ragged, Shape, log_probability
from mtgauge.train.sampler import Corpus
from mtgauge.train.teacher import FIRST, LAST, Teacher

WEIGHTS = {
    "cross": 1.0, "cross_words": 1.0, "english": 0.5, "english_words": 0.5, "relations": 0.5,
    "late": 0.5, "sentence": 0.3, "mean": 1.0, "words": 0.5, "masked": 0.12,
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Everything a run depends on besides data and start weights."""

    steps: int = 0
    seconds: float = 0.0
    words: int = 10_000
    versions: int = 4
    rate: float = 4e-4
    warm: int = 200
    seed: int = 1
    source_layer: int = 5
    reference_layers: tuple[int, ...] = (4, 5)
    teacher_layer: int = 7
    weights: dict[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    save_every: float = 150.0
    first_share: float = 0.0  # of the schedule already behind us, when resuming


class Student(nn.Module):
    """The encoder and the heads that only training needs."""

    def __init__(self, shape: Shape, teacher_dim: int) -> None:
        super().__init__()
        self.encoder = Encoder(shape)
        self.word_head = nn.Linear(shape.dim, teacher_dim)
        self.mean_head = nn.Linear(shape.dim, teacher_dim)
        self.guess = nn.Sequential(
            nn.Linear(shape.dim, shape.dim), nn.GELU(), nn.LayerNorm(shape.dim)
        )


def save(student: nn.Module, shape: Shape, path: Path) -> None:
    """Weights as fp16 safetensors, with the shape in the header."""
    from safetensors.torch import save_file

    half = {k: v.detach().half().cpu().contiguous() for k, v in student.state_dict().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    save_file(half, temporary, metadata={"shape": json.dumps(asdict(shape))})
    temporary.replace(path)


def load_weights(path: Path) -> tuple[dict[str, Tensor], Shape]:
    from safetensors import safe_open

    with safe_open(path, "pt") as stored:
        shape = Shape(**json.loads(stored.metadata()["shape"]))
        return {name: stored.get_tensor(name).float() for name in stored.keys()}, shape  # noqa: SIM118


def load_encoder(path: Path) -> Encoder:
    """The encoder alone, from what `save` wrote."""
    weights, shape = load_weights(path)
    encoder = Encoder(shape)
    own = {k.removeprefix("encoder."): v for k, v in weights.items() if k.startswith("encoder.")}
    encoder.load_state_dict(own)
    return encoder


@dataclass(frozen=True)
class _Step:
    """Everything one step compares, encoded."""

    batch: Ragged
    word: Tensor
    words: int
    states: list[Tensor]
    pairs: int
    versions: int

    def at(self, kind: str) -> Tensor:
        """Rows of the sources, the references, or (one a version) either again."""
        n, device = self.pairs, self.word.device
        if kind == "versions":
            return torch.arange(2 * n, n * (2 + self.versions), device=device)
        first = torch.arange(n, device=device) + (0 if kind.startswith("source") else n)
        return first.repeat_interleave(self.versions) if kind.endswith("*") else first


class Losses:
    """The losses of one step, by name."""

    def __init__(
        self, corpus: Corpus, teacher: Teacher, student: Student, settings: Settings
    ) -> None:
        self.corpus, self.teacher, self.student, self.s = corpus, teacher, student, settings
        self.pieces = corpus.tables("student", BOS, EOS)
        self.teacher_pieces = corpus.tables("teacher", FIRST, LAST)
        device = corpus.source.device
        self.rng = torch.Generator(device=device).manual_seed(settings.seed)
        self.whole = self._whole_words(student.encoder.shape.vocabulary)

    def _whole_words(self, vocabulary: int) -> Tensor:
        """Piece -> the English type that is this piece and no other, -1 where there is none."""
        known = self.corpus.slips.confusion >= 0
        count = self.pieces.start.diff()[: len(known)]
        types = (known & (count == 1)).nonzero()[:, 0]
        out = torch.full((vocabulary,), -1, device=types.device)
        out[self.pieces.flat[self.pieces.start[types]]] = types
        return out

    @torch.no_grad()
    def _guessed(self, target: Tensor) -> Tensor:
        """Other likely words, guessed from the rest of the sentence alone: fluent, and wrong."""
        words, starts = framed(target, self.pieces.frame)
        batch, word = expand(words, starts, self.pieces)
        count = self.pieces.start[words + 1] - self.pieces.start[words]
        draw = torch.rand(len(words), device=words.device, generator=self.rng)
        frame = torch.tensor(self.pieces.frame, device=words.device)
        wanted = (count == 1) & (draw < 0.15) & ~torch.isin(words, frame)
        hidden = wanted[word]
        ids = torch.where(hidden, MASK, batch.ids)
        states = self.student.encoder(Ragged(ids, batch.start, batch.longest))[-1][hidden]
        logits = self.student.guess(states) @ self.student.encoder.pieces.weight.T
        # a draw from the softmax, the true piece left out (the largest of logit + Gumbel noise)
        noise = torch.rand(
            logits.shape, device=logits.device, generator=self.rng, dtype=torch.float32
        )
        drawn = logits.float() - torch.log(-torch.log(noise.clamp(1e-9, 1 - 1e-7))) * 0.8
        pieces = drawn.scatter(1, batch.ids[hidden][:, None], -1e4).argmax(1)
        types = self.whole[pieces]
        row = torch.repeat_interleave(
            torch.arange(len(target), device=words.device), starts.diff(), output_size=len(words)
        )
        place = torch.arange(len(words), device=words.device) - starts[row] - 1
        out = torch.full_like(target, -1)
        out[row[wanted], place[wanted]] = types
        return out

    def __call__(self, rows: Tensor) -> dict[str, Tensor]:
        k = self.s.versions
        source, target = self.corpus.padded(rows, "source"), self.corpus.padded(rows, "target")
        lang = self.corpus.lang[rows]
        guessed = self._guessed(target)
        slots = corrupt(target, source, lang, self.corpus.slips, k, self.rng, guessed).flatten(0, 1)
        taught = self._teach(target, slots)
        step = self._encode([source, target, slots], len(rows))
        losses = self._match(step, taught)
        losses |= self._sentence(step, taught["mean"])
        quarter = max(4, len(rows) // 4)
        losses["masked"] = self._masked(source[:quarter], target[:quarter])
        return losses

    def _rows(self, parts: list[Tensor], table: Table) -> tuple[Ragged, Tensor, int]:
        wide = max(p.shape[1] for p in parts)
        slots = torch.cat([F.pad(p, (0, wide - p.shape[1]), value=-1) for p in parts])
        words, starts = framed(slots, table.frame)
        batch, word = expand(words, starts, table)
        return batch, word, len(words)

    def _encode(self, parts: list[Tensor], pairs: int) -> _Step:
        batch, word, words = self._rows(parts, self.pieces)
        states = self.student.encoder(batch)
        return _Step(batch, word, words, states, pairs, self.s.versions)

    @torch.no_grad()
    def _teach(self, target: Tensor, slots: Tensor) -> dict[str, object]:
        """The teacher's matches of versions with references, its word vectors and its means."""
        batch, word, words = self._rows([target, slots], self.teacher_pieces)
        states = self.teacher(batch, self.s.teacher_layer)
        n = len(target)
        device = word.device
        versions = torch.arange(n, len(batch), device=device)
        refs = torch.arange(n, device=device).repeat_interleave(self.s.versions)
        unit = F.normalize(states.float(), dim=-1)
        longest = batch.longest - 2
        a, b = o.Padded.of(batch, versions, longest), o.Padded.of(batch, refs, longest)
        found = o.match(o.similarities(unit, a, b), a.mask, b.mask)
        matched, mine = o.matched_words(found, a, word, words)
        refs_batch, _, _ = self._rows([target], self.teacher_pieces)
        last = self.teacher(refs_batch, self.teacher.layers)
        mean = o.word_means(last.float(), refs_batch.row, n)
        return {"found": found, "matched": matched, "mine": mine,
                "words": o.word_means(states.float(), word, words), "mean": mean}  # fmt: skip

    def _match(self, step: _Step, taught: dict[str, object]) -> dict[str, Tensor]:
        k, found = self.s.versions, taught["found"]
        assert isinstance(found, o.Match)
        matched, mine = taught["matched"], taught["mine"]
        assert isinstance(matched, Tensor)
        assert isinstance(mine, Tensor)
        batch, n = step.batch, step.pairs
        kinds = batch.lengths[:n], batch.lengths[n : 2 * n], batch.lengths[2 * n :]
        long_x, long_y, long_c = (torch.stack([x.max() for x in kinds]) - 2).tolist()
        a = o.Padded.of(batch, step.at("versions"), long_c)
        b = o.Padded.of(batch, step.at("source*"), long_x)
        c = o.Padded.of(batch, step.at("reference*"), long_y)
        # words of sources come first in the flat row of words; the teacher never saw them
        shift = step.words - len(matched)
        losses: dict[str, Tensor] = {}
        unit = F.normalize(step.states[self.s.source_layer], dim=-1)
        cross = o.match(o.similarities(unit, a, b), a.mask, b.mask)
        losses["cross"] = o.follow_match(cross, found, k)
        own, _ = o.matched_words(cross, a, step.word, step.words)
        losses["cross_words"] = o.follow(own[shift:][mine], matched[mine])
        one_x = o.Padded.of(batch, step.at("source"), long_x)
        one_y = o.Padded.of(batch, step.at("reference"), long_y)
        score = (cross.precision + cross.recall).view(n, k)
        losses["late"] = o.late_contrast(unit, one_x, one_y, score, found.f.view(n, k))
        for layer in self.s.reference_layers:
            self._english(step, layer, a, c, taught, losses)
        hidden = o.word_means(step.states[self.s.source_layer].float(), step.word, step.words)
        wanted = taught["words"]
        assert isinstance(wanted, Tensor)
        middle = wanted.mean(0)
        guess = self.student.word_head(hidden[shift:])
        losses["words"] = 1 - F.cosine_similarity(guess.float(), wanted - middle).mean()
        return losses

    def _english(
        self, step: _Step, layer: int, a: o.Padded, c: o.Padded,
        taught: dict[str, object], losses: dict[str, Tensor],
    ) -> None:  # fmt: skip
        found, matched, mine = taught["found"], taught["matched"], taught["mine"]
        wanted = taught["words"]
        assert isinstance(found, o.Match)
        assert isinstance(matched, Tensor)
        assert isinstance(mine, Tensor)
        assert isinstance(wanted, Tensor)
        share = 1 / len(self.s.reference_layers)
        shift = step.words - len(matched)
        unit = F.normalize(step.states[layer], dim=-1)
        same = o.match(o.similarities(unit, a, c), a.mask, c.mask)
        own, _ = o.matched_words(same, a, step.word, step.words)

        def add(name: str, value: Tensor) -> None:
            losses[name] = losses.get(name, torch.zeros((), device=value.device)) + share * value

        add("english", o.follow_match(same, found, self.s.versions))
        add("english_words", o.follow(own[shift:][mine], matched[mine]))
        # similarities of neighbouring words across the whole batch, rows a step apart in 7 ways
        mean = o.word_means(step.states[layer].float(), step.word, step.words)[shift:]
        left, right = F.normalize(mean, dim=-1), F.normalize(wanted, dim=-1)
        rolls = (1, 2, 3, 5, 8, 13, 21)
        s = torch.cat([(left * left.roll(r, 0)).sum(-1) for r in rolls])
        t = torch.cat([(right * right.roll(r, 0)).sum(-1) for r in rolls])
        add("relations", o.follow(s, t))

    def _sentence(self, step: _Step, mean: object) -> dict[str, Tensor]:
        assert isinstance(mean, Tensor)
        last, batch, n = step.states[-1].float(), step.batch, step.pairs
        pieces = int(batch.start[2 * n])
        means = o.word_means(last[:pieces], batch.row[:pieces], 2 * n)
        unit = F.normalize(means, dim=-1)
        wanted = mean.repeat(2, 1)
        near = F.cosine_similarity(self.student.mean_head(means).float(), wanted)
        return {"sentence": o.contrast(unit[:n], unit[n:]), "mean": 1 - near.mean()}

    def _masked(self, source: Tensor, target: Tensor) -> Tensor:
        between = torch.full_like(source[:, :1], self.pieces.frame[1])
        batch, _, _ = self._rows([torch.cat([source, between, target], 1)], self.pieces)
        draw = torch.rand(len(batch.ids), device=batch.ids.device, generator=self.rng)
        hidden = (draw < 0.2) & (batch.ids != BOS) & (batch.ids != EOS)
        ids = torch.where(hidden & (draw < 0.17), MASK, batch.ids)
        states = self.student.encoder(Ragged(ids, batch.start, batch.longest))[-1][hidden]
        table = self.student.encoder.pieces.weight
        return -log_probability(self.student.guess(states), table, batch.ids[hidden]).mean()


def train(
    corpus: Corpus,
    teacher: Teacher,
    student: Student,
    settings: Settings,
    out: Path,
    watch: Callable[[Encoder], str] | None = None,
) -> None:
    """Train until `steps` or `seconds` are over; checkpoints and a log go to `out`."""
    device = corpus.source.device
    shape = student.encoder.shape
    student.to(device).train()
    torch.set_float32_matmul_precision("high")
    losses = Losses(corpus, teacher, student, settings)
    groups = [
        {"params": [p for p in student.parameters() if p.dim() > 1], "weight_decay": 0.01},
        {"params": [p for p in student.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    fused = device.type == "cuda"
    optimiser = torch.optim.AdamW(groups, lr=settings.rate, betas=(0.9, 0.98), fused=fused)
    began = saved = time.monotonic()
    totals: dict[str, Tensor] = {}
    sentences = 0
    for step, rows in enumerate(corpus.batches(settings.words, settings.seed)):
        spent = time.monotonic() - began
        done = max(
            step / settings.steps if settings.steps else 0.0,
            spent / settings.seconds if settings.seconds else 0.0,
        )
        if done >= 1:
            break
        progress = settings.first_share + (1 - settings.first_share) * done
        rate = settings.rate * min(1.0, (step + 1) / settings.warm) * max(1 - progress, 0.01)
        for group in optimiser.param_groups:
            group["lr"] = rate
        with torch.autocast(device.type, torch.bfloat16, enabled=fused):
            parts = losses(rows)
            loss = torch.stack([settings.weights[k] * v for k, v in parts.items()]).sum()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        sentences += len(rows)
        for name, value in parts.items():
            totals[name] = totals.get(name, torch.zeros_like(value)) * 0.98 + value.detach() * 0.02
        if step % 100 == 99 or step < 3:
            bias = 1 - 0.98 ** (step + 1)
            shown = " ".join(f"{k} {v.item() / bias:.3f}" for k, v in totals.items())
            now = time.monotonic() - began
            print(f"step {step + 1} {now:.0f}s {sentences / now:.0f} pairs/s lr {rate:.1e} {shown}",
                  file=sys.stderr, flush=True)  # fmt: skip
        if time.monotonic() - saved > settings.save_every:
            save(student, shape, out / "student.safetensors")
            if watch is not None:
                print(watch(student.encoder), file=sys.stderr, flush=True)
            saved = time.monotonic()
    save(student, shape, out / "student.safetensors")
    if watch is not None:
        print(watch(student.encoder), file=sys.stderr, flush=True)
