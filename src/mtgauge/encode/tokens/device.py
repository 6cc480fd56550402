"""Token vectors that stay on the device that computed them: only what is asked for comes back.

    tokens = encoder.encode_in_place(["Ein Satz."], layer=8)     # DeviceTokens of a DeviceEncoder
    tokens.block                                                 # (N, d) on the device
    tokens.vectors                                               # the same, fetched as float32

`units.build` gathers and normalises the rows of a block where it lies, and best matches are found
there (`compare/device.py`): a metric is written once for both. What knows nothing of devices asks
for `vectors`, which come through pinned memory, in half precision where the model computes in it.

A batch goes to the device as one flat row of token ids (`Ragged`), and nothing waits for the
result: while a window of texts is encoded, this process tokenises the next one (`by_word.py`).
Where words cannot be read by themselves, spans and word begins are looked up only if someone asks.

`beside(tokens)` is for a thread that compares while another one encodes: a stream of its own,
which waits for those vectors alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode.batches import run_batches
from mtgauge.encode.hub import Place
from mtgauge.encode.ragged import IntArray, offsets_of, ranges
from mtgauge.encode.tokens.by_word import ByWord, by_word, edges
from mtgauge.encode.tokens.encoder import ALIKE, BoolArray, Encoder, Tokens, TokenVectors, Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

    from mtgauge.encode.transformer import Ragged

Edges = tuple[list[int], list[int]]  # ids of the special tokens before and after a text
WINDOW = 8192  # pairs at a time: enough to keep a GPU busy, a few gigabytes of vectors
LARGE = 32 * 2**30  # bytes; a device with less memory gets a quarter at a time
AHEAD = 2  # windows that wait for their comparison while the next one is encoded
TOKENS = 65536  # in a batch


class LeanTokens(Tokens):
    """Tokens whose spans and word begins are looked up if someone asks."""

    def __init__(
        self,
        offsets: IntArray,
        ids: IntArray,
        truncated: BoolArray,
        edges: Edges,
        whole: Callable[[], Tokens],
    ) -> None:
        lengths = np.diff(offsets)
        place = ranges(np.zeros_like(lengths), lengths)
        before, after = map(len, edges)
        special = (place < before) | (place >= np.repeat(lengths - after, lengths))
        self.__dict__.update(offsets=offsets, ids=ids, special=special, truncated=truncated)
        self.__dict__["find"] = whole

    @cached_property
    def whole(self) -> Tokens:
        found: Tokens = self.__dict__["find"]()
        return found

    @property
    def first(self) -> BoolArray:
        return self.whole.first

    @property
    def spans(self) -> IntArray:
        return self.whole.spans


class DeviceTokens(TokenVectors):
    """Tokens whose vectors are on a device; `ready` is the event after which they are there."""

    tokens: Tokens
    block: Tensor
    half: bool  # whether the model computes in half precision
    ready: Any

    def __init__(self, tokens: Tokens, block: Tensor, half: bool) -> None:
        same = {name: getattr(tokens, name) for name in ("offsets", "ids", "special", "truncated")}
        self.__dict__.update(same, left_out=0, tokens=tokens)
        self.__dict__.update(block=block, half=half, ready=_mark(block))

    @property
    def first(self) -> BoolArray:
        return self.tokens.first

    @property
    def spans(self) -> IntArray:
        return self.tokens.spans

    @cached_property
    def vectors(self) -> Vectors:
        return fetched(self.block, half=self.half)

    def turned(self, last: int) -> DeviceTokens:
        """With the sign of the last numbers of every vector changed, in place."""
        import torch

        if not last:
            return self
        with torch.inference_mode():
            self.block[:, -last:].neg_()
        return DeviceTokens(self.tokens, self.block, self.half)

    def multiplied(self, matrix: Vectors) -> DeviceTokens:
        """With every vector times a matrix."""
        import torch

        with torch.inference_mode():
            block = self.block @ torch.from_numpy(matrix).to(self.block)
        return DeviceTokens(self.tokens, block, self.half)


class DeviceEncoder(Encoder):
    """An encoder in torch; a subclass writes `states`, and `backend` for its tokenizer."""

    place: Place
    pads = False  # whether a batch costs what its longest text costs

    def states(self, batch: Ragged, layers: tuple[int, ...], lang: str | None) -> list[Tensor]:
        """The wanted layers of a batch on the device, each (tokens, d)."""
        raise NotImplementedError

    @property
    def backend(self) -> Tokenizer | None:
        """The tokenizer, set to cut texts at `max_length`; None: it is of another library."""
        raise NotImplementedError

    @cached_property
    def stays(self) -> bool:  # type: ignore[override]
        """Whether vectors stay where they are; a disk cache wants to see them."""
        return self.place.device != "cpu" and self.settings.cache is None

    @property
    def window(self) -> int:  # type: ignore[override]
        if not self.stays:
            return Encoder.window
        return WINDOW if _memory(self.place.device) >= LARGE else WINDOW // 4

    @property
    def ahead(self) -> int:  # type: ignore[override]
        return AHEAD if self.stays else Encoder.ahead

    @cached_property
    def _edges(self) -> Edges | None:
        return None if self.backend is None else edges(self.backend)

    @cached_property
    def _by_word(self) -> ByWord | None:
        return None if self.backend is None else by_word(self.backend, self.max_length)

    def tokenize_lean(self, texts: Sequence[str]) -> Tokens:
        """As `tokenize`, but what is seldom asked for is looked up when it is."""
        backend = self.backend
        if backend is None or self._edges is None or self._by_word is not None:
            return self.tokenize(texts)
        encodings = backend.encode_batch_fast(list(texts))
        offsets = offsets_of([len(e) for e in encodings])
        ids = np.fromiter(chain.from_iterable(e.ids for e in encodings), np.int64, int(offsets[-1]))
        cut = np.array([bool(e.overflowing) for e in encodings], dtype=bool)
        return LeanTokens(offsets, ids, cut, self._edges, partial(self.tokenize, texts))

    def encode_in_place(
        self, texts: Sequence[str], layer: int | tuple[int, ...] = -1, lang: str | None = None
    ) -> TokenVectors:
        if not self.stays:
            return self.encode(texts, layer, lang)
        layers = self.resolve(layer)
        tokens = self.tokenize_lean(texts)
        with self._lock:
            half = self.place.dtype != "float32"
            return DeviceTokens(tokens, self._block(tokens, layers, lang), half)

    def _block(self, tokens: Tokens, layers: tuple[int, ...], lang: str | None) -> Tensor:
        """Vectors of all tokens in the order of the texts; the device may still be at work."""
        import torch

        lengths, block = np.diff(tokens.offsets), None
        ids = upload(tokens.ids.astype(np.int32), self.place.device)

        def run(texts: IntArray) -> tuple[Tensor, Tensor]:
            from mtgauge.encode.transformer import Ragged

            own = ranges(tokens.offsets[texts], lengths[texts])
            at = upload(own, self.place.device)
            start = upload(offsets_of(lengths[texts]), self.place.device)
            batch = Ragged(ids.index_select(0, at), start, int(lengths[texts].max()))
            states = self.states(batch, layers, lang)
            return at, states[0] if len(states) == 1 else power_means(states)

        with torch.inference_mode():
            for _, (at, states) in run_batches(self, lengths, run, ALIKE if self.pads else 0.0):
                if block is None:
                    block = states.new_empty(len(tokens.ids), states.shape[1])
                block.index_copy_(0, at, states)
            return torch.empty(0, 0, device=self.place.device) if block is None else block


def power_means(layers: Sequence[Tensor]) -> Tensor:
    """As `encoder.power_means`, on the device."""
    import torch

    rows = [x.float() for x in layers]
    stack = torch.stack([x / (x.norm(dim=1, keepdim=True) + 1e-30) for x in rows])
    return torch.cat([stack.amin(0), stack.mean(0), stack.amax(0)], dim=1)


def mixed(block: Tensor, parts: list[tuple[IntArray, Vectors | None]], normalise: bool) -> Tensor:
    """Sum over parts of rows `at` of the block times `share`: `units` on the device, float32."""
    import torch

    with torch.inference_mode():
        out: Tensor | None = None
        for at, share in parts:
            part = block.index_select(0, upload(at, block.device)).float()
            if share is not None:
                part *= upload(share, block.device)[:, None]
            out = part if out is None else out.add_(part)
        assert out is not None
        if normalise:
            out /= out.norm(dim=1, keepdim=True).clamp_min(1e-30)
        return out


def upload(array: NDArray[Any], device: Any) -> Tensor:
    """The array on the device; through pinned memory, so that nobody waits for the copy."""
    import torch

    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if torch.device(device).type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def fetched(block: Tensor, half: bool = False) -> Vectors:
    """The block in main memory as float32; with `half` it travels in half precision."""
    import torch

    if block.device.type != "cuda":
        return np.asarray(block.detach().cpu().float().numpy())
    moved = block.half() if half and block.dtype == torch.float32 else block
    host = torch.empty(moved.shape, dtype=moved.dtype, pin_memory=True)
    host.copy_(moved, non_blocking=True)
    torch.cuda.current_stream(block.device).synchronize()
    return np.asarray(host.float().numpy())


def _mark(block: Tensor) -> Any:
    """The event that happens once the block is filled."""
    if block.device.type != "cuda":
        return None
    import torch

    return torch.cuda.current_stream(block.device).record_event()


@cache
def _memory(device: str) -> int:
    """Bytes of a GPU; 0 of another device."""
    if not device.startswith("cuda"):
        return 0
    import torch

    return int(torch.cuda.get_device_properties(device).total_memory)


@cache
def _side(device: Any) -> Any:
    import torch

    # its few steps must not wait behind a window
    return torch.cuda.Stream(device, priority=-1)  # type: ignore[no-untyped-call]


@contextmanager
def beside(*tokens: TokenVectors) -> Iterator[None]:
    """Work on these tokens' vectors beside what the device is given meanwhile."""
    there = [t for t in tokens if isinstance(t, DeviceTokens) and t.ready is not None]
    if not there:
        yield
        return
    import torch

    side = _side(there[0].block.device)
    with torch.cuda.stream(side):
        for each in there:
            side.wait_event(each.ready)
            each.block.record_stream(side)
        yield
