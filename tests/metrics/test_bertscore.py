"""BERTr, BERTScore and MoverScore on a tiny encoder, against hand-written sums and peers."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from math import log
from pathlib import Path

import numpy as np
import pytest

from mtgauge.compare.transport import transport
from mtgauge.data.segments import Segments
from mtgauge.encode import load_encoder
from mtgauge.errors import InputError, ResourceError, UsageError
from mtgauge.metric import FloatArray
from mtgauge.metrics.moverscore import MoverScore
from mtgauge.registry import load
from tiny_models import LONGEST, encoder_folders

REFERENCES = ["the cat sat on the mat.", "the house is big and red.", "dogs"]
HYPOTHESES = ["a cat sat on a mat", "the houses are red", "cats and dogs, big dogs"]
BATCH = Segments(HYPOTHESES, None, [(r,) for r in REFERENCES], "de-en")


def spec(name: str, road: int = 0, **options: str) -> str:
    values = {"encoder": str(encoder_folders()[road]), **options}
    return f"{name}:" + ",".join(f"{k}='{v}'" for k, v in values.items())


def cosines(reference: str, hypothesis: str, special: bool) -> FloatArray:
    """Similarities (reference tokens, hypothesis tokens), one pair at a time."""
    rows = []
    for text in (reference, hypothesis):
        found = load_encoder(str(encoder_folders()[0])).encode([text])
        vectors = found.vectors if special else found.vectors[~found.special]
        rows.append(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    return np.asarray(rows[0] @ rows[1].T, dtype=np.float64)


def test_bertr_is_the_mean_best_cosine_of_reference_tokens() -> None:
    found = load(spec("bertr")).statistics(BATCH)[:, 0]
    want = [
        cosines(r, h, False).max(axis=1).mean() for r, h in zip(REFERENCES, HYPOTHESES, strict=True)
    ]
    np.testing.assert_allclose(found, want, atol=1e-6)


def test_bertr_is_the_recall_of_bertscore() -> None:
    np.testing.assert_allclose(
        load(spec("bertr")).statistics(BATCH)[:, 0],
        load(spec("bertscore", score="recall")).statistics(BATCH)[:, 1],
        atol=1e-12,
    )


def test_bertr_of_a_text_with_itself_is_one() -> None:
    same = Segments(REFERENCES, None, [(r,) for r in REFERENCES])
    np.testing.assert_allclose(load(spec("bertr")).statistics(same), 1.0, atol=1e-6)


@pytest.mark.parametrize("idf", ["off", "references"])
def test_bertscore_equals_the_package(idf: str, tmp_path: Path) -> None:
    package = pytest.importorskip("bert_score")
    folder = tmp_path / "model"
    shutil.copytree(encoder_folders()[1], folder)
    # The package cannot do with a tokenizer that states no maximum length; ours can.
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text("utf-8")) | {"model_max_length": LONGEST}
    path.write_text(json.dumps(settings), "utf-8")
    want = package.score(
        HYPOTHESES,
        REFERENCES,
        model_type=str(folder),
        num_layers=3,
        idf=idf == "references",
        batch_size=2,
        device="cpu",
        nthreads=0,
    )
    metric = load(spec("bertscore", road=1, preset="bert_score", idf=idf, layer="3"))
    if metric.needs_corpus:
        metric.fit(REFERENCES)
    np.testing.assert_allclose(metric.statistics(BATCH), np.stack(want, axis=1), atol=1e-4)


def test_bertscore_weights_by_idf() -> None:
    metric = load(spec("bertscore", idf="references"))
    with pytest.raises(UsageError, match="call fit"):
        metric.statistics(BATCH)
    metric.fit(REFERENCES)
    encoder = load_encoder(str(encoder_folders()[0]))
    tokens = [encoder.tokenize([r]) for r in REFERENCES]
    documents = Counter(i for t in tokens for i in set(t.ids.tolist()))
    weights = np.array([log(4 / (documents[i] + 1)) for i in tokens[0].ids[~tokens[0].special]])
    best = cosines(REFERENCES[0], HYPOTHESES[0], False).max(axis=1)
    want = (weights * best).sum() / weights.sum()
    assert metric.statistics(BATCH)[0, 1] == pytest.approx(want, abs=1e-6)


def test_moverscore_weighs_each_side_by_its_own_idf(tmp_path: Path) -> None:
    path = tmp_path / "hypotheses.txt"
    path.write_text("\n".join(HYPOTHESES) + "\n", "utf-8")
    metric = load(spec("moverscore", idf="references", hyp_idf=str(path)))
    metric.fit(REFERENCES)
    encoder = load_encoder(str(encoder_folders()[0]))

    def weights(texts: Sequence[str]) -> FloatArray:
        tokens = [encoder.tokenize([text]) for text in texts]
        documents = Counter(i for t in tokens for i in set(t.ids.tolist()))
        real = tokens[0].ids[~tokens[0].special]
        found = np.array([log((len(texts) + 1) / (documents[i] + 1)) for i in real])
        return np.asarray(found / found.sum())

    distance = 2 - 2 * cosines(REFERENCES[0], HYPOTHESES[0], False)
    pair = weights(REFERENCES), weights(HYPOTHESES)
    want = 1 - transport([distance], [pair]).cost[0]
    assert metric.statistics(BATCH)[0, 0] == pytest.approx(want, abs=1e-5)
    both_by_references = load(spec("moverscore", idf="references"))
    both_by_references.fit(REFERENCES)
    assert both_by_references.statistics(BATCH)[0, 0] != pytest.approx(want, abs=1e-4)


def test_idf_of_one_text_falls_back_to_equal_weights() -> None:
    weighted = load(spec("bertscore", idf="references"))
    weighted.fit(REFERENCES[:1])
    one = BATCH.take([0])
    plain = load(spec("bertscore")).statistics(one)
    assert weighted.statistics(one)[0, 1] == pytest.approx(plain[0, 1], abs=1e-6)
    mover = load(spec("moverscore", preset="emnlp2019", layer="3", depth="2"))
    mover.fit(REFERENCES[:1])
    same = Segments(["a dog"], None, [("the cat",)])
    assert mover.statistics(same)[0, 0] < 0.999


def test_idf_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(REFERENCES) + "\n", "utf-8")
    from_file = load(spec("bertscore", idf=str(path)))
    from_run = load(spec("bertscore", idf="references"))
    from_run.fit(REFERENCES)
    np.testing.assert_allclose(from_file.statistics(BATCH), from_run.statistics(BATCH))
    with pytest.raises(ResourceError, match="no such file"):
        load(spec("bertscore", idf="nowhere.txt")).statistics(BATCH)


@pytest.mark.parametrize("name", ["bertr", "bertscore", "moverscore"])
def test_the_best_reference_counts_or_their_mean(name: str) -> None:
    def score(metric_spec: str, references: list[tuple[str, ...]]) -> FloatArray:
        metric = load(metric_spec)
        batch = Segments(HYPOTHESES[:2], None, references)
        return metric.segment_score(metric.statistics(batch))

    first = score(spec(name), [("the cat",), ("red",)])
    second = score(spec(name), [("a mat",), ("red",)])
    both = [("the cat", "a mat"), ("red",)]
    np.testing.assert_allclose(score(spec(name), both), np.maximum(first, second), atol=1e-6)
    np.testing.assert_allclose(
        score(spec(name, multi_ref="mean"), both), (first + second) / 2, atol=1e-6
    )


@pytest.mark.parametrize(
    "options",
    [
        {"name": "bertr"},
        {"name": "bertr", "preset": "paper2019"},
        {"name": "bertscore"},
        {"name": "moverscore"},
        {"name": "moverscore", "preset": "v2", "idf": "off"},
        {"name": "moverscore", "preset": "emnlp2019", "idf": "off", "ngram": "2"},
    ],
)
def test_both_roads_agree_and_batches_do_not_matter(options: dict[str, str]) -> None:
    left, right = (load(spec(road=road, **options)) for road in (0, 1))
    whole = left.statistics(BATCH)
    np.testing.assert_allclose(whole, right.statistics(BATCH), atol=1e-4)
    alone = np.concatenate([left.statistics(BATCH.take([i])) for i in (0, 1, 2)])
    np.testing.assert_allclose(whole, alone, atol=1e-5)


def test_moverscore_equals_a_linear_program() -> None:
    ot = pytest.importorskip("ot")
    found = load(spec("moverscore")).statistics(BATCH)[:, 0]
    for k in range(3):
        distance = np.maximum(2 - 2 * cosines(REFERENCES[k], HYPOTHESES[k], False), 0)
        n, m = distance.shape
        cost = ot.emd2(np.full(n, 1 / n), np.full(m, 1 / m), distance)
        assert found[k] == pytest.approx(1 - cost, abs=1e-5)


def test_moverscore_takes_layers_that_end_at_the_chosen_one() -> None:
    metric = MoverScore(encoder=str(encoder_folders()[0]), depth=2, layer=2)
    assert metric.layers() == (1, 2)
    deep = MoverScore(encoder=str(encoder_folders()[0]), preset="emnlp2019")
    assert deep.layers() == (0, 1, 2, 3)


def test_empty_sides_have_the_worst_row() -> None:
    for name in ("bertr", "bertscore", "moverscore"):
        metric = load(spec(name))
        rows = metric.statistics(Segments(["", "cat"], None, [("cat",), ("",)]))
        np.testing.assert_allclose(metric.segment_score(rows), metric.worst)


def test_explain_names_the_partners() -> None:
    found = load(spec("bertr")).explain(BATCH.take([2]))
    assert found.left == ("dogs",)
    assert found.right[:2] == ("cats", "and")
    (link,) = found.links
    assert 1 - link.cost == pytest.approx(found.score, abs=1e-6)
    assert load(spec("bertscore")).explain(BATCH).facts["matching"] == "f"
    flow = load(spec("moverscore")).explain(BATCH)
    assert sum(x.weight for x in flow.links) == pytest.approx(1)


def test_idf_from_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_bytes(b"one line\n\xff\xfe two\n")
    metric = load(f"bertscore:idf={tmp_path / 'texts.txt'}")
    with pytest.raises(InputError, match="UTF-8"):
        metric.statistics(Segments(["a cat"], None, [("the cat",)], "de-en"))
