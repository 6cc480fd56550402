"""The pair regressor; each fault found in the authors' programs has a test of its name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from mtgauge.encode.pairs import Packed, Packer
from mtgauge.errors import InputError, ResourceError, UsageError
from mtgauge.train import judged
from mtgauge.train.model import Encoder
from mtgauge.train.regressor_model import EmbeddedPairs, HubPairs, Regressor, load_hub, tensors
from mtgauge.train.regressor_task import Batch, RegressorTask, Texts
from mtgauge.train.restore import encoder_from_onnx
from trained_models import SHAPE, write_encoder, write_judged

VIEWS = {"hyp+src/hyp+ref": 0.5, "hyp+ref": 0.25, "hyp+src": 0.25}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture
def packer(folder: Path) -> Packer:
    return Packer.of(Tokenizer.from_file(str(folder / "tokenizer.json")), 40)


@pytest.fixture
def rows(tmp_path: Path) -> judged.Rows:
    return judged.read([write_judged(tmp_path / "a.tsv", 40, 1)])


def regressor(**options: object) -> Regressor:
    torch.manual_seed(0)
    pairs = EmbeddedPairs(Encoder(SHAPE))
    torch.nn.init.normal_(pairs.types.weight, std=0.3)
    return Regressor(pairs, ("src", "ref"), **options).eval()  # type: ignore[arg-type]


def task(rows: judged.Rows, packer: Packer, **options: object) -> RegressorTask:
    dev = rows.take(range(10))
    return RegressorTask(regressor(), packer, rows, dev, VIEWS, batch=8, **options)  # type: ignore[arg-type]


def test_views_shuffled_apart(rows: judged.Rows, packer: Packer) -> None:
    """In the authors' program source pairs and reference pairs were shuffled independently."""
    made = task(rows, packer)
    texts = made.texts[rows]
    seen: list[int] = []
    for batch in made.batches(epoch=0, seed=1):
        seen += batch.rows.tolist()
        src = texts.pack("src", batch.rows, None, False)
        ref = texts.pack("ref", batch.rows, None, False)
        for place, i in enumerate(batch.rows.tolist()):
            hypothesis, source, reference = packer.tokenize(
                [rows.hypotheses[i], rows.sources[i] or "", rows.references[i] or ""]
            )
            for packed, other in ((src, source), (ref, reference)):
                ids = packed.ids[place][packed.mask[place] == 1].tolist()
                assert ids == [1, *hypothesis, 2, *other, 2]
    assert sorted(seen) == list(range(len(rows)))


def test_slots_of_different_rows_are_refused(rows: judged.Rows, packer: Packer) -> None:
    texts = Texts(rows, packer)
    one = texts.pack("src", np.arange(3), None, False)
    other = texts.pack("ref", np.arange(4), None, False)
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
def test_missing_masks_and_segment_ids(rows: judged.Rows, packer: Packer, pool: str) -> None:
    """Padding was attended to, and both texts had the same segment number."""
    model = regressor(pool=pool)
    packed = Texts(rows, packer).pack("src", np.array([3]), None, False)
    plain = model.vector(*tensors(packed, torch.device("cpu")))
    wide = Packed(
        *(
            np.pad(x, ((0, 0), (0, 5)))
            for x in (packed.ids, packed.mask, packed.types, packed.langs)
        ),
        0,
    )
    torch.testing.assert_close(
        model.vector(*tensors(wide, torch.device("cpu"))), plain, atol=1e-5, rtol=0
    )
    assert set(packed.types[0].tolist()) == {0, 1}
    same = Packed(packed.ids, packed.mask, packed.types * 0, packed.langs, 0)
    assert (model.vector(*tensors(same, torch.device("cpu"))) - plain).abs().max() > 1e-3


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


def test_language_numbers_of_xlm(rows: judged.Rows, packer: Packer) -> None:
    """Translation and first separator have the target's number, the source its own."""
    numbers = {"de": 4, "en": 7}
    packed = Texts(rows, packer).pack("src", np.array([0]), numbers, False)
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
    ids, mask, types, langs = tensors(packed, torch.device("cpu"))
    assert (xlm(ids, mask, types, langs) - xlm(ids, mask, types, langs * 0)).abs().max() > 1e-4


def test_first_position_is_taken(rows: judged.Rows, packer: Packer) -> None:
    """For single inputs the selection of the first position was missing."""
    model = regressor(pool="first")
    given = tensors(Texts(rows, packer).pack("ref", np.arange(4), None, False), torch.device("cpu"))
    torch.testing.assert_close(model.vector(*given), model.encoder(*given)[:, 0])


@pytest.mark.parametrize("view", list(VIEWS))
def test_batch_dependent_results(rows: judged.Rows, packer: Packer, view: str) -> None:
    made = task(rows, packer)
    with torch.inference_mode():
        whole = made.predict(rows, view)
        for i in (0, 7, 21):
            alone = made._forward(rows, Batch(np.array([i]), view, False))
            assert float(alone[0]) == pytest.approx(whole[i], abs=1e-5)


def test_every_view_is_met_and_rows_without_reference_too(tmp_path: Path, packer: Packer) -> None:
    both = judged.read([write_judged(tmp_path / "a.tsv", 200, 1)])
    alone = judged.read([write_judged(tmp_path / "b.tsv", 60, 2, reference=False)])
    rows = judged.concatenate([both, alone])
    batches = task(rows, packer).batches(0, 1)
    assert {batch.view for batch in batches} == set(VIEWS)
    for batch in batches:
        if any(i >= 200 for i in batch.rows):
            assert batch.view == "hyp+src"
    only = {"hyp+ref": 1.0}
    with pytest.raises(InputError, match="60 training segments lack a text"):
        RegressorTask(regressor(), packer, rows, both, only)


def test_an_absent_view_has_its_own_vector(rows: judged.Rows, packer: Packer) -> None:
    model = regressor()
    ref = {"ref": Texts(rows, packer).pack("ref", np.arange(3), None, False)}
    before = model(ref)
    with torch.no_grad():
        model.head.absent[0] += 1.0  # the slot of the source
    assert (model(ref) - before).abs().max() > 1e-3


def test_the_embedded_encoder_comes_back_from_its_file(folder: Path) -> None:
    from mtgauge.encode import Settings
    from mtgauge.encode.embedded import OnnxEncoder
    from mtgauge.train.model import Ragged

    texts = ["the cat sees a dog .", "near"]
    onnx = OnnxEncoder(folder, Settings())
    tokens = onnx.encode(texts, layer=-1)
    encoder = encoder_from_onnx(folder / "model.onnx").eval()
    ids = [
        tokens.ids[a:b].tolist() for a, b in zip(tokens.offsets, tokens.offsets[1:], strict=False)
    ]
    with torch.inference_mode():
        states = encoder(Ragged.of(ids))[-1].numpy()
    np.testing.assert_allclose(states, tokens.vectors, atol=0.05)
