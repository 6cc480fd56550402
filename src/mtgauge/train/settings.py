"""Everything that can be set about a training, as frozen dataclasses; nothing here needs torch.

    JudgedFiles        which judged segments are learned from, chosen by and reported
    HeadTraining       how bilstm, bilstm-attention, esim and ruse are trained
    RegressorTraining  how the sentence-pair regressor is trained
    Distillation       how a large model's ratings join people's scores

    CorpusPreparation  parallel text to a corpus that the embedded models are trained on
    StudentRun         data, start and size of either embedded model
    EncoderTraining    how the encoder is trained
    LanguageModelTraining, TeacherTuning, Sampling

`mtgauge train` has one flag per annotated field, with its default and its text as help. `check`
refuses values that make no sense before anything is read; its messages name the flags.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from mtgauge.arguments import FILES, refuse_no_list
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


def refuse_rate(rate: float) -> None:
    if not 0 < rate < math.inf:
        raise UsageError(f"--rate {rate:g}: must be a number above 0.")


@dataclass(frozen=True)
class JudgedFiles:
    """Judged segments: `train` is learned from, `dev` only chosen by, `test` only reported.

    `packed` is one file with all of them, made by `mtgauge train pack`.
    """

    train: Annotated[Sequence[str | Path], "judged segments to learn from"] = ()
    dev: Annotated[Sequence[str | Path], "judged segments that are only chosen by"] = ()
    test: Annotated[Sequence[str | Path], "judged segments that are only reported"] = ()
    dev_share: Annotated[float | None, "hold out this share of --train instead of --dev"] = None
    dev_most: Annotated[int | None, "hold out at most N segments per file and pair"] = None
    split_seed: Annotated[int, "which segments are held out, and drawn by --limit"] = 1
    pairs: Annotated[Sequence[str], "only these language pairs"] = ()
    drop_overlap: Annotated[bool, "leave out of --train what is also in --dev or --test"] = False
    any_language: Annotated[bool, "also languages that the encoder does not know"] = False
    packed: Annotated[str | Path | None, "all of these, as `mtgauge train pack` wrote them"] = None
    limit: Annotated[int | None, "train on N segments drawn at random"] = None
    equal_weights: Annotated[
        bool, "every judgement counts 1, not n / (n + 1) for the n people behind it"
    ] = False
    cut: Annotated[float, "cut z-scores at plus and minus X; 0: not at all"] = 3.0

    def check(self) -> None:
        for name in ("train", "dev", "test"):
            refuse_no_list(getattr(self, name), name, FILES)
        if not self.cut >= 0:
            raise UsageError(f"--cut {self.cut:g}: must be 0 or more.")
        if self.packed is not None:
            usual = JudgedFiles()
            if (self.equal_weights, self.cut) != (usual.equal_weights, usual.cut):
                raise UsageError(
                    "--packed holds judgements that are weighted and cut: say --equal-weights and "
                    "--cut to `mtgauge train pack`."
                )
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

    encoder: Annotated[str, "embedded, a folder or a hub id"] = "embedded"
    encoder_weights: Annotated[
        Path | None, "its torch weights, where its ONNX file will not do"
    ] = None
    start: Annotated[
        str | Path | None,
        "go on from the weights of another run: weights.safetensors or its folder",
    ] = None
    seeds: Annotated[Sequence[int], "train once per seed, keep the best"] = (1,)
    batch: Annotated[int, "segments per step"] = 32
    epochs: Annotated[int, "passes over the training data at most"] = 75
    rate: Annotated[float, "learning rate"] = 4e-4
    patience: Annotated[int, "validations without improvement before the run stops"] = 4
    average: Annotated[float, "decay of a moving average of the weights to keep, such as 0.998"] = (
        0.0
    )
    hidden: Annotated[int, "width of the hidden layers"] = 300
    dropout: Annotated[float, "share of values that are dropped"] = 0.5
    minutes: Annotated[float | None, "end in this time, per seed"] = None
    device: Annotated[str, "auto, cpu, cuda, mps"] = "auto"
    bf16: Annotated[bool, "half precision where it is safe"] = False
    weights_only: Annotated[bool, "no ONNX and no card: to go on from with --start"] = False
    facts: Annotated[Mapping[str, Any], "more of the card's keys: licence, parent, ..."] = field(
        default_factory=dict
    )
    quiet: Annotated[bool, "no progress"] = False

    def check(self) -> None:
        if self.minutes is not None and not self.minutes > 0:
            raise UsageError(f"--minutes {self.minutes:g}: must be positive.")
        if not self.seeds:
            raise UsageError("--seeds: name at least one.")
        refuse_below(self, batch=1, hidden=1, epochs=0, patience=1)
        refuse_rate(self.rate)
        for name in ("average", "dropout"):
            if not 0 <= (share := getattr(self, name)) < 1:
                raise UsageError(f"--{name} {share:g}: must be 0 or more and below 1.")


@dataclass(frozen=True)
class HeadTraining(MetricTraining):
    """A head on frozen vectors; defaults are paper 002's."""

    view: Annotated[Literal["ref", "src"], "what a translation is compared with"] = "ref"
    vectors: Annotated[
        Path | None, "folder for the texts' vectors, which heads of the same data can share"
    ] = None


@dataclass(frozen=True)
class RegressorTraining(MetricTraining):
    """A fine-tuned encoder; defaults are paper 004's, views those of the shipped model."""

    batch: int = 16
    epochs: int = 10
    rate: float = 1e-5
    hidden: int = 256
    dropout: float = 0.1
    views: Annotated[Mapping[str, float], "one or several of VIEWS; a share of the error each"] = (
        field(default_factory=lambda: dict(SHIPPED_VIEWS))
    )
    head: Annotated[Literal["linear", "mlp"], "what scores the vectors"] = "linear"
    pool: Annotated[Literal["first", "compare"], "what vector an input has"] = "first"
    max_length: Annotated[int, "pieces of an input"] = 128
    head_rate: Annotated[float, "the head's rate, times --rate"] = 5.0
    freeze_embeddings: Annotated[bool, "leave the encoder's piece table as it is"] = False

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

    packed: Annotated[Path, "data that `mtgauge train pack` wrote"]
    rater: Annotated[Path, "folder of a regressor for hyp+ref with --pool compare and --head mlp"]
    rater_encoder: Annotated[str, "what it was trained from: a folder or a hub id"]
    out: Annotated[Path, "folder for the two files"]
    rater_hidden: Annotated[int, "its --hidden"] = 256
    corpus: Annotated[Path | None, "rate its `mtgauge train sample` too"] = None
    sample_limit: Annotated[int | None, "no more than N of these"] = None
    slips: Annotated[int, "rate N of its pairs with slips made on both sides too"] = 0
    faults: Annotated[int, "and add copies and strangers of N of them as worst"] = 20_000
    encoder: Annotated[str, "whose pieces --packed holds"] = "embedded"
    device: Annotated[str, "auto, cpu, cuda, mps"] = "auto"

    def check(self) -> None:
        refuse_below(self, slips=0, faults=0)
        if self.slips and self.corpus is None:
            raise UsageError(f"--slips {self.slips}: say --corpus, whose pairs they are made of.")


@dataclass(frozen=True)
class CorpusPreparation:
    """Parallel text to a corpus."""

    parallel: Annotated[Path, "folder of XX-en.tsv, plain or .gz, .xz, .zst"]
    out: Annotated[Path, "folder for the corpus"]
    extra: Annotated[Sequence[Path], "more XX-en.tsv files"] = ()
    tokenizer: Annotated[Path | None, "one made before; else it is trained"] = None
    pieces: Annotated[int, "size of the tokenizer that is trained"] = 48_000
    teacher_tokenizer: Annotated[Path | None, "the teacher's tokenizer.json"] = None
    shares: Annotated[
        Path | None, 'how often pairs are drawn: {"languages": {}, "origins": {}}'
    ] = None
    cap: Annotated[Mapping[str, int], "pairs of an origin per language at most"] = field(
        default_factory=dict
    )
    longest: Annotated[int, "words of a sentence at most"] = 60
    workers: Annotated[int, "processes"] = 2


@dataclass(frozen=True)
class StudentRun:
    """Data, start and size of a run of either embedded model."""

    corpus: Annotated[Path, "what `mtgauge train prepare` made"]
    out: Annotated[Path, "folder for the weights"]
    train: Annotated[
        Sequence[Path], "judged translations with sources to learn from, beside the corpus"
    ] = ()
    dev: Annotated[
        Sequence[Path],
        "judged segments with sources (the encoder: and references), scored at checkpoints",
    ] = ()
    samples: Annotated[bool, "learn from `mtgauge train sample`, too"] = False
    without: Annotated[Sequence[str], "leave pairs of these origins out"] = ()
    start: Annotated[
        Path | None, "go on from these weights: safetensors, .onnx; the encoder's .npz"
    ] = None
    device: Annotated[str, "auto, cpu, cuda, mps"] = "auto"
    fuse: Annotated[bool, "compile the blocks: begins later, runs faster"] = False
    layers: Annotated[int | None, "of a fresh model; the package's by default"] = None
    dim: Annotated[int | None, "its width"] = None
    heads: Annotated[int | None, "its attention heads"] = None
    embedding: Annotated[int | None, "width of its piece table"] = None


@dataclass(frozen=True)
class Schedule:
    """How long and how fast an embedded model is trained."""

    steps: Annotated[int, "train for so many steps"] = 0
    seconds: Annotated[float, "train for so long"] = 0.0
    rate: Annotated[float, "learning rate"] = 4e-4
    warmup: Annotated[int, "steps over which the rate rises"] = 200
    seed: Annotated[int, "of weights and batches"] = 1
    save_every: Annotated[float, "seconds between checkpoints"] = 150.0
    schedule_start: Annotated[float, "share of the schedule that is over when the run begins"] = 0.0
    schedule_end: Annotated[float, "and when it ends"] = 1.0

    def check(self) -> None:
        if self.steps <= 0 and self.seconds <= 0:
            raise UsageError("Say how long to train: --steps or --seconds.")
        refuse_below(self, warmup=1)
        refuse_rate(self.rate)
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


Directions = Literal["into-english", "both"]
ENCODER_LOSSES: Mapping[Directions, Mapping[str, float]] = {
    "into-english": {
        "cross": 1.0, "cross_words": 1.0, "english": 0.5, "english_words": 0.5, "relations": 0.5,
        "late": 0.5, "sentence": 0.3, "mean": 1.0, "words": 0.5, "masked": 0.12,
        "people": 0.3,
    },
    "both": {
        "cross": 1.0, "cross_words": 1.0, "mirror": 0.5, "english": 0.5, "english_words": 0.5,
        "foreign": 0.5, "relations": 0.4, "late": 0.5, "copy": 1.0, "sentence": 0.3, "mean": 0.7,
        "words": 0.4, "masked": 0.12, "people": 1.0,
    },
}  # fmt: skip


@dataclass(frozen=True)
class EncoderTraining(Schedule):
    """Everything a run of the encoder depends on besides data and start weights."""

    directions: Annotated[Directions, "in which translations are learned to be judged"] = (
        "into-english"
    )
    words: Annotated[int, "target words per batch"] = 10_000
    batch_pieces: Annotated[
        int, "pieces of all texts of a batch, padding counted: with --directions both, for --words"
    ] = 240_000
    versions: Annotated[
        int, "of each reference, from untouched to ruined; machine translations counted"
    ] = 4
    people_rows: Annotated[int, "judged translations per step, where there are any"] = 128
    source_layer: int = 5
    reference_layers: tuple[int, ...] = (5,)
    teacher_layer: int = TEACHER_LAYER
    weights: Mapping[str, float] = field(default_factory=dict)  # empty: those of its directions

    def check(self) -> None:
        super().check()
        refuse_below(self, versions=1, batch_pieces=1)

    @property
    def loss_weights(self) -> Mapping[str, float]:
        """The share of each loss in their sum."""
        return self.weights or ENCODER_LOSSES[self.directions]

    def made(self, each: int) -> int:
        """Versions to make beside `each` machine translations."""
        if self.versions <= each:
            raise UsageError(
                f"--versions {self.versions}: {each} of them are machine translations, and at "
                "least one more has to be made."
            )
        return self.versions - each


@dataclass(frozen=True)
class LanguageModelTraining(Schedule):
    """Everything a run of the language model depends on besides data and start weights."""

    rate: float = 1.5e-3
    warmup: int = 200
    words: Annotated[int, "target words per batch"] = 40_000
    given: Annotated[float, "share of sequences with the source before them"] = 0.5
    foreign: Annotated[float, "share of texts alone that are not English"] = 0.5
    reverse: Annotated[float, "share of pairs that are translated out of English"] = 0.5
    source_share: float = 0.2  # of the source's own pieces that are learned too
    ranked: Annotated[float, "weight of ranking machine translations"] = 1.0
    ranked_share: Annotated[
        float, "share of a batch's pairs whose machine translations are ranked"
    ] = 0.4
    people: int = 192  # judged translations per step, where there are any
    weights: Mapping[str, float] = field(default_factory=lambda: {"text": 1.0, "people": 0.3})

    def check(self) -> None:
        super().check()
        refuse_no_share(self, "given", "foreign", "reverse", "ranked_share")


@dataclass(frozen=True)
class TeacherTuning:
    """How the teacher is tuned; its layers above `layer` stay as they are."""

    layer: int = TEACHER_LAYER
    epochs: Annotated[int, "passes over the training data"] = 5
    batch: Annotated[int, "segments per step"] = 96
    rate: Annotated[float, "learning rate"] = 1e-4
    anchor: float = 1.0
    seed: Annotated[int, "of the order and of what is held out"] = 1

    def check(self) -> None:
        refuse_below(self, epochs=1, batch=2)
        refuse_rate(self.rate)


@dataclass(frozen=True)
class Sampling:
    """How many translations the language model draws; `layer` of the teacher rates them."""

    rows: Annotated[int, "pairs to translate"] = 500_000
    each: Annotated[int, "translations of each"] = 2
    seed: Annotated[int, "of what is drawn"] = 1
    layer: int = TEACHER_LAYER
    batch: int = 4096

    def check(self) -> None:
        refuse_below(self, rows=1, each=1)
