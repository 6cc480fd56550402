"""How fast XMoverScore is, beside the papers' per-pair procedure: one run, one encoder, ratios.

    python bench/contextual.py                          # 6 x 384, 5 systems x 100 segments
    python bench/contextual.py --size base --segments 1000 --device cuda
    python bench/contextual.py --encoder embedded       # the shipped int8 encoder: shares only

The encoder has random weights (speed does not depend on them) unless `--encoder` names one; texts
are made of random words, as long as news sentences (about 27 tokens). The language model is off on
both sides, and so is the flow dropout of 2021, which rests on PyEMD's rounding. Printed: seconds of
both, their ratio, the largest difference of a score (on a GPU also with bfloat16), and which share
of the processor time is not the encoder's forward pass. On CUDA the share of the bf16 matrix peak
is estimated from the tokens computed (2 x parameters x tokens).
"""

from __future__ import annotations

import argparse
import resource
import string
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge import encode
from mtgauge.data.segments import Segments
from mtgauge.encode.encoder import Encoder
from mtgauge.metrics.xmoverscore import XMoverScore
from reference_xmover import PerPair

SIZES = {"small": (6, 384, 12, 1536), "base": (12, 768, 12, 3072)}
PEAK = {"cuda": 989e12}  # bf16 operations a second, dense: H100 and H200
RNG = np.random.default_rng(0)
WORDS = np.array(
    ["".join(RNG.choice(list(string.ascii_lowercase), RNG.integers(2, 9))) for _ in range(3000)]
)


def texts(n: int, words: NDArray[np.str_]) -> list[str]:
    return [" ".join(RNG.choice(words, max(int(RNG.gamma(6, 4)), 3))) for _ in range(n)]


def known_words(encoder: Encoder) -> NDArray[np.str_]:
    """Words that are one piece of the encoder's, so that texts are as long as those of news."""
    marked = [t[1:] for t in encoder.vocabulary if t[:1] in ("▁", "Ġ") and t[1:].isalpha()]
    return np.array(marked or [t for t in encoder.vocabulary if t.isalpha()])


def random_bert(folder: Path, size: str) -> None:
    """A BERT with random weights whose vocabulary is the bench's words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {t: i for i, t in enumerate(dict.fromkeys([*special, *WORDS.tolist()]))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    layers, width, heads, inner = SIZES[size]
    config = BertConfig(
        vocab_size=30_000,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
    )
    BertModel(config).save_pretrained(folder)
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)


class Watch:
    """Processor seconds (other programs do not disturb them) and tokens of forward passes."""

    def __init__(self, encoder: Encoder) -> None:
        self.seconds, self.tokens = 0.0, 0
        run = encoder.forward

        def timed(ids: Any, *rest: Any) -> Any:
            start = time.process_time()
            result = run(ids, *rest)
            self.seconds += time.process_time() - start
            self.tokens += ids.size
            return result

        encoder.forward = timed  # type: ignore[assignment, method-assign]


def ours(
    folder: str, batch: Segments, layer: int | None, dtype: str, device: str
) -> dict[str, Any]:
    """Scores, seconds, the forward pass's share, by a fresh encoder."""
    encode.configure(dtype=dtype, device=device, memory_gb=0.0)
    encoder = encode.load_encoder(folder)
    layer = encoder.default_layer["source"] if layer is None else layer
    metric = XMoverScore(preset="repo2021", encoder=folder, layer=layer, lm="off", dropout=0.0)
    metric.statistics(batch.take([0]))  # models and compiled loops are loaded
    watch = Watch(encoder)
    start, used = time.perf_counter(), time.process_time()
    scores = metric.statistics(batch)[:, 0]
    seconds, used = time.perf_counter() - start, time.process_time() - used
    return {
        "scores": scores,
        "seconds": seconds,
        "rest": 1 - watch.seconds / used,
        "tokens": watch.tokens,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--encoder", help="measure this one instead, without the peer")
    parser.add_argument("--systems", type=int, default=5)
    parser.add_argument("--segments", type=int, default=100)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    words = known_words(encode.load_encoder(args.encoder)) if args.encoder else WORDS
    source, hypotheses = texts(args.segments, words), texts(args.segments * args.systems, words)
    batch = Segments(hypotheses, source * args.systems)
    if args.encoder:
        report("mtgauge", ours(args.encoder, batch, None, "auto", args.device), len(batch))
        return
    with tempfile.TemporaryDirectory() as name:
        random_bert(Path(name), args.size)
        layers = SIZES[args.size][0]
        layer = layers * 2 // 3  # as 8 of 12
        peer = PerPair(name, layer)
        peer.score(batch.sources[:2], batch.hypotheses[:2])  # type: ignore[index]
        start = time.perf_counter()
        want = np.concatenate(  # the authors score one system after the other
            [
                peer.score(source, hypotheses[i * args.segments : (i + 1) * args.segments])
                for i in range(args.systems)
            ]
        )
        theirs = time.perf_counter() - start
        print(f"{args.size} encoder, {args.systems} systems x {args.segments} segments")
        print(f"{'per-pair procedure':24s} {theirs:8.2f} s {len(batch) / theirs:9.1f} segments/s")
        for dtype in ("float32", "bfloat16") if args.device in PEAK else ("float32",):
            found = ours(name, batch, layer, dtype, args.device)
            report(f"mtgauge {dtype}", found, len(batch))
            print(
                f"{'':24s} {theirs / found['seconds']:8.2f} times as fast, largest difference of "
                f"a score {np.abs(found['scores'] - want).max():.1e}"
            )
            if args.device in PEAK:
                parameters = 12 * layer * SIZES[args.size][1] ** 2
                done = 2 * parameters * found["tokens"] / found["seconds"]
                print(f"{'':24s} {done / PEAK[args.device]:8.1%} of the bf16 matrix peak")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of the process {peak:.2f} GB")


def report(name: str, found: dict[str, Any], n: int) -> None:
    print(
        f"{name:24s} {found['seconds']:8.2f} s {n / found['seconds']:9.1f} segments/s, "
        f"{found['rest']:.1%} of the processor time is not the forward pass"
    )


if __name__ == "__main__":
    main()
