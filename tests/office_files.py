"""Small XLSX, XLIFF and TMX files for tests."""

from __future__ import annotations

import io
from collections.abc import Iterable

import openpyxl

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


def sheet(rows: Iterable[Iterable[object]]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()
