"""Prepared judgements, weights to go on with, and a large teacher's ratings."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from mtgauge.commands import train
from mtgauge.errors import InputError, ResourceError, UsageError
from mtgauge.train.judged import codes as coded
from mtgauge.train.judged import packed
from mtgauge.train.judged import rows as judged
from mtgauge.train.judged.coder import read_coder
from mtgauge.train.metrics import distil
from trained_models import write_encoder, write_judged

SMALL = ("--max-length", 40, "--pool", "compare", "--head", "mlp", "--hidden", 16)


def run(*arguments: object) -> None:
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    assert train.run(parser.parse_args(list(map(str, arguments)))) == 0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("prepared")
    write_encoder(home)
    write_judged(home / "train.tsv", 120, 1)
    write_judged(home / "alone.tsv", 30, 4, reference=False)
    write_judged(home / "dev.tsv", 60, 2)
    run("pack", "--train", home / "train.tsv", home / "alone.tsv", "--dev", home / "dev.tsv",
        "--drop-overlap", "--encoder", home / "encoder", "--out", home / "judged.npz")  # fmt: skip
    return home


def load(home: Path, name: str = "judged.npz") -> dict[str, coded.Coded]:
    return packed.load(home / name, read_coder(str(home / "encoder")).digest)[0]


def test_prepared_rows_are_the_rows_that_were_read(home: Path) -> None:
    parts = load(home)
    folder = read_coder(str(home / "encoder"))
    rows = judged.read([home / "train.tsv", home / "alone.tsv"])
    rows = judged.drop(rows, judged.overlap(rows, judged.read([home / "dev.tsv"])))
    train = parts["train"]
    assert len(train) == len(rows)
    np.testing.assert_allclose(train.scores, rows.scores, atol=1e-6)
    columns = {"hyp": rows.hypotheses, "src": rows.sources, "ref": rows.references}
    for name, texts in columns.items():
        for number, text in zip(train.numbers[name].tolist(), texts, strict=True):
            pieces = None if number < 0 else train.book.pieces(number)
            assert pieces == (None if text is None else folder.tokenize([text])[0])


def test_another_tokenizer_and_other_files_are_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="packed with another tokenizer"):
        packed.load(home / "judged.npz", "0" * 64)
    (tmp_path / "x.npz").write_bytes(b"no archive")
    with pytest.raises(InputError, match="mtgauge train pack"):
        packed.load(tmp_path / "x.npz", "")
    with pytest.raises(UsageError, match="--packed holds the data"):
        run("esim", "--packed", home / "judged.npz", "--train", home / "train.tsv",
            "--encoder", home / "encoder", "--out", tmp_path)  # fmt: skip


def test_texts_that_nobody_reads_are_not_kept(home: Path) -> None:
    """A head that compares with references encodes no source."""
    rows = judged.read([home / "train.tsv"])
    (found,) = coded.code([rows], lambda texts: [[] for _ in texts], ("hyp", "ref"))
    assert found.book.texts is not None
    assert not set(found.book.texts) & set(rows.sources)
    assert (found.numbers["src"] == -1).all()


def test_a_run_without_time_is_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--minutes 0: must be positive"):
        run("ruse", "--packed", home / "judged.npz", "--encoder", home / "encoder",
            "--minutes", 0, "--out", tmp_path)  # fmt: skip


def test_a_run_goes_on_with_the_weights_of_another(home: Path, tmp_path: Path) -> None:
    data = ("--packed", home / "judged.npz", "--encoder", home / "encoder", "--freeze-embeddings")
    run("regressor", *data, *SMALL, "--epochs", 1, "--rate", "1e-3", "--weights-only",
        "--out", tmp_path / "a")  # fmt: skip
    assert not (tmp_path / "a" / "card.json").exists()
    warm = tmp_path / "a" / "weights.safetensors"
    first = load_file(warm)
    assert not any("pieces" in name for name in first)  # frozen: the encoder has them
    run(
        "regressor",
        *data,
        *SMALL,
        "--epochs",
        0,
        "--start",
        tmp_path / "a",
        "--out",
        tmp_path / "b",
    )
    card = json.loads((tmp_path / "b" / "card.json").read_text())
    assert card["warm"]["epochs"] == 1
    whole = load_file(tmp_path / "b" / "weights.safetensors")
    for name, value in first.items():
        torch.testing.assert_close(whole[name], value.float())
    with pytest.raises(UsageError, match="is of another model"):
        run("regressor", *data, *SMALL, "--hidden", 8, "--start", warm, "--out", tmp_path / "c")


def test_more_of_the_card_comes_from_a_file(home: Path, tmp_path: Path) -> None:
    options = ("--packed", home / "judged.npz", "--encoder", home / "encoder", "--hidden", 8)
    facts = tmp_path / "facts.json"
    facts.write_text('{"licence": "CC0-1.0", "kind": "other", "data": {"licences": "ours"}}')
    run("ruse", *options, "--epochs", 1, "--facts", facts, "--out", tmp_path / "ruse")
    card = json.loads((tmp_path / "ruse" / "card.json").read_text())
    assert card["licence"] == "CC0-1.0"
    assert card["kind"] == "ruse"  # what the run knows itself is not overruled
    assert card["data"]["licences"] == "ours"
    assert sum(card["data"]["train_segments"].values()) > 0
    facts.write_text("licence: mine")
    with pytest.raises(InputError, match=r"facts\.json: no JSON"):
        run("ruse", *options, "--facts", facts, "--out", tmp_path / "none")


def test_heads_leave_prepared_rows_without_a_reference_out(home: Path, tmp_path: Path) -> None:
    run("ruse", "--packed", home / "judged.npz", "--encoder", home / "encoder", "--hidden", 8,
        "--epochs", 1, "--out", tmp_path / "ruse")  # fmt: skip
    assert (tmp_path / "ruse" / "card.json").exists()


def test_a_teachers_ratings_move_scores_by_the_number_of_judges(home: Path) -> None:
    """Two judges: half of theirs and half of the teacher's; without a reference, theirs."""
    train = load(home)["train"]
    asked: list[int] = []

    def teacher(rows: coded.Coded) -> np.ndarray:
        asked.append(len(rows))
        return np.full(len(rows), 2.0)

    found = distil.blended(train, teacher)  # type: ignore[arg-type]
    rated = train.numbers["ref"] >= 0
    assert asked == [int(rated.sum())]
    np.testing.assert_allclose(found.scores[rated], 0.5 * train.scores[rated] + 1.0, atol=1e-5)
    np.testing.assert_array_equal(found.scores[~rated], train.scores[~rated])
    assert (found.weights[rated] == 1).all()
    assert 0 < (~rated).sum() == (found.weights == train.weights).sum()


def test_samples_join_judged_rows_in_one_book(home: Path) -> None:
    arrays = {
        "sample": np.array([7, 8, 9, 10]), "sample_start": np.array([0, 3, 4]),
        "source": np.array([11, 12]), "source_start": np.array([0, 1, 2]),
        "reference": np.array([7, 8, 13]), "reference_start": np.array([0, 2, 3]),
        "score": np.array([0.2, 0.8], np.float32), "lang": np.array([1, 0]),
    }  # fmt: skip
    drawn = distil.coded_samples(arrays, ("de", "fr"))
    assert drawn.lps.tolist() == ["fr-en", "de-en"]
    np.testing.assert_allclose(drawn.scores, [-1, 1], atol=1e-6)
    train = load(home)["train"]
    both = coded.merged(train, drawn)
    assert len(both) == len(train) + 2
    for rows, at in ((train, 3), (train, len(train) - 1)):
        for name in coded.COLUMNS:
            number = rows.numbers[name][at]
            assert both.numbers[name][at] == number
            if number >= 0:
                assert both.book.pieces(number) == rows.book.pieces(number)
    assert [both.book.pieces(both.numbers[n][-2]) for n in ("hyp", "src", "ref")] == [
        [7, 8, 9],
        [11],
        [7, 8],
    ]


def test_a_teacher_reads_the_text_that_pieces_spell(home: Path, tmp_path: Path) -> None:
    """A teacher with another tokenizer, here with other numbers for the same words."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=90, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32,
    )  # fmt: skip
    hub = tmp_path / "hub"
    transformers.BertModel(config).save_pretrained(hub)
    tokenizer = Tokenizer.from_file(str(home / "encoder" / "tokenizer.json"))
    tokenizer.add_tokens(["more"])
    tokenizer.save(str(hub / "tokenizer.json"))
    out = tmp_path / "teacher"
    run("regressor", "--train", home / "train.tsv", "--dev", home / "dev.tsv", "--drop-overlap",
        "--encoder", hub, "--views", "hyp+ref", *SMALL[2:], "--weights-only",
        "--epochs", 1, "--out", out)  # fmt: skip
    run("distil", "--packed", home / "judged.npz", "--rater", out, "--rater-encoder", hub,
        "--rater-hidden", 16, "--encoder", home / "encoder", "--device", "cpu",
        "--out", tmp_path / "distilled")  # fmt: skip
    before = load(home)
    after, facts = packed.load(
        tmp_path / "distilled" / "judged.npz", read_coder(str(home / "encoder")).digest
    )
    rated = facts["distilled"]
    assert (rated["teacher"], rated["samples"]) == ("hub, a regressor for hyp+ref", 0)
    assert rated["epochs"] == 1
    np.testing.assert_array_equal(after["dev"].scores, before["dev"].scores)
    moved = after["train"].scores != before["train"].scores
    np.testing.assert_array_equal(moved, before["train"].numbers["ref"] >= 0)
