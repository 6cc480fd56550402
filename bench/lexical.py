"""bleu, chrf and ter beside sacrebleu's own API: the same numbers, seconds of both, their ratio.

    python bench/lexical.py [--segments 3000] [--systems 10] [--data TESTSET.tsv] [--only bleu]

sacrebleu is used as fast as its API goes: references given once, then one `corpus_score` a
system. Ours starts from the same lists of texts and ends at the same system scores. Seconds are
processor time of the process, ratio is ours / sacrebleu. Texts are synthetic (words changed and
blocks moved) unless --data names a test set, a TSV `sid source reference SYSTEM ...` (.gz too).
"""

from __future__ import annotations

import argparse
import gzip
import random
import time
from collections.abc import Callable

import numpy as np
from sacrebleu.metrics import BLEU, CHRF, TER

from mtgauge import registry
from mtgauge.data.segments import Segments
from mtgauge.metric import FloatArray

Systems = dict[str, list[str]]
PEERS: dict[str, Callable[[list[list[str]]], BLEU | CHRF | TER]] = {
    "bleu": lambda refs: BLEU(references=refs),
    "chrf": lambda refs: CHRF(references=refs),
    "chrf:word_order=2": lambda refs: CHRF(word_order=2, references=refs),
    "ter": lambda refs: TER(references=refs),
}


def synthetic(segments: int, systems: int) -> tuple[list[str], Systems]:
    rng = random.Random(0)
    vocabulary = ["".join(rng.choices("etaoinshrdlu", k=1 + k % 11)) for k in range(8000)]
    weights = [1 / (k + 1) for k in range(8000)]
    references = [rng.choices(vocabulary, weights, k=rng.randint(6, 45)) for _ in range(segments)]

    def translate(words: list[str], wrong: float) -> str:
        words = [rng.choice(vocabulary) if rng.random() < wrong else word for word in words]
        start = rng.randrange(len(words))
        block = words[start : start + 4]
        del words[start : start + 4]
        place = rng.randint(0, len(words))
        return " ".join([*words[:place], *block, *words[place:]]).capitalize() + "."

    outputs = {f"s{k}": [translate(r, 0.2 + 0.03 * k) for r in references] for k in range(systems)}
    return [" ".join(r).capitalize() + "." for r in references], outputs


def read(path: str, segments: int, systems: int) -> tuple[list[str], Systems]:
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", newline="\n") as file:
        header, *rows = [line.rstrip("\n").split("\t") for line in file]
    rows = rows[:segments]
    names = header[3 : 3 + systems]
    outputs = {name: [row[3 + k] for row in rows] for k, name in enumerate(names)}
    return [row[2] for row in rows], outputs


def timed(work: Callable[[], FloatArray]) -> tuple[float, FloatArray]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def compare(spec: str, references: list[str], systems: Systems) -> None:
    def ours() -> FloatArray:
        metric = registry.load(spec)
        batch = Segments(
            [text for texts in systems.values() for text in texts],
            references=[(text,) for text in references] * len(systems),
        )
        rows = metric.statistics(batch).reshape(len(systems), len(references), -1)
        return metric.system_score(rows.sum(axis=1), np.full(len(systems), len(references)))

    def theirs() -> FloatArray:
        peer = PEERS[spec]([references])
        return np.array([peer.corpus_score(texts, None).score for texts in systems.values()])

    # sacrebleu's tokenisers remember texts between calls: no advantage to the side that is second
    clear_caches()
    seconds, found = timed(ours)
    clear_caches()
    peer, expected = timed(theirs)
    clear_caches()
    apart = np.abs(found - expected).max()
    print(f"{spec:20}{seconds:9.2f}{peer:11.2f}{seconds / peer:8.3f}{apart:12.1e}", flush=True)


def clear_caches() -> None:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp
    from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

    for kind in (Tokenizer13a, TokenizerRegexp, TercomTokenizer):
        kind.__call__.cache_clear()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=3000)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--data", help="a test set to use instead of synthetic text")
    parser.add_argument("--only", choices=PEERS, help="one metric instead of all")
    args = parser.parse_args()
    if args.data:
        references, systems = read(args.data, args.segments, args.systems)
    else:
        references, systems = synthetic(args.segments, args.systems)
    print(f"{len(systems)} systems x {len(references)} segments, {args.data or 'synthetic text'}")
    print(f"{'metric':20}{'ours s':>9}{'sacrebleu s':>11}{'ratio':>8}{'apart':>12}")
    for spec in [args.only] if args.only else PEERS:
        compare(spec, references, systems)


if __name__ == "__main__":
    main()
