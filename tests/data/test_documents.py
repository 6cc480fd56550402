"""Spreadsheets, XLIFF and TMX: the same rows as a table, and nothing dangerous."""

from __future__ import annotations

import io
import zipfile

import openpyxl
import pytest

from mtgauge.data import documents, readers
from mtgauge.data.corpus import Corpus
from mtgauge.errors import InputError

XLIFF_1 = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body>
<trans-unit id="1"><source>Ein <g id="1">roter</g> Ball<x id="2"/>.</source>
<target>A <g id="1">red</g>
  ball<ph id="3">&lt;br&gt;</ph>.</target><alt-trans><target>no</target></alt-trans></trans-unit>
<trans-unit id="2" translate="no"><source>X</source><target>X</target></trans-unit>
<group><trans-unit id="3"><source>Zwei &amp; drei.</source></trans-unit></group>
</body></file></xliff>"""

XLIFF_2 = """<xliff version="2.1" xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f">
<unit id="u"><originalData><data id="d">&lt;b&gt;</data></originalData>
<segment><source>Ein <pc id="1">Ball</pc>.</source>
<target>A <pc id="1">ball</pc>.</target></segment>
<segment><source>Zwei.</source><target>Two.</target></segment></unit></file></xliff>"""

TMX = """<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="de-DE" datatype="plaintext"/><body>
<tu><tuv xml:lang="en"><seg>A <bpt i="1">&lt;b&gt;</bpt><hi>ball</hi>.</seg></tuv>
<tuv xml:lang="de"><seg>Ein Ball.</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>Zwei.</seg></tuv></tu></body></tmx>"""


def sheet(rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


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
