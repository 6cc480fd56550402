"""Spreadsheets, XLIFF and TMX: the same rows as a table, and nothing dangerous."""

from __future__ import annotations

import io
import zipfile

import pytest

from mtgauge.data import documents, readers
from mtgauge.data.corpus import Corpus
from mtgauge.errors import InputError
from office_files import TMX, XLIFF_1, XLIFF_2, sheet


def read(data, kind):
    raw = data.encode() if isinstance(data, str) else data
    return list(documents.rows(io.BytesIO(raw), "job", kind))


def test_a_sheet_is_a_table():
    data = sheet([["source", "mt", None], ["Eins.\nZwei.", "One. Two.", None], ["3", 3, None]])
    assert read(data, "xlsx") == [
        (2, {"source": "Eins. Zwei.", "mt": "One. Two."}),
        (3, {"source": "3", "mt": "3"}),
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[None], ["a"]], "first row of the first sheet is empty"),
        ([["a", "a"], ["x", "y"]], "line 1: two columns are called 'a'"),
        ([["a"], ["x", "y"]], "line 2: column 2 has a text but no name"),
        ([["a", None, "b"], ["x", "y", "z"]], "line 2: column 2 has a text but no name"),
        ([["a"], ["x"], [None], ["y"]], "line 4: this row follows an empty one"),
    ],
)
def test_a_sheet_that_may_be_read_in_two_ways_is_refused(rows, message):
    with pytest.raises(InputError, match=message):
        read(sheet(rows), "xlsx")


def test_a_damaged_or_exploding_sheet_is_refused(monkeypatch):
    with pytest.raises(InputError, match="not a readable XLSX file"):
        read(b"no archive", "xlsx")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("x", bytes(1 << 20))
    monkeypatch.setattr(documents, "LARGEST", 1 << 19)
    with pytest.raises(InputError, match="unpacks to 1 MB"):
        read(archive.getvalue(), "xlsx")


def test_xliff_keeps_text_and_drops_codes():
    assert read(XLIFF_1, "xliff") == [
        (1, {"source": "Ein roter Ball.", "target": "A red ball."}),
        (3, {"source": "Zwei & drei.", "target": ""}),
    ]
    assert [row for _, row in read(XLIFF_2, "xliff")] == [
        {"source": "Ein Ball.", "target": "A ball."},
        {"source": "Zwei.", "target": "Two."},
    ]


def test_tmx_knows_its_source_language():
    assert [row for _, row in read(TMX, "tmx")] == [
        {"source": "Ein Ball.", "target": "A ball."},
        {"source": "Zwei.", "target": ""},
    ]
    assert list(read(TMX.replace("de-DE", "*all*"), "tmx")[0][1]) == ["en", "de"]


@pytest.mark.parametrize("kind", ["xliff", "tmx"])
def test_hostile_and_broken_xml_is_refused(kind):
    bomb = f'<!DOCTYPE {kind} [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><{kind}>&b;</{kind}>'
    with pytest.raises(InputError, match="declares entities"):
        read(bomb, kind)
    with pytest.raises(InputError, match="not valid XML"):
        read(f"<{kind}><tu>", kind)
    with pytest.raises(InputError, match="the root is 'html'"):
        read("<html></html>", kind)


def test_every_command_reads_them(tmp_path):
    (tmp_path / "job.xlf").write_text(XLIFF_2, encoding="utf-8")
    (tmp_path / "memory.tmx").write_text(TMX, encoding="utf-8")
    (tmp_path / "job.xlsx").write_bytes(
        sheet([["source", "reference", "a", "b"], *[list("wxyz")] * 2])
    )
    with Corpus.from_arguments(
        [str(tmp_path / "job.xlf")], None, [str(tmp_path / "memory.tmx")]
    ) as corpus:
        (chunk,) = corpus.chunks(10)
    assert chunk.systems == {"job": ["A ball.", "Two."]}
    assert chunk.sources == ["Ein Ball.", "Zwei."]
    assert chunk.references == [("A ball.",), ("",)]
    with Corpus.from_arguments([str(tmp_path / "job.xlsx")], None, []) as corpus:
        assert list(corpus.systems) == ["a", "b"]
        assert corpus.sources is not None
    assert readers.header_of(tmp_path / "job.xlsx") == ["source", "reference", "a", "b"]
