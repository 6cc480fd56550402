"""LASER: the language-agnostic sentence encoder of Artetxe and Schwenk (2019), in plain torch.

A folder as published holds a bidirectional LSTM and the files that split text for it:

    LASER of 2019    bilstm.93langs.2018-12-26.pt, 93langs.fcodes, 93langs.fvocab     (fastBPE)
    LASER2           laser2.pt, laser2.spm, laser2.cvocab                       (SentencePiece)

The sentence vector is the maximum over time of the LSTM's outputs. The checkpoint is read with
`weights_only`, so a pickle in it cannot run code. Text is lower-cased, as in training; for the
LASER of 2019 it is split into the words of its language first (`laser_words`).

    encoder = LaserEncoder(Path("models/laser"), EncoderSettings())
    vectors, cut = encoder.encode(["Ein Satz."], "de")           # (1, 1024)

Needs torch, and sentencepiece or (2019) sacremoses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge.data.seal import sha256_of
from mtgauge.encode.batches import token_batches
from mtgauge.encode.hub import place
from mtgauge.encode.load import EncoderSettings
from mtgauge.encode.sentence.bpe import FastBpe
from mtgauge.encode.sentence.encoders import SentenceEncoder
from mtgauge.encode.sentence.laser_words import laser_words
from mtgauge.encode.tokens.encoder import Vectors
from mtgauge.errors import ResourceError

LONGEST = 512  # pieces
Split = Callable[[str, str | None], list[str]]  # text and its language to pieces


class LaserEncoder(SentenceEncoder):
    def __init__(self, folder: Path, settings: EncoderSettings) -> None:
        self.device = place(settings).device
        self.name = f"laser:{folder.name}"
        checkpoint = _one(folder, "*.pt")
        codes = sorted(folder.glob("*.fcodes"))
        # the LASER of 2019 lower-cases by itself: Moses knows abbreviations by their capitals
        self.lowercase = not codes
        self.split = _by_bpe(folder) if codes else _by_sentencepiece(folder)
        self.fingerprint = _digest([checkpoint, *codes, *folder.glob("*.fvocab")])
        saved = _read(checkpoint)
        self.numbers: dict[str, int] = saved.get("dictionary") or _vocabulary(folder)
        self.embeddings, self.lstm = _build(checkpoint, saved, self.device)
        if not {"</s>", "<unk>"} <= self.numbers.keys():
            raise ResourceError(f"{checkpoint}: its dictionary lacks </s> or <unk>.")
        if max(self.numbers.values()) >= self.embeddings.num_embeddings:
            raise ResourceError(f"{checkpoint} has vectors for fewer pieces than its dictionary.")
        self.end, self.unknown = self.numbers["</s>"], self.numbers["<unk>"]

    def encode(self, texts: Sequence[str], lang: str | None = None) -> tuple[Vectors, int]:
        import torch

        rows = [self._numbers(text, lang) for text in texts]
        cut = sum(len(row) > LONGEST for row in rows)
        rows = [[*row[: LONGEST - 1], self.end] if len(row) > LONGEST else row for row in rows]
        vectors = np.zeros((len(rows), 2 * self.lstm.hidden_size), np.float32)
        for batch in token_batches([len(row) for row in rows], 4096):
            lengths = torch.tensor([len(rows[i]) for i in batch])
            ids = torch.nn.utils.rnn.pad_sequence(
                [torch.tensor(rows[i]) for i in batch], batch_first=True
            )
            with torch.inference_mode():
                packed = torch.nn.utils.rnn.pack_padded_sequence(
                    self.embeddings(ids.to(self.device)), lengths, batch_first=True
                )
                output, _ = torch.nn.utils.rnn.pad_packed_sequence(
                    self.lstm(packed)[0], batch_first=True, padding_value=float("-inf")
                )
                vectors[batch] = output.amax(dim=1).cpu().numpy()
        return vectors, cut

    def _numbers(self, text: str, lang: str | None = None) -> list[int]:
        pieces = self.split(text, lang)
        return [self.numbers.get(p, self.unknown) for p in pieces] + [self.end]


def _by_sentencepiece(folder: Path) -> Split:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        raise ResourceError("LASER2 needs a package: pip install sentencepiece.") from None
    model = SentencePieceProcessor(model_file=str(_one(folder, "*.spm")))
    return lambda text, lang: model.encode(text.lower(), out_type=str)


def _by_bpe(folder: Path) -> Split:
    bpe = FastBpe(_one(folder, "*.fcodes"), _one(folder, "*.fvocab"))
    laser_words("", "en")  # a package that is missing is named now, and not after the first file
    return lambda text, lang: bpe.pieces(laser_words(text, lang))


def _one(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise ResourceError(
            f"A LASER folder holds one {pattern} file; {folder} has {len(found)}. It takes "
            "laser2.pt, laser2.spm and laser2.cvocab, or for the LASER of 2019 "
            "bilstm.93langs.2018-12-26.pt, 93langs.fcodes and 93langs.fvocab."
        )
    return found[0]


def _digest(files: Sequence[Path]) -> str:
    """The checkpoint's own where it stands alone, so that remaps of LASER2 stay valid."""
    digests = [sha256_of(file) for file in files]
    if len(digests) > 1:
        return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]
    return digests[0][:16]


def _read(checkpoint: Path) -> dict[str, Any]:
    import torch

    try:
        saved: dict[str, Any] = torch.load(checkpoint, map_location="cpu", weights_only=True)
    except Exception as error:  # a cut zip, a refused pickle, no file: all mean the same here
        first = str(error).splitlines()[0]
        raise ResourceError(f"{checkpoint} is no LASER checkpoint ({first}).") from None
    if not {"params", "model"} <= saved.keys():
        raise ResourceError(f"{checkpoint} lacks params and model: it is no LASER checkpoint.")
    return saved


def _vocabulary(folder: Path) -> dict[str, int]:
    """Pieces of a .cvocab file, one per line before its count, after the four special ones."""
    text = _one(folder, "*.cvocab").read_bytes().decode("utf-8")
    lines = text.removesuffix("\n").split("\n")  # pieces hold other separators of Unicode
    names = ["<s>", "<pad>", "</s>", "<unk>", *(line.split(" ")[0] for line in lines)]
    return {name: i for i, name in enumerate(names)}


def _build(checkpoint: Path, saved: dict[str, Any], device: str) -> tuple[Any, Any]:
    import torch

    params, weights = saved["params"], saved["model"]
    try:
        embeddings = torch.nn.Embedding(params["num_embeddings"], params["embed_dim"])
        lstm = torch.nn.LSTM(
            params["embed_dim"],
            params["hidden_size"],
            params["num_layers"],
            bidirectional=True,
            batch_first=True,
        )
        for prefix, module in (("embed_tokens.", embeddings), ("lstm.", lstm)):
            own = {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}
            module.load_state_dict(own)
            module.to(device).eval()
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        first = str(error).splitlines()[0]
        raise ResourceError(
            f"{checkpoint} does not hold the bidirectional LSTM of LASER ({first})."
        ) from None
    return embeddings, lstm
