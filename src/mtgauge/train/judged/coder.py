"""What judged texts become for one encoder: piece numbers, in the languages that it knows.

coder = read_coder("embedded")          # card and tokenizer of an encoder in a folder
coder.tokenize(["Ein Test."])           # piece numbers without special pieces
coder.packer(128)                       # joins two texts as one input
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer

from mtgauge.data.seal import sha256_of
from mtgauge.encode.card import read_card
from mtgauge.encode.model_folder import model_folder
from mtgauge.encode.tokens import slow
from mtgauge.encode.tokens.pairs import Packer
from mtgauge.errors import ResourceError
from mtgauge.train.judged.codes import COLUMNS


@dataclass(frozen=True)
class TextCoder:
    """`tokenizer` is a tokenizer.json, or the folder of a slow one; without any texts are kept,
    and have no pieces."""

    tokenizer: Path | None
    languages: tuple[str, ...]
    columns: tuple[str, ...] = COLUMNS  # the texts that are read

    @cached_property
    def digest(self) -> str:
        """Of the tokenizer: packed data are for this one alone."""
        if self.tokenizer is None:
            return ""
        return slow.digest(self.tokenizer) if self.tokenizer.is_dir() else sha256_of(self.tokenizer)

    def packer(self, max_length: int) -> Packer:
        assert self.tokenizer is not None
        if self.tokenizer.is_dir():
            return slow.slow_packer(self.tokenizer, max_length)
        tokenizer = Tokenizer.from_file(str(self.tokenizer))
        tokenizer.no_padding()
        return Packer.of(tokenizer, max_length)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        if self.tokenizer is None:
            return [[] for _ in texts]
        return self.packer(512).tokenize(texts)


def read_coder(encoder: str) -> TextCoder:
    """Of an encoder in a folder; its ONNX file need not be there."""
    folder = model_folder(encoder, "encoder")
    if folder is None or not (folder / "tokenizer.json").is_file():
        raise ResourceError(f"The encoder {encoder} has no tokenizer.json: name its folder.")
    card = read_card(folder / "card.json", "encoder")
    return TextCoder(folder / "tokenizer.json", tuple(card.get("languages", ())))
