"""The contract of a metric: three functions.

    statistics(batch) -> (n, k)         one row of k numbers per segment
    segment_score(rows) -> (n,)         from rows to segment scores
    system_score(totals, n) -> (m,)     from sums of n rows each to system scores

The system score depends on the *sum* of the rows alone, so a bootstrap of 1,000 resamples is one
matrix product, and paired tests, caching and sharding work for every metric alike.

    BLEU    row = n-gram counts and lengths;  the same formula for a segment and for the sums
    STD     row = (unigram, bigram);          0.5/0.5 for a segment, 0.3/0.7 for a system
    others  row = (score,);                   the identity, and total / n: what this class does

To add a metric, write one file in `mtgauge/metrics`:

    @metric("length")
    class Length(Metric):
        summary = "How near the translation's length is to the reference's."
        unit: str = "char"                         # an option
        def statistics(self, batch: Segments) -> FloatArray:
            ...                                    # shape (len(batch), 1)

Options are fields of the class: the signature, the command-line options, copies and the
documentation are read from them. One may declare its range and when it applies
(`mtgauge.options`). Models load on first use, and heavy imports (onnxruntime, torch) stay inside
methods.

A metric is settled before it scores: `resolve(task)` gets the sides and languages of a run and
returns a new metric in which every `auto` has its value. After that nothing about it changes, and
its signature is known before the first segment. `engine/ready.py` does this for every command. A
metric that is used without it answers `auto` batch by batch, and stays as it is.

A metric whose time or memory grows faster than its texts states the longest text that it reads
(`longest`, in characters). What is longer is cut there and counted: no segment can stop a run.

Two more things are done here for all metrics, in `rows`: an empty hypothesis gets the worst score,
and so does one that is no translation of its source, as far as it is none:

    score = (1 - u) score + u worst            u: the share that was left untranslated
                                               (text/untranslated.py), or how surely the text has
                                               nothing to do with its source (metrics/_unrelated.py)

The second is for metrics that read the source (unrelated: and no reference). They have the option
`untranslated: Untranslated` (`worst`; `keep` leaves the score, for research).
"""

from __future__ import annotations

import contextlib
import copy
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.checks import is_blank, language_pair
from mtgauge.data.codes import bases
from mtgauge.data.segments import Segments
from mtgauge.errors import LanguageError, UsageError
from mtgauge.explanation import Explanation
from mtgauge.options import declared

FloatArray = NDArray[np.float64]
Untranslated = Annotated[  # the option of metrics that read the source
    Literal["worst", "keep"],
    "what is not in the target language: worst score (by the share untranslated), or as it scores",
]


@dataclass(frozen=True)
class Task:
    """What a run gives to its metrics: sides ("source", "reference") and a language pair.

    >>> Task(frozenset({"source"}), "de-en").target_lang
    'en'
    """

    sides: frozenset[str]
    lang: str | None = None

    def __post_init__(self) -> None:
        if self.lang is not None:
            object.__setattr__(self, "lang", language_pair(self.lang))

    @classmethod
    def of(cls, batch: Segments) -> Task:
        """What these segments give."""
        columns = {"source": batch.sources, "reference": batch.references}
        return cls(frozenset(side for side, texts in columns.items() if texts is not None),
                   batch.lang)  # fmt: skip

    @property
    def source_lang(self) -> str | None:
        return bases(self.lang)[0]

    @property
    def target_lang(self) -> str | None:
        return bases(self.lang)[1]


def model_label(name: str, fingerprint: str) -> str:
    """A model in a signature: name@fingerprint, a folder by its own name without the path."""
    return f"{Path(name).name if Path(name).is_dir() else name}@{fingerprint[:8]}"


class Metric:
    """Base of all metrics; see the module's docstring for how to write one."""

    name: ClassVar[str] = ""  # set by @metric("name")
    summary: ClassVar[str] = ""  # one line for `mtgauge metrics`
    meaning: ClassVar[str] = ""  # how to read the number
    paper: ClassVar[str] = ""
    cost: ClassVar[str] = "surface"  # surface, vectors, encoder: what a run has to pay
    higher_is_better: ClassVar[bool] = True
    tolerance: ClassVar[float] = 0.0  # how far a score may move with its batch mates
    longest: ClassVar[int | None] = None  # characters of a text that it reads; None: all

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the k statistics of a row."""
        return ("score",)

    @property
    def shown(self) -> int:
        """The number of the statistic that is the score, where one is."""
        return 0

    @property
    def needs(self) -> frozenset[str]:
        """{"source"}, {"reference"} or both; may depend on the options."""
        return frozenset({"reference"})

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest possible segment score; infinite where there is none."""
        return (0.0, 1.0)

    @property
    def worst(self) -> float:
        """The score of an empty hypothesis; an unbounded metric states one of its own."""
        return self.bounds[0] if self.higher_is_better else self.bounds[1]

    @property
    def worst_row(self) -> FloatArray | None:
        """The row of an empty hypothesis; None: `statistics` yields the worst by itself."""
        return np.array([self.worst]) if self.columns == ("score",) else None

    @property
    def languages(self) -> frozenset[str] | None:
        """Languages the metric knows; None: any."""
        return None

    @property
    def needs_corpus(self) -> bool:
        """True if `fit` must see the references before `statistics` (NIST, idf)."""
        return False

    @property
    def uses_device(self) -> bool:
        """True if it runs on the device that `--device` names."""
        return False

    @property
    def window(self) -> int:
        """Pairs of texts that a GPU is given at a time; 0: it takes what comes."""
        return 0

    def check(self) -> None:
        """Refuse options that are out of range, do nothing, or do not go together."""
        options, baseline = self.params(), self.baseline()
        for option in declared(type(self)).values():
            option.check(self.name, options, baseline)

    def resolve(self, task: Task) -> Self:
        """A new metric, settled for a run: every `auto` has its value.

        A language that the metric does not know is refused with a LanguageError.
        """
        known = self.languages
        if known is not None and task.lang:
            read = [task.source_lang] if "source" in self.needs else []
            strange = sorted({str(lang) for lang in (*read, task.target_lang)} - known)
            if strange:
                raise LanguageError(
                    f"{self.name} does not know the language {' and '.join(strange)}. "
                    f"It knows: {' '.join(sorted(known))}."
                )
        return self.settled()

    def settled(self, **options: Any) -> Self:
        """A copy with these options and counts of its own; what was loaded is shared."""
        new = copy.copy(self)
        new.__dict__.pop("_notes", None)
        new.__dict__.update(options)
        return new

    def fit(self, references: Iterable[str]) -> None:
        """Learn what depends on the corpus, from all references of the test set."""

    def statistics(self, batch: Segments) -> FloatArray:
        raise NotImplementedError

    def rows(self, batch: Segments) -> FloatArray:
        """Statistics in which empty, untranslated and unrelated texts are as bad as can be."""
        batch = self.cut(batch)
        table = self.filled_rows(batch)
        guards = self.guards(batch)
        shares = np.maximum(*guards.values())
        touched = np.flatnonzero(shares)
        if len(touched):
            counts = {name: int(np.count_nonzero(found)) for name, found in guards.items()}
            self.notes.update({name: n for name, n in counts.items() if n})
            table = table.copy()
            part = batch.take(touched.tolist())
            table[touched] = self.lowered(table[touched], shares[touched], part)
        return table

    def filled_rows(self, batch: Segments) -> FloatArray:
        """Statistics in which an empty hypothesis has the worst row, where one is declared."""
        worst, batch = self.worst_row, self.cut(batch)
        filled = [i for i, text in enumerate(batch.hypotheses) if not is_blank(text)]
        if worst is None or len(filled) == len(batch):
            return self.statistics(batch)
        table = np.tile(np.asarray(worst, dtype=np.float64), (len(batch), 1))
        if filled:
            table[filled] = self.statistics(batch.take(filled))
        return table

    def cut(self, batch: Segments) -> Segments:
        """The batch with its texts cut to `longest`; segments that lose something are counted."""
        if self.longest is None:
            return batch
        batch, cut = batch.cut(self.longest)
        if cut:
            self.notes["cut"] += cut
        return batch

    def guards(self, batch: Segments) -> dict[str, FloatArray]:
        """Why scores are lowered, by the name of the note, and by which share of the way down."""
        return {
            "untranslated": self.untranslated_shares(batch),
            "unrelated": self.unrelated_shares(batch),
        }

    def untranslated_shares(self, batch: Segments) -> FloatArray:
        """By how much each score is lowered; all 0 where the metric does not read the source."""
        sides = Task.of(batch).sides
        asked = self.params().get("untranslated") == "worst"
        if not asked or batch.sources is None or not self.reads_source(sides):
            return np.zeros(len(batch))
        from mtgauge.text.guard import shares

        return shares(batch.sources, batch.hypotheses, batch.lang)

    def unrelated_shares(self, batch: Segments) -> FloatArray:
        """By how much a score is lowered because the text has nothing to do with its source."""
        return np.zeros(len(batch))

    def reads_source(self, sides: frozenset[str]) -> bool:
        """Whether scores depend on the source in a run with these sides."""
        return "source" in self.needs

    def lowered(self, rows: FloatArray, shares: FloatArray, batch: Segments) -> FloatArray:
        """Rows of hypotheses of which these shares are untranslated: (1 - u) row + u worst row.

        Where no worst row is declared it is that of an empty hypothesis beside the same texts.
        """
        worst = self.worst_row
        if worst is None:
            worst = self.statistics(replace(batch, hypotheses=[""] * len(batch)))
        mixed = (1 - shares[:, None]) * rows + shares[:, None] * worst
        if self.columns != ("score",):
            return mixed
        # an unbounded score may lie below the worst that its metric declares
        return np.minimum(rows, mixed) if self.higher_is_better else np.maximum(rows, mixed)

    def segment_score(self, rows: FloatArray) -> FloatArray:
        return np.asarray(rows[:, self.shown], dtype=np.float64)

    def system_score(self, totals: FloatArray, n: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(totals[:, self.shown] / n, dtype=np.float64)

    def count(self, totals: FloatArray) -> None:
        """Count in `notes` what only the sums of a whole run tell; one row per system."""

    def explain(self, segment: Segments) -> Explanation:
        raise UsageError(f"{self.name} has no explanation to show.")

    def explained(self, segment: Segments) -> Explanation:
        """`explain`, but of an empty translation that has the worst score no more than that."""
        if not is_blank(segment.hypotheses[0]):
            return self.explain(segment)
        if self.worst_row is None:
            with contextlib.suppress(UsageError):  # it has nothing to say
                return self.explain(segment)
        score = float(self.segment_score(self.filled_rows(segment))[0])
        remark = "There is no translation: that has the worst score."
        return Explanation(self.name, score, remarks=(remark,))

    # what follows is derived from the parameters and need not be written again

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Option names with their default values, in order."""
        return {name: option.default for name, option in declared(cls).items()}

    def baseline(self) -> dict[str, Any]:
        """The values that options have when they are not given."""
        return self.defaults()

    def params(self) -> dict[str, Any]:
        """The values in force."""
        return {key: getattr(self, key) for key in self.defaults()}

    def changed(self) -> dict[str, Any]:
        """The options that must be given to have this metric."""
        usual = self.baseline()
        return {key: value for key, value in self.params().items() if value != usual[key]}

    def versions(self) -> dict[str, str]:
        """Libraries and models whose version moves the score, for the signature."""
        return {}

    @property
    def notes(self) -> Counter[str]:
        """Counts gathered while scoring (truncated texts, words without a vector)."""
        counter: Counter[str] = self.__dict__.setdefault("_notes", Counter())
        return counter

    def __repr__(self) -> str:
        inner = ", ".join(f"{k}={v!r}" for k, v in self.params().items())
        return f"{type(self).__name__}({inner})"
