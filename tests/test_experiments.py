"""docs/experiments: every printed number accounted for, and no page silently older than its models.

The pages are made by recipes/experiments.py, on data that is not in the repository; what stands in
them is checked against the models that are, and against cells.tsv.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest

from mtgauge import cli, load, train
from mtgauge.meta import tables
from mtgauge.train.settings import JudgedFiles, RegressorTraining

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "recipes"))

import experiment_figures  # noqa: E402
import experiment_index  # noqa: E402
import experiment_pages  # noqa: E402
import experiments  # noqa: E402
import regressors  # noqa: E402

RANKED = experiment_figures.RANKED
FOLDER = ROOT / "docs" / "experiments"
PAGES = sorted(FOLDER.glob("0*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_older_than_its_models_says_so(path: Path) -> None:
    """If this fails after models were replaced: python recipes/experiments.py --mark"""
    text = path.read_text("utf-8")
    assert "\nMade with " in text, "a page ends with the models it was made with"
    assert experiments.is_old(text) == (experiments.OLDER in text)


@pytest.mark.parametrize("name", experiment_pages.PAGES)
def test_a_page_is_the_one_that_its_recipe_makes(name: str) -> None:
    """Its remarks, its command, and the rows with specs and reasons of the tables of today."""
    page, text = experiment_pages.PAGES[name], (FOLDER / f"{name}.md").read_text("utf-8")
    assert f"\n{page.about}\n" in text
    shown = shlex.join([*(page.data or ["DATA"]), "--experiment", name])
    assert f"\nmtgauge meta {shown}\n" in text
    for printed in tables.experiment(name):
        made = tables.recipe(printed)
        assert f"| {printed.metric} (printed) |" in text
        stands_in = bool(made.method) and f"|   {made.method} ({made.stand_in}" in text
        lacking = re.search(rf"\| {re.escape(printed.metric)} \| (.*) \| (.*) \|\n", text)
        if lacking and "(printed)" not in lacking[0]:
            assert made.missing in lacking[1]
            assert (made.spec or "--scores FILE") == lacking[2].replace("\\", "")
        else:
            assert not made.missing or stands_in or "--scores" in page.data


def test_other_models_make_a_page_old(monkeypatch: pytest.MonkeyPatch) -> None:
    now = experiments.models()
    assert {"encoder", "fluency", "esim", "vectors"} <= set(now)
    page = f"# Title\n\nNumbers.\n\nMade with encoder {now['encoder']}, esim {now['esim']}.\n"
    assert not experiments.is_old(page)
    assert not experiments.is_old("# Title\n\nMade with no model.\n")
    monkeypatch.setattr(experiments, "models", lambda: now | {"esim": "01234567"})
    assert experiments.is_old(page)
    used = experiments.used_models(f"xmoverscore|model:mtgauge-encoder@{now['encoder']}|dtype:x")
    assert used == {"encoder": now["encoder"]}


def test_every_printed_number_stands_beside_ours_or_has_a_reason() -> None:
    cells = experiment_index.read_cells(FOLDER / "cells.tsv")
    printed_at_all = {
        page
        for page in experiment_pages.PAGES
        if any(
            c.value is not None for r in tables.rows_of(*page.split(".")) for c in r.cells.values()
        )
    }
    assert set(experiment_pages.PAGES) - printed_at_all == {"003.4"}, "its body is lost in print"
    assert set(cells) == {*printed_at_all, "000.3"}
    total = 0
    for page, rows in cells.items():
        printed = [
            (row.metric, column)
            for row in tables.rows_of(*page.split("."))
            for column, cell in row.cells.items()
            if cell.value is not None
        ]
        assert [(row["row"], row["column"]) for row in rows] == printed
        assert all(bool(row["ours"]) != bool(row["reason"]) for row in rows)
        total += len(rows)
    assert total >= 1511


FIGURES = {"000": "1 2 3 4", "001": "1 2", "002": "1", "003": "1 2 3 4", "004": "1 2 3"}
COMMANDS = {
    f"{paper}, {name}": item.command
    for paper, items in experiment_pages.ELSEWHERE.items()
    for name, item in items.items()
}


@pytest.mark.parametrize("paper", FIGURES)
def test_every_figure_of_the_papers_has_a_command(paper: str) -> None:
    names = [key for key in COMMANDS if key.startswith(paper) and "Figure" in key]
    drawn: set[int] = set()
    for name in names:
        numbers = [int(n) for n in re.findall(r"\d+", name.partition("Figure")[2])]
        drawn |= set(range(numbers[0], numbers[-1] + 1))
    assert drawn == {int(n) for n in FIGURES[paper].split()}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_of_the_map_is_accepted(name: str) -> None:
    """Its options are known and its metrics load; files are the reader's."""
    program, *arguments = shlex.split(COMMANDS[name])
    if program == "python":
        recipe, *arguments = arguments
        done = subprocess.run(
            [sys.executable, ROOT / recipe, "--help"], capture_output=True, text=True, check=True
        )
        for option in (word for word in arguments if word.startswith("--")):
            assert option in done.stdout
        return
    assert program == "mtgauge"
    given = cli._parser(arguments[0]).parse_args(arguments)
    for spec in getattr(given, "metrics", None) or ():
        load(spec)
    if getattr(given, "experiment", None):
        assert tables.experiment(given.experiment)


def test_the_three_translations_of_table_viii_are_in_order() -> None:
    """STD has the order of people, sentBLEU prefers the second, as in print."""
    std = [experiment_figures.ranked_score("std:preset=lp", t) for t in RANKED.values()]
    bleu = [experiment_figures.ranked_score("sentbleu", t) for t in RANKED.values()]
    assert std == sorted(std)
    assert bleu[1] > bleu[0] > bleu[2]


def test_the_map_is_that_of_the_cells(tmp_path: Path) -> None:
    cells = experiment_index.read_cells(FOLDER / "cells.tsv")
    old = [path.stem for path in PAGES if experiments.OLDER in path.read_text("utf-8")]
    experiment_index.write_index(tmp_path / "README.md", cells, old)
    made = (tmp_path / "README.md").read_text("utf-8")
    assert made == (FOLDER / "README.md").read_text("utf-8")
    assert "of (ours by the paper's method minus printed)" in made
    for name in experiment_pages.PAGES:
        assert f"[{name}]({name}.md)" in made


@pytest.mark.parametrize(
    "lacking",
    [
        "esim: there is no model folder heads/embedded/TrainL/esim. \\`mtgauge train\\` makes one",
        "esim: heads/embedded/TrainL/esim has no card.json: its training has not ended",
    ],
)
def test_a_page_is_made_again_for_a_head_that_it_lacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    (tmp_path / "002.1.md").write_text(f"# Title\n\n{lacking}\n\nMade with no model.\n", "utf-8")
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    work = tmp_path / "work"
    assert experiments.is_fresh("002.1", work)
    head = work / "heads/embedded/TrainL/esim"
    head.mkdir(parents=True)
    assert experiments.is_fresh("002.1", work), "a training under way is no head yet"
    (head / "card.json").write_text("{}", "utf-8")
    assert not experiments.is_fresh("002.1", work)
    assert not experiments.is_fresh("002.3", work), "there is no such page"


def test_regressors_of_paper_004_are_trained_where_its_rows_look_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a trainer that only notes what it is asked: training itself is tested in tests/train."""
    header = "lp\tsystem\tsid\tsource\treference\thypothesis\thuman\n"
    for name in (*regressors.FILES, regressors.TEST):
        with gzip.open(tmp_path / name, "wt", encoding="utf-8") as out:
            rows = (f"{lp}\tA\t{i}\ts\tr\th\t0.{i}\n" for lp in ("de-en", "cs-en", "en-ru")
                    for i in range(20))  # fmt: skip
            out.write(header + "".join(rows))
    asked = {}

    def note(files: JudgedFiles, out: Path, how: RegressorTraining) -> dict[str, float]:
        asked[str(out.relative_to(tmp_path))] = (files, how)
        if not how.weights_only:
            out.mkdir(parents=True)
            (out / "card.json").write_text(json.dumps(how.facts), "utf-8")
        return {"mean": how.rate * how.batch}

    monkeypatch.setattr(train, "regressor", note)
    monkeypatch.setattr(
        regressors, "load_encoder", lambda spec: types.SimpleNamespace(fingerprint=spec)
    )
    arguments = ["regressors.py", "--data", str(tmp_path), "--work", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    regressors.main()
    printed = [row for n in "234" for row in tables.rows_of("004", n) if "multi" in row.metric]
    methods = [re.sub(",view=.*", "", tables.recipe(row).method) for row in printed]
    assert {f"regressor:model={folder}" for folder in asked} == set(methods)
    for folder, (files, how) in asked.items():
        assert [view.replace("/", "_") for view in how.views] == [Path(folder).name]
        assert (files.equal_weights, files.cut, files.dev_share) == (True, 0, 0.1)
        assert ("cs-en" in files.pairs) == ("/all/" in folder)
        assert not {"en-ru"} & set(files.pairs)
        assert files.limit == (2 * 20 * 9 // 20 if "/halved/" in folder else None)
    asked.clear()
    regressors.main()
    assert not asked, "they are there"
    monkeypatch.setattr(sys, "argv", [*arguments, "--encoder", "xlm-mlm-100-1280"])
    regressors.main()
    rows_of_its_own = [
        row for n in "23" for row in tables.rows_of("004", n) if "XLM100" in row.metric
    ]
    specs = {re.sub(",view=.*", "", tables.recipe(row).spec) for row in rows_of_its_own}
    assert specs <= {f"regressor:model={folder}" for folder in asked}
    assert {how.encoder for _, how in asked.values()} == {"xlm-mlm-100-1280"}
    asked.clear()
    (tmp_path / "regressors/embedded/all/hyp+ref/card.json").unlink()
    (tmp_path / "regressors/embedded/all/hyp+ref").rmdir()
    monkeypatch.setattr(sys, "argv", [*arguments, "--grid", "--seeds", "1", "2"])
    regressors.main()
    *tried, (_, kept) = asked.values()
    assert len(tried) == 16
    assert all(how.seeds == [1] and how.epochs == 20 for _, how in tried)
    assert (kept.rate, kept.batch, kept.seeds) == (3e-5, 16, [1, 2]), "the best by validation"


def test_marking_a_page_and_unmarking_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "000.1.md"
    page.write_text("# Title\n\nAbout.\n\nMade with encoder 00000000.\n", "utf-8")
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    for _ in range(2):  # said once, however often it is marked
        experiments.finish()
        assert page.read_text("utf-8").count(experiments.OLDER) == 1
    assert page.read_text("utf-8").startswith(f"# Title\n\n{experiments.OLDER}\n\nAbout.")
    monkeypatch.setattr(experiments, "models", lambda: {"encoder": "00000000"})
    experiments.finish()
    assert page.read_text("utf-8") == "# Title\n\nAbout.\n\nMade with encoder 00000000.\n"
