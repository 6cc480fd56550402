"""Target-side language models: how probable is the translation as a text of its own?

    log p(t_1 ... t_n) = sum_i log p(t_i | t_1 ... t_{i-1})          score: the mean over tokens

    model = load_language_model("embedded")
    logprobs, offsets = model.logprobs(["The cat sat."])              # ragged: one number per token
    mean_scores(logprobs, offsets)
    model.logprobs(["The cat sat."], given=["Die Katze saß."])        # log p(text | source)

`ngrams.py` has a third kind beside the two of this file, piece pairs of one language.

A model with a begin-of-text token scores every token; without one (GPT-2 as the XMoverScore authors
used it) the first token has no prefix and is not scored. Padding never enters a mean. A text
longer than the model's window is scored in overlapping windows, each token once, with at least half
a window of context. A text with nothing to score gets `FLOOR`, the lowest value there is. A model
whose card names a special token `sep` was trained on pairs as well, and can score a translation
given its source; a source that leaves no room loses its end.

Folder of an ONNX model: model.onnx with input `input_ids` (batch, length) int64, padded on the
right, and output `logprobs` (batch, length - 1) float32: the log-probability of token t + 1 given
tokens 0 ... t; tokenizer.json, whose post-processor puts the begin-of-text token first, and for a
pair joins source, separator and text, the text with type 1; card.json (name, kind "fluency",
max_length, special_tokens, languages, lowercase, fingerprint).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode import hub
from mtgauge.encode.batches import CPU_TOKENS, run_batches
from mtgauge.encode.hub import FromHub
from mtgauge.encode.load import EncoderSettings
from mtgauge.encode.model_folder import FromFolder
from mtgauge.encode.ragged import IntArray, offsets_of
from mtgauge.encode.tokens.encoder import Tokens
from mtgauge.encode.tokens.encodings import pack
from mtgauge.encode.tokens.joining import Word, join
from mtgauge.errors import ResourceError, UsageError

FloatArray = NDArray[np.float64]
REMEMBERED = 50_000  # texts whose scores stay in memory, some 30 MB, for other metrics of a run
FLOOR = -20.0  # nats per token; a uniform guess over 30,000 tokens is -10.3
ODDS = (-2.0, 4.0)  # what one token can cost or gain: no rare name rules a text


class LanguageModel:
    """Base of language models; a subclass writes `token_ids` and `forward`."""

    name: str
    fingerprint: str
    max_length: int
    languages: tuple[str, ...] = ()
    lowercase: bool = False
    dtype: str = ""  # what it computes in, where that is not what its file says
    conditional: bool = False  # can score a text given another
    tokens_per_batch: int = 4096
    parallel: int = 1  # batches at a time
    out_of_memory: tuple[type[Exception], ...] = (MemoryError,)

    def __init__(self, settings: EncoderSettings) -> None:
        if settings.tokens_per_batch:
            self.tokens_per_batch = settings.tokens_per_batch
        self._window: OrderedDict[tuple[bool, str | None, str], FloatArray] = OrderedDict()
        self._lock = threading.RLock()

    def forget(self) -> None:
        """Empty the memory of scored texts."""
        with self._lock:
            self._window.clear()

    def token_ids(self, texts: Sequence[str], bos: bool) -> list[list[int]]:
        """Tokens of each text; with `bos` a begin-of-text token leads, which is not scored."""
        raise NotImplementedError

    def pair_ids(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
        """(begin, source and separator; text) of each pair (source, text), as token ids."""
        raise UsageError(
            f"The language model {self.name} cannot score a text given its source. "
            "Use lm_given=nothing."
        )

    def pieces(self, text: str) -> Tokens:
        """The tokens of one text, without special ones."""
        raise NotImplementedError

    @property
    def vocabulary(self) -> list[str]:
        """Token strings by id."""
        raise NotImplementedError

    def words(self, text: str, logprobs: FloatArray) -> list[tuple[Word, float]]:
        """The words of a text with the log-probability of each, the sum of its pieces'.

        A first token that was not scored belongs to no sum; an end-of-text token is a word.
        """
        tokens = self.pieces(text)
        names = [self.vocabulary[i] for i in tokens.ids]
        words, number = join(text, tokens.spans, tokens.first, names)
        unscored = max(len(names) - len(logprobs), 0)
        scored = logprobs[: len(names) - unscored]
        sums = np.bincount(number[unscored:], scored, minlength=len(words))
        told = [(word, float(x)) for word, x in zip(words, sums, strict=True)]
        first = int(number[unscored]) if unscored < len(names) else len(words)
        end = [(Word("(end)", (), None), float(x)) for x in logprobs[len(scored) :]]
        return told[first:] + end

    def forward(self, ids: IntArray, lengths: IntArray) -> NDArray[np.float32]:
        """(batch, length - 1) log-probabilities of ids[:, 1:]; what stands in padding is unread."""
        raise NotImplementedError

    def logprobs(
        self, texts: Sequence[str], bos: bool = True, given: Sequence[str] | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Log-probability of every scored token of every text, ragged; `given` are sources."""
        sources: Sequence[str | None] = [None] * len(texts) if given is None else given
        names = [(bos, source, text) for source, text in zip(sources, texts, strict=True)]
        with self._lock:
            found = {name: self._window[name] for name in names if name in self._window}
            fresh = [name for name in dict.fromkeys(names) if name not in found]
            if given is None:
                rows = [(ids, 0) for ids in self.token_ids([n[2] for n in fresh], bos)]
            else:
                pairs = [(n[1] or "", n[2]) for n in fresh]
                rows = [self._fit(*ids) for ids in self.pair_ids(pairs)]
            found |= dict(zip(fresh, self._score(rows), strict=True))
            self._window |= {name: found[name] for name in fresh}
            while len(self._window) > REMEMBERED:
                self._window.popitem(last=False)
        blocks = [found[name] for name in names]
        return np.concatenate(blocks or [np.empty(0)]), offsets_of([len(b) for b in blocks])

    def odds(self, texts: Sequence[str], bos: bool = True) -> tuple[FloatArray, IntArray]:
        """How much more probable each token is where it stands than by itself, within ODDS."""
        raise UsageError(
            f"The language model {self.name} does not know how frequent its tokens are: "
            "lm_form=odds is for lm=ngrams."
        )

    def _fit(self, prefix: list[int], text: list[int]) -> tuple[list[int], int]:
        """Tokens of a pair and the length of its prefix, whose source is cut if it must be."""
        room = max(self.max_length - len(text), self.max_length // 2)
        if len(prefix) > room:
            prefix = [*prefix[: room - 1], prefix[-1]]
        return [*prefix, *text], len(prefix)

    def _score(self, rows: list[tuple[list[int], int]]) -> list[FloatArray]:
        """Log-probabilities of (tokens, number of leading ones that are not scored)."""
        windows = [
            (text, start, part)
            for text, (ids, prefix) in enumerate(rows)
            for start, part in split_windows(ids, self.max_length, prefix)
        ]
        scored: list[list[FloatArray]] = [[] for _ in rows]
        results: list[FloatArray] = [np.empty(0)] * len(windows)
        lengths = [len(part) for _, _, part in windows]
        for batch, values in run_batches(
            self, lengths, lambda batch: self._run([windows[i][2] for i in batch])
        ):
            for i, row in zip(batch, values, strict=True):
                results[i] = row
        for (text, start, _), row in zip(windows, results, strict=True):
            scored[text].append(row[start:])
        return [np.concatenate(parts) if parts else np.empty(0) for parts in scored]

    def _run(self, parts: list[list[int]]) -> list[FloatArray]:
        lengths = np.array([len(p) for p in parts])
        ids = np.zeros((len(parts), lengths.max()), dtype=np.int64)
        for row, part in zip(ids, parts, strict=True):
            row[: len(part)] = part
        values = self.forward(ids, lengths)
        return [row[: n - 1].astype(np.float64) for row, n in zip(values, lengths, strict=True)]


def split_windows(ids: list[int], size: int, prefix: int = 0) -> list[tuple[int, list[int]]]:
    """(number of leading scores to skip, tokens) of each window; texts of one token have none.

    The first `prefix` tokens lead every window and are not scored.

    >>> split_windows([0, 1, 2, 3, 4, 5], 4)
    [(0, [0, 1, 2, 3]), (1, [2, 3, 4, 5])]
    """
    if len(ids) < 2:
        return []
    room = size - prefix
    windows, end = [(max(prefix - 1, 0), ids[:size])], size
    while end < len(ids):
        new_end = min(end + max(room // 2, 1), len(ids))
        begin = new_end - room
        windows.append((prefix + end - begin - 1, ids[:prefix] + ids[begin:new_end]))
        end = new_end
    return windows


def mean_scores(
    logprobs: FloatArray, offsets: IntArray, low: float = FLOOR, high: float = 0.0
) -> FloatArray:
    """Mean log-probability per token within bounds; the lowest where no token was scored.

    >>> mean_scores(np.array([-1.0, -3.0, -2.0]), np.array([0, 2, 3, 3]))
    array([ -2.,  -2., -20.])
    """
    lengths = np.diff(offsets)
    text = np.repeat(np.arange(len(lengths)), lengths)
    sums = np.bincount(text, logprobs, minlength=len(lengths))
    means = np.clip(sums / np.maximum(lengths, 1), low, high)
    return np.where(lengths > 0, means, low)


class OnnxLanguageModel(FromFolder, LanguageModel):
    def __init__(self, folder: Path, settings: EncoderSettings) -> None:
        self.tokens_per_batch = CPU_TOKENS
        super().__init__(settings)
        card = self.open_folder(folder, "fluency", settings.device)
        self.conditional = "sep" in card.get("special_tokens", {})

    def token_ids(self, texts: Sequence[str], bos: bool) -> list[list[int]]:
        return [e.ids for e in self._encode(list(texts), bos)]

    def pieces(self, text: str) -> Tokens:
        return pack(self._encode([text], special=False))

    def pair_ids(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
        if not self.conditional:
            return super().pair_ids(pairs)
        found = []
        for encoding in self._encode(list(pairs), True):
            text = encoding.type_ids.index(1) if 1 in encoding.type_ids else len(encoding.ids)
            found.append((encoding.ids[:text], encoding.ids[text:]))
        return found

    def _encode(self, texts: list[Any], special: bool) -> list[Any]:
        tokenizer = self.model.tokenizer
        tokenizer.no_truncation()  # long texts are scored in windows
        return list(tokenizer.encode_batch(texts, add_special_tokens=special))

    def forward(self, ids: IntArray, lengths: IntArray) -> NDArray[np.float32]:
        return self.model.run_outputs(("logprobs",), input_ids=ids)[0]


class HubLanguageModel(FromHub, LanguageModel):
    """Any causal language model that transformers can load."""

    def __init__(self, spec: str, settings: EncoderSettings) -> None:
        super().__init__(settings)
        self.open_hub(spec, settings)
        self.model = hub.load_model(spec, self.config, self.place, causal=True)
        self.fingerprint = hub.fingerprint(spec)
        if not settings.tokens_per_batch:
            # Logits of a whole vocabulary leave the model, so the budget is smaller than an
            # encoder's.
            self.tokens_per_batch = 8192 if self.place.device.startswith("cuda") else 1024

    def token_ids(self, texts: Sequence[str], bos: bool) -> list[list[int]]:
        if not texts:
            return []  # which transformers cannot do
        rows = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        if not bos:
            return [list(row) for row in rows]
        first = self.tokenizer.bos_token_id
        if first is None:
            first = self.tokenizer.eos_token_id
        if first is None:
            raise ResourceError(
                f"{self.name} has no begin-of-text token: set lm_bos=off to score from token two."
            )
        return [[first, *row] for row in rows]

    def pieces(self, text: str) -> Tokens:
        batch = self.tokenizer([text], add_special_tokens=False)
        if self.tokenizer.is_fast:
            return pack(batch.encodings)
        ids = np.array(batch["input_ids"][0], dtype=np.int64)
        first = np.array([self.vocabulary[i].startswith(("▁", "Ġ")) for i in ids], dtype=bool)
        nothing = np.zeros(len(ids), dtype=bool)
        spans = np.zeros((len(ids), 2), dtype=np.int64)
        return Tokens(offsets_of([len(ids)]), ids, spans, first, nothing, nothing[:1])

    def forward(self, ids: IntArray, lengths: IntArray) -> NDArray[np.float32]:
        import torch

        tokens = torch.from_numpy(ids).to(self.place.device)
        inside = torch.arange(ids.shape[1]) < torch.from_numpy(lengths)[:, None]
        with torch.inference_mode():
            output: Any = self.model(
                input_ids=tokens, attention_mask=inside.long().to(self.place.device)
            )
            logits = output.logits[:, :-1].float()
            chosen = logits.gather(2, tokens[:, 1:, None])[..., 0]
            values = chosen - logits.logsumexp(dim=2)
        result: NDArray[np.float32] = values.cpu().numpy()
        return result
