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
    writer.close()
    path.write_bytes(whole)
    writer = KnowledgeWriter(out)
    build.from_wikidata(writer, path, {"en"})
    writer.finish()
    with KnowledgeBase(out) as kb:
        assert kb.counts()["*"] == {"person": 2999}


def names_in(path: Path) -> int:
    with KnowledgeBase(path) as kb:
        return sum(kb.counts()["*"].values())


def test_another_dump_of_the_same_name_is_read_whole(tmp_path: Path) -> None:
    out, command = tmp_path / "kb.sqlite", ["kb", "build", str(tmp_path / "kb.sqlite")]
    for folder, first in (("a", 0), ("b", 100)):
        (tmp_path / folder).mkdir()
        items = [item(n, "Q5", en=f"Name {n}", cs=f"Jméno {n}") for n in range(first, first + 150)]
        dump(tmp_path / folder / "d.json.bz2", items)
    assert main([*command, "--wikidata", str(tmp_path / "a" / "d.json.bz2")]) == 0
    assert names_in(out) == 150
    assert main([*command, "--wikidata", str(tmp_path / "b" / "d.json.bz2")]) == 0
    assert names_in(out) == 250
    more = [*command, "--wikidata", str(tmp_path / "b" / "d.json.bz2"), "--languages", "en,cs"]
    assert main(more) == 0  # other options: read again
    with KnowledgeBase(out) as kb:
        assert kb.languages() == {"en", "cs"}


def test_a_build_that_breaks_off_goes_on_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "_COMMIT_EVERY", 10)
    path = dump(tmp_path / "d.json.bz2", [item(n, "Q5", en=f"Name {n}") for n in range(100)])
    written: list[str] = []
    add = KnowledgeWriter.add

    def counted(self: KnowledgeWriter, id: str, *rest: object) -> None:
        written.append(id)
        if len(written) == 55:
            raise KeyboardInterrupt
        add(self, id, *rest)  # type: ignore[arg-type]

    command = ["--wikidata", str(path)]
    assert main(["kb", "build", str(tmp_path / "whole.sqlite"), *command]) == 0
    monkeypatch.setattr(KnowledgeWriter, "add", counted)
    assert main(["kb", "build", str(tmp_path / "broken.sqlite"), *command]) == 130
    assert main(["kb", "build", str(tmp_path / "broken.sqlite"), *command]) == 0
    assert written[55] == "Q49"  # after the last lines that were committed
    assert main(["kb", "build", str(tmp_path / "broken.sqlite"), *command]) == 0  # once more
    whole, broken = (tmp_path / f"{name}.sqlite" for name in ("whole", "broken"))
    assert whole.read_bytes() == broken.read_bytes()


@pytest.mark.parametrize("content", [b"", b"CREATE"])
def test_a_build_killed_before_its_first_commit_goes_on(tmp_path: Path, content: bytes) -> None:
    path, out = dump(tmp_path / "d.json.bz2", ITEMS), tmp_path / "kb.sqlite"
    out.write_bytes(content)
    wanted = 3 if content else 0  # a file that is no database is not overwritten
    assert main(["kb", "build", str(out), "--wikidata", str(path)]) == wanted
    assert bool(content) == (out.read_bytes() == content)


@pytest.mark.parametrize(
    "line",
    ["[" * 100_000, "5", "[]", '{"type": "item", "id": {}}', '{"type": "item", "labels": []}',
     '{"type": "item", "sitelinks": {}, "labels": {}, "claims": null}'],
)  # fmt: skip
def test_malformed_items_say_where(tmp_path: Path, line: str) -> None:
    path = tmp_path / "d.json"
    path.write_text(f"[\n{line}\n]")
    writer = KnowledgeWriter(tmp_path / "kb.sqlite")
    with pytest.raises(InputError, match=r"d\.json, line 2"):
        build.from_wikidata(writer, path, {"en"}, min_sitelinks=0)


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
        ("id,category,lang,name\n1,x,en,a\0\n", "line 2.*NUL"),
        ("id,category,lang,name\n1,x,en,a,b\n", "line 2: 5 columns"),
        ("id,category,lang,name\n1,x,English,a\n", "line 2.*English"),
        ("id,category,lang,lang,name\n1,x,en,en,a\n", "two columns"),
        ("id,category,lang,name\n1,x,en," + "a" * 200_000 + "\n", "line 2.*limit"),
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
