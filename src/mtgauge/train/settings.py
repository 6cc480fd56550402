"""Everything that can be set about a training, as frozen dataclasses; nothing here needs torch.

    JudgedFiles        which judged segments are learned from, chosen by and reported
    HeadTraining       how bilstm, bilstm-attention, esim and ruse are trained
    RegressorTraining  how the sentence-pair regressor is trained
    Distillation       how a large model's ratings join people's scores

    CorpusPreparation  parallel text to a corpus that the embedded models are trained on
    StudentRun         data, start and size of either embedded model
    EncoderTraining    how the encoder is trained
    LanguageModelTraining, TeacherTuning, Sampling

`mtgauge train` has one flag per field, with the field's default. `check` refuses values that make
no sense before anything is read; its messages name the flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mtgauge.errors import UsageError

HeadName = Literal["bilstm", "bilstm-attention", "esim", "ruse"]
HEADS: tuple[HeadName, ...] = ("bilstm", "bilstm-attention", "esim", "ruse")
VIEWS = ("hyp+src/hyp+ref", "hyp+src+ref", "hyp+src", "hyp+ref")
SHIPPED_VIEWS = {"hyp+src/hyp+ref": 0.4, "hyp+ref": 0.2, "hyp+src": 0.4}
TEACHER_LAYER = 7  # of twelve: whose best matches agree with people most, chosen on WMT16


def refuse_below(settings: object, **least: float) -> None:
    """Refuse fields below their least value, by the names of their flags."""
    for name, bound in least.items():
        if (value := getattr(settings, name)) < bound:
            raise UsageError(f"--{name.replace('_', '-')} {value:g}: must be at least {bound:g}.")


def refuse_no_share(settings: object, *names: str) -> None:
    for name in names:
        if not 0 <= (value := getattr(settings, name)) <= 1:
            raise UsageError(f"--{name.replace('_', '-')} {value:g}: must be between 0 and 1.")


@dataclass(frozen=True)
class JudgedFiles:
    """Judged segments: `train` is learned from, `dev` only chosen by, `test` only reported.

    `packed` is one file with all of them, made by `mtgauge train pack`.
    """

    train: Sequence[str | Path] = ()
    dev: Sequence[str | Path] = ()
    test: Sequence[str | Path] = ()
    dev_share: float | None = None  # of each file and pair, held out of `train` instead of `dev`
    dev_most: int | None = None  # segments per file and pair that are held out
    split_seed: int = 1
    pairs: Sequence[str] = ()  # language pairs to keep; all by default
    drop_overlap: bool = False  # leave out of `train` what is in `dev` or `test`
    any_language: bool = False  # also languages that the encoder does not know
    packed: str | Path | None = None
    limit: int | None = None  # training segments drawn at random

    def check(self) -> None:
        if self.packed is not None:
            others = ("train", "dev", "test", "pairs", "dev_share", "dev_most", "drop_overlap")
            given = [f"--{name.replace('_', '-')}" for name in others if getattr(self, name)]
            if given:
                raise UsageError(
                    f"--packed holds the data, chosen and split: leave {given[0]} out."
                )
            return
        if not self.train:
            raise UsageError("Say --train FILE for the judged segments, or --packed FILE.")
        if bool(self.dev) == (self.dev_share is not None):
            raise UsageError("Say either --dev FILE or --dev-share 0.1 for the validation data.")
        if self.dev_share is not None and not 0 < self.dev_share < 1:
            raise UsageError(f"--dev-share {self.dev_share:g}: must be between 0 and 1.")


@dataclass(frozen=True)
class MetricTraining:
    """What heads and regressor share."""

    encoder: str = "embedded"  # embedded, a folder or a hub id
    encoder_weights: Path | None = None  # its torch weights, instead of its ONNX file
    start: str | Path | None = None  # weights of another run to go on from: a file or its folder
    seeds: Sequence[int] = (1,)
    batch: int = 32
    epochs: int = 75
    rate: float = 4e-4
    patience: int = 4  # validations without improvement before the run stops
    average: float = 0.0  # decay of a moving average of the weights; 0: the last weights
    hidden: int = 300
    dropout: float = 0.5
    minutes: float | None = None  # per seed
    device: str = "auto"
    bf16: bool = False
    weights_only: bool = False  # no ONNX and no card: to go on from with `start`
    facts: Mapping[str, Any] = field(default_factory=dict)  # more keys of the card
    quiet: bool = False

    def check(self) -> None:
        if self.minutes is not None and not self.minutes > 0:
            raise UsageError(f"--minutes {self.minutes:g}: must be positive.")
        refuse_below(self, batch=1, hidden=1, epochs=0)


@dataclass(frozen=True)
class HeadTraining(MetricTraining):
    """A head on frozen vectors; defaults are paper 002's."""

    view: Literal["ref", "src"] = "ref"  # what a translation is compared with


@dataclass(frozen=True)
class RegressorTraining(MetricTraining):
    """A fine-tuned encoder; defaults are paper 004's, views those of the shipped model."""

    batch: int = 16
    epochs: int = 10
    rate: float = 1e-5
    hidden: int = 256
    dropout: float = 0.1
    views: Mapping[str, float] = field(default_factory=lambda: dict(SHIPPED_VIEWS))
    head: Literal["linear", "mlp"] = "linear"
    pool: Literal["first", "compare"] = "first"
    max_length: int = 128  # pieces of an input
    head_rate: float = 5.0  # times `rate`
    freeze_embeddings: bool = False

    def check(self) -> None:
        super().check()
        for name, share in self.views.items():
            if name not in VIEWS:
                raise UsageError(f"There is no view {name!r}. There are: {', '.join(VIEWS)}.")
            if not share > 0:
                raise UsageError(f"--views {name}={share:g}: a share must be positive.")
        if "hyp+src+ref" in self.views and len(self.views) > 1:
            raise UsageError("hyp+src+ref is an input of its own: train it alone.")


@dataclass(frozen=True)
class Distillation:
    """A large regressor rates packed segments, and drawn translations of a corpus."""

    packed: Path
    rater: Path  # folder of a regressor for hyp+ref with pool compare and head mlp
    rater_encoder: str  # what it was trained from: a folder or a hub id
    out: Path
    rater_hidden: int = 256
    corpus: Path | None = None  # with the translations of `mtgauge train sample`
    sample_limit: int | None = None
    encoder: str = "embedded"  # whose pieces `packed` holds
    device: str = "auto"


@dataclass(frozen=True)
class CorpusPreparation:
    """Parallel text to a corpus."""

    parallel: Path  # folder of XX-en.tsv, plain or compressed
    out: Path
    extra: Sequence[Path] = ()  # more XX-en.tsv files
    tokenizer: Path | None = None  # one made before; else it is trained
    pieces: int = 48_000
    teacher_tokenizer: Path | None = None
    reader_gguf: Path | None = None  # of the language model's teacher
    shares: Path | None = None  # JSON: how often origins and languages are drawn
    cap: Mapping[str, int] = field(default_factory=dict)  # origin -> pairs per language
    longest: int = 60  # words of a sentence
    workers: int = 2


@dataclass(frozen=True)
class StudentRun:
    """Data, start and size of a run of either embedded model."""

    corpus: Path
    out: Path
    train: Sequence[Path] = ()  # judged translations with sources, learned from beside the corpus
    dev: Sequence[Path] = ()  # judged segments that are scored at every checkpoint
    samples: bool = False  # learn from `mtgauge train sample` too
    without: Sequence[str] = ()  # origins that are left out
    start: Path | None = None  # weights to go on from
    device: str = "auto"
    fuse: bool = False  # compile the blocks
    layers: int | None = None
    dim: int | None = None
    heads: int | None = None
    embedding: int | None = None


@dataclass(frozen=True)
class Schedule:
    """How long and how fast an embedded model is trained."""

    steps: int = 0
    seconds: float = 0.0
    rate: float = 4e-4
    warmup: int = 200  # steps over which the rate rises
    seed: int = 1
    save_every: float = 150.0  # seconds
    schedule_start: float = 0.0  # share of the schedule that is over when the run begins
    schedule_end: float = 1.0  # and when it ends

    def check(self) -> None:
        if self.steps <= 0 and self.seconds <= 0:
            raise UsageError("Say how long to train: --steps or --seconds.")
        refuse_below(self, warmup=1)
        if not 0 <= self.schedule_start < self.schedule_end <= 1:
            raise UsageError(
                f"--schedule-start {self.schedule_start:g} --schedule-end {self.schedule_end:g}: "
                "these are shares of the schedule, the first smaller than the second."
            )

    def done(self, step: int, spent: float) -> float:
        """The share of this run that is over."""
        by_steps = step / self.steps if self.steps else 0.0
        return max(by_steps, spent / self.seconds if self.seconds else 0.0)

    def rate_at(self, step: int, done: float) -> float:
        behind = self.schedule_start + (self.schedule_end - self.schedule_start) * done
        return self.rate * min(1.0, (step + 1) / self.warmup) * max(1 - behind, 0.01)


ENCODER_LOSSES = {
    "cross": 1.0, "cross_words": 1.0, "english": 0.5, "english_words": 0.5, "relations": 0.5,
    "late": 0.5, "sentence": 0.3, "mean": 1.0, "words": 0.5, "masked": 0.12,
    "people": 0.3,
}  # fmt: skip


@dataclass(frozen=True)
class EncoderTraining(Schedule):
    """Everything a run of the encoder depends on besides data and start weights."""

    words: int = 10_000  # target words per batch
    versions: int = 4
    people: int = 128  # judged translations per step, where there are any
    source_layer: int = 5
    reference_layers: tuple[int, ...] = (5,)
    teacher_layer: int = TEACHER_LAYER
    weights: Mapping[str, float] = field(default_factory=lambda: dict(ENCODER_LOSSES))


@dataclass(frozen=True)
class LanguageModelTraining(Schedule):
    """Everything a run of the language model depends on besides data and start weights."""

    rate: float = 1.5e-3
    warmup: int = 200
    words: int = 40_000  # target words per batch
    given: float = 0.5  # share of sequences with the source before the translation
    foreign: float = 0.15  # share of texts alone that are the foreign side
    reverse: float = 0.15  # share of pairs translated out of English
    source_share: float = 0.2  # of the source's own pieces that are learned too
    read_share: float = 0.4  # of a batch's rows shown to the reader as well
    ranked: float = 1.0  # weight of ranking machine translations
    ranked_share: float = 0.4  # of a batch's rows whose machine translations are ranked
    people: int = 192  # judged translations per step, where there are any
    weights: Mapping[str, float] = field(
        default_factory=lambda: {"text": 1.0, "read": 1.0, "people": 0.3}
    )

    def check(self) -> None:
        super().check()
        refuse_no_share(self, "given", "reverse", "ranked_share")


@dataclass(frozen=True)
class TeacherTuning:
    """How the teacher is tuned; its layers above `layer` stay as they are."""

    layer: int = TEACHER_LAYER
    epochs: int = 5
    batch: int = 96
    rate: float = 1e-4
    anchor: float = 1.0
    seed: int = 1

    def check(self) -> None:
        refuse_below(self, epochs=1, batch=2)
        if self.rate <= 0:
            raise UsageError(f"--rate {self.rate:g}: must be positive.")


@dataclass(frozen=True)
class Sampling:
    """How many translations the language model draws; `layer` of the teacher rates them."""

    rows: int = 500_000  # pairs to translate
    each: int = 2  # translations of each
    seed: int = 1
    layer: int = TEACHER_LAYER
    batch: int = 4096

    def check(self) -> None:
        refuse_below(self, rows=1, each=1)
