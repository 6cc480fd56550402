"""Model folders: where they are, what is in them, and how they run on onnxruntime.

    model.onnx      the network; its inputs and outputs are told by the module that reads the kind
    tokenizer.json  a file of the `tokenizers` library (not where another folder's is used)
    card.json       kind, name, fingerprint and what the kind needs (`card.py`)

    model = ModelFolder(model_folder("embedded", "encoder"), "encoder")
    model.run_outputs(("layer_4",), input_ids=ids, attention_mask=mask)       # what they need alone
    open_trained("embedded", "regressor").run("head.onnx", states=x, given=y)  # its one output

Kinds are `encoder` (tokens/embedded.py), `fluency` (lm.py) and the trained metrics. The fingerprint
is a SHA-256 of the files; a card that states another one is refused, which finds files that were
cut or exchanged. A model may take tables from another one of the package (`shared.py`).
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from queue import LifoQueue
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode.card import read_card
from mtgauge.encode.runtime import cores, open_session
from mtgauge.encode.shared import shared_tables
from mtgauge.errors import ResourceError
from mtgauge.models import shipped

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENISERS = ("encoder", "fluency")  # kinds with a tokenizer of their own
SESSIONS = 3  # sets of outputs in use; more would only hold memory
SIDE_BY_SIDE = 16  # batches at a time; each has a session, which holds its file's weights once more
Array = NDArray[np.float32]


def model_folder(spec: str, kind: str) -> Path | None:
    """The folder of an ONNX model that `spec` names; None: `spec` is for transformers."""
    if spec == "embedded":
        return shipped(kind)
    folder = Path(spec).expanduser()
    return folder if folder.is_dir() and not (folder / "config.json").exists() else None


def open_trained(spec: str, kind: str) -> ModelFolder:
    """The folder of a trained metric: `embedded`, or what `mtgauge train` wrote."""
    folder = shipped(kind) if spec == "embedded" else Path(spec).expanduser()
    if folder.is_dir():
        return _open(folder, kind)
    if spec == "embedded":
        raise ResourceError(
            f"This installation has no ready-made {kind} model. Train one with "
            f"`mtgauge train {kind}` and name its folder: {kind}:model=DIR."
        )
    raise ResourceError(f"{kind}: there is no model folder {spec}. `mtgauge train` makes one.")


@cache
def _open(folder: Path, kind: str) -> ModelFolder:
    """A model is opened once for all metrics of a process that name it."""
    return ModelFolder(folder, kind, parallel=side_by_side_runs())


def side_by_side_runs() -> int:
    """Runs at a time on the CPU, each on a core: nothing waits for the slower half of a product."""
    return min(cores(), SIDE_BY_SIDE)


def fingerprint(folder: Path, kind: str, shared: str = "") -> str:
    """First 16 hexadecimal digits of the SHA-256 over the folder's ONNX and tokenizer files.

    `shared` is the digest of the tables that the model takes from another one: they are part of it.
    """
    digest = hashlib.sha256()
    if kind in TOKENISERS:
        for name in ("model.onnx", "tokenizer.json"):
            digest.update((folder / name).read_bytes())
    else:  # their files vary, so names count as well
        for path in sorted([*folder.glob("*.onnx"), *folder.glob("tokenizer.json")]):
            digest.update(path.name.encode() + path.read_bytes())
    digest.update(shared.encode())
    return digest.hexdigest()[:16]


class FromFolder:
    """What encoders and language models of a folder have in common."""

    parallel: int
    name: str
    fingerprint: str
    max_length: int
    languages: tuple[str, ...]
    lowercase: bool
    model: ModelFolder

    def open_folder(self, folder: Path, kind: str, device: str) -> dict[str, Any]:
        """Take from the folder what its card states; returns the card."""
        self.parallel = 1 if device.startswith("cuda") else side_by_side_runs()
        self.model = ModelFolder(folder, kind, device, self.parallel)
        card = self.model.card
        self.name, self.fingerprint = card["name"], self.model.fingerprint
        self.max_length = card["max_length"]
        self.languages = tuple(card.get("languages", ()))
        self.lowercase = bool(card.get("lowercase", False))
        return card

    @property
    def vocabulary(self) -> list[str]:
        return self.model.vocabulary


class ModelFolder:
    """One folder, checked before anything is scored; sessions open on first use."""

    def __init__(self, folder: Path, kind: str, device: str = "cpu", parallel: int = 1) -> None:
        self.folder, self.kind, self.device = folder, kind, device
        self.parallel = parallel  # runs at a time, among which the cores are shared out
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._sessions: dict[tuple[str, tuple[str, ...]], LifoQueue[Any]] = {}
        self._check_files()
        self.card = read_card(folder / "card.json", kind)
        self.shared = shared_tables(folder, self.card)
        self.fingerprint = fingerprint(folder, kind, self.card.get("shares", {}).get("sha256", ""))
        stated = self.card.get("fingerprint")
        if stated and stated != self.fingerprint:
            raise ResourceError(
                f"{folder} is not what its card describes: fingerprint {self.fingerprint}, "
                f"the card says {stated}. A file was cut or exchanged; fetch the folder again."
            )

    def _check_files(self) -> None:
        names = ["model.onnx", *(["tokenizer.json"] if self.kind in TOKENISERS else [])]
        if self.kind not in TOKENISERS and not (self.folder / "card.json").is_file():
            raise ResourceError(
                f"{self.folder} has no card.json: it is no model, or its training has not ended. "
                "Run the same `mtgauge train` again; it goes on where it stopped."
            )
        missing = [n for n in (*names, "card.json") if not (self.folder / n).is_file()]
        if missing:
            raise ResourceError(
                f"The {self.kind} model in {self.folder} lacks {', '.join(missing)}. Install "
                "mtgauge again if it is the embedded one; otherwise name a complete folder, or a "
                "hub id."
            )

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The folder's tokenizer, which cuts at the model's longest input."""
        tokenizer = read_tokenizer(self.folder / "tokenizer.json")
        tokenizer.enable_truncation(self.card["max_length"])
        return tokenizer

    @cached_property
    def vocabulary(self) -> list[str]:
        return names_by_number(self.tokenizer)

    def run(self, file: str, **inputs: NDArray[Any]) -> Array:
        """The one output of an ONNX file."""
        return self._run(file, (), inputs)[0]

    def run_outputs(self, outputs: tuple[str, ...], **inputs: NDArray[Any]) -> list[Array]:
        """Outputs of model.onnx; nothing beyond what they need is computed."""
        return self._run("model.onnx", outputs, inputs)

    def _run(
        self, file: str, outputs: tuple[str, ...], inputs: dict[str, NDArray[Any]]
    ) -> list[Array]:
        given = inputs | self.shared if file == "model.onnx" else inputs
        with self._session(file, outputs) as session:
            try:
                return list(session.run(list(outputs) or None, given))
            except Exception as error:
                raise ResourceError(
                    f"{self.folder / file} failed: {error}. Does its tokenizer.json belong to it, "
                    "and does it have the inputs that it should?"
                ) from None

    @contextmanager
    def _session(self, file: str, outputs: tuple[str, ...]) -> Iterator[Any]:
        """A session that runs nothing else meanwhile.

        Two runs in one session take their memory from one arena, and write side by side in it:
        on two cores each took a fifth to a half longer than alone.
        """
        idle = self._idle(file, outputs)
        session = idle.get()
        try:
            if session is None:
                with self._opening:  # one after another: each needs a copy of the file
                    session = open_session(
                        self.folder / file, outputs, self.device, cores() // self.parallel
                    )
            yield session
        finally:
            idle.put(session)

    def _idle(self, file: str, outputs: tuple[str, ...]) -> LifoQueue[Any]:
        """Sessions that run nothing now, one per run at a time; None is not open yet."""
        key = file, outputs
        with self._lock:
            if key not in self._sessions:
                if len(self._sessions) >= SESSIONS:
                    self._sessions.pop(next(iter(self._sessions)))
                self._sessions[key] = LifoQueue()
                for _ in range(self.parallel):
                    self._sessions[key].put(None)
            return self._sessions[key]


def read_tokenizer(path: Path) -> Tokenizer:
    """A tokenizer.json, without padding."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise ResourceError(f"{path} cannot be read ({error}). Fetch it again.") from None
    tokenizer.no_padding()
    return tokenizer


def names_by_number(tokenizer: Tokenizer) -> list[str]:
    """The tokens of a vocabulary in the order of their numbers."""
    vocabulary = tokenizer.get_vocab()
    names = [""] * (max(vocabulary.values()) + 1)
    for token, number in vocabulary.items():
        names[number] = token
    return names
