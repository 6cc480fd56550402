"""The shipped piece pairs: which piece follows which, per language, from free parallel text.

    python recipes/ngrams.py --parallel DIR DIR/more --out ngrams --facts facts.json

A folder holds XX-en.tsv (foreign, English, origin), as `mtgauge train prepare` reads them; only
origins that `select_text.py` knows as free to use are read, each distinct sentence once. Pairs are
smoothed as Kneser and Ney (1995) do, one discount d per order:

    n(v w)   in how many pieces' company v w stands: distinct pieces before it, so that a phrase
             of a hundred menus counts once (pairs that begin a text: how often)
    n(w)     how many distinct pieces stand before w
    p(w)     = max(n(w) - d, 0) / n(.) + d distinct / n(.) / V
    p(w | v) = max(n(v w) - d, 0) / n(v .) + d distinct(v .) / n(v .) p(w)

The `--most` pairs of the largest n(v w) log p(w | v) / p(w) are kept; the backoff b_v is such that
what follows v sums to 1. Text, order and number of pairs were chosen on WMT15, WMT16 and en-de,
en-et, en-tr of WMT18 (docs/models.md). FACTS is what the card says besides: the scores, measured
with these pairs by recipes/trust.py. Seven minutes of a core.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from mtgauge.data.seal import sha256_of
from mtgauge.encode.model_folder import read_tokenizer
from mtgauge.encode.ngrams import MIDDLE, STEP
from mtgauge.models import shipped
from word_vectors import sentences

TOKENIZER = shipped("encoder") / "tokenizer.json"
ENGLISH = 1_200_000  # sentences, drawn at random
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
TEXT = (
    "parallel text that is free to use, each distinct sentence once, lower-cased: tatoeba and "
    "tatoeba-ccby (CC BY 2.0 FR), europarl (reuse authorised if the source is named: European "
    "Parliament), bible (public domain, CC0-1.0, CC BY-SA 4.0), firefox-l10n, lo-help, lo-ui, "
    "mozilla-www (MPL-2.0), gnome-user-docs, godot-docs (CC BY 3.0), python-docs (CC0-1.0), kaznu "
    "(CC BY-SA), ms-d365, ms-misc, k8s, opensource-guide (CC BY 4.0), ethereum (MIT), monero "
    "(BSD-3-Clause), cataclysm-dda (CC BY-SA 3.0), ud-pud (CC BY-SA 3.0 or 4.0), xquad (CC BY-SA "
    "4.0), tico19 (CC0-1.0)"
)


def discount(counts: Ints) -> float:
    """Of Ney, Essen and Kneser: n1 / (n1 + 2 n2)."""
    once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
    return once / (once + 2 * twice) if once else 0.5


def count(rows: Sequence[Sequence[int]], size: int) -> dict[str, NDArray[Any]]:
    """Pairs v w with n(v w), n(w), and how often each piece stands in the text."""
    flat = np.fromiter((piece for row in rows for piece in row), np.int64)
    place = np.concatenate([np.arange(len(row)) for row in rows])
    pairs, triples = flat[:-1] * size + flat[1:], np.roll(flat, 1)[:-1]
    within, third = place[1:] > 0, place[1:] > 1
    company = np.unique(triples[third] * size**2 + pairs[third]) % size**2
    known, n = np.unique(np.concatenate([company, pairs[within & ~third]]), return_counts=True)
    return {
        "pairs": known,
        "n": n,
        "n_alone": np.bincount(known % size, minlength=size),
        "frequency": np.bincount(flat[place > 0], minlength=size) + 0.5,
    }


def fit(rows: Sequence[Sequence[int]], size: int, most: int) -> dict[str, NDArray[Any]]:
    """The arrays of a language's file (encode/ngrams.py)."""
    found = count(rows, size)
    pairs, n, n_alone = found["pairs"], found["n"], found["n_alone"]
    d = discount(n_alone)
    seen = np.count_nonzero(n_alone)
    p = np.maximum(n_alone - d, 0) / n_alone.sum() + d * seen / n_alone.sum() / size
    d, before, after = discount(n), pairs // size, pairs % size
    total = np.maximum(np.bincount(before, n, minlength=size), 1)
    distinct = np.bincount(before, minlength=size)
    p_pair = np.maximum(n - d, 0) / total[before] + (d * distinct / total)[before] * p[after]
    gain = np.log(p_pair / p[after])
    kept = np.sort(np.argsort(-n * gain, kind="stable")[:most])
    before, after, gain, p_pair = before[kept], after[kept], gain[kept], p_pair[kept]
    left = 1 - np.bincount(before, p_pair, minlength=size)
    backoff = np.log(left / (1 - np.bincount(before, p[after], minlength=size)))
    return {
        "counts": np.bincount(before, minlength=size).astype(np.uint16),
        "followers": after.astype(np.uint16),
        "gains": rounded(gain, MIDDLE),
        "backoff": rounded(-backoff),
        "rarity": rounded(-np.log(p)),
        "alone": rounded(-np.log(found["frequency"] / found["frequency"].sum())),
    }


def rounded(values: Floats, middle: int = 0) -> NDArray[np.uint8]:
    steps: NDArray[np.uint8] = np.clip(np.rint(values / STEP) + middle, 0, 255).astype(np.uint8)
    return steps


def texts_of(lang: str, folders: Iterable[Path]) -> list[str]:
    """Free sentences of a language; of English, which all files have, a draw."""
    pattern = "??-en.tsv*" if lang == "en" else f"{lang}-en.tsv*"
    files = [file for folder in folders for file in sorted(folder.glob(pattern))]
    found = list(sentences(files, lang, free=True))
    return random.Random(1).sample(found, min(ENGLISH, len(found))) if lang == "en" else found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parallel", type=Path, nargs="+", required=True)
    parser.add_argument("--languages", nargs="+", help="default: all of the files, and English")
    parser.add_argument("--most", type=int, default=160_000, help="pairs per language")
    parser.add_argument("--facts", type=Path, help="a JSON object that the card takes over")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    facts = json.loads(args.facts.read_text("utf-8")) if args.facts else {}
    names = {file.name[:2] for folder in args.parallel for file in folder.glob("??-en.tsv*")}
    tokenizer = read_tokenizer(TOKENIZER)
    tokenizer.no_truncation()
    args.out.mkdir(parents=True, exist_ok=True)
    digests, kept = {}, {}
    for lang in sorted(args.languages or names | {"en"}):
        texts = texts_of(lang, args.parallel)
        rows = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
        arrays = fit(rows, tokenizer.get_vocab_size(), args.most)
        file = args.out / f"{lang}.safetensors"
        save_file(arrays, file)
        digests[lang] = sha256_of(file)
        kept[lang] = {"sentences": len(texts), "pairs": len(arrays["gains"])}
        print(lang, kept[lang], flush=True)
    card = {
        "kind": "ngrams",
        "name": "mtgauge-ngrams",
        "licence": "Apache-2.0",
        "made_by": "python recipes/ngrams.py --parallel DIR DIR/more --out DIR --facts facts.json",
        "objective": "pairs of pieces, smoothed as Kneser and Ney do, in steps of 0.1 nats",
        "text": TEXT,
        "held_out": "sentences of newstest2015 to 2019 were removed from the text",
        "tokenizer_sha256": sha256_of(TOKENIZER),
        "fingerprint": hashlib.sha256("".join(digests.values()).encode()).hexdigest()[:16],
        "languages": digests,
        "kept": kept,
        **facts,
    }
    (args.out / "card.json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
