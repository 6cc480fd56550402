"""Aligned word vectors behind the encoder protocol."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mtgauge.data.segments import Segments
from mtgauge.encode import load_encoder
from mtgauge.encode.words.files import convert
from mtgauge.errors import ResourceError, UsageError
from mtgauge.registry import load

GERMAN = {"die": [1, 0, 0], "katze": [0, 1, 0], "schläft": [0, 0, 1], ".": [1, 1, 1]}
ENGLISH = {"the": [1, 0, 0], "cat": [0, 1, 0], "sleeps": [0, 0, 1], "dog": [-1, 1, 0]}


def store(tmp_path: Path, lang: str, table: dict[str, list[int]]) -> Path:
    width = len(next(iter(table.values())))
    lines = [f"{len(table)} {width}"]
    lines += [f"{word} {' '.join(map(str, vector))}" for word, vector in table.items()]
    path = tmp_path / f"{lang}.vec"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    convert(path, tmp_path / f"{lang}.vectors")
    return tmp_path / f"{lang}.vectors"


def spec(tmp_path: Path) -> str:
    german, english = store(tmp_path, "de", GERMAN), store(tmp_path, "en", ENGLISH)
    return f"static:de={german};en={english}"


def test_words_have_their_vectors_and_unknown_ones_are_left_out(tmp_path: Path) -> None:
    encoder = load_encoder(spec(tmp_path))
    found = encoder.encode(["Die Katze, Katze!", "xyz"], lang="de")
    assert found.offsets.tolist() == [0, 3, 3]
    assert found.left_out == 3
    np.testing.assert_allclose(found.vectors, [[1, 0, 0], [0, 1, 0], [0, 1, 0]], atol=1e-3)
    assert "Die Katze, Katze!"[slice(*found.spans[1])] == "Katze"


def test_xmoverscore_runs_on_them(tmp_path: Path) -> None:
    metric = load(f"xmoverscore:encoder='{spec(tmp_path)}',lm=off,matching=transport")
    batch = Segments(
        ["The cat sleeps", "The dog sleeps", "xyz"], ["Die Katze schläft."] * 3, None, "de-en"
    )
    good, bad, empty = metric.statistics(batch)[:, 0]
    assert good > bad > empty
    assert metric.explain(batch).links
    assert metric.notes["oov"] >= 1


def test_wrong_use_is_refused(tmp_path: Path) -> None:
    encoder = load_encoder(spec(tmp_path))
    with pytest.raises(ResourceError, match="no vectors for 'fi'"):
        encoder.encode(["kissa"], lang="fi")
    with pytest.raises(UsageError, match="write static:LANG=FOLDER"):
        load_encoder("static:de")
    other = store(tmp_path, "fr", {"le": [1, 2]})
    with pytest.raises(ResourceError, match="one size"):
        load_encoder(f"static:fr={other};en={tmp_path / 'en.vectors'}")
