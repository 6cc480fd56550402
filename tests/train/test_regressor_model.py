"""The pair regressor; each fault found in the authors' programs has a test of its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from mtgauge.encode.tokens.pairs import Packer
from mtgauge.encode.transformer import Encoder
from mtgauge.errors import InputError, ResourceError, UsageError
from mtgauge.metrics.regressor import INPUTS
from mtgauge.train.judged import rows as judged
from mtgauge.train.judged.codes import Coded, code
from mtgauge.train.judged.inputs import Inputs, pack
from mtgauge.train.loop.batching import pearson_by_pair, weighted_error
from mtgauge.train.metrics.regressor_task import Batch, RegressorTask
from mtgauge.train.nets.regressor import EmbeddedPairs, HubPairs, Regressor, load_hub
from mtgauge.train.onnx.restore import load_encoder
from trained_models import SHAPE, write_encoder, write_judged

CPU = torch.device("cpu")
VIEWS = {"hyp+src/hyp+ref": 0.5, "hyp+ref": 0.25, "hyp+src": 0.25}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture
def packer(folder: Path) -> Packer:
    return Packer.of(Tokenizer.from_file(str(folder / "tokenizer.json")), 40)


@pytest.fixture
def texts(tmp_path: Path) -> judged.Rows:
    return judged.read([write_judged(tmp_path / "a.tsv", 40, 1)])


@pytest.fixture
def rows(texts: judged.Rows, packer: Packer) -> Coded:
    return code([texts], packer.tokenize)[0]


def regressor(**options: object) -> Regressor:
    torch.manual_seed(0)
    pairs = EmbeddedPairs(Encoder(SHAPE))
    torch.nn.init.normal_(pairs.types.weight, std=0.3)
    return Regressor(pairs, ("src", "ref"), **options).eval()  # type: ignore[arg-type]


def task(rows: Coded, packer: Packer, **options: object) -> RegressorTask:
    dev = rows.take(range(10))
    return RegressorTask(regressor(), packer, rows, dev, VIEWS, batch=8, **options)  # type: ignore[arg-type]


def test_views_shuffled_apart(texts: judged.Rows, rows: Coded, packer: Packer) -> None:
    """In the authors' program source pairs and reference pairs were shuffled independently."""
    made = task(rows, packer)
    seen: list[int] = []
    for batch in made.batches(epoch=0, seed=1):
        seen += batch.rows.tolist()
        src = pack(rows, "src", batch.rows, packer, CPU)
        ref = pack(rows, "ref", batch.rows, packer, CPU)
        for place, i in enumerate(batch.rows.tolist()):
            hypothesis, source, reference = packer.tokenize(
                [texts.hypotheses[i], texts.sources[i] or "", texts.references[i] or ""]
            )
            for packed, other in ((src, source), (ref, reference)):
                ids = packed.ids[place][packed.mask[place] == 1].tolist()
                assert ids == [1, *hypothesis, 2, *other, 2]
    assert sorted(seen) == list(range(len(rows)))


@pytest.mark.parametrize("length", [40, 17])
@pytest.mark.parametrize("slot", ["src", "src+ref"])
def test_inputs_are_joined_as_when_scoring(
    texts: judged.Rows, rows: Coded, packer: Packer, slot: str, length: int
) -> None:
    """All at once for training, one by one in a metric: the same pieces, types and cuts."""
    packer = replace(packer, max_length=length)
    columns = {"src": texts.sources, "ref": texts.references}
    others = [columns[part] for part in slot.split("+")]
    expected = packer.pack(list(zip(texts.hypotheses, *others, strict=True)))
    found = pack(rows, slot, np.arange(len(rows)), packer, CPU)
    assert (expected.cut > 0) == (length == 17)
    for name in ("ids", "mask", "types", "langs"):
        np.testing.assert_array_equal(getattr(found, name).numpy(), getattr(expected, name))


def test_slots_of_different_rows_are_refused(rows: Coded, packer: Packer) -> None:
    one = pack(rows, "src", np.arange(3), packer, CPU)
    other = pack(rows, "ref", np.arange(4), packer, CPU)
    with pytest.raises(UsageError, match="do not hold the same rows"):
        regressor()({"src": one, "ref": other})


def test_second_encoder_not_loaded(tmp_path: Path) -> None:
    """There was a second encoder for the second view, and it began at random."""
    names = [name for name, _ in regressor().named_parameters()]
    assert sum(name.endswith("pieces.weight") for name in names) == 1
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=60, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(tmp_path / "whole")
    assert load_hub(str(tmp_path / "whole")) is not None
    small = transformers.BertConfig(**(config.to_dict() | {"num_hidden_layers": 1}))
    transformers.BertModel(small).save_pretrained(tmp_path / "part")
    config.save_pretrained(tmp_path / "part")  # says two layers, has one
    with pytest.raises(ResourceError, match="lacks 16 weights"):
        load_hub(str(tmp_path / "part"))


@pytest.mark.parametrize("pool", ["first", "compare"])
def test_missing_masks_and_segment_ids(rows: Coded, packer: Packer, pool: str) -> None:
    """Padding was attended to, and both texts had the same segment number."""
    model = regressor(pool=pool)
    packed = pack(rows, "src", np.array([3]), packer, CPU)
    plain = model.vector(*packed)
    wide = Inputs(*(torch.nn.functional.pad(x, (0, 5)) for x in packed))
    torch.testing.assert_close(model.vector(*wide), plain, atol=1e-5, rtol=0)
    assert set(packed.types[0].tolist()) == {0, 1}
    same = packed._replace(types=packed.types * 0)
    assert (model.vector(*same) - plain).abs().max() > 1e-3


def test_missing_masks_and_segment_ids_of_a_hub_model() -> None:
    transformers = pytest.importorskip("transformers")
    sizes = {
        "vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 32,
    }  # fmt: skip
    torch.manual_seed(0)
    bert = HubPairs(transformers.BertModel(transformers.BertConfig(**sizes))).eval()
    assert bert.inputs == ("input_ids", "attention_mask", "token_type_ids")
    ids = torch.tensor([[1, 8, 9, 2, 7, 2, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1, 1, 1, 0, 0]])
    types = torch.tensor([[0, 0, 0, 0, 1, 1, 0, 0]])
    whole = bert(ids, mask, types, ids * 0)[:, :6]
    torch.testing.assert_close(
        whole, bert(ids[:, :6], mask[:, :6], types[:, :6], ids[:, :6] * 0), atol=1e-5, rtol=0
    )
    assert (bert(ids, mask, types * 0, ids * 0)[:, :6] - whole).abs().max() > 1e-4


def test_language_numbers_of_xlm(rows: Coded, packer: Packer) -> None:
    """Translation and first separator have the target's number, the source its own."""
    numbers = {"de": 4, "en": 7}
    packed = pack(rows, "src", np.array([0]), packer, CPU, numbers)
    cut = packed.types[0].tolist().index(1)
    assert packed.langs[0, :cut].tolist() == [7] * cut
    assert set(packed.langs[0, cut:].tolist()) == {4}
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.XLMConfig(
        vocab_size=90, emb_dim=16, n_layers=1, n_heads=2, n_langs=10, use_lang_emb=True
    )
    xlm = HubPairs(transformers.XLMModel(config)).eval()
    assert xlm.inputs == ("input_ids", "attention_mask", "langs")
    ids, mask, types, langs = packed
    assert (xlm(ids, mask, types, langs) - xlm(ids, mask, types, langs * 0)).abs().max() > 1e-4


def test_first_position_is_taken(rows: Coded, packer: Packer) -> None:
    """For single inputs the selection of the first position was missing."""
    model = regressor(pool="first")
    given = pack(rows, "ref", np.arange(4), packer, CPU)
    torch.testing.assert_close(model.vector(*given), model.encoder(*given)[:, 0])


@pytest.mark.parametrize("view", list(VIEWS))
def test_batch_dependent_results(rows: Coded, packer: Packer, view: str) -> None:
    made = task(rows, packer)
    with torch.inference_mode():
        whole = made.predict(rows, view)
        for i in (0, 7, 21):
            alone = made.predict(rows.take([i]), view)
            assert alone[0] == pytest.approx(whole[i], abs=1e-5)


def test_every_view_is_met_and_rows_without_reference_too(tmp_path: Path, packer: Packer) -> None:
    both = judged.read([write_judged(tmp_path / "a.tsv", 200, 1)])
    alone = judged.read([write_judged(tmp_path / "b.tsv", 60, 2, reference=False)])
    (rows,) = code([judged.concatenate([both, alone])], packer.tokenize)
    batches = task(rows, packer).batches(0, 1)
    for batch in batches:
        without = {int(i) >= 200 for i in batch.rows}
        assert without in ({True}, {False})
        assert set(batch.views) == ({"hyp+src"} if without == {True} else set(VIEWS))
    only = {"hyp+ref": 1.0}
    with pytest.raises(InputError, match="60 training segments lack a text"):
        RegressorTask(regressor(), packer, rows, rows, only)


def test_every_view_answers_each_batch_by_its_share(rows: Coded, packer: Packer) -> None:
    made = task(rows, packer)
    at = np.arange(6)

    def error(view: str) -> float:
        inputs = {slot: pack(rows, slot, at, packer, CPU) for slot in INPUTS[view]}
        return float(weighted_error(made.model(inputs), rows, at))

    with torch.inference_mode():
        expected = sum(share * error(view) for view, share in VIEWS.items())
        assert float(made.loss(Batch(at, tuple(VIEWS)), 1)) == pytest.approx(expected, abs=1e-5)
        alone = made.loss(Batch(at, ("hyp+src",)), 1)
        assert float(alone) == pytest.approx(error("hyp+src"), abs=1e-5)


def test_the_best_mean_of_answers_is_chosen(
    rows: Coded, packer: Packer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer from the source is half as good as that from the reference, and errs elsewhere."""
    made = task(rows, packer)
    noise = np.random.default_rng(1).normal(size=(2, len(made.dev)))
    human = made.dev.scores
    answers = {
        "hyp+src/hyp+ref": -human,
        "hyp+ref": human + 0.5 * noise[0],
        "hyp+src": human + noise[1],
    }
    monkeypatch.setattr(made, "_predict", lambda _, view: answers[view])
    made.choose_answers()
    chosen = made.answers["hyp+src/hyp+ref"]
    assert set(chosen) == {"hyp+ref", "hyp+src"}
    assert chosen.count("hyp+ref") > chosen.count("hyp+src")
    lps = made.dev.lps.tolist()
    both = pearson_by_pair(lps, made.predict(made.dev, "hyp+src/hyp+ref"), human)["average"]
    assert both > pearson_by_pair(lps, answers["hyp+ref"], human)["average"]


def test_an_absent_view_has_its_own_vector(rows: Coded, packer: Packer) -> None:
    model = regressor()
    ref = {"ref": pack(rows, "ref", np.arange(3), packer, CPU)}
    before = model(ref)
    with torch.no_grad():
        model.head.absent[0] += 1.0  # the slot of the source
    assert (model(ref) - before).abs().max() > 1e-3


def test_the_embedded_encoder_comes_back_from_its_file(folder: Path) -> None:
    from mtgauge.encode import EncoderSettings
    from mtgauge.encode.tokens.embedded import OnnxEncoder
    from mtgauge.encode.transformer import Ragged

    texts = ["the cat sees a dog .", "near"]
    onnx = OnnxEncoder(folder, EncoderSettings())
    tokens = onnx.encode(texts, layer=-1)
    encoder = load_encoder(folder / "model.onnx").eval()
    ids = [
        tokens.ids[a:b].tolist() for a, b in zip(tokens.offsets, tokens.offsets[1:], strict=False)
    ]
    with torch.inference_mode():
        states = encoder(Ragged.of(ids))[-1].numpy()
    np.testing.assert_allclose(states, tokens.vectors, atol=0.05)
