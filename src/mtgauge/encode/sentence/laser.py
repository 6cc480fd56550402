"""LASER: the language-agnostic sentence encoder of Artetxe and Schwenk (2019), in plain torch.

A folder as published holds laser2.pt (a bidirectional LSTM), laser2.spm (SentencePiece) and
laser2.cvocab. The sentence vector is the maximum over time of the LSTM's outputs. The checkpoint is
read with `weights_only`, so a pickle in it cannot run code.

    encoder = LaserEncoder(Path("models/laser"), EncoderSettings())
    vectors, cut = encoder.encode(["Ein Satz."])                 # (1, 1024)

Needs torch and sentencepiece. Text is lower-cased, as in training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge.encode.batches import token_batches
from mtgauge.encode.hub import place
from mtgauge.encode.load import EncoderSettings
from mtgauge.encode.sentence.encoders import SentenceEncoder
from mtgauge.encode.tokens.encoder import Vectors
from mtgauge.errors import ResourceError

LONGEST = 512  # pieces


class LaserEncoder(SentenceEncoder):
    lowercase = True

    def __init__(self, folder: Path, settings: EncoderSettings) -> None:
        self.device = place(settings).device
        self.name = f"laser:{folder.name}"
        checkpoint = _one(folder, "*.pt")
        try:
            from sentencepiece import SentencePieceProcessor
        except ImportError:
            raise ResourceError("LASER needs a package: pip install sentencepiece.") from None
        self.pieces = SentencePieceProcessor(model_file=str(_one(folder, "*.spm")))
        self.fingerprint = hashlib.sha256(checkpoint.read_bytes()).hexdigest()[:16]
        saved = _read(checkpoint)
        self.numbers: dict[str, int] = saved.get("dictionary") or _vocabulary(folder)
        self.embeddings, self.lstm = _build(saved, self.device)
        self.end, self.unknown = self.numbers["</s>"], self.numbers["<unk>"]

    def encode(self, texts: Sequence[str], lang: str | None = None) -> tuple[Vectors, int]:
        import torch

        rows = [self._numbers(text) for text in texts]
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

    def _numbers(self, text: str) -> list[int]:
        pieces: list[str] = self.pieces.encode(text.lower(), out_type=str)
        return [self.numbers.get(p, self.unknown) for p in pieces] + [self.end]


def _one(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise ResourceError(
            f"A LASER folder holds one {pattern} file; {folder} has {len(found)}. It takes "
            "laser2.pt, laser2.spm and laser2.cvocab."
        )
    return found[0]


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
    lines = _one(folder, "*.cvocab").read_text(encoding="utf-8").splitlines()
    names = ["<s>", "<pad>", "</s>", "<unk>", *(line.split(" ")[0] for line in lines)]
    return {name: i for i, name in enumerate(names)}


def _build(saved: dict[str, Any], device: str) -> tuple[Any, Any]:
    import torch

    params, weights = saved["params"], saved["model"]
    embeddings = torch.nn.Embedding(params["num_embeddings"], params["embed_dim"])
    lstm = torch.nn.LSTM(
        params["embed_dim"],
        params["hidden_size"],
        params["num_layers"],
        bidirectional=True,
        batch_first=True,
    )
    parts = (("embed_tokens.", embeddings), ("lstm.", lstm))
    for prefix, module in parts:
        own = {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}
        module.load_state_dict(own)
        module.to(device).eval()
    return embeddings, lstm
