"""Examples of documents, corpora that are streamed, candidates and stored runs, for `fuzz.py`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from fuzz.formats import HYPOTHESES, QUIET, REFERENCES, SOURCES, Format, run
from office_files import sheet

PAIRS = list(zip(SOURCES, HYPOTHESES, strict=True))


def _lines(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def _score(folder: Path, name: str, data: str | bytes) -> list[str]:
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    reference = _lines(folder / "keep_ref.en", REFERENCES)
    return ["score", "-t", str(folder / name), "-r", reference, "-m", "chrf", *QUIET]


def _xlsx(folder: Path) -> list[str]:
    return _score(folder, "a.xlsx", sheet([("source", "sys"), *PAIRS]))


def _xliff(folder: Path) -> list[str]:
    units = "\n".join(
        f'<trans-unit id="{i}"><source>{escape(s)}</source>'
        f"<target>{escape(t)}</target></trans-unit>"
        for i, (s, t) in enumerate(PAIRS)
    )
    head = '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
    return _score(folder, "a.xlf", f"{head}<file><body>\n{units}\n</body></file></xliff>")


def _tmx(folder: Path) -> list[str]:
    units = "\n".join(
        f'<tu><tuv xml:lang="de"><seg>{escape(s)}</seg></tuv>'
        f'<tuv xml:lang="en"><seg>{escape(t)}</seg></tuv></tu>'
        for s, t in PAIRS
    )
    head = '<tmx version="1.4"><header srclang="de"/>'
    return _score(folder, "a.tmx", f"{head}<body>\n{units}\n</body></tmx>")


def _zst(folder: Path) -> list[str]:
    packer = zstandard.ZstdCompressor(write_checksum=True)
    return _score(folder, "a.en.zst", packer.compress(("\n".join(HYPOTHESES) + "\n").encode()))


def _stream(file: Path) -> list[str]:
    keep = ["--keep", "length_ratio < 9", "--add", "duplicate", "--quiet"]
    return ["stream", str(file), "-m", "ter", "--reference-column", "reference", *keep]


def _records(folder: Path) -> list[str]:
    rows = [json.dumps({"source": s, "target": t, "reference": s, "n": [1]}) for s, t in PAIRS]
    _lines(folder / "a.jsonl", rows)
    return _stream(folder / "a.jsonl")


def _parquet(folder: Path) -> list[str]:
    table = pa.table({"source": SOURCES, "target": HYPOTHESES, "reference": SOURCES})
    pq.write_table(table, folder / "a.parquet", write_page_checksum=True)
    return _stream(folder / "a.parquet")


def _candidates(folder: Path) -> list[str]:
    rows = [json.dumps({"source": s, "candidates": [t, t + "!", s]}) for s, t in PAIRS]
    file = _lines(folder / "a.jsonl", rows)
    return ["rerank", "-t", file, "--mbr", "chrf", "--quiet"]


def _nbest(folder: Path) -> list[str]:
    rows = [f"{i} ||| {t} ||| f= 1 ||| -0.5" for i, (s, h) in enumerate(PAIRS) for t in (s, h)]
    return ["rerank", "-t", _lines(folder / "a.nbest", rows), "--mbr", "chrf", "--quiet"]


def _stored(folder: Path) -> list[str]:
    command = _score(folder, "keep_a.en", "\n".join(HYPOTHESES) + "\n")
    assert run([*command, "--texts", "--json", str(folder / "run.json")])[0] == 0
    return ["report", str(folder / "run.json"), "-o", str(folder / "keep_page.html")]


def _check(folder: Path, *more: str) -> list[str]:
    command = _score(folder, "keep_a.en", "\n".join(HYPOTHESES) + "\n")
    return ["check", *(c for c in command[1:] if c not in QUIET), "--no-ci", *more]


def _baseline(folder: Path) -> list[str]:
    command = _score(folder, "keep_a.en", "\n".join(HYPOTHESES) + "\n")
    assert run([*command, "--json", str(folder / "run.json")])[0] == 0
    return _check(folder, "--against", str(folder / "run.json"), "--max-drop", "chrf=1")


def _limits(folder: Path) -> list[str]:
    lines = ["[tool.mtgauge.check]", "fail-below = { chrf = 1 }", 'fail-on = ["empty=2%"]']
    return _check(folder, "--config", _lines(folder / "limits.toml", lines))


FORMATS = (
    Format("XLSX", _xlsx),
    Format("XLIFF", _xliff),
    Format("TMX", _tmx),
    Format("text.zst", _zst, guarded=True),
    Format("records, JSON", _records),
    Format("records, Parquet", _parquet),
    Format("candidates, JSON", _candidates),
    Format("candidates, Moses", _nbest),
    Format("stored run", _stored),
    Format("baseline of check", _baseline),
    Format("limits of check", _limits),
)
