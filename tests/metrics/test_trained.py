"""From judged segments to scores: the command, its folder, and the metrics that read it."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mtgauge
from mtgauge.commands import train
from mtgauge.data.segments import Segments
from mtgauge.errors import InputError, ResourceError, UsageError
from mtgauge.metric import Metric, Task
from trained_models import GERMAN, write_encoder, write_judged

NAMES = ("bilstm", "bilstm-attention", "esim", "ruse")
REFERENCE = "the cat sees a small dog near the river ."
SOURCE = " ".join(GERMAN[word] for word in REFERENCE.split())
BATCH = Segments(
    [
        REFERENCE,
        "the cat likes a cold dog near the river .",
        "bread bread not",
        "the &amp;apos; cat",
    ],
    [SOURCE] * 4,
    [(REFERENCE,)] * 4,
    "de-en",
)


def run(*arguments: object) -> None:
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    assert train.run(parser.parse_args([*map(str, arguments), "--quiet"])) == 0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, an encoder, and one trained model of each kind."""
    home = tmp_path_factory.mktemp("trained")
    encoder = write_encoder(home)
    write_judged(home / "train.tsv", 240, 1)
    write_judged(home / "dev.tsv", 320, 2)
    write_judged(home / "test.tsv", 60, 3)
    data: tuple[str | Path, ...] = (
        "--train",
        home / "train.tsv",
        "--dev",
        home / "dev.tsv",
        "--drop-overlap",
    )
    data = (*data, "--encoder", encoder, "--test", home / "test.tsv")
    for name in NAMES:
        more = ("--hidden", 8, "--epochs", 1, "--rate", "3e-3")
        run(name, *data, "--out", home / name, *more)
    run("regressor", *data, "--out", home / "regressor", "--epochs", 3, "--rate", "2e-3",
        "--max-length", 40, "--pool", "compare", "--head", "mlp", "--hidden", 16)  # fmt: skip
    return home


def load(home: Path, name: str, more: str = "") -> Metric:
    return mtgauge.load(f"{name}:model={home / name}{more}")


@pytest.mark.parametrize("name", [*NAMES, "regressor"])
def test_a_segment_scores_the_same_alone_and_in_a_batch(home: Path, name: str) -> None:
    metric = load(home, name)
    whole = metric.statistics(BATCH)[:, 0]
    assert np.isfinite(whole).all()
    alone = [metric.statistics(BATCH.take([i]))[0, 0] for i in range(len(BATCH))]
    np.testing.assert_allclose(alone, whole, atol=metric.tolerance)
    repeated = BATCH.take([2, 0, 0, 1, 2])
    np.testing.assert_allclose(metric.statistics(repeated)[:, 0], whole[[2, 0, 0, 1, 2]], atol=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_onnx_gives_what_torch_gave(home: Path, name: str) -> None:
    """The correlation that training printed for the test file is the metric's own."""
    card = json.loads((home / name / "card.json").read_text())
    assert _correlation(load(home, name), home) == pytest.approx(
        card["test_pearson"]["average"], abs=0.02
    )


def test_onnx_gives_what_torch_gave_in_every_view(home: Path) -> None:
    card = json.loads((home / "regressor" / "card.json").read_text())
    for view in ("hyp+src/hyp+ref", "hyp+ref", "hyp+src"):
        found = _correlation(load(home, "regressor", f",view={view}"), home)
        assert found == pytest.approx(card["test_pearson"][view], abs=0.02)


def _correlation(metric: Metric, home: Path) -> float:
    from mtgauge.data import judged_files
    from mtgauge.stats.correlation import pearson

    (table,) = judged_files.read(home / "test.tsv")
    scores = metric.statistics(table.segments())[:, 0]
    return float(pearson(scores, table.human))


def test_the_regressor_learnt_something(home: Path) -> None:
    card = json.loads((home / "regressor" / "card.json").read_text())
    assert card["test_pearson"]["hyp+ref"] > 0.3


def test_view_auto_takes_what_is_given(home: Path) -> None:
    metric: Any = load(home, "regressor")
    assert metric.resolve(Task(frozenset({"source", "reference"}))).view == "hyp+src/hyp+ref"
    assert metric.resolve(Task(frozenset({"source"}))).needs == {"source"}
    assert metric.resolve(Task(frozenset({"reference"}))).needs == {"reference"}
    with pytest.raises(UsageError, match=r"a source .* a reference .* or both"):
        metric.resolve(Task(frozenset()))
    both = metric.statistics(BATCH)
    explicit = load(home, "regressor", ",view=hyp+src/hyp+ref").statistics(BATCH)
    np.testing.assert_array_equal(both, explicit)
    no_reference = Segments(BATCH.hypotheses, BATCH.sources, None, "de-en")
    assert not np.allclose(metric.statistics(no_reference), both)
    with pytest.raises(UsageError, match="needs references"):
        load(home, "regressor", ",view=hyp+ref").statistics(no_reference)
    with pytest.raises(UsageError, match="not for view"):
        load(home, "regressor", ",view=hyp+src+ref").statistics(BATCH)


def test_answers_that_the_card_lists_are_averaged(home: Path, tmp_path: Path) -> None:
    both, alone = "hyp+src/hyp+ref", "hyp+ref"

    def scores(view: str, answers: dict[str, list[str]]) -> np.ndarray:
        copy = tmp_path / str(len(list(tmp_path.iterdir()))) / "regressor"
        shutil.copytree(home / "regressor", copy, ignore=shutil.ignore_patterns("*.safetensors"))
        card = json.loads((copy / "card.json").read_text()) | {"answers": answers}
        (copy / "card.json").write_text(json.dumps(card))
        return load(copy.parent, "regressor", f",view={view}").statistics(BATCH)

    joined = scores(both, {both: [both, alone]})
    np.testing.assert_allclose(joined, (scores(both, {}) + scores(alone, {})) / 2, atol=1e-6)


@pytest.mark.parametrize("name", ["esim", "regressor"])
def test_the_best_of_several_references_counts(home: Path, name: str) -> None:
    metric = load(home, name)
    two = Segments(BATCH.hypotheses[:1], BATCH.sources[:1], [(REFERENCE, "warm bread")], "de-en")
    each = [
        metric.statistics(Segments(two.hypotheses, two.sources, [(text,)], "de-en"))[0, 0]
        for text in two.references[0]
    ]
    assert metric.statistics(two)[0, 0] == pytest.approx(max(each), abs=1e-3)
    mean = load(home, name, ",multi_ref=mean").statistics(two)[0, 0]
    assert mean == pytest.approx(sum(each) / 2, abs=1e-3)


@pytest.mark.parametrize("name", ["esim", "regressor"])
def test_the_scale_to_100_keeps_the_order_and_is_read_in_words(home: Path, name: str) -> None:
    z = load(home, name).statistics(BATCH)[:, 0]
    metric = load(home, name, ",scale=100")
    hundred = metric.statistics(BATCH)[:, 0]
    assert metric.bounds == (0.0, 100.0)
    assert ((hundred >= 0) & (hundred <= 100)).all()
    assert (np.diff(hundred[np.argsort(z)]) >= 0).all()
    facts = metric.explain(BATCH.take([0])).facts
    low, high = facts["80 % of judgements lie between"]
    assert low <= facts["0 to 100"] <= high
    assert facts["reading"]


@pytest.mark.parametrize("name", ["esim", "regressor"])
def test_explain_says_which_words_the_score_is_better_without(home: Path, name: str) -> None:
    metric = load(home, name)
    found = metric.explain(BATCH.take([0]))
    assert found.remarks[-1].startswith("This metric reads whole texts")
    assert all(f.cost > 0 and f.text in BATCH.hypotheses[0] for f in found.findings)
    if name == "regressor":
        values = [value for _, value in found.facts["answers"]]
        assert np.mean(values) == pytest.approx(found.facts["z"], abs=1e-3)


def test_without_raw_judgements_there_is_no_scale_to_100(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "esim", tmp_path / "esim", ignore=shutil.ignore_patterns("vectors"))
    path = tmp_path / "esim" / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"calibration": None}))
    with pytest.raises(ResourceError, match="no calibration"):
        load(tmp_path, "esim", ",scale=100").statistics(BATCH)
    with pytest.raises(ResourceError, match="no calibration"):
        load(tmp_path, "esim", ",scale=100").explain(BATCH)
    assert list(load(tmp_path, "esim").explain(BATCH.take([0])).facts) == ["z"]


def test_long_texts_are_counted(home: Path) -> None:
    metric = load(home, "regressor")
    metric.statistics(Segments(["the cat " * 60], [SOURCE], [(REFERENCE,)], "de-en"))
    assert metric.notes["truncated"] == 2  # once for each view


def test_halved_test_set(home: Path, tmp_path: Path) -> None:
    """The authors' share of the training data also cut validation and test data."""
    run("regressor", "--train", home / "train.tsv", "--dev", home / "dev.tsv", "--drop-overlap",
        "--encoder", home / "encoder", "--out", tmp_path / "m", "--epochs", 1, "--limit", 40,
        "--max-length", 40)  # fmt: skip
    card = json.loads((tmp_path / "m" / "card.json").read_text())
    assert sum(card["data"]["train_segments"].values()) == 40
    assert sum(card["data"]["dev_segments"].values()) == 320


def test_a_wrong_view_of_a_head_is_refused(home: Path) -> None:
    with pytest.raises(UsageError, match="was trained with view=ref, not src"):
        load(home, "esim", ",view=src").statistics(BATCH)


def test_a_head_can_read_the_source(home: Path, tmp_path: Path) -> None:
    write_judged(tmp_path / "qe.tsv", 40, 5, reference=False)
    data = ("--train", tmp_path / "qe.tsv", "--dev-share", 0.2, "--encoder", home / "encoder")
    run(
        "bilstm", *data, "--view", "src", "--out", tmp_path / "bilstm", "--epochs", 1, "--hidden", 4
    )
    metric = load(tmp_path, "bilstm", ",view=src")
    assert metric.needs == {"source"}
    no_reference = Segments(BATCH.hypotheses, BATCH.sources, None, "de-en")
    assert np.isfinite(metric.statistics(no_reference)).all()
    with pytest.raises(InputError, match="segments have no reference"):
        run("bilstm", *data, "--out", tmp_path / "other", "--epochs", 1)


def test_another_encoder_than_the_heads_own_is_refused(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "esim", tmp_path / "esim", ignore=shutil.ignore_patterns("vectors"))
    path = tmp_path / "esim" / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"encoder_fingerprint": "0" * 16}))
    with pytest.raises(ResourceError, match="Train it again on this encoder"):
        load(tmp_path, "esim").statistics(BATCH)


def test_a_folder_that_is_not_whole_is_refused(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "regressor"
    shutil.copytree(home / "regressor", copy)
    (copy / "head.onnx").write_bytes((copy / "head.onnx").read_bytes()[:-10])
    with pytest.raises(ResourceError, match="is not what its card describes"):
        load(tmp_path, "regressor").statistics(BATCH)
    (copy / "card.json").unlink()
    with pytest.raises(ResourceError, match="its training has not ended"):
        mtgauge.load(f"regressor:model={copy},view=hyp+ref").statistics(BATCH)
    with pytest.raises(ResourceError, match="there is no model folder"):
        mtgauge.load("esim:model=nowhere").statistics(BATCH)
    with pytest.raises(ResourceError, match="describes a esim, not a bilstm"):
        mtgauge.load(f"bilstm:model={home / 'esim'}").statistics(BATCH)


def test_another_tokenizer_is_refused(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "regressor"
    shutil.copytree(home / "regressor", copy)
    card = json.loads((copy / "card.json").read_text()) | {"tokenizer_sha256": "0" * 64}
    (copy / "card.json").write_text(json.dumps(card))
    with pytest.raises(ResourceError, match="another tokenizer"):
        load(tmp_path, "regressor").statistics(BATCH)


def test_the_card_names_its_data(home: Path) -> None:
    card = json.loads((home / "esim" / "card.json").read_text())
    (train,) = card["data"]["train"]
    assert train["file"] == "train.tsv"
    assert len(train["sha256"]) == 64
    assert set(card["dev_pearson"]) == {"de-en", "average"}
    assert sum(card["mix"]) == pytest.approx(1, abs=0.5)


def test_the_command_says_what_is_missing(home: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="either --dev FILE or --dev-share"):
        run("esim", "--train", home / "train.tsv", "--encoder", home / "encoder", "--out", tmp_path)
    with pytest.raises(UsageError, match="There is no view 'hyp'"):
        run("regressor", "--train", home / "train.tsv", "--dev-share", 0.1, "--out", tmp_path,
            "--encoder", home / "encoder", "--views", "hyp")  # fmt: skip
    with pytest.raises(InputError, match="also in the validation data"):
        run("esim", "--train", home / "train.tsv", "--dev", home / "train.tsv", "--out", tmp_path,
            "--encoder", home / "encoder")  # fmt: skip


def test_a_regressor_without_source_and_reference_says_what_it_needs() -> None:
    with pytest.raises(UsageError, match="needs a source"):
        mtgauge.load("regressor").statistics(Segments(["A cat."]))


def test_an_explanation_on_a_scale_of_100_has_the_score_in_full() -> None:
    row = Segments(["The cat sleeps."], ["Die Katze schläft."], [("The cat is asleep.",)], "de-en")
    metric = mtgauge.load("regressor:scale=100")
    assert metric.explain(row).score == pytest.approx(metric.statistics(row)[0, 0], abs=1e-9)


def test_a_model_of_ones_own_says_on_how_much_it_was_trained(home: Path) -> None:
    card = json.loads((home / "esim" / "card.json").read_text())
    told = load(home, "esim").training  # type: ignore[attr-defined]
    assert told.startswith(f"{card['data']['train_segments']['de-en']:,} training segments, ")
    assert told.endswith(f"{card['epochs']} epoch" + "s" * (card["epochs"] != 1))
    assert mtgauge.load("esim").training == ""  # type: ignore[attr-defined]


def test_a_model_chosen_from_several_seeds_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = load(home, "esim")
    several = {"seeds": {"1": 0.5, "2": 0.6}, "test_by_seed": {"mean": 0.61, "deviation": 0.0123}}
    monkeypatch.setattr(type(metric), "card", metric.card | several)  # type: ignore[attr-defined]
    assert metric.training.endswith(  # type: ignore[attr-defined]
        "; the best of 2 seeds by validation, their mean on test data 0.610, deviation 0.012"
    )
