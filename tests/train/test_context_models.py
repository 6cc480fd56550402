"""BiLSTM, BiLSTM+attention and ESIM: the structure that paper 002 and its code describe."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from mtgauge.encode import EncoderSettings
from mtgauge.encode.tokens.embedded import OnnxEncoder
from mtgauge.train.judged.coder import read_coder
from mtgauge.train.judged.codes import Book
from mtgauge.train.metrics.heads import head as train_head
from mtgauge.train.metrics.vectors import LiveVectors, StoredVectors
from mtgauge.train.nets.heads import BiLSTM, ContextModel, ScalarMix, attend, pool
from mtgauge.train.onnx.restore import load_encoder
from mtgauge.train.settings import HEADS, HeadName, HeadTraining, JudgedFiles
from trained_models import write_encoder


def sides(lengths: list[int], seed: int, layers: int = 3, width: int = 8) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    longest = max(lengths)
    mask = (torch.arange(longest) < torch.tensor(lengths)[:, None]).long()
    x = torch.randn(len(lengths), layers, longest, width, generator=generator)
    return x * mask[:, None, :, None], mask


def model(head: str, hidden: int = 6) -> ContextModel:
    torch.manual_seed(0)
    return ContextModel(head, 3, 8, hidden).eval()  # type: ignore[arg-type]


def test_the_mix_begins_as_the_mean_of_the_layers() -> None:
    x = torch.randn(2, 12, 5, 4)
    torch.testing.assert_close(ScalarMix(12)(x), x.mean(1))


def test_sizes_are_the_papers() -> None:
    esim = ContextModel("esim", 12, 768)
    assert esim.encoder.lstm.weight_ih_l0.shape == (1200, 768)
    assert esim.project.weight.shape == (300, 2400)
    assert esim.compose.lstm.weight_ih_l0.shape == (1200, 300)
    assert esim.regress[1].weight.shape == (300, 2400)
    for head in ("bilstm", "bilstm-attention"):
        assert ContextModel(head, 12, 768).regress[1].weight.shape == (300, 4800)


def test_first_weights_are_as_specified() -> None:
    lstm = BiLSTM(8, 6).lstm
    for end in ("l0", "l0_reverse"):
        recurrent = getattr(lstm, f"weight_hh_{end}").detach()
        torch.testing.assert_close(recurrent.T @ recurrent, torch.eye(6), atol=1e-5, rtol=0)
        assert getattr(lstm, f"bias_ih_{end}").abs().sum() == 0
        bias = getattr(lstm, f"bias_hh_{end}").detach()
        assert bias.tolist() == [0] * 6 + [1] * 6 + [0] * 12  # the forget gate is open


def test_attention_sums_to_one_over_real_tokens_of_the_other_side() -> None:
    h, g = torch.randn(1, 3, 4), torch.randn(1, 5, 4)
    h_mask, g_mask = torch.tensor([[1, 1, 0]]), torch.tensor([[1, 1, 1, 0, 0]])
    ones = torch.ones_like(g)
    r, _ = attend(h, h_mask, ones, g_mask)
    torch.testing.assert_close(r, torch.ones_like(r))
    # what stands at padded places has no weight
    changed = g.clone()
    changed[:, 3:] = 100.0
    torch.testing.assert_close(
        attend(h, h_mask, g, g_mask)[0], attend(h, h_mask, changed, g_mask)[0]
    )


def test_pooling_leaves_padding_out() -> None:
    x = torch.tensor([[[1.0], [3.0], [99.0]]])
    mean, most = pool(x, torch.tensor([[1, 1, 0]]))
    assert (mean.item(), most.item()) == (2.0, 3.0)


@pytest.mark.parametrize("head", HEADS)
def test_results_do_not_depend_on_the_batch(head: str) -> None:
    net = model(head)
    a, a_mask = sides([7, 2, 4, 1], 1)
    b, b_mask = sides([3, 6, 5, 2], 2)
    whole = net(a, a_mask, b, b_mask)
    for i, (m, n) in enumerate(zip([7, 2, 4, 1], [3, 6, 5, 2], strict=True)):
        alone = net(
            a[i : i + 1, :, :m], a_mask[i : i + 1, :m], b[i : i + 1, :, :n], b_mask[i : i + 1, :n]
        )
        torch.testing.assert_close(alone[0], whole[i], atol=1e-5, rtol=0)


@pytest.mark.parametrize("head", HEADS)
def test_a_text_without_tokens_has_a_score(head: str) -> None:
    net = model(head)
    a, a_mask = sides([3, 3], 1)
    b, b_mask = sides([2, 0], 2)
    assert torch.isfinite(net(a, a_mask, b, b_mask)).all()


@pytest.mark.parametrize("head", HEADS)
def test_eight_examples_are_learnt_by_heart(head: str) -> None:
    torch.manual_seed(1)
    net = ContextModel(head, 3, 8, 16, dropout=0.0)  # type: ignore[arg-type]
    a, a_mask = sides([5, 3, 4, 6, 2, 5, 3, 4], 1)
    b, b_mask = sides([4, 4, 3, 5, 3, 6, 2, 5], 2)
    wanted = torch.linspace(-1.5, 1.5, 8)
    optimiser = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(400):
        loss = ((net(a, a_mask, b, b_mask) - wanted) ** 2).mean()
        if loss < 0.005:
            break
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.01


def test_dropout_has_one_mask_a_sequence() -> None:
    net = model("esim")
    x = torch.ones(2, 9, 8)
    dropped = net.input_dropout.train()(x)
    assert (dropped == dropped[:, :1]).all()
    assert set(dropped.unique().tolist()) <= {0.0, 2.0}
    torch.testing.assert_close(net.input_dropout.eval()(x), x)


def test_stored_and_live_vectors_agree(tmp_path: Path) -> None:
    """A head is trained on live vectors on a GPU, on stored ones on a CPU."""
    folder = write_encoder(tmp_path)
    encoder = OnnxEncoder(folder, EncoderSettings())
    texts = ["the cat sees a dog .", "near", "the old city likes warm bread and cold bread"]
    stored = StoredVectors.build(encoder, texts, (1, 2), tmp_path / "vectors", quiet=True)
    cpu = torch.device("cpu")
    packer = read_coder(str(folder)).packer(encoder.max_length)
    book = Book.of(packer.tokenize(texts))
    restored = load_encoder(folder / "model.onnx")
    live = LiveVectors(restored, packer, book, (1, 2), encoder.fingerprint, cpu)
    assert live.lengths.tolist() == stored.lengths.tolist() == [6, 1, 9]
    numbers = np.array([2, 0, 1, 0])
    x, x_mask = stored.batch(numbers, cpu)
    y, y_mask = live.batch(numbers, cpu)
    assert x.shape == y.shape == (4, 2, 9, 32)
    assert torch.equal(x_mask, y_mask)
    np.testing.assert_allclose(x.numpy(), y.numpy(), atol=0.05)


@pytest.mark.parametrize("head", HEADS)
def test_sides_at_once_and_apart_agree(head: HeadName) -> None:
    """Sides that are equally wide go through a BiLSTM together, in an exported model apart."""
    net = ContextModel(head, 2, 8, hidden=6).eval()
    torch.manual_seed(0)
    first, second = torch.randn(3, 2, 5, 8), torch.randn(3, 2, 5, 8)
    mask = (torch.arange(5) < torch.tensor([[5], [3], [2]])).long()
    other = (torch.arange(5) < torch.tensor([[2], [4], [4]])).long()
    together = net(first, mask, second, other)
    apart = net(first, mask, second[:, :, :4], other[:, :4])
    torch.testing.assert_close(together, apart, atol=1e-6, rtol=0)


def test_vectors_are_built_once_and_again_after_a_kill(tmp_path: Path) -> None:
    encoder = OnnxEncoder(write_encoder(tmp_path), EncoderSettings())
    calls: list[int] = []
    forward = encoder.forward

    def counted(ids, mask, layers, lang):
        calls.append(len(ids))
        return forward(ids, mask, layers, lang)

    encoder.forward = counted  # type: ignore[method-assign]
    out = tmp_path / "v"
    StoredVectors.build(encoder, ["a dog", "a cat"], (1, 2), out, quiet=True)
    assert sum(calls) == 2
    StoredVectors.build(encoder, ["a dog", "a cat"], (1, 2), out, quiet=True)
    assert sum(calls) == 2
    (out / "index.json").unlink()  # a build that was killed has no index
    StoredVectors.build(encoder, ["a dog", "a cat"], (1, 2), out, quiet=True)
    assert sum(calls) == 4


def test_only_wanted_texts_are_encoded(tmp_path: Path) -> None:
    encoder = OnnxEncoder(write_encoder(tmp_path), EncoderSettings())
    texts = ["the cat sees a dog .", "near", "the old city", "warm bread"]
    whole = StoredVectors.build(encoder, texts, (1, 2), tmp_path / "all", quiet=True)
    wanted = np.array([2, 0, 2])
    some = StoredVectors.build(encoder, texts, (1, 2), tmp_path / "some", True, wanted)
    assert some.lengths.tolist() == [whole.lengths[0], 0, whole.lengths[2], 0]
    cpu = torch.device("cpu")
    for x, y in zip(some.batch(wanted, cpu), whole.batch(wanted, cpu), strict=True):
        np.testing.assert_allclose(x.numpy(), y.numpy(), atol=0.02)
    encoder.forward = None  # type: ignore[method-assign]
    StoredVectors.build(encoder, texts, (1, 2), tmp_path / "some", True, wanted)  # is there
    with pytest.raises(TypeError):  # others are not
        StoredVectors.build(encoder, texts, (1, 2), tmp_path / "some", True, wanted + 1)


def test_heads_of_one_corpus_share_vectors_and_a_part_of_it_is_enough(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path)
    rows = ["lp\tsystem\tsid\tsource\treference\thypothesis\thuman"]
    words = "the cat sees a dog near an old city warm bread".split()
    for i in range(40):
        reference, said = " ".join(words[i % 9 :]), " ".join(words[: i % 8 + 2])
        rows.append(f"de-en\t-\t{i}\tSatz {i}\t{reference}\t{said}\t{i % 5}")
    (tmp_path / "judged.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    files = JudgedFiles(train=[tmp_path / "judged.tsv"], dev_share=0.25, limit=10)
    times = []
    names: tuple[HeadName, ...] = ("ruse", "bilstm")
    for name in names:
        settings = HeadTraining(
            encoder=str(folder), hidden=4, epochs=1, device="cpu", quiet=True, weights_only=True,
            vectors=tmp_path / "shared",
        )  # fmt: skip
        facts = train_head(name, files, tmp_path / name, settings)
        assert facts["epochs"] == 1
        assert not (tmp_path / name / "vectors").exists()
        times.append((tmp_path / "shared" / "vectors.f16").stat().st_mtime_ns)
    assert times[0] == times[1], "the second head read what the first one made"
