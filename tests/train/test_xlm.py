"""XLM from its files to a score: a slow tokenizer, language numbers, training, ONNX."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mtgauge
from mtgauge.data.segments import Segments
from mtgauge.encode.tokens.slow import slow_packer
from mtgauge.errors import LanguageError, UsageError
from mtgauge.metric import Task
from mtgauge.metrics._trained import TrainedMetric
from mtgauge.registry import load
from mtgauge.train.judged.coder import TextCoder
from mtgauge.train.judged.files import load as read_judged
from mtgauge.train.metrics.regressor import regressor
from mtgauge.train.nets.regressor import HubPairs, Regressor, load_hub
from mtgauge.train.nets.weights import load_trained
from mtgauge.train.settings import JudgedFiles, RegressorTraining

transformers = pytest.importorskip("transformers")
pytest.importorskip("sacremoses")
SPECIAL = ["<s>", "</s>", "<pad>", "<unk>", *(f"<special{i}>" for i in range(10))]
LANGUAGES = {"de": 0, "en": 1, "zh": 2}


def tiny_xlm(folder: Path) -> Path:
    """Random weights, BPE down to letters."""
    letters = "abcdefghijklmnopqrstuvwxyz.,'猫狗"
    pieces = [piece for char in letters for piece in (char, char + "</w>")]
    merges = [("t", "h"), ("th", "e</w>"), ("c", "a"), ("ca", "t</w>"), ("d", "o"), ("do", "g</w>")]
    pieces += ["".join(pair) for pair in merges]
    folder.mkdir()
    vocabulary = {piece: i for i, piece in enumerate([*SPECIAL, *pieces])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    lines = "".join(f"{a} {b} {9 - i}\n" for i, (a, b) in enumerate(merges))
    (folder / "merges.txt").write_text(lines, encoding="utf-8")
    tokenizer = transformers.XLMTokenizer(
        str(folder / "vocab.json"),
        str(folder / "merges.txt"),
        lang2id=LANGUAGES,
        id2lang={i: lang for lang, i in LANGUAGES.items()},
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    config = transformers.XLMConfig(
        vocab_size=len(vocabulary),
        emb_dim=16,
        n_layers=2,
        n_heads=2,
        n_langs=3,
        use_lang_emb=True,
        lang2id=LANGUAGES,
        id2lang={i: lang for lang, i in LANGUAGES.items()},
        max_position_embeddings=64,
        embed_init_std=0.3,
        init_std=0.3,
        bos_index=0,
        eos_index=1,
        pad_index=2,
        unk_index=3,
    )
    transformers.XLMModel(config).save_pretrained(folder)
    return folder


def judged(path: Path) -> Path:
    rows = ["lp\tsystem\tsid\tsource\treference\thypothesis\thuman\traw"]
    words = "the cat sat on a mat near the old dog".split()
    for lp in ("de-en", "zh-en"):
        for sid in range(24):
            kept = sid % 9
            text = " ".join(words[:kept] + ["bad"] * (9 - kept)) + "."
            source = "die katze sass da." if lp == "de-en" else "猫狗猫."
            cells = (f"{source[:-1]} {sid}.", " ".join(words) + f" {sid}.", text)
            human = kept / 4 - 1
            rows.append(
                "\t".join((lp, "a", str(sid), *cells, f"{human:.2f}", f"{50 + 20 * human}"))
            )
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("xlm")
    how = RegressorTraining(
        encoder=str(tiny_xlm(folder / "hub")),
        epochs=2,
        rate=1e-3,
        max_length=48,
        seeds=(1, 2),
        views={"hyp+src/hyp+ref": 1.0, "hyp+src": 1.0, "hyp+ref": 1.0},
        quiet=True,
    )
    data = judged(folder / "judged.tsv")
    test = judged(folder / "test.tsv")
    text = test.read_text(encoding="utf-8").replace("katze", "hund").replace("猫狗猫", "狗猫狗")
    test.write_text(text, encoding="utf-8")
    files = JudgedFiles(train=[data], test=[test], dev_share=0.4)
    return folder / "out", regressor(files, folder / "out", how)


def test_the_slow_tokenizer_splits_by_language(trained: tuple[Path, dict[str, Any]]) -> None:
    packer = slow_packer(trained[0] / "tokenizer", 48)
    the, cat = packer.tokenize(["The cat"])[0]
    assert packer.tokenize(["THE  cat"]) == [[the, cat]], "Moses, then lower case, then BPE"
    assert len(packer.tokenize(["猫狗"])[0]) == 2
    packed = packer.pack([("the cat", "the")], langs=[(1, 0)])
    assert packed.ids.tolist() == [[0, the, cat, 1, the, 1]]
    assert packed.langs.tolist() == [[1, 1, 1, 1, 0, 0]]


def test_training_writes_a_folder_that_scores(trained: tuple[Path, dict[str, Any]]) -> None:
    out, card = trained
    assert card["inputs"] == ["input_ids", "attention_mask", "langs"]
    assert card["language_numbers"] == LANGUAGES
    result = mtgauge.score(
        {"a": ["the cat sat.", "bad bad bad bad."]},
        ["die katze sass.", "die katze sass."],
        ["the cat sat.", "the cat sat."],
        [f"regressor:model={out}", f"regressor:model={out},view=hyp+src"],
        "de-en",
        ci=False,
    )
    for metric in result.values():
        assert np.isfinite(metric["a"].segments).all()


def test_scores_depend_on_language_numbers_and_not_on_batches(trained) -> None:
    out, _ = trained
    metric = load(f"regressor:model={out},view=hyp+src")
    texts = ["the cat.", "the dog sat on a mat near the cat.", "cat"]
    one = metric.statistics(Segments(texts, ["a."] * 3, lang="de-en"))
    alone = [metric.statistics(Segments([t], ["a."], lang="de-en"))[0] for t in texts]
    np.testing.assert_allclose(one, alone, atol=2e-3)
    other = metric.statistics(Segments(texts, ["a."] * 3, lang="zh-en"))
    assert np.abs(one - other).max() > 1e-4, "the source's language number is read"
    with pytest.raises(LanguageError, match="does not know the language fr"):
        load(f"regressor:model={out},view=hyp+src").resolve(Task(frozenset({"source"}), "fr-en"))


def test_the_exported_encoder_is_the_trained_one(trained: tuple[Path, dict[str, Any]]) -> None:
    """Inputs of other shapes than the one that the export saw."""
    out, card = trained
    model = Regressor(HubPairs(load_hub(str(out.parent / "hub"))), ("src", "ref"))
    load_trained(out, model)
    model.eval()
    packer = slow_packer(out / "tokenizer", 48)
    texts = [("the cat.", "die katze."), ("the dog sat on a mat near the cat.", "der hund.")]
    packed = packer.pack(texts, langs=[(1, 0), (1, 0)])
    given = {"input_ids": packed.ids, "attention_mask": packed.mask, "langs": packed.langs}
    tensors = (packed.ids, packed.mask, packed.types, packed.langs)
    with torch.inference_mode():
        expected = model.vector(*map(torch.from_numpy, tensors)).numpy()
    metric = load(f"regressor:model={out}")
    assert isinstance(metric, TrainedMetric)
    found = metric.folder.run("model.onnx", **given)
    np.testing.assert_allclose(found, expected, atol=0.05)  # its weights are int8
    assert np.abs(expected[0] - expected[1]).max() > 0.2
    assert card["width"] == expected.shape[1]


def test_weights_and_cut_can_be_switched_off(tmp_path: Path) -> None:
    path = judged(tmp_path / "judged.tsv")
    text = path.read_text(encoding="utf-8").replace("\t-1.00\t", "\t-9.00\t")
    path.write_text(text, encoding="utf-8")
    coder = TextCoder(None, ())
    usual = read_judged(JudgedFiles(train=[path], dev_share=0.3), coder, quiet=True).train
    plain = read_judged(
        JudgedFiles(train=[path], dev_share=0.3, equal_weights=True, cut=0), coder, quiet=True
    )
    assert (usual.scores.min(), plain.train.scores.min()) == (-3, -9)
    assert set(usual.weights.tolist()) == {15 / 16}
    assert set(plain.train.weights.tolist()) == {1.0}
    assert (plain.facts["weights"], plain.facts["cut"]) == ("equal", 0)
    with pytest.raises(UsageError, match="--cut -1"):
        JudgedFiles(train=[path], dev_share=0.3, cut=-1).check()
    with pytest.raises(UsageError, match="say --equal-weights and --cut to"):
        JudgedFiles(packed=tmp_path / "x.npz", equal_weights=True).check()


def test_mean_and_deviation_over_seeds(trained: tuple[Path, dict[str, Any]]) -> None:
    _, card = trained
    assert set(card["seeds"]) == {"1", "2"}
    test = card["test_by_seed"]
    assert set(test["seeds"]) == {"1", "2"}
    values = list(test["seeds"].values())
    assert test["mean"] == pytest.approx(np.mean(values), abs=1e-3)
    assert test["deviation"] == pytest.approx(np.std(values, ddof=1), abs=1e-3)
