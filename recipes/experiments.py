"""Make docs/experiments: a page for each printed table, from the command that it shows.

    python recipes/experiments.py --data DIR [NAME ...] [--surface]

DIR is a folder with da15.tsv.gz, da16.tsv.gz, da17.tsv.gz, da18-large.tsv.gz, wmt17/, wmt18/,
sys17.tsv, sys18.tsv, sys19-metrics.csv, and dictionaries/XX-en.txt.gz beside or in it. Without
names all pages are made, some minutes each for the system-level ones; scores of earlier runs are
read from the cache. `--surface` leaves out metrics that need a model. A table whose data is not at
hand is printed with what is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from mtgauge import cli
from mtgauge.meta import tables
from mtgauge.meta.study import Findings
from mtgauge.report import experiment
from mtgauge.report.writers import draw

ROOT = Path(__file__).resolve().parents[1]
PAGES, MODELS = ROOT / "docs" / "experiments", ROOT / "src" / "mtgauge" / "models"
TO_ENGLISH_18 = "cs-en de-en et-en fi-en ru-en tr-en zh-en".split()


@dataclass(frozen=True)
class Page:
    title: str
    about: str
    data: tuple[str, ...] = ()  # paths below DIR, or options
    needs: str = ""  # what is missing where there is no data


_DA15 = ("da15.tsv.gz", "-l", "cs-en", "de-en", "fi-en", "ru-en")
_DA16 = ("da16.tsv.gz", "-l", "fi-en", "ru-en", "ro-en", "de-en")
_DA17 = ("da17.tsv.gz",)
_SYS17 = ("wmt17", "--human", "sys17.tsv")
_SYS18 = ("wmt18", "--human", "sys18.tsv", "-l", *TO_ENGLISH_18)
_SYS19 = ("--scores", "sys19-metrics.csv")
_SMALL = ("-l", "de-en", "ru-en", "tr-en", "zh-en")
_BLEU17 = (
    "The WMT17 texts at hand are lower-cased and tokenised, so BLEU runs without a tokeniser; "
    "the shared task scored the texts as they were written, which explains the difference left."
)
_CHRF17 = (
    "The chrF of the shared task must have seen texts in their own case and without HTML "
    "escapes; ours sees what is distributed. `mtgauge meta da17.tsv.gz -m chrf --unescape --paper` "
    "brings it from .568 to .574 on average (.577 in print); the case cannot be had back."
)

EXPERIMENTS = {
    "000.1": Page(
        "XMoverScore, Table 1",
        "Segment-level Pearson on WMT17 to English.",
        _DA17,
    ),
    "000.4": Page(
        "XMoverScore, Table 4",
        "Remappings composed, on WMT17 segments. The printed BLEU row is not what it says: it "
        "equals the system-level values of WMT19 for de-en, gu-en and kk-en.",
        _DA17,
    ),
    "000.5": Page("XMoverScore, Table 5", "System-level Pearson, WMT17. " + _BLEU17, _SYS17),
    "000.6": Page(
        "XMoverScore, Table 6",
        "Kendall-like tau on WMT18 better/worse pairs, rebuilt from raw direct assessment; the "
        "counts are those of the shared task. On raw text sentBLEU needs a tokeniser.",
        ("da18-large.tsv.gz", "-l", *TO_ENGLISH_18),
    ),
    "000.7": Page(
        "XMoverScore, Table 7",
        "System-level Pearson, WMT18. The shared task's BLEU has international tokens and is "
        "blind to case; with those settings ours is the printed one. BLEU of tr-en is printed as "
        ".657 but negative in the data: the table hides signs.",
        _SYS18,
    ),
    "001.IV": Page("STD, Table IV", "Segment-level |r|, WMT15.", _DA15),
    "001.V": Page("STD, Table V", "Segment-level |r|, WMT16.", _DA16),
    "001.VI": Page("STD, Table VI", "System-level |r|, WMT15.", needs="system outputs of WMT15"),
    "001.VII": Page("STD, Table VII", "System-level |r|, WMT16.", needs="system outputs of WMT16"),
    "001.X": Page("STD, Table X", "Word vectors compared, segment level, WMT16.", _DA16),
    "001.XI": Page(
        "STD, Table XI",
        "Word vectors compared, system level, WMT16.",
        needs="system outputs of WMT16",
    ),
    "002.1": Page(
        "Putting Evaluation in Context, Table 1",
        "Segment-level Pearson, WMT17 to English. " + _CHRF17,
        _DA17,
    ),
    "002.2": Page(
        "Putting Evaluation in Context, Table 2",
        "Segment level, WMT17 from English (the printed caption says system level).",
        needs="WMT17 texts and judgements from English",
    ),
    "002.3": Page(
        "Putting Evaluation in Context, Table 3",
        "System-level Pearson, WMT17 to English. " + _BLEU17,
        _SYS17,
    ),
    "002.4": Page(
        "Putting Evaluation in Context, Table 4",
        "System-level Pearson, WMT17 from English.",
        needs="WMT17 system outputs from English",
    ),
    "003.1": Page(
        "KoBE, Table 1",
        "System-level signed Pearson, WMT19 to English, from the official table of scores.",
        _SYS19,
    ),
    "003.2": Page("KoBE, Table 2", "WMT19 from English, signed, as Table 1.", _SYS19),
    "003.3": Page("KoBE, Table 3", "WMT19 without English, signed, as Table 1.", _SYS19),
    "004.2": Page(
        "Source and reference together, Table 2",
        "Segment-level Pearson, WMT17, trained on the four pairs of XLM15.",
        (*_DA17, *_SMALL),
    ),
    "004.3": Page(
        "Source and reference together, Table 3",
        "Segment-level Pearson, WMT17, trained on all pairs to English.",
        _DA17,
    ),
    "004.4": Page(
        "Source and reference together, Table 4",
        "As Table 2, trained on half of the data.",
        (*_DA17, *_SMALL),
    ),
    "004.5": Page(
        "Source and reference together, Table 5",
        "Pearson by quality band, four pairs pooled: good translations (human z-score of 0 or "
        "more), bad ones, and the share of the correlation lost between them.",
        (*_DA17, *_SMALL, "-m", "sentbleu", "chrf"),
    ),
}
W2W = (
    "xmoverscore:preset=paper2020,lm=off",
    "xmoverscore:preset=paper2020",
    "cosine:preset=paper2020,lm=off",
    "xmoverscore:lm=off",
    "xmoverscore",
)


def stand_ins(surface: bool) -> list[str]:
    """Whose models our rows stand on."""
    if surface:
        return []
    encoder, lm = (
        json.loads((MODELS / name / "card.json").read_text("utf-8"))["fingerprint"][:8]
        for name in ("encoder", "fluency")
    )
    return [
        f"Our rows stand on the models of the package (encoder {encoder}, language model {lm}),",
        "not on the paper's: see [the embedded models](../models.md) and",
        "[trained metrics](../trained.md).",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--surface", action="store_true")
    args = parser.parse_args()
    PAGES.mkdir(parents=True, exist_ok=True)
    for name in args.names or [*EXPERIMENTS, "000.3"]:
        if name == "000.3":
            text = word_by_word(args.data, args.surface)
        else:
            text = make(name, EXPERIMENTS[name], args.data, args.surface)
        (PAGES / f"{name}.md").write_text(text, "utf-8")
        print(f"docs/experiments/{name}.md")
    (PAGES / "README.md").write_text(index(), "utf-8")


def make(name: str, page: Page, folder: Path, surface: bool) -> str:
    lines = [f"# {page.title}", "", page.about, ""]
    printed = tables.experiment(name)
    if page.needs:
        body = experiment.render(Findings(printed[0].level, printed=printed), "markdown")
        lines += [f"Missing here: {page.needs}. With it, the command is", ""]
        shown = ["DATA", "--experiment", name]
    else:
        options = ["--experiment", name, *(["--surface"] if surface else [])]
        real = [str(folder / word) if _is_file(word) else word for word in page.data]
        body = _run(["meta", *real, *options, "--format", "markdown", "--quiet"])
        lines += ["Made by", ""]
        shown = [*page.data, *options]
    lines += ["```text", "mtgauge meta " + shlex.join(shown), "```", ""]
    if name.split(".")[0] in ("000", "002", "004") and not page.needs:
        lines += stand_ins(surface)
    return "\n".join([*lines, body.rstrip(), ""])


def word_by_word(folder: Path, surface: bool) -> str:
    """Table 3 of paper 000: how often a word-by-word translation scores above the human one."""
    printed = tables.rows_of("000", "3")
    pairs = list(printed[0].cells)
    grid = [["row", *pairs]]
    grid += [[f"{r.metric} (printed)", *(f"{r.cells[p].text} %" for p in pairs)] for r in printed]
    commands, failed = [], "left out here (--surface)"
    ours: dict[str, dict[str, str]] = {spec: {} for spec in W2W}
    for pair in pairs:
        words = f"dictionaries/{pair}.txt.gz"
        tail = ["-l", pair, "--unescape", "-m", *W2W]
        commands.append(f"mtgauge probe w2w da17.tsv.gz --dictionary {words} {shlex.join(tail)}")
        if surface:
            continue
        near = next(p for p in (folder / words, folder.parent / words) if p.exists())
        real = ["probe", "w2w", str(folder / "da17.tsv.gz"), "--dictionary", str(near), *tail]
        try:
            rows = json.loads(_run([*real, "--quiet", "--format", "json"]))["rows"]
        except SystemExit as error:
            failed = str(error)
            continue
        for row in rows:
            ours[row["metric"]][pair] = f"{100 * row['share']:.1f} %"
    grid += [[f"  {spec}", *(c.get(p, "-") for p in pairs)] for spec, c in ours.items() if c]
    lines = [
        "# XMoverScore, Table 3",
        "",
        "How often a metric scores a word-by-word translation above the human one (less is",
        "better), on the WMT17 segments. The paper had its own dictionaries; these commands",
        "take MUSE's:",
        "",
        "```text",
        *commands,
        "```",
        "",
        *stand_ins(surface),
        draw(grid, "markdown"),
        "",
    ]
    if not any(ours.values()):
        lines += [f"- No value of ours: {failed}.", ""]
    lacking = [["row", "missing", "spec that fills it"]]
    lacking += [[r.metric, tables.recipe(r).missing, tables.recipe(r).spec] for r in printed]
    return "\n".join([*lines, draw(lacking, "markdown", numbers=False), ""])


def _is_file(word: str) -> bool:
    return word.endswith((".gz", ".tsv", ".csv")) or word in ("wmt17", "wmt18")


def _run(arguments: list[str]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = cli.main(arguments)
    if code:
        raise SystemExit(f"mtgauge {shlex.join(arguments)} ended with {code}")
    return out.getvalue()


def index() -> str:
    lines = [
        "# The papers' tables",
        "",
        "A page a table: the printed numbers, ours, and what is missing where we have none.",
        "All are made by `python recipes/experiments.py --data DIR`; each shows its own command.",
        "",
        "| page | what | rows printed |",
        "| --- | --- | ---: |",
    ]
    for name, page in EXPERIMENTS.items():
        rows = len(tables.rows_of(*name.split(".")))
        lines.append(f"| [{name}]({name}.md) | {page.title} | {rows} |")
    lines += [
        "| [000.3](000.3.md) | XMoverScore, Table 3: word-by-word translations | 8 |",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
