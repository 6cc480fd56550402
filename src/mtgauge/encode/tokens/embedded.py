"""Models in a folder, run by onnxruntime: the encoder that comes with the package, and your own.

A folder holds three files:

    model.onnx      inputs  input_ids (batch, length) int64, attention_mask (batch, length) int64
                    outputs layer_0 ... layer_L (batch, length, d) float32, layer_0 the embeddings
    tokenizer.json  a file of the `tokenizers` library; its post-processor adds special tokens
    card.json       name, kind ("encoder"), layers, dim, max_length,
                    default_layer {"reference": int, "source": int}, special_tokens {"pad": ...},
                    languages, lowercase, licence, data, objective, scores, quantisation,
                    fingerprint

    encoder = OnnxEncoder(Path("my-model"), Settings())
    encoder.encode(["Ein Satz."], layer=4)

Layers above the wanted one are not computed (`trim.py`). `fingerprint(folder)` is the
SHA-256 of the model and the tokenizer; a card that states another one is refused, which finds files
that were cut or exchanged.

Limits: on the CPU unless a CUDA device is named and onnxruntime-gpu is installed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode import Settings
from mtgauge.encode.ragged import IntArray, offsets_of
from mtgauge.encode.tokens.encoder import Encoder, Tokens, Vectors
from mtgauge.encode.trim import keep_outputs
from mtgauge.errors import ResourceError

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

FILES = ("model.onnx", "tokenizer.json", "card.json")
TOKENS = 512  # a batch on the CPU: activations of more do not stay in its caches
SESSIONS = 3  # a session for each layer in use; more would only hold memory


def fingerprint(folder: Path) -> str:
    """First 16 hexadecimal digits of the SHA-256 over model.onnx and tokenizer.json."""
    digest = hashlib.sha256()
    for name in FILES[:2]:
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:16]


class ModelFolder:
    """The three files, opened on first use and checked."""

    def __init__(self, folder: Path, kind: str, needed: Sequence[str], device: str) -> None:
        self.folder, self.device = folder, device
        missing = [name for name in FILES if not (folder / name).is_file()]
        if missing:
            raise ResourceError(
                f"The {kind} model in {folder} lacks {', '.join(missing)}. Install mtgauge again "
                "if it is the embedded one; otherwise name a complete folder, or a hub id, with "
                "encoder= or lm=."
            )
        self._sessions: dict[tuple[str, ...], Any] = {}
        self.card = self._read_card(kind, needed)
        self.fingerprint = fingerprint(folder)
        stated = self.card.get("fingerprint")
        if stated and stated != self.fingerprint:
            raise ResourceError(
                f"{folder} is not what its card describes: fingerprint {self.fingerprint}, "
                f"the card says {stated}. A file was cut or exchanged; fetch the folder again."
            )

    def _read_card(self, kind: str, needed: Sequence[str]) -> dict[str, Any]:
        path = self.folder / "card.json"
        try:
            card = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ResourceError(f"{path} is not JSON ({error}). Fetch the folder again.") from None
        missing = [key for key in needed if key not in card]
        if missing:
            raise ResourceError(f"{path} lacks {', '.join(missing)}.")
        if card.get("kind", kind) != kind:
            raise ResourceError(f"{path} describes a {card['kind']}, not a {kind}.")
        return dict(card)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        path = self.folder / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise ResourceError(f"{path} cannot be read ({error}). Fetch it again.") from None
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.card["max_length"])
        return tokenizer

    def session(self, outputs: tuple[str, ...]) -> Any:
        """A session that computes these outputs and nothing beyond."""
        if outputs not in self._sessions:
            if len(self._sessions) >= SESSIONS:
                self._sessions.pop(next(iter(self._sessions)))
            self._sessions[outputs] = self._open(outputs)
        return self._sessions[outputs]

    def _open(self, outputs: tuple[str, ...]) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = cores()
        options.log_severity_level = 4  # what goes wrong is raised below, not printed
        path = self.folder / "model.onnx"
        providers = self._providers()
        try:
            # From a file, since a session that was given bytes holds them as long as it lives.
            with TemporaryDirectory(prefix="mtgauge-") as scratch:
                part = Path(scratch) / path.name
                part.write_bytes(keep_outputs(path.read_bytes(), outputs))
                return onnxruntime.InferenceSession(part, options, providers=providers)
        except OSError as error:
            raise ResourceError(
                f"{path} cannot be opened ({error}). It is copied to a temporary file of "
                f"{path.stat().st_size / 1e6:.0f} MB: TMPDIR has to name a folder with room."
            ) from None
        except Exception as error:  # onnxruntime has one class per status, and no common base
            raise ResourceError(
                f"{path} cannot be loaded for {', '.join(outputs)} ({error}). Fetch it again, or "
                "check that its outputs are those its card promises."
            ) from None

    def _providers(self) -> list[Any]:
        """The CPU, or CUDA where it is asked for by name and onnxruntime was built with it."""
        import onnxruntime

        if self.device in ("auto", "cpu"):
            return ["CPUExecutionProvider"]
        kind, _, number = self.device.partition(":")
        if kind != "cuda" or "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            raise ResourceError(
                f"Device {self.device} was asked for, but onnxruntime here runs on the CPU only. "
                "Use --device auto, or install onnxruntime-gpu."
            )
        return [("CUDAExecutionProvider", {"device_id": int(number or 0)})]

    def run(self, outputs: tuple[str, ...], **inputs: IntArray) -> list[Vectors]:
        """Outputs of the model; only what they need is computed."""
        session = self.session(outputs)
        try:
            return list(session.run(list(outputs), inputs))
        except Exception as error:
            raise ResourceError(
                f"{self.folder / 'model.onnx'} failed: {error}. Does its tokenizer.json belong to "
                "it, and does it have the inputs that it should?"
            ) from None

    @cached_property
    def vocabulary(self) -> list[str]:
        vocabulary = self.tokenizer.get_vocab()
        names = [""] * (max(vocabulary.values()) + 1)
        for token, number in vocabulary.items():
            names[number] = token
        return names


def cores() -> int:
    """Threads to use: OMP_NUM_THREADS, else every core this process may run on."""
    stated = os.environ.get("OMP_NUM_THREADS", "")
    if stated.isdigit() and int(stated) > 0:
        return int(stated)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pack(encodings: Sequence[Encoding]) -> Tokens:
    """Ragged tokens from what `tokenizers` yields for each text."""
    offsets = offsets_of([len(e) for e in encodings])
    total = int(offsets[-1])
    flat = chain.from_iterable
    ids = np.fromiter(flat(e.ids for e in encodings), np.int64, total)
    spans = np.fromiter(flat(flat(e.offsets for e in encodings)), np.int64, 2 * total)
    special = np.fromiter(flat(e.special_tokens_mask for e in encodings), bool, total)
    # A special token belongs to no word: None, which as a float is not a number, and so differs
    # from its neighbours.
    words = np.fromiter(flat(e.word_ids for e in encodings), np.float64, total)
    return Tokens(
        offsets,
        ids,
        spans.reshape(total, 2),
        word_begins(words, offsets),
        special,
        np.array([bool(e.overflowing) for e in encodings], dtype=bool),
    )


def word_begins(words: NDArray[Any], offsets: IntArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """True where a token's word differs from its left neighbour's."""
    first = np.ones(len(words), dtype=bool)
    first[1:] = words[1:] != words[:-1]
    starts = offsets[:-1]
    first[starts[starts < len(words)]] = True
    return first


class OnnxEncoder(Encoder):
    def __init__(self, folder: Path, settings: Settings) -> None:
        self.tokens_per_batch = TOKENS
        super().__init__(settings)
        self.model = ModelFolder(
            folder, "encoder", ("name", "layers", "max_length"), settings.device
        )
        card = self.model.card
        self.name = card["name"]
        self.fingerprint = self.model.fingerprint
        self.layers = card["layers"]
        self.max_length = card["max_length"]
        self.languages = tuple(card.get("languages", ()))
        self.lowercase = bool(card.get("lowercase", False))
        last = {"reference": self.layers, "source": self.layers}
        self.default_layer = last | card.get("default_layer", {})
        self.turned = int(card.get("turned", 0))

    @cached_property
    def pad_id(self) -> int:  # type: ignore[override]
        pad = self.model.card.get("special_tokens", {}).get("pad", 0)
        return int(self.model.tokenizer.token_to_id(pad) or 0) if isinstance(pad, str) else int(pad)

    @property
    def vocabulary(self) -> list[str]:
        return self.model.vocabulary

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        return pack(self.model.tokenizer.encode_batch(list(texts)))

    def forward(
        self, ids: IntArray, mask: IntArray, layers: tuple[int, ...], lang: str | None
    ) -> list[Vectors]:
        names = tuple(f"layer_{number}" for number in dict.fromkeys(layers))
        outputs = self.model.run(names, input_ids=ids, attention_mask=mask)
        return [np.asarray(x, dtype=np.float32) for x in outputs]
