"""LASER: the LASER of 2019 with fastBPE's codes, LASER2 with SentencePiece, broken folders."""

from __future__ import annotations

import io
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.trainers import BpeTrainer

from mtgauge.data.segments import Segments
from mtgauge.encode import EncoderSettings
from mtgauge.encode.sentence.bpe import END, LONGEST, FastBpe
from mtgauge.encode.sentence.laser import LaserEncoder
from mtgauge.encode.sentence.laser_words import _moses, laser_words
from mtgauge.errors import ResourceError
from mtgauge.registry import load

CORPUS = (
    "the old baker sells bread and rolls near the bridge .",
    "the older bakers sold their bread on the old market .",
    "die alte bäckerin verkauft brot und brötchen an der brücke .",
    "die älteren bäcker verkauften ihr brot auf dem alten markt .",
    "in the market the baker's bread is better than the bridge's .",
    "im markt ist das brot des bäckers besser als an der brücke .",
)
# what fastBPE 0.1.0 (`learnbpe 60`, `applybpe`, `getvocab`, pieces seen twice) makes of it
CODES = """b r|t h|k e|th e</w>|e r</w>|o l|a r|e a|e n</w>|m ar|ke r|a l|a n</w>|a u|b a|b ä|e r
d er</w>|o t</w>|br ea|br ot</w>|ol d</w>|bä c|brea d</w>|l s</w>|b e|i d|i n</w>|i e</w>|d e
d ie</w>|t en</w>|k t</w>|k e</w>|k au|c ke</w>|ü cke</w>|' s</w>|v er|n d</w>|br id|br ücke</w>
ke r</w>|ke t</w>|mar kt</w>|mar ket</w>|ker s</w>|kau f|ver kauf|brid g|a s</w>|a nd</w>|l t
l ls</w>|e i|e 's</w>|e lls</w>|s s|s t</w>|s old</w>""".replace("\n", "|").split("|")
KNOWN = (
    "the . i@@ t@@ al@@ an ba@@ bread brot bäc@@ der r s be@@ bridg@@ brücke de@@ die e en er h@@ "
    "in ker ker@@ kers m market markt ol@@ old ten th@@ verkauf@@"
).split()
APPLIED = {  # line: what fastBPE prints with the vocabulary, and without
    "the baker's sisters marked the bridges .": (
        "the ba@@ ker@@ '@@ s s@@ i@@ s@@ t@@ e@@ r@@ s m@@ a@@ r@@ k@@ e@@ d the bridg@@ e@@ s .",
        "the ba@@ ker@@ 's s@@ i@@ s@@ t@@ er@@ s mar@@ ke@@ d the bridg@@ e@@ s .",
    ),
    "die brücken der bäckerei sind älter , 日本 ok": (
        "die b@@ r@@ ü@@ c@@ k@@ e@@ n der bäc@@ ker@@ e@@ i s@@ i@@ n@@ d ä@@ l@@ t@@ er "
        ", 日@@ 本 o@@ k",
        "die br@@ ü@@ c@@ ke@@ n der bäc@@ ker@@ e@@ i s@@ i@@ nd ä@@ lt@@ er , 日@@ 本 o@@ k",
    ),
    "a b@rkt µ¶ der": ("a b@@ @@@ r@@ k@@ t µ@@ ¶ der", "a b@@ @@@ r@@ kt µ@@ ¶ der"),
}


def bpe_files(folder: Path) -> tuple[Path, Path]:
    codes, vocabulary = folder / "93langs.fcodes", folder / "93langs.fvocab"
    codes.write_text("".join(f"{pair} 2\n" for pair in CODES), "utf-8")
    vocabulary.write_text("".join(f"{piece} 2\n" for piece in KNOWN), "utf-8")
    return codes, vocabulary


def laser_2019_folder(folder: Path) -> Path:
    """Laid out as the release: these file names, keys of the state dict, and parameters."""
    folder.mkdir()
    bpe_files(folder)
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *KNOWN, "ä@@", "s@@"]
    torch.manual_seed(7)
    params = {
        "num_embeddings": len(pieces), "padding_idx": 1, "embed_dim": 6, "hidden_size": 5,
        "num_layers": 3, "bidirectional": True, "left_pad": True, "padding_value": 0.0,
    }  # fmt: skip
    embeddings = torch.nn.Embedding(len(pieces), 6, padding_idx=1)
    lstm = torch.nn.LSTM(6, 5, 3, bidirectional=True)
    weights = {f"embed_tokens.{k}": v for k, v in embeddings.state_dict().items()}
    weights |= {f"lstm.{k}": v for k, v in lstm.state_dict().items()}
    dictionary = {piece: i for i, piece in enumerate(pieces)}
    saved = {"params": params, "model": weights, "dictionary": dictionary}
    torch.save(saved, folder / "bilstm.93langs.2018-12-26.pt")
    return folder


def laser2_folder(tmp_path: Path) -> Path:
    spm = pytest.importorskip("sentencepiece")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("the cat sat on the mat\ndie katze saß auf der matte\n" * 20, "utf-8")
    folder = tmp_path / "laser"
    folder.mkdir()
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        input=str(corpus), model_writer=model, vocab_size=26, minloglevel=2
    )
    (folder / "laser2.spm").write_bytes(model.getvalue())
    processor = spm.SentencePieceProcessor(model_proto=model.getvalue())
    pieces = [processor.id_to_piece(i) for i in range(3, processor.get_piece_size())]
    (folder / "laser2.cvocab").write_text("".join(f"{p} 1\n" for p in pieces), "utf-8")
    torch.manual_seed(4)
    params = {"num_embeddings": len(pieces) + 4, "embed_dim": 6, "hidden_size": 5, "num_layers": 2}
    embeddings = torch.nn.Embedding(params["num_embeddings"], 6)
    lstm = torch.nn.LSTM(6, 5, 2, bidirectional=True)
    weights = {f"embed_tokens.{k}": v for k, v in embeddings.state_dict().items()}
    weights |= {f"lstm.{k}": v for k, v in lstm.state_dict().items()}
    torch.save({"params": params, "model": weights}, folder / "laser2.pt")
    return folder


# Byte pairs


@pytest.mark.parametrize("line", APPLIED)
def test_pieces_are_those_of_fastbpe(line: str, tmp_path: Path) -> None:
    codes, vocabulary = bpe_files(tmp_path)
    limited, free = APPLIED[line]
    assert FastBpe(codes, vocabulary).pieces(line.split()) == limited.split()
    assert FastBpe(codes).pieces(line.split()) == free.split()


@pytest.fixture(scope="module")
def theirs() -> Tokenizer:
    """Codes learnt and applied by the package tokenizers."""
    made = Tokenizer(BPE(end_of_word_suffix=END))
    made.pre_tokenizer = WhitespaceSplit()
    trainer = BpeTrainer(vocab_size=140, end_of_word_suffix=END, show_progress=False)
    made.train_from_iterator(CORPUS * 3, trainer)
    return made


@given(words=st.lists(st.text("abcdeiklmnorstuäü'", min_size=1, max_size=30), max_size=6))
def test_without_vocabulary_pieces_are_those_of_tokenizers(
    words: list[str], theirs: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    import json

    model = json.loads(theirs.to_str())["model"]
    words = ["".join(c for c in word if c in model["vocab"]) for word in words]
    words = [word for word in words if word and word[-1] + END in model["vocab"]]
    merges = [pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"]]
    codes = tmp_path_factory.getbasetemp() / "codes"
    codes.write_text("".join(f"{left} {right} 1\n" for left, right in merges), "utf-8")
    want = [
        piece.removesuffix(END) if piece.endswith(END) else f"{piece}@@"
        for piece in theirs.encode(" ".join(words)).tokens
    ]
    assert FastBpe(codes).pieces(words) == want


@given(words=st.lists(st.text(st.characters(exclude_characters=" @", codec="utf-8"), min_size=1)))
def test_pieces_give_the_words_back_and_are_known_or_single(
    words: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    codes, vocabulary = bpe_files(tmp_path_factory.getbasetemp())
    pieces = FastBpe(codes, vocabulary).pieces(words)
    assert " ".join(pieces).replace("@@ ", "") == " ".join(words)
    assert all(piece in KNOWN or len(piece.removesuffix("@@")) == 1 for piece in pieces)


def test_a_word_without_end_does_not_take_for_ever(tmp_path: Path) -> None:
    word = "brotmarkt" * 3000
    pieces = FastBpe(bpe_files(tmp_path)[0]).pieces([word])
    assert "".join(piece.removesuffix("@@") for piece in pieces) == word
    assert len(word) > 20 * LONGEST


@pytest.mark.parametrize("line", ["b r", "b r x", "b r 2 2"])
def test_a_line_that_fastbpe_does_not_write_is_named(line: str, tmp_path: Path) -> None:
    codes, _ = bpe_files(tmp_path)
    codes.write_text(f"t h 3\n{line}\n", "utf-8")
    with pytest.raises(ResourceError, match=r"fcodes, line 2: fastBPE writes two pieces"):
        FastBpe(codes)


# Words


@pytest.mark.parametrize(
    ("lang", "text", "want"),
    [
        ("de", "Frau Dr. Weber fragt: „Wann?“", 'frau dr. weber fragt : " wann ? "'),
        ("en", "It's Mr. Weber's co-op (5,300 %).\u200b", "it 's mr. weber 's co-op ( 5,300 % ) ."),
        ("fr", "L’ami d'Anne", "l' ami d' anne"),
        ("fi", "Ostin 3 kirjaa\tja maksoin…", "ostin 3 kirjaa ja maksoin ..."),
        ("kk", "Бұл үй, ал анау — көпір.", "бұл үй , ал анау - көпір ."),
        (None, "Plain words", "plain words"),
        ("de", " \u00a0 ", ""),
    ],
)
def test_words_are_split_by_the_rules_of_their_language(
    lang: str | None, text: str, want: str
) -> None:
    pytest.importorskip("sacremoses")
    assert laser_words(text, lang) == want.split()


def test_chinese_is_split_by_jieba() -> None:
    pytest.importorskip("rjieba")
    assert laser_words("他来到了北京大学。", "zh-TW") == ["他", "来到", "了", "北京大学", "。"]


@pytest.mark.parametrize(("lang", "package"), [("de", "sacremoses"), ("el", "transliterate")])
def test_a_package_that_is_missing_is_named(
    lang: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtgauge.encode.sentence import laser_words as module

    _moses.cache_clear()
    module._finish.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ResourceError, match=f"pip install {package}"):
        laser_words("text", lang)


# The encoder


def as_published(folder: Path, numbers: list[int]) -> np.ndarray:
    """The vector of one text, from the checkpoint by hand: no padding, no packing."""
    saved = torch.load(folder / "bilstm.93langs.2018-12-26.pt", weights_only=True)
    p, w = saved["params"], saved["model"]
    lstm = torch.nn.LSTM(p["embed_dim"], p["hidden_size"], p["num_layers"], bidirectional=True)
    lstm.load_state_dict({k[5:]: v for k, v in w.items() if k.startswith("lstm.")})
    with torch.inference_mode():
        states, _ = lstm(w["embed_tokens.weight"][numbers][:, None])
    return np.asarray(states[:, 0].max(dim=0).values)


def test_the_laser_of_2019_from_text_to_vector(tmp_path: Path) -> None:
    pytest.importorskip("sacremoses")
    folder = laser_2019_folder(tmp_path / "LASER")
    encoder = LaserEncoder(folder, EncoderSettings())
    texts = ["Die Brücke der Bäckerei.", "der Markt", "", "Das Brot ist alt"]
    vectors, cut = encoder.encode(texts, "de")
    assert (vectors.shape, cut) == ((4, 10), 0)
    pieces = [
        "die brücke der bäc@@ ker@@ e@@ i .",
        "der markt",
        "",
        "d@@ a@@ s brot i@@ s@@ t al@@ t",
    ]
    names = ["<s>", "<pad>", "</s>", "<unk>", *KNOWN, "ä@@", "s@@"]
    for line, row in zip(pieces, vectors, strict=True):
        known = [piece if piece in names else "<unk>" for piece in line.split()]
        numbers = [names.index(piece) for piece in [*known, "</s>"]]
        np.testing.assert_allclose(row, as_published(folder, numbers), atol=1e-6)


def test_the_language_decides_how_the_laser_of_2019_splits(tmp_path: Path) -> None:
    pytest.importorskip("sacremoses")
    encoder = LaserEncoder(laser_2019_folder(tmp_path / "LASER"), EncoderSettings())
    assert encoder.split("the baker's", "en") != encoder.split("the baker's", "de")
    split, asked = encoder.split, []
    encoder.split = lambda text, lang: asked.append(lang) or split(text, lang)  # type: ignore[func-returns-value]
    encoder.encode(["the bridge"], "fr")
    assert asked == ["fr"]
    assert not encoder.lowercase, "Moses sees the capitals of abbreviations"
    small, _ = encoder.encode(["THE BRIDGE", "the bridge"], "en")
    np.testing.assert_array_equal(small[0], small[1])


def test_other_codes_are_another_encoder(tmp_path: Path) -> None:
    pytest.importorskip("sacremoses")
    folder = laser_2019_folder(tmp_path / "LASER")
    before = LaserEncoder(folder, EncoderSettings()).fingerprint
    with (folder / "93langs.fcodes").open("a", encoding="utf-8") as file:
        file.write("ä l 1\n")
    assert LaserEncoder(folder, EncoderSettings()).fingerprint != before


def test_laser2_is_the_maximum_over_time_of_the_lstm(tmp_path: Path) -> None:
    folder = laser2_folder(tmp_path)
    encoder = LaserEncoder(folder, EncoderSettings())
    texts = ["The cat", "die katze saß auf der matte", ""]
    vectors, _ = encoder.encode(texts)
    for text, row in zip(texts, vectors, strict=True):
        ids = torch.tensor(encoder._numbers(text))[None]
        with torch.inference_mode():
            want = encoder.lstm(encoder.embeddings(ids))[0].amax(dim=1)[0].numpy()
        np.testing.assert_allclose(row, want, atol=1e-6)
    batch = Segments(["the cat", "a mat"], ["die katze", "matte"], lang="de-en")
    found = load(f"cosine:encoder='laser:{folder}',lm=off").statistics(batch)
    assert (np.abs(found) <= 1 + 1e-9).all()


def test_broken_laser_folders_are_refused(tmp_path: Path) -> None:
    folder = laser2_folder(tmp_path)
    (folder / "laser2.pt").write_bytes(b"nonsense")
    with pytest.raises(ResourceError, match="no LASER checkpoint"):
        LaserEncoder(folder, EncoderSettings())
    (folder / "laser2.pt").unlink()
    with pytest.raises(ResourceError, match=r"holds one \*\.pt"):
        LaserEncoder(folder, EncoderSettings())


class Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (print, ("code of a checkpoint ran",))


def test_a_broken_laser_of_2019_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sacremoses")
    folder = laser_2019_folder(tmp_path / "LASER")
    path = folder / "bilstm.93langs.2018-12-26.pt"
    sound = torch.load(path, weights_only=True)

    def refused(change: dict[str, object], match: str) -> None:
        torch.save(sound | change, path)
        with pytest.raises(ResourceError, match=match):
            LaserEncoder(folder, EncoderSettings())

    refused({"dictionary": {"the": 0}}, "lacks </s> or <unk>")
    refused({"dictionary": sound["dictionary"] | {"far": 9999}}, "fewer pieces than its dictionary")
    refused({"params": sound["params"] | {"num_layers": 2}}, "does not hold the bidirectional LSTM")
    refused({"params": {"embed_dim": 6}}, "does not hold the bidirectional LSTM")
    path.write_bytes(pickle.dumps({"params": {}, "model": Harmful()}, protocol=2))
    with pytest.raises(ResourceError, match="no LASER checkpoint"):
        LaserEncoder(folder, EncoderSettings())
    assert "ran" not in capsys.readouterr().out
    torch.save(sound, path)
    (folder / "93langs.fvocab").unlink()
    with pytest.raises(ResourceError, match=r"one \*\.fvocab file.*93langs\.fcodes and"):
        LaserEncoder(folder, EncoderSettings())
