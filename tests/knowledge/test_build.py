from __future__ import annotations

import bz2
import json
from pathlib import Path

import pytest

from mtgauge.cli import main
from mtgauge.errors import InputError
from mtgauge.knowledge.base import build
from mtgauge.knowledge.base.store import KnowledgeBase
from mtgauge.knowledge.base.writer import KnowledgeWriter


def item(number: int, kind: str, links: int = 9, **names: str) -> dict[str, object]:
    return {
        "type": "item",
        "id": f"Q{number}",
        "labels": {lang: {"language": lang, "value": name} for lang, name in names.items()},
        "aliases": {"en": [{"language": "en", "value": f"Alias {number}"}]},
        "claims": {"P31": [{"mainsnak": {"datavalue": {"value": {"id": kind}}}}]},
        "sitelinks": {str(i): {} for i in range(links)},
    }


def dump(path: Path, items: list[dict[str, object]]) -> Path:
    lines = ["[", *(json.dumps(i) + "," for i in items), "]"]
    path.write_bytes(bz2.compress("\n".join(lines).encode()))
    return path


ITEMS = [
    item(1, "Q5", en="Ada Example", cs="Ada Příklad", fi="Ada"),
    item(2, "Q515", en="Exampleton"),
    item(3, "Q515", links=1, en="Nowhere"),
    item(4, "Q999", en="Something"),
]


def test_wikidata(tmp_path: Path) -> None:
    writer = KnowledgeWriter(tmp_path / "kb.sqlite")
    build.from_wikidata(writer, dump(tmp_path / "d.json.bz2", ITEMS), {"en", "cs"})
    writer.finish()
    with KnowledgeBase(tmp_path / "kb.sqlite") as kb:
        assert kb.counts()["*"] == {"person": 1, "place": 1, "concept": 1}
        assert kb.languages() == {"en", "cs"}
        assert kb.name("Q1", "cs") == "Ada Příklad"
        branch = kb.index("en").branch("alias")
        assert branch is not None
        assert "alias 1" in branch.longer


def test_wikidata_classes(tmp_path: Path) -> None:
    writer = KnowledgeWriter(tmp_path / "kb.sqlite")
    path = dump(tmp_path / "d.json.bz2", ITEMS)
    build.from_wikidata(writer, path, {"en"}, classes=frozenset({"Q5"}))
    writer.finish()
    with KnowledgeBase(tmp_path / "kb.sqlite") as kb:
        assert kb.counts()["*"] == {"person": 1}


def test_a_dump_that_ends_in_the_middle_is_kept_and_resumed(tmp_path: Path) -> None:
    many = [item(n, "Q5", en=f"Name {n}") for n in range(1, 3000)]
    path = dump(tmp_path / "d.json.bz2", many)
    whole = path.read_bytes()
    out = tmp_path / "kb.sqlite"
    path.write_bytes(whole[: len(whole) // 2])
    writer = KnowledgeWriter(out)
    with pytest.raises(InputError, match="ends in the middle"):
        build.from_wikidata(writer, path, {"en"})
    done = int(writer.get("lines:d.json.bz2") or 0)
    writer.close()
    assert 0 <= done < 3000
    path.write_bytes(whole)
    writer = KnowledgeWriter(out)
    build.from_wikidata(writer, path, {"en"})
    writer.finish()
    with KnowledgeBase(out) as kb:
        assert kb.counts()["*"] == {"person": 2999}


def test_a_broken_line_says_where(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text('[\n{"type": "item", \n]')
    with pytest.raises(InputError, match=r"d\.json, line 2"):
        build.from_wikidata(KnowledgeWriter(tmp_path / "kb.sqlite"), path, {"en"})


def test_geonames(tmp_path: Path) -> None:
    def place(id: str, name: str, people: int) -> str:
        cells = [id, name, name, "", "0", "0", "P", "PPL", "CZ", *[""] * 5, str(people), *[""] * 4]
        return "\t".join(cells)

    places, names = tmp_path / "cities.txt", tmp_path / "alternateNamesV2.txt"
    places.write_text(place("1", "Bigtown", 500_000) + "\n" + place("2", "Hamlet", 10) + "\n")
    rows = [
        "7\t1\tcs\tVelkoměsto\t1\t\t\t",
        "8\t2\tcs\tVíska\t\t\t\t",
        "9\t1\tde\tGroßstadt\t\t\t\t",
    ]
    names.write_text("\n".join(rows) + "\n", encoding="utf-8")
    out = tmp_path / "kb.sqlite"
    command = ["kb", "build", str(out), "--geonames", str(places)]
    assert main([*command, "--alternate-names", str(names), "--languages", "en,cs"]) == 0
    with KnowledgeBase(out) as kb:
        assert kb.counts()["*"] == {"place": 1}
        assert kb.name("geonames:1", "cs") == "Velkoměsto"
        assert kb.name("geonames:1", "de") is None


def test_wordnets(tmp_path: Path) -> None:
    tab, lmf = tmp_path / "wn-data-fin.tab", tmp_path / "wn.xml"
    tab.write_text(
        "# FinWN\tfin\thttp://example.org\tCC-BY-3.0\n00001740-n\tlemma\tolio\n", encoding="utf-8"
    )
    lmf.write_text(
        '<LexicalResource><Lexicon id="x" label="X" language="cs" license="CC0-1.0" version="1">'
        '<LexicalEntry id="e"><Lemma writtenForm="řeka" partOfSpeech="n"/>'
        '<Sense id="s" synset="x-1-n"/></LexicalEntry><Synset id="x-1-n" ili="i35545"/>'
        "</Lexicon></LexicalResource>",
        encoding="utf-8",
    )
    out = tmp_path / "kb.sqlite"
    assert main(["kb", "build", str(out), "--omw", str(tab), "--wn-lmf", str(lmf)]) == 0
    with KnowledgeBase(out) as kb:
        assert kb.name("wn30:00001740-n", "fi") == "olio"
        assert kb.name("ili:i35545", "cs") == "řeka"
        assert {source[:2] for source in kb.sources()} == {
            ("FinWN (OMW)", "CC-BY-3.0"),
            ("X", "CC0-1.0"),
        }


def test_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "own.csv", str(tmp_path / "kb.sqlite")
    file.write_text(
        "id,category,lang,name\np:1,product,en,Gaugeomat\np:1,product,cs,Měřomat\n",
        encoding="utf-8",
    )
    assert main(["kb", "build", out, "--csv", str(file), "--languages", "en,cs"]) == 0
    assert main(["kb", "link", "Koupil Měřomat 3000.", "-l", "cs", "--kb", out]) == 0
    printed = capsys.readouterr().out
    assert "Měřomat\tp:1\tproduct\tGaugeomat\tyes" in printed
    assert main(["kb", "info", out]) == 0
    assert "own.csv" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,name\n1,a\n", "no column category, lang"),
        ("id,category,lang,name\n,x,en,a\n", "line 2: an empty cell"),
    ],
)
def test_wrong_csv(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "own.csv"
    file.write_text(content)
    with pytest.raises(InputError, match=message):
        build.from_csv(KnowledgeWriter(tmp_path / "kb.sqlite"), file)


def test_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kb", "build", str(tmp_path / "kb.sqlite")]) == 2
    assert main(["kb", "link", "Hallo", "-l", "mi"]) == 2
    assert "It has:" in capsys.readouterr().err
