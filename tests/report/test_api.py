"""`mtgauge.meta` and `mtgauge.probe` from Python, and the commands over them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mtgauge
from mtgauge.cli import main
from mtgauge.data.judgements import Judgements
from mtgauge.errors import InputError, UsageError

REFERENCES = ["The cat sat on the mat.", "It is raining hard.", "Good evening to you.", "He left."]
WORSE = ["A cat sat mat.", "It rain.", "Evening good.", "She leave now."]


def table(lp: str = "de-en", **more: Any) -> Judgements:
    n = len(REFERENCES)
    return Judgements(
        "mine",
        lp,
        ["good"] * n + ["bad"] * n,
        [str(i) for i in range(n)] * 2,
        np.array([0.9, 0.8, 0.7, 0.6, -0.1, -0.2, -0.7, -0.9]),
        [*REFERENCES, *WORSE],
        ["Quelle eins.", "Quelle zwei.", "Quelle drei.", "Quelle vier."] * 2,
        [(text,) for text in REFERENCES] * 2,
        **more,
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    judged = table()
    lines = ["lp\tsystem\tsid\treference\thypothesis\thuman"]
    for system, sid, text, human, (reference,) in zip(
        judged.systems,
        judged.sids,
        judged.hypotheses or (),
        judged.human,
        judged.references or (),
        strict=True,
    ):
        lines.append(f"de-en\t{system}\t{sid}\t{reference}\t{text}\t{human}")
    path = tmp_path / "judged.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_meta_from_a_table_or_a_file(file: Path) -> None:
    found = mtgauge.meta(table(), ["chrf", "ter"])
    same = mtgauge.meta(file, metrics=["chrf", "ter"])
    assert [row.metric for row in found.rows] == ["chrf", "ter"]
    assert found.rows[0].values == same.rows[0].values
    assert found.rows[0].values["pearson"] > 0.7
    assert "mine, segment level: Pearson r" in str(found)
    assert str(found) == found.render("table")
    assert found.to_dict()["rows"][0]["metric"] == "chrf"
    assert json.loads(found.render("json")) == found.to_dict()
    frame = found.to_pandas()
    assert list(frame["metric"]) == ["chrf", "ter"]
    assert frame["pearson"][0] == found.rows[0].values["pearson"]


def test_the_command_prints_what_the_function_returns(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for format in ("table", "csv", "latex", "json"):
        arguments = ["meta", str(file), "-m", "chrf", "--by", "system", "--no-cache", "--quiet"]
        assert main([*arguments, "--format", format]) == 0
        found = mtgauge.meta(file, ["chrf"], by="system")
        assert capsys.readouterr().out == found.render(format)


def test_meta_at_system_level_with_human_scores() -> None:
    people = {"de-en": {"good": 1.0, "bad": -1.0}}
    found = mtgauge.meta(table(system_human=people["de-en"]), ["chrf"], level="system")
    assert (found.level, found.rows[0].n) == ("system", 2)
    with pytest.raises(UsageError, match="--human has no meaning at segment level"):
        mtgauge.meta(table(), ["chrf"], level="segment", human=people)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Which metric"),
        ({"metrics": "chrf"}, "metrics is a list of specs"),
        ({"metrics": ["chrf"], "level": "document"}, "level='document' is not one of"),
        ({"metrics": ["chrf"], "by": "colour"}, "by='colour' is not one of"),
        ({"metrics": ["chrf"], "test": "t"}, "test='t' is not one of"),
        ({"metrics": ["chrf"], "seed": -1}, "seed=-1 is not"),
        ({"metrics": ["chrf"], "seed": 1.5}, "seed=1.5 is not"),
        ({"metrics": ["chrf"], "lang": ("de", "en")}, "not a language pair"),
        ({"metrics": ["chrf"], "surface": True}, "--surface selects"),
        ({"metrics": ["chrf"], "lang": "fi-en"}, "No judgements"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        mtgauge.meta(table(), **options)


def test_texts_from_python_are_checked() -> None:
    bad = Judgements("x", "de-en", ["a"], ["1"], np.array([1.0]), ["\ud800"], None, [("a",)])
    with pytest.raises(InputError, match="surrogate"):
        mtgauge.meta(bad, ["chrf"])


def test_system_scores_are_not_taken_for_segment_scores(file: Path, tmp_path: Path) -> None:
    scores = tmp_path / "scores.tsv"
    scores.write_text("lp\tsystem\tm\nde-en\tgood\t1\nde-en\tbad\t0\n")
    with pytest.raises(UsageError, match=r"no column sid.*--level system"):
        mtgauge.meta(file, ["chrf"], scores=[scores])
    assert mtgauge.meta(file, scores=[scores], level="system").rows[0].metric == "m"


def test_the_folder_and_the_function_share_a_name() -> None:
    code = """
import mtgauge
from mtgauge.meta import evaluate
from mtgauge.meta.study import Plan
import mtgauge.meta.rows
assert callable(mtgauge.meta) and mtgauge.meta.evaluate is evaluate
from mtgauge import meta
try:
    meta()
except mtgauge.errors.UsageError as error:
    print(error)
"""
    for start in ("", "from mtgauge.meta.rows import Row\n", "from mtgauge import meta, probe\n"):
        done = subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True)
        assert done.stdout.startswith("No judgements"), done.stderr


def test_public_names_exist_and_cost_nothing() -> None:
    for name in mtgauge.__all__:
        assert getattr(mtgauge, name) is not None
    assert mtgauge.__all__ == sorted(mtgauge.__all__)
    heavy = "{'numpy', 'scipy', 'pandas'}"
    code = f"import sys, mtgauge; print(*{heavy} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "\n"


def test_probe_from_lists_and_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    judged = table()
    sources = list(judged.sources or ())[:4]
    found = mtgauge.probe("reorder", metrics=["cosine"], sources=sources, references=REFERENCES)
    (row,) = found.rows
    assert (row.probe, len(row.d)) == ("random order", 4)
    assert "preferred" in str(found)
    assert found.to_dict()["rows"][0]["n"] == 4
    assert list(found.to_pandas()["metric"]) == ["cosine"]
    assert "d = m(worse) - m(human)" in found.histograms()
    same = mtgauge.probe("reorder", judged, ["cosine"], limit=3, cache=tmp_path / "cache")
    assert len(same.rows[0].d) == 3
    words = tmp_path / "words.txt"
    words.write_text("quelle source\neins one\n")
    both = mtgauge.probe("reorder", judged, ["cosine"], dictionary=words)
    assert [row.probe for row in both.rows] == ["random order", "source order"]
    (tmp_path / "s.txt").write_text("\n".join(sources))
    (tmp_path / "r.txt").write_text("\n".join(REFERENCES))
    arguments = ["-s", str(tmp_path / "s.txt"), "-r", str(tmp_path / "r.txt"), "--no-cache"]
    assert main(["probe", "reorder", *arguments, "-m", "cosine", "--quiet"]) == 0
    assert capsys.readouterr().out == str(found)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("sing", table()), {"metrics": ["cosine"]}, "no probe 'sing'"),
        (("w2w", table()), {"metrics": ["cosine"]}, "give --dictionary"),
        (("reorder", table()), {}, "metrics is a list"),
        (("reorder",), {"metrics": ["cosine"]}, "Nothing to probe"),
        (("reorder",), {"metrics": ["cosine"], "sources": ["a"]}, "both -s SRC and -r REF"),
        (
            ("reorder", table()),
            {"metrics": ["cosine"], "limit": 0},
            "limit=0 is not a whole number",
        ),
        (("reorder", table()), {"metrics": ["chrf"]}, "without references"),
    ],
)
def test_wrong_probes(arguments: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        mtgauge.probe(*arguments, **options)


def test_json_goes_through_a_pipe_and_a_link(file: Path, tmp_path: Path) -> None:
    pipe, link, real = tmp_path / "pipe", tmp_path / "link", tmp_path / "real.json"
    os.mkfifo(pipe)
    link.symlink_to(real)
    read: list[str] = []
    thread = threading.Thread(target=lambda: read.append(pipe.read_text()))
    thread.start()
    command = ["meta", str(file), "-m", "chrf", "--no-cache", "--quiet", "--json"]
    assert main([*command, str(pipe)]) == 0
    thread.join()
    assert main([*command, str(link)]) == 0
    assert json.loads(read[0]) == json.loads(real.read_text())
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_export_and_plots_stay_in_their_folder(tmp_path: Path) -> None:
    judged = table()
    systems = ["../../../x" if name == "good" else name for name in judged.systems]
    mine = Judgements(**{**vars(judged), "systems": systems, "data": "../up"})
    found = mtgauge.meta(mine, ["chrf", "chrf:beta=3", "chrf:beta='3'"])
    home = tmp_path / "a" / "b"
    found.export(home / "export")
    names = {p.name for p in (home / "export" / "metric-scores" / "de-en").iterdir()}
    assert len([name for name in names if "seg" in name]) == 3
    if pytest.importorskip("matplotlib"):
        assert len(found.plot(home / "plots")) == 3
    assert [p for p in tmp_path.rglob("*") if p.is_file() and home not in p.parents] == []
