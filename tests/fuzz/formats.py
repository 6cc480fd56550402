"""One small, sound example of every format that mtgauge reads, and the command that reads it.

A format is *guarded* if it carries a digest or a check sum: then any change of the file has to be
refused, or to change nothing. Others are plain text or files of the user's own: a change gives
another result by right, and only the way in which damage is told is looked at.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mtgauge
from mtgauge.cli import main
from mtgauge.data import judged_files, mtme, readers
from mtgauge.encode.words.store import write_store
from tiny_models import encoder_folders

EXAMPLE = Path(mtgauge.__file__).parent / "data" / "example" / "de-en.tsv"
ROWS = [row for _, row in readers.rows(EXAMPLE)][:12]
SOURCES, REFERENCES, HYPOTHESES = (
    [row[name] for row in ROWS] for name in ("source", "reference", "careful")
)
QUIET = ["--no-ci", "--quiet", "--format", "json"]


@dataclass(frozen=True)
class Format:
    """`make(folder)` writes the example and returns the arguments of the command that reads it;
    files whose name begins with `keep_` are never damaged."""

    name: str
    make: Callable[[Path], list[str]]
    guarded: bool = False
    damaged: str = "*"  # which files


def run(arguments: list[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command, in this process."""
    from mtgauge.encode.load import load_encoder
    from mtgauge.encode.words import converted

    load_encoder.cache_clear()  # what an earlier case loaded must not answer for this one
    converted._store_of.cache_clear()
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", newline=""), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as end:  # argparse
            code = int(end.code or 0)
    out.seek(0)
    return code, out.read(), err.getvalue()


def _write(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def _score(folder: Path, hypothesis: str, *more: str, metric: str = "chrf") -> list[str]:
    reference = _write(folder / "keep_ref.en", REFERENCES)
    return ["score", "-t", hypothesis, "-r", reference, "-m", metric, *more, *QUIET]


def _text(folder: Path) -> list[str]:
    return _score(folder, _write(folder / "a.en", HYPOTHESES))


def _gz(folder: Path) -> list[str]:
    data = ("\n".join(HYPOTHESES) + "\n").encode()
    (folder / "a.en.gz").write_bytes(gzip.compress(data, mtime=0))
    return _score(folder, str(folder / "a.en.gz"))


def _rows(separator: str) -> list[str]:
    quoted = separator == ","
    cells = [("source", "reference", "sys"), *zip(SOURCES, REFERENCES, HYPOTHESES, strict=True)]
    return [
        separator.join(f'"{c}"' if quoted else c.replace("\t", " ") for c in row) for row in cells
    ]


def _table(ending: str, separator: str) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        file = _write(folder / f"data.{ending}", _rows(separator))
        return ["score", "-t", file, "-m", "chrf", *QUIET]

    return make


def _jsonl(folder: Path) -> list[str]:
    rows = zip(SOURCES, REFERENCES, HYPOTHESES, strict=True)
    lines = [json.dumps({"source": s, "references": [r, r + "!"], "sys": h}) for s, r, h in rows]
    return ["score", "-t", _write(folder / "data.jsonl", lines), "-m", "chrf", *QUIET]


def _foreign(folder: Path) -> list[str]:
    scores = {"a": [{"src": "s", "mt": "t", "COMET": i / 7} for i in range(len(ROWS))]}
    (folder / "comet.json").write_text(json.dumps(scores))
    command = _score(folder, _write(folder / "keep_a.en", HYPOTHESES))
    names = {"a": "keep_a"}
    (folder / "comet.json").write_text(json.dumps({names[k]: v for k, v in scores.items()}))
    return [*command, "--scores", str(folder / "comet.json")]


def _judged_rows() -> list[str]:
    rows = zip(SOURCES, REFERENCES, HYPOTHESES, strict=True)
    lines = [f"de-en\ts{i % 2}\t{i}\t{s}\t{r}\t{h}\t{i % 5}" for i, (s, r, h) in enumerate(rows)]
    return ["lp\tsystem\tsid\tsource\treference\thypothesis\thuman", *lines]


def _meta(*arguments: str) -> list[str]:
    return ["meta", *arguments, "-m", "chrf", "--no-cache", "--format", "tsv"]


def _judged(folder: Path) -> list[str]:
    return _meta(_write(folder / "judged.tsv", _judged_rows()))


def _judged_gz(folder: Path) -> list[str]:
    data = ("\n".join(_judged_rows()) + "\n").encode()
    (folder / "judged.tsv.gz").write_bytes(gzip.compress(data, mtime=0))
    return _meta(str(folder / "judged.tsv.gz"))


def _wmt(folder: Path) -> list[str]:
    root = folder / "WMT18"
    for name, text in {
        "DA-syslevel.csv": "LP HUMAN SYSTEM\nde-en 0.2 one.11\nde-en 0.1 two.22\n",
        "DA-seglevel.csv": "LP DATA SYSTEM SID HUMAN\nde-en newstest2018 one.11 1 0.7\n"
        "de-en newstest2018 two.22 2 -0.25\nde-en newstest2018 two.22 1 0.5\n",
        "RR-seglevel.csv": "LP DATA SID BETTER WORSE\nde-en newstest2018 2 one.11 two.22\n",
        "system-outputs/de-en/newstest2018.one.11.de-en": "A dog.\nIt rains.\n",
        "system-outputs/de-en/newstest2018.two.22.de-en": "Dog.\nRain.\n",
        "references/newstest2018-deen-ref.en": "A dog.\nIt is raining.\n",
        "source/newstest2018-deen-src.de": "Ein Hund.\nEs regnet.\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return _meta(str(root))


def _mtme(folder: Path) -> list[str]:
    _write(folder / "keep_judged.tsv", _judged_rows())
    lines = _judged_rows()
    both = [lines[0]] + [
        f"de-en\ts{k}\t{line.split(chr(9), 2)[2]}" for line in lines[1:] for k in (0, 1)
    ]
    _write(folder / "keep_judged.tsv", both)
    mtme.write_folder(folder / "set", judged_files.read(folder / "keep_judged.tsv")[0])
    return _meta(str(folder / "set"))


WORDS = sorted({word.lower().strip(".,") for text in REFERENCES for word in text.split()})[:60]
VALUES = np.random.default_rng(1).normal(size=(len(WORDS), 6)).astype(np.float32)


def _vec(folder: Path) -> list[str]:
    lines = [f"{len(WORDS)} 6"] + [
        f"{w} " + " ".join(f"{x:.3f}" for x in v) for w, v in zip(WORDS, VALUES, strict=True)
    ]
    _write(folder / "v.vec", lines)
    return ["vectors", "convert", str(folder / "v.vec"), "-o", str(folder / "keep_store")]


def _vec_gz(folder: Path) -> list[str]:
    arguments = _vec(folder)
    (folder / "v.vec.gz").write_bytes(gzip.compress((folder / "v.vec").read_bytes(), mtime=0))
    (folder / "v.vec").unlink()
    return [str(folder / "v.vec.gz") if a.endswith("v.vec") else a for a in arguments]


def _vec_binary(folder: Path) -> list[str]:
    pairs = zip(WORDS, VALUES, strict=True)
    body = b"".join(w.encode() + b" " + v.astype("<f4").tobytes() + b"\n" for w, v in pairs)
    (folder / "v.bin").write_bytes(f"{len(WORDS)} 6\n".encode() + body)
    return ["vectors", "convert", str(folder / "v.bin"), "-o", str(folder / "keep_store")]


def _store(folder: Path) -> list[str]:
    write_store(folder / "store", WORDS, VALUES, dtype="int8")
    metric = f"std:vectors={folder / 'store'}"
    return _score(folder, _write(folder / "keep_a.en", HYPOTHESES), "-l", "de-en", metric=metric)


def _encoder(folder: Path) -> list[str]:
    shutil.copytree(encoder_folders()[0], folder / "model")
    metric = f"bertr:encoder={folder / 'model'}"
    return _score(folder, _write(folder / "keep_a.en", ["the cat sat"] * 12), metric=metric)


def _hub(folder: Path) -> list[str]:
    shutil.copytree(encoder_folders()[1], folder / "model")
    metric = f"bertr:encoder={folder / 'model'}"
    return _score(folder, _write(folder / "keep_a.en", ["the cat sat"] * 12), metric=metric)


ITEM = {
    "type": "item",
    "labels": {"en": {"value": "Lindenstrasse"}, "de": {"value": "Lindenstraße"}},
    "aliases": {"en": [{"value": "Linden Street"}]},
    "claims": {"P31": [{"mainsnak": {"datavalue": {"value": {"id": "Q515"}}}}]},
    "sitelinks": {str(i): {} for i in range(9)},
}


def _wikidata_lines() -> list[str]:
    return ["[", *(json.dumps(ITEM | {"id": f"Q{i}"}) + "," for i in range(8)), "]"]


def _build(folder: Path, *arguments: str) -> list[str]:
    return ["kb", "build", str(folder / "keep_kb.sqlite"), "--languages", "en,de", *arguments]


def _wikidata(folder: Path) -> list[str]:
    return _build(folder, "--wikidata", _write(folder / "d.json", _wikidata_lines()))


def _wikidata_bz2(folder: Path) -> list[str]:
    data = bz2.compress("\n".join(_wikidata_lines()).encode())
    (folder / "d.json.bz2").write_bytes(data)
    return _build(folder, "--wikidata", str(folder / "d.json.bz2"))


def _kb_tables(folder: Path) -> list[str]:
    place = "\t".join(["1", "Bigtown", "", "", "0", "0", "P", "PPL", "CZ", *[""] * 5, "500000",
                       *[""] * 4])  # fmt: skip
    return _build(
        folder,
        *("--geonames", _write(folder / "cities.txt", [place])),
        *("--alternate-names", _write(folder / "names.txt", ["7\t1\tde\tGroßstadt\t1\t\t\t"])),
        *("--omw", _write(folder / "wn.tab", ["# W\teng\tu\tCC0", "0001-n\tlemma\tthing"])),
        *("--csv", _write(folder / "own.csv", ["id,category,lang,name", "p:1,product,en,Gauge"])),
    )


def _lmf(folder: Path) -> list[str]:
    text = (
        '<LexicalResource><Lexicon id="x" label="X" language="en" license="CC0" version="1">'
        '<LexicalEntry id="e"><Lemma writtenForm="river" partOfSpeech="n"/>'
        '<Sense id="s" synset="x-1-n"/></LexicalEntry><Synset id="x-1-n" ili="i35545"/>'
        "</Lexicon></LexicalResource>"
    )
    return _build(folder, "--wn-lmf", _write(folder / "wn.xml", [text]))


def _kobe(folder: Path, option: str) -> list[str]:
    source = _write(folder / "keep_src.de", SOURCES)
    hypothesis = _write(folder / "keep_a.en", HYPOTHESES)
    spec = f"kobe:{option}"
    return ["score", "-s", source, "-t", hypothesis, "-l", "de-en", "-m", spec, *QUIET]


def _kb(folder: Path) -> list[str]:
    rows = [f"{i},place,{lang},{word}" for i, word in enumerate(WORDS) for lang in ("de", "en")]
    csv = _write(folder / "keep_own.csv", ["id,category,lang,name", *rows])
    assert run(["kb", "build", str(folder / "kb.sqlite"), "--csv", csv])[0] == 0
    return _kobe(folder, f"kb={folder / 'kb.sqlite'}")


def _annotations(folder: Path) -> list[str]:
    (folder / "ann").mkdir()
    for name, texts in (("src.json", SOURCES), ("a.json", HYPOTHESES)):
        rows = [{"sentence": t, "entities": [{"id": "x", "begin": 0, "end": 3}]} for t in texts]
        (folder / "ann" / name).write_text(json.dumps({"annotated_sentence": rows}))
    return _kobe(folder, f"annotations={folder / 'ann'}")


def _row_cache(folder: Path) -> list[str]:
    judged = _write(folder / "keep_judged.tsv", _judged_rows())
    arguments = ["meta", judged, "-m", "chrf", "--cache", str(folder / "cache"), "--format", "tsv"]
    assert run(arguments)[0] == 0
    return arguments


def _vector_cache(folder: Path) -> list[str]:
    hypothesis = _write(folder / "keep_a.en", HYPOTHESES)
    metric = f"bertr:encoder={encoder_folders()[0]}"
    arguments = _score(folder, hypothesis, "--cache", str(folder / "cache"), metric=metric)
    assert run(arguments)[0] == 0
    return arguments


FORMATS = (
    Format("text", _text),
    Format("text.gz", _gz, guarded=True),
    Format("tsv", _table("tsv", "\t")),
    Format("csv", _table("csv", ",")),
    Format("jsonl", _jsonl),
    Format("scores of other tools", _foreign),
    Format("judged segments", _judged),
    Format("judged segments, gz", _judged_gz, guarded=True),
    Format("WMT folder", _wmt),
    Format("mt-metrics-eval folder", _mtme),
    Format("word vectors, text", _vec),
    Format("word vectors, gz", _vec_gz, guarded=True),
    Format("word vectors, binary", _vec_binary),
    Format("store of vectors", _store, guarded=True, damaged="store/*.[nt]*"),
    Format("store of vectors, header", _store, damaged="store/header.json"),
    Format("model folder", _encoder, guarded=True, damaged="model/[mt]*"),
    Format("model card", _encoder, damaged="model/card.json"),
    Format("hub folder", _hub),
    Format("Wikidata", _wikidata),
    Format("Wikidata, bz2", _wikidata_bz2, guarded=True),
    Format("GeoNames, OMW, CSV", _kb_tables),
    Format("WN-LMF", _lmf),
    Format("knowledge base", _kb, guarded=True),
    Format("annotations", _annotations),
    Format("cache of rows", _row_cache, guarded=True),
    Format("cache of vectors", _vector_cache, guarded=True),
)
