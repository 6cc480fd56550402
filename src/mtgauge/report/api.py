"""`mtgauge.meta` and `mtgauge.probe`: what the commands do, as functions.

    found = mtgauge.meta("judged.tsv.gz", ["bleu", "chrf"])
    print(found)                            the tables of `mtgauge meta`
    found.rows[0].values["pearson"]; found.to_pandas(); found.to_dict(); found.render("latex")

    print(mtgauge.probe("reorder", "judged.tsv.gz", ["xmoverscore"]))

They stand in report/ because their results print themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypedDict, TypeVar, Unpack, overload

from mtgauge.arguments import refuse_no_choice, refuse_other, whole_number
from mtgauge.engine.cache import RowCache
from mtgauge.engine.places import Place
from mtgauge.engine.result import data_frame
from mtgauge.errors import UsageError
from mtgauge.meta import probing, study, tables
from mtgauge.meta.probes import Probe
from mtgauge.meta.robust import Robust, Worse
from mtgauge.meta.scoring import Level
from mtgauge.meta.significance import Test
from mtgauge.meta.slices import By
from mtgauge.report import agreement
from mtgauge.report import probe as probe_text
from mtgauge.report.writers import FORMATS, json_text
from mtgauge.stats.bootstrap import SEED

R = TypeVar("R", Probe, Robust)


class Agreement(study.Findings):
    """What `mtgauge.meta` returns: rows, comparisons, and every form of them."""

    def render(self, format: str = "table", *, matrix: bool = False) -> str:
        """Text in one of `writers.FORMATS`; `matrix` adds the p-values of all comparisons."""
        refuse_no_choice("format", format, FORMATS)
        return agreement.render(self, format, matrix=matrix)

    def __str__(self) -> str:
        return self.render()

    def plot(self, folder: str | Path) -> list[Path]:
        """Scatter and histogram plots, a file per metric and pair; of an experiment its figure."""
        from mtgauge.report.plots import plot, plot_experiment

        if self.printed:
            return plot_experiment(Path(folder), self)
        return plot(Path(folder), self.scored, self.level)


def meta(
    data: study.Data | Sequence[study.Data] = (),
    metrics: Sequence[str] = (),
    *,
    lang: str | Sequence[str] | None = None,
    level: Level | None = None,
    human: str | Path | Mapping[str, Mapping[str, float]] | None = None,
    scores: Sequence[str | Path] = (),
    lower: Sequence[str] = (),
    by: By | None = None,
    pool: bool = False,
    test: Test = "williams",
    ci: bool = True,
    paper: bool = False,
    experiment: str | None = None,
    surface: bool = False,
    limit: int | None = None,
    dataset: str | None = None,
    unescape: bool = False,
    seed: int = SEED,
    cache: RowCache | str | Path | None = None,
    place: Place | None = None,
    progress: study.Progress | None = None,
) -> Agreement:
    """How far metrics agree with human judgements.

    `data` is a file, a folder, a `Judgements` table, or a list of these; see `mtgauge.data.
    judgements` for the formats. `human` gives system-level scores, `scores` files with scores of
    other metrics, of which those named in `lower` are lower for better translations. `level`,
    unless given, is what was judged. `limit` is how many source segments of a pair those metrics
    score that need a model, evenly spread. `cache` names a folder that keeps scores between runs,
    `place` is where segments are scored (`mtgauge.engine.places`), this process by default.
    """
    if experiment is not None:
        refuse_other("experiment", experiment, str)
    if level is None and experiment is not None:
        level = tables.experiment(experiment)[0].level
    if human is not None and level == "segment":
        raise UsageError("--human has no meaning at segment level.")
    plan = study.Plan(
        metrics=metrics,
        level=level or (None if human is None else "system"),
        lower=lower,
        by=by,
        pool=pool,
        test=test,
        ci=ci,
        paper=paper,
        experiment=experiment,
        surface=surface,
        limit=limit,
        unescape=unescape,
        seed=seed,
    )
    judged = study.gather(
        data, lang=lang, human=human, score_files=scores, dataset=dataset, level=plan.level
    )
    with _opened(cache) as store:
        found = study.study(judged, plan, cache=store, place=place, progress=progress)
    return Agreement(**vars(found))


@dataclass(frozen=True)
class _Probed(Generic[R]):
    """What every probe returns: rows, and all forms of them."""

    rows: list[R]
    warnings: list[str] = field(default_factory=list)  # texts in another language than was said

    def to_dict(self) -> dict[str, Any]:
        told = {"warnings": self.warnings} if self.warnings else {}
        return {"rows": [row.to_dict() for row in self.rows], **told}

    def to_pandas(self) -> Any:
        """A data frame of the rows, without histograms."""
        rows = (row.to_dict() for row in self.rows)
        return data_frame({k: v for k, v in row.items() if k != "histogram"} for row in rows)

    def render(self, format: str = "table") -> str:
        """Text in one of `writers.FORMATS`."""
        refuse_no_choice("format", format, FORMATS)
        return json_text(self.to_dict()) if format == "json" else self.table(format)

    def table(self, format: str) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.render()


class Probes(_Probed[Probe]):
    """What `mtgauge.probe` returns: one row per metric, language pair and kind of worse text."""

    def table(self, format: str) -> str:
        return probe_text.render(self.rows, format)

    def plot(self, folder: str | Path) -> list[Path]:
        """A picture per row of how d is spread, and one of all shares."""
        from mtgauge.report.plots import plot_probes

        return plot_probes(Path(folder), self.rows)

    def histograms(self) -> str:
        """How the d-statistic of each row is spread."""
        return "\n".join(map(probe_text.histogram, self.rows))


class Robustness(_Probed[Robust]):
    """What `mtgauge.probe("robust", ...)` returns: one row per language pair, fault and metric."""

    def table(self, format: str) -> str:
        return probe_text.render_robust(self.rows, format)


class _ProbeOptions(TypedDict, total=False):
    sources: Sequence[str] | None
    references: Sequence[str] | None
    translations: Sequence[str] | None
    lang: str | None
    dictionary: str | Path | None
    parallel: tuple[Sequence[str], Sequence[str]] | None
    faults: Sequence[str] | None
    worse: Worse | None
    limit: int | None
    unescape: bool
    seed: int
    cache: RowCache | str | Path | None
    progress: study.Progress | None


@overload
def probe(
    kind: Literal["robust"],
    data: study.Data | Sequence[study.Data] = ...,
    metrics: Sequence[str] = ...,
    **options: Unpack[_ProbeOptions],
) -> Robustness: ...


@overload
def probe(
    kind: Literal["w2w", "reorder"],
    data: study.Data | Sequence[study.Data] = ...,
    metrics: Sequence[str] = ...,
    **options: Unpack[_ProbeOptions],
) -> Probes: ...


def probe(
    kind: probing.Kind,
    data: study.Data | Sequence[study.Data] = (),
    metrics: Sequence[str] = (),
    *,
    sources: Sequence[str] | None = None,
    references: Sequence[str] | None = None,
    translations: Sequence[str] | None = None,
    lang: str | None = None,
    dictionary: str | Path | None = None,
    parallel: tuple[Sequence[str], Sequence[str]] | None = None,
    faults: Sequence[str] | None = None,
    worse: Worse | None = None,
    limit: int | None = None,
    unescape: bool = False,
    seed: int = SEED,
    cache: RowCache | str | Path | None = None,
    progress: study.Progress | None = None,
) -> Probes | Robustness:
    """How often a metric prefers a worse text to a good translation.

    `kind` is "w2w" (word by word through a `dictionary`, which is looked up by lemmas too, or one
    learned from `parallel` text, foreign and translated), "reorder", or "robust" (versions with
    known `faults`, all by default). `worse` are versions of your own, {name: one per segment, ""
    for none}. Texts come from judged `data`, or from the lists `sources` and `references`; `limit`
    takes the first so many. The good version is the reference, or with "robust" one of
    `translations`, which metrics that compare with the reference need.
    """
    seed = whole_number("seed", seed, 0)
    texts = probing.human_translations(
        study.listed(data),
        sources=sources,
        references=references,
        translations=translations,
        lang=lang,
        unescape=unescape,
        limit=limit,
    )
    if not isinstance(worse, Mapping | None):
        raise UsageError("worse is {name: [one per segment]}.")
    cut = {name: list(own)[:limit] for name, own in (worse or {}).items()}
    with _opened(cache) as store:
        how: dict[str, Any] = {"worse": cut, "seed": seed, "cache": store, "progress": progress}
        if kind == "robust":
            if dictionary is not None or parallel is not None:
                raise UsageError("A dictionary is for the probes w2w and reorder.")
            versions = probing.run_robust(texts, metrics, faults=faults, **how)
            return Robustness(versions, probing.warnings(texts))
        if faults or translations is not None:
            raise UsageError("Faults and other good translations are for the probe robust.")
        rows = probing.run(kind, texts, metrics, dictionary=dictionary, parallel=parallel, **how)
        return Probes(rows, probing.warnings(texts))


@contextmanager
def _opened(cache: RowCache | str | Path | None) -> Iterator[RowCache | None]:
    """The cache; one that was named by its folder is closed at the end."""
    if cache is None or isinstance(cache, RowCache):
        yield cache
    else:
        with closing(RowCache(cache)) as store:
            yield store
