"""Make docs/experiments: a page for each printed table, from the command that it shows.

    python recipes/experiments.py --data DIR --work WORK [NAME ...] [--surface] [--again]
    python recipes/experiments.py --mark

DIR is a folder with da15.tsv.gz, da16.tsv.gz, da17.tsv.gz, da18-large.tsv.gz, wmt17/, wmt18/,
sys17.tsv, sys18.tsv, sys19-metrics.csv, and beside or in it dictionaries/XX-en.txt.gz and
parallel/XX-en.tsv.zst. WORK is a folder where what the paper's method needs is made once and kept:
remaps/ (CLP and UMD on 2,000 pairs, here), vectors/ (from PyPI, registry_vectors.py), heads/
(heads.py), regressors/ (regressors.py). Commands run in WORK.

A page that was made with the models that are here is skipped unless --again, but not one that
lacked a head which WORK has by now; scores of earlier runs are read from the cache, so an
interrupted run goes on. `--surface` leaves out metrics that need a model. Every page ends with the
models it was made with; `--mark` makes no numbers, but writes on each page whether they are older
than the models of the package, and makes the map (README.md) anew.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import registry_vectors
import remaps
from experiment_figures import learning_curve, std_figures
from experiment_index import Cells, as_rows, read_cells, write_cells, write_index
from experiment_pages import PAGES, PAPERS, Page
from mtgauge import cli
from mtgauge.meta import tables
from mtgauge.meta.experiments import cells as cells_of
from mtgauge.meta.study import Findings
from mtgauge.report import experiment
from mtgauge.report.writers import draw

ROOT = Path(__file__).resolve().parents[1]
FOLDER, MODELS = ROOT / "docs" / "experiments", ROOT / "src" / "mtgauge" / "models"
OLDER = (
    "> **Older than its models.** The package has other models by now than those that made this "
    "page, named at its end."
)
EVERY = [*PAGES, "000.3", "001.figures", "002.figures"]
SMALL = ("da15.tsv.gz", "da16.tsv.gz", "da17.tsv.gz")
_LACKED = re.compile(r"there is no model folder (\S+?)\. |(\S+) has no card\.json")
_MADE_WITH = re.compile(r"^Made with (.*)\.$", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(EVERY))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("experiments-work"))
    parser.add_argument("--surface", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--mark", action="store_true")
    args = parser.parse_args()
    if not args.mark:
        if args.data is None:
            parser.error("--data DIR holds the judged data")
        data, work = args.data.resolve(), args.work.resolve()
        work.mkdir(parents=True, exist_ok=True)
        for name in args.names or EVERY:
            if args.again or not is_fresh(name, work):
                make_page(name, data, work, surface=args.surface)
                print(f"docs/experiments/{name}.md", flush=True)
    finish()


def finish() -> None:
    """Say on every page whether it is older than its models, and make the map."""
    old = []
    for path in sorted(FOLDER.glob("0*.md")):
        text = path.read_text("utf-8").replace(f"{OLDER}\n\n", "")
        if is_old(text):
            old.append(path.stem)
            title, _, rest = text.partition("\n\n")
            text = f"{title}\n\n{OLDER}\n\n{rest}"
        path.write_text(text, "utf-8")
    write_index(FOLDER / "README.md", read_cells(FOLDER / "cells.tsv"), old)


# Models: which ones a page was made with


def models() -> dict[str, str]:
    """The package's models by name, with the beginning of their fingerprints."""
    found = {}
    for path in sorted(MODELS.glob("*/card.json")):
        card = json.loads(path.read_text("utf-8"))
        mark = card.get("fingerprint", "")[:8] or f"embedded-{card['version']}"  # word vectors
        found[path.parent.name] = mark
    return found


def used_models(signatures: str) -> dict[str, str]:
    """Of the package's models those that these signatures name."""
    return {name: mark for name, mark in models().items() if mark in signatures}


def made_with(text: str) -> dict[str, str]:
    found = _MADE_WITH.search(text)
    if not found or found[1] == "no model":
        return {}
    return dict(item.rsplit(" ", 1) for item in found[1].split(", "))


def is_old(text: str) -> bool:
    now = models()
    return any(now.get(name) != mark for name, mark in made_with(text).items())


def is_fresh(name: str, work: Path) -> bool:
    """A page that is there, made in full with the models of today and with those of WORK."""
    path = FOLDER / f"{name}.md"
    text = path.read_text("utf-8") if path.exists() else ""
    lacked = ["".join(found) for found in _LACKED.findall(text)]
    if any((work / folder / "card.json").is_file() for folder in lacked):
        return False  # what it lacked has been trained since
    return bool(_MADE_WITH.search(text)) and not is_old(text) and "--surface" not in text


# Pages


def make_page(name: str, data: Path, work: Path, *, surface: bool) -> None:
    if name.endswith(".figures"):
        text, signature = std_figures() if name == "001.figures" else learning_curve(work)
        (FOLDER / f"{name}.md").write_text(f"{text}\n{_ending(signature)}\n", "utf-8")
        return
    if name == "000.3":
        text, rows = word_by_word(data, work, surface)
    else:
        text, rows = table(name, PAGES[name], data, work, surface)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.md").write_text(text, "utf-8")
    known: Cells = read_cells(FOLDER / "cells.tsv")
    write_cells(FOLDER / "cells.tsv", known | {name: rows})


def table(
    name: str, page: Page, data: Path, work: Path, surface: bool
) -> tuple[str, list[dict[str, str]]]:
    paper, number = name.split(".")
    lines = [f"# {PAPERS[paper]}, Table {number}", "", page.about, ""]
    printed = tables.experiment(name)
    options = ["--experiment", name]
    if not page.data:
        found = Findings(printed[0].level, printed=printed)
        body, pairs, signatures = experiment.render(found, "markdown"), cells_of(found), ""
        rows = as_rows(name, [vars(pair) for pair in pairs])
        lines += [f"Missing here: {tables.data_needed(printed[0])}. With it, the command is", ""]
        shown = ["DATA", *options]
    else:
        options += ["--surface"] if surface else []
        if not surface and paper == "000" and page.data[0] != "--scores":
            remaps.make(data, work, sorted({lp for row in printed for lp in row.cells}), name)
        if name == "001.X" and not surface:
            registry_vectors.make(work)
        real = [str(data / word) if (data / word).exists() else word for word in page.data]
        # vectors of few texts are kept, so that rows of one encoder do not encode them anew
        kept = ["--cache", str(work / "cache")] if page.data[0] in SMALL else []
        quick = ["--no-ci", "--format", "markdown", *kept]
        body, facts = _run(["meta", *real, *options, *quick], work)
        rows = as_rows(name, facts["cells"])
        signatures = " ".join(row["signature_full"] for row in facts["rows"])
        lines += ["Made by", ""]
        shown = [*page.data, *options]
    lines += ["```text", "mtgauge meta " + shlex.join(shown), "```", ""]
    if "remap=" in body:
        lines += [*remaps.commands(name), ""]
    if "vectors=vectors/" in body:
        lines += [*registry_vectors.COMMANDS, ""]
    return "\n".join([*lines, body.rstrip(), "", _ending(signatures), ""]), rows


def word_by_word(data: Path, work: Path, surface: bool) -> tuple[str, list[dict[str, str]]]:
    """Table 3 of paper 000: how often a word-by-word translation scores above the human one."""
    printed = tables.rows_of("000", "3")
    pairs = list(printed[0].cells)
    specs = list(dict.fromkeys(tables.recipe(row).method for row in printed))
    commands, signatures = [], ""
    ours: dict[str, dict[str, float]] = {spec: {} for spec in [*specs, *tables.DEFAULTS["000"]]}
    known: dict[str, float] = {}
    for pair in pairs:
        words = f"dictionaries/{pair}.txt.gz"
        tail = ["-l", pair, "--unescape", "-m", *ours]
        commands.append(f"mtgauge probe w2w da17.tsv.gz --dictionary {words} {shlex.join(tail)}")
        if surface:
            continue
        remaps.make(data, work, [pair], "000.3")
        near = next(p for p in (data / words, data.parent / words) if p.exists())
        real = ["probe", "w2w", str(data / "da17.tsv.gz"), "--dictionary", str(near), *tail]
        _, facts = _run([*real, "--format", "markdown"], work)
        for row in facts["rows"]:
            ours[row["metric"]][pair] = 100 * row["share"]
            known[pair] = row["coverage"]
            signatures += row["signature_full"]
    grid, rows = [["row", *pairs]], []
    for row in printed:
        made = tables.recipe(row)
        grid.append([f"{row.metric} (printed)", *(f"{row.cells[p].text} %" for p in pairs)])
        mine = ours[made.method]
        if mine:
            label = f"  {made.method} ({made.stand_in})"
            grid.append([label, *(f"{mine[p]:.1f} %" for p in pairs)])
        for pair in pairs:
            value = row.cells[pair].value
            facts = {
                "row": row.metric, "column": pair, "printed": value, "ours": mine.get(pair),
                "spec": made.method if mine else "", "how": "method" if mine else "",
                "reason": "" if mine else f"{made.missing}; left out here (--surface)",
            }  # fmt: skip
            rows += as_rows("000.3", [facts])
    others = [["row", *pairs]]
    others += [
        [s, *(f"{ours[s][p]:.1f} %" for p in pairs)] for s in tables.DEFAULTS["000"] if ours[s]
    ]
    share = ", ".join(f"{pair} {value:.0%}" for pair, value in known.items())
    lines = [
        f"# {PAPERS['000']}, Table 3",
        "",
        "How often a metric scores a word-by-word translation above the human one (less is",
        "better), on the WMT17 segments. The paper had its own dictionaries; these commands take "
        "MUSE's, inflected words by their lemma"
        + (f", which know so many of the source's words: {share}." if share else "."),
        "",
        "```text",
        *commands,
        "```",
        "",
        *([*remaps.commands("000.3"), ""] if known else ["Left out here (--surface).", ""]),
        "The paper's method",
        "",
        draw(grid, "markdown"),
        "",
    ]
    if len(others) > 1:
        title = "mtgauge's defaults, which are not the paper's settings"
        lines += [title, "", draw(others, "markdown"), ""]
    lacking = [["row", "missing", "spec that fills it"]]
    lacking += [[r.metric, tables.recipe(r).missing, tables.recipe(r).spec] for r in printed]
    lines += [draw(lacking, "markdown", numbers=False), "", _ending(signatures), ""]
    return "\n".join(lines), rows


def _ending(signatures: str) -> str:
    used = used_models(signatures)
    named = ", ".join(f"{name} {mark}" for name, mark in used.items())
    return f"Made with {named or 'no model'}."


def _run(arguments: list[str], work: Path) -> tuple[str, dict[str, Any]]:
    """What a command prints, and its JSON; it runs in the folder of remaps and heads."""
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, _inside(work):
        facts = Path(folder) / "facts.json"
        with contextlib.redirect_stdout(out):
            code = cli.main([*arguments, "--quiet", "--json", str(facts)])
        if code:
            raise SystemExit(f"mtgauge {shlex.join(arguments)} ended with {code}")
        return out.getvalue(), json.loads(facts.read_text("utf-8"))


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    main()
