"""A tiny corpus, made of invented sentences, and a teacher with random weights."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

WHO = {"the dog": "der hund", "a child": "ein kind", "my sister": "meine schwester",
       "the doctor": "der arzt", "our friend": "unser freund",
       "the old king": "der alte koenig"}  # fmt: skip
DOES = {"sees": "sieht", "buys": "kauft", "loves": "liebt", "paints": "malt", "finds": "findet"}
WHAT = {"the house": "das haus", "two apples": "zwei aepfel", "a book": "ein buch",
        "the red car": "das rote auto", "a green tree": "einen gruenen baum"}  # fmt: skip
WHEN = {"today": "heute", "every day": "jeden tag", "in may": "im mai", "at night": "nachts"}


def invented_pairs() -> list[tuple[str, str]]:
    pairs = []
    for parts in itertools.product(*(d.items() for d in (WHO, DOES, WHAT, WHEN))):
        english = " ".join(p[0] for p in parts).capitalize() + "."
        german = " ".join(p[1] for p in parts).capitalize() + "."
        pairs.append((german, english))
    random.Random(3).shuffle(pairs)
    return pairs


@pytest.fixture(scope="session")
def invented() -> list[tuple[str, str]]:
    return invented_pairs()


def tiny_teacher(path: Path, vocabulary: int, dim: int = 24, layers: int = 2) -> Path:
    """Random weights under MPNet's names; 12 heads of 2."""
    from mtgauge.train.nets.weights import quantise_rows

    rng = np.random.default_rng(0)
    sizes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (vocabulary, dim),
        "embeddings.position_embeddings.weight": (300, dim),
        "encoder.relative_attention_bias.weight": (32, 12),
    }
    for name in ("embeddings.LayerNorm", *(
        f"encoder.layer.{i}.{n}.LayerNorm" for i in range(layers) for n in ("attention", "output")
    )):  # fmt: skip
        sizes |= {name + ".weight": (dim,), name + ".bias": (dim,)}
    for i in range(layers):
        for name, (a, b) in {
            **{f"attention.attn.{x}": (dim, dim) for x in "qkvo"},
            "intermediate.dense": (2 * dim, dim),
            "output.dense": (dim, 2 * dim),
        }.items():
            sizes |= {f"encoder.layer.{i}.{name}.weight": (a, b),
                      f"encoder.layer.{i}.{name}.bias": (a,)}  # fmt: skip
    weights = {}
    for name, size in sizes.items():
        value = rng.normal(0, 0.3, size).astype(np.float32)
        weights[name] = np.ones(size, np.float32) if "Norm.weight" in name else value
    np.savez(path, allow_pickle=False, **quantise_rows(weights))
    return path


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared corpus with its teacher: folder / {tokenizer.json, de.npz, ..., teacher.npz}."""
    pytest.importorskip("torch")
    from tokenizers import Tokenizer

    from mtgauge.train.embedded.build import build

    root = tmp_path_factory.mktemp("corpus")
    parallel = root / "parallel"
    parallel.mkdir()
    lines = [f"{german}\t{english}\ttatoeba\n" for german, english in invented_pairs()]
    (parallel / "de-en.tsv").write_text("".join(lines), encoding="utf-8")
    out = root / "out"
    from mtgauge.train.embedded.corpus import train_tokenizer
    from mtgauge.train.settings import CorpusPreparation

    made = train_tokenizer((x for pair in invented_pairs() for x in pair), 400)
    made.save(str(root / "tokenizer.json"))
    own = root / "tokenizer.json"
    build(CorpusPreparation(parallel, out, tokenizer=own, teacher_tokenizer=own, workers=1))
    size = Tokenizer.from_file(str(out / "tokenizer.json")).get_vocab_size()
    tiny_teacher(out / "teacher.npz", size)
    return out


@pytest.fixture(scope="session")
def deep_teacher(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher of as many layers as the commands ask of one."""
    from mtgauge.train.embedded.prepare import load_tokenizer
    from mtgauge.train.settings import TEACHER_LAYER

    size = load_tokenizer(tiny_corpus).get_vocab_size()
    return tiny_teacher(tmp_path_factory.mktemp("deep") / "t.npz", size, layers=TEACHER_LAYER)
