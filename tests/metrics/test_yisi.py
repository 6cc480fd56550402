"""YiSi-1 and YiSi-2 against a computation by hand."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pytest

from mtgauge.data.segments import Segments
from mtgauge.encode.tokens.encoder import Encoder
from mtgauge.errors import UsageError
from mtgauge.metrics.yisi import YiSi1, YiSi2
from mtgauge.registry import load
from tiny_models import encoder_folders

TEXTS = ["the cat sat on the mat", "the house is big", "a dog sat"]
OTHERS = ["a cat sat on a mat", "the big house", "the the dog"]


def yisi(spec: str) -> YiSi1 | YiSi2:
    metric = load(spec)
    assert isinstance(metric, YiSi1 | YiSi2)
    return metric


def by_hand(model: Encoder, left: str, right: str, corpora: list[list[str]], alpha: float) -> float:
    """P, R and their mean, piece by piece."""
    layer = 2

    def units(text: str, corpus: list[str]) -> tuple[np.ndarray, np.ndarray]:
        tokens = model.encode([text], layer)
        kept = ~tokens.special
        vectors = tokens.vectors[kept].astype(float)
        seen = [set(model.tokenize([line]).ids.tolist()) for line in corpus]
        df = [sum(i in ids for ids in seen) for i in tokens.ids[kept].tolist()]
        idf = [log(1 + (len(corpus) + 1) / (n + 1)) if corpus else 1.0 for n in df]
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.array(idf)

    (x, v), (y, w) = units(left, corpora[0]), units(right, corpora[1])
    cosine = x @ y.T
    p = (w * cosine.max(axis=0)).sum() / w.sum()
    r = (v * cosine.max(axis=1)).sum() / v.sum()
    return p * r / (alpha * p + (1 - alpha) * r)


@pytest.mark.parametrize("alpha", [0.7, 0.5])
def test_yisi_1_by_hand(alpha: float) -> None:
    metric = yisi(f"yisi-1:encoder={encoder_folders()[0]},layer=2,alpha={alpha},idf=references")
    metric.fit(TEXTS)
    batch = Segments(OTHERS, references=[(text,) for text in TEXTS], lang="de-en")
    got = metric.segment_score(metric.statistics(batch))
    both = [TEXTS, TEXTS]
    want = [by_hand(metric.model, r, t, both, alpha) for r, t in zip(TEXTS, OTHERS, strict=True)]
    np.testing.assert_allclose(got, want, atol=1e-5)


def test_yisi_2_reads_the_source_and_files(tmp_path: Path) -> None:
    spec = f"yisi-2:encoder={encoder_folders()[0]},layer=2"
    batch = Segments(OTHERS, sources=TEXTS, lang="de-en")
    plain = yisi(spec)
    assert plain.needs == {"source"}
    got = plain.segment_score(plain.statistics(batch))
    want = [by_hand(plain.model, s, t, [[], []], 0.7) for s, t in zip(TEXTS, OTHERS, strict=True)]
    np.testing.assert_allclose(got, want, atol=1e-5)
    (tmp_path / "de").write_text("\n".join(TEXTS) + "\n", "utf-8")
    (tmp_path / "en").write_text("\n".join(OTHERS) + "\n", "utf-8")
    weighted = yisi(f"{spec},idf={tmp_path / 'de'},hyp_idf={tmp_path / 'en'}")
    got = weighted.segment_score(weighted.statistics(batch))
    corpora = [TEXTS, OTHERS]
    want = [by_hand(plain.model, s, t, corpora, 0.7) for s, t in zip(TEXTS, OTHERS, strict=True)]
    np.testing.assert_allclose(got, want, atol=1e-5)
    with pytest.raises(UsageError, match="files of texts"):
        load("yisi-2:idf=references")
