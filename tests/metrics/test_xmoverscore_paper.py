"""What the XMoverScore paper says and its code does not: idf weights, UMD on both sides."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pytest

from mtgauge.data.segments import Segments
from mtgauge.encode.remap.maps import RemapFacts, fit
from mtgauge.errors import UsageError
from mtgauge.metric import Task
from mtgauge.metrics.xmoverscore import XMoverScore
from mtgauge.registry import load
from tiny_models import encoder_folders

SOURCES = ["die katze saß auf der matte", "das haus ist groß", "die katze ist rot"]
OUTPUTS = ["the cat sat on the mat", "the house is big", "the cat is red"]
BATCH = Segments(OUTPUTS, SOURCES, None, "de-en")


def spec(**options: str) -> str:
    values = {"preset": "paper2020", "encoder": str(encoder_folders()[0]), "lm": "off", **options}
    return "xmoverscore:" + ",".join(f"{k}='{v}'" for k, v in values.items())


def settled(text: str) -> XMoverScore:
    metric = load(text).resolve(Task.of(BATCH))
    assert isinstance(metric, XMoverScore)
    return metric


def by_hand(metric: XMoverScore, texts: list[str], corpus: list[str]) -> list[tuple]:
    """(unit vectors, masses) of each text; [CLS] and [SEP] weigh nothing, as in MoverScore."""
    model = metric.model
    seen = [set(model.tokenize([line]).ids.tolist()) for line in corpus]
    (layer,) = model.resolve(-1)
    found = []
    for text in texts:
        tokens = model.encode([text], layer)
        rows, weights = [], []
        for i, number in enumerate(tokens.ids.tolist()):
            if not tokens.first[i] and not tokens.special[i]:
                continue
            df = sum(number in ids for ids in seen)
            idf = 0.0 if tokens.special[i] else log((len(corpus) + 1) / (df + 1))
            rows.append(tokens.vectors[i] / np.linalg.norm(tokens.vectors[i]))
            weights.append(idf)
        found.append((np.array(rows, np.float64), np.array(weights) / sum(weights)))
    return found


def test_idf_weights_equal_a_transport_by_hand(tmp_path: Path) -> None:
    ot = pytest.importorskip("ot")
    corpora = [[*SOURCES, "die die die", "der hund"], [*OUTPUTS, "the the", "a dog sat"]]
    for name, lines in zip(("src.txt", "tgt.txt"), corpora, strict=True):
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    files = {"idf": str(tmp_path / "src.txt"), "hyp_idf": str(tmp_path / "tgt.txt")}
    metric = settled(spec(ngram="1", **files))
    got = metric.statistics(BATCH)[:, 0]
    left, right = by_hand(metric, SOURCES, corpora[0]), by_hand(metric, OUTPUTS, corpora[1])
    for score, (x, f), (y, g) in zip(got, left, right, strict=True):
        cost = 2 - 2 * x @ y.T
        assert score == pytest.approx(1 - ot.emd2(f, g, np.maximum(cost, 0)), abs=2e-5)
    even = settled(spec(ngram="1")).statistics(BATCH)[:, 0]
    assert np.abs(got - even).max() > 1e-3


def test_idf_is_of_files_and_in_the_signature(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="files of texts"):
        load("xmoverscore:idf=references")
    file = tmp_path / "src.txt"
    file.write_text("die katze\n", "utf-8")
    assert "idf_sha256" in settled(spec(idf=str(file))).versions()


def test_printed2020_takes_the_cosine_from_both_sides(tmp_path: Path) -> None:
    plain = settled(spec(ngram="1"))
    (layer,) = plain.model.resolve(-1)
    x = plain.model.encode(SOURCES, layer).vectors
    rng = np.random.default_rng(1)
    z = x + rng.normal(size=(1, x.shape[1])).astype(np.float32)
    facts = RemapFacts("umd", "de-en", fingerprint=plain.model.fingerprint, layer=layer)
    umd = fit(x, z, facts)
    umd.save(tmp_path / "de-en.remap")
    folder = str(tmp_path)
    printed = settled(spec(preset="printed2020", ngram="1", remap=folder))
    assert (printed.options.remap_side, printed.options.remap_form) == ("both", "cosine")
    switches = settled(spec(ngram="1", remap=folder, remap_side="both", remap_form="cosine"))
    np.testing.assert_array_equal(printed.statistics(BATCH), switches.statistics(BATCH))
    v = np.asarray(umd.direction)
    tokens = printed.model.encode(OUTPUTS[:1], layer)
    moved = printed.units(tokens, "hypothesis", "de-en").vectors
    e = tokens.vectors[tokens.first | tokens.special]
    want = e - (e @ v / np.linalg.norm(e, axis=1))[:, None] * v
    want /= np.linalg.norm(want, axis=1, keepdims=True)
    np.testing.assert_allclose(moved, want, atol=1e-5)
