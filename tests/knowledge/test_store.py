from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mtgauge.errors import InputError, ResourceError, UsageError
from mtgauge.knowledge.base.index import IS_ACRONYM, IS_CASED, IS_WEAK
from mtgauge.knowledge.base.store import EMBEDDED, KnowledgeBase, embedded_card
from mtgauge.knowledge.base.writer import KnowledgeWriter
from mtgauge.knowledge.link.linker import KnowledgeLinker
from mtgauge.metric import Task
from mtgauge.registry import load

WANTED = "en cs de fi lv ru tr zh lt et ro gu kk".split()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.sqlite"
    writer = KnowledgeWriter(path)
    writer.source("made up", "CC0-1.0", "1")
    writer.add("x:1", "place", "Springfield", [("en", "Springfield", 0.6), ("en", "SPR", 0.4)])
    writer.add("x:2", "place", "Springfield (big)", [("en", "Springfield", 0.9)])
    writer.add("x:1", "place", "ignored", [("cs", "Jarní Pole", 1.0), ("en", "Springfield", 0.1)])
    writer.add("x:3", "concept", "river", [("en", "river", 0.6)])
    writer.finish()
    return path


def test_rows_with_one_id_are_merged_and_the_best_preference_stays(small: Path) -> None:
    with KnowledgeBase(small) as kb:
        assert kb.counts()["*"] == {"place": 2, "concept": 1}
        assert kb.name("x:1", "cs") == "Jarní Pole"
        assert kb.label("x:1") == "Springfield"
        assert kb.name("x:1", "en") == "Springfield"
        assert kb.languages() == {"en", "cs"}
        assert kb.sources() == [("made up", "CC0-1.0", "1", 5)]


def test_namesakes_stand_in_order_of_preference(small: Path) -> None:
    with KnowledgeBase(small) as kb:
        branch = kb.index("en").branch("springfield")
        assert branch is not None
        assert isinstance(branch.codes, tuple)
        assert [kb.entity(code).id for code in branch.codes] == ["x:2", "x:1"]


def test_names_are_read_by_their_first_word(small: Path) -> None:
    with KnowledgeBase(small) as kb:
        assert kb.index("en").branch("spri") is None
        field = kb.index("cs").branch("jarní")
        assert field is not None
        assert (field.codes, field.reach, field.later) == (None, 2, {"pole"})
        assert list(field.longer) == ["jarní pole"]
        short = kb.index("en").branch("spr")
        assert short is not None
        assert isinstance(short.codes, int)
        assert short.codes & (IS_WEAK | IS_CASED | IS_ACRONYM) == IS_WEAK | IS_CASED | IS_ACRONYM
        river = kb.index("en").branch("river")
        assert river is not None
        assert (river.small, short.small) == (True, False)


def test_a_language_it_lacks_is_refused_with_those_it_has(small: Path) -> None:
    with KnowledgeBase(small) as kb, pytest.raises(UsageError, match=r"no language 'fi'.*cs en"):
        kb.index("fi")


def test_wrong_files(tmp_path: Path, small: Path) -> None:
    with pytest.raises(ResourceError, match="no knowledge base"):
        KnowledgeBase(tmp_path / "absent.sqlite")
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"not a database at all" * 100)
    with pytest.raises(InputError, match="damaged"):
        KnowledgeBase(damaged)
    writer = KnowledgeWriter(small)
    writer.set("schema", "0")
    writer.close()
    with pytest.raises(InputError, match="schema is 0"):
        KnowledgeBase(small)
    with pytest.raises(InputError, match="cannot be added to"):
        KnowledgeWriter(small)


def test_a_writer_needs_a_source(tmp_path: Path) -> None:
    writer = KnowledgeWriter(tmp_path / "new.sqlite")
    with pytest.raises(UsageError, match="source"):
        writer.add("x:1", "place", "A", [("en", "A", 1.0)])


def test_the_embedded_one_keeps_its_promises() -> None:
    card = embedded_card()
    with KnowledgeBase.open() as kb:
        assert set(WANTED) <= kb.languages()
        assert sum(kb.counts()["*"].values()) == card["entities"]
        assert kb.fingerprint() == card["fingerprint"]
        licences = {licence for _, licence, _, _ in kb.sources()}
    assert int(str(card["entities"])) >= 50_000
    assert (EMBEDDED / "kb.sqlite.xz").stat().st_size <= 8_000_000
    assert licences == {"Unicode-3.0", "CC-BY-4.0", "BSD-3-Clause", "MIT"}


def test_unpacking_into_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtgauge.knowledge.base import store

    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    with pytest.raises(ResourceError, match="MTGAUGE_CACHE"):
        store._unpacked()


@pytest.mark.parametrize("change", [lambda b: b[:-50], lambda b: b"junk", lambda b: b[:9] + b])
def test_a_damaged_package_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[bytes], bytes]
) -> None:
    from mtgauge.knowledge.base import store

    packed = (EMBEDDED / "kb.sqlite.xz").read_bytes()
    (tmp_path / "kb.sqlite.xz").write_bytes(change(packed))
    (tmp_path / "card.json").write_bytes((EMBEDDED / "card.json").read_bytes())
    monkeypatch.setattr(store, "EMBEDDED", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ResourceError, match=r"kb\.sqlite\.xz is damaged"):
        store._unpacked()
    assert not list(tmp_path.glob("cache/**/*"))


def test_a_base_that_is_unfinished_or_damaged_is_refused(small: Path) -> None:
    content = small.read_bytes()
    for place in (len(content) // 2, len(content) - 1, 26, 61):
        damaged = bytearray(content)
        damaged[place] ^= 1
        small.write_bytes(damaged)
        with pytest.raises(InputError, match="unfinished, or damaged"):
            KnowledgeBase(small)
    small.write_bytes(content)
    writer = KnowledgeWriter(small)
    writer.source("more", "CC0-1.0", "1")
    writer.add("x:9", "place", "Addition", [("en", "Addition", 1.0)])
    writer.close()
    with pytest.raises(InputError, match="Run the command again"):
        KnowledgeBase(small)


def test_the_embedded_one_is_unpacked_again_if_it_was_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtgauge.knowledge.base import store

    monkeypatch.setenv("MTGAUGE_CACHE", str(tmp_path))
    path = store._unpacked()
    content = path.read_bytes()
    path.write_bytes(content[:70_000] + b"damage" + content[70_006:])
    with KnowledgeBase.open() as kb:
        assert kb.path == path
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_norwegian_names_are_found_under_its_usual_code() -> None:
    """Names are tagged `no`, the code of the program is `nb`, however -l writes it."""
    with KnowledgeBase.open() as kb:
        assert {"nb", "de"} <= kb.languages()
        assert "no" not in kb.languages()
        linked = KnowledgeLinker(kb).link(["Han bor i Tyskland."], "nb")
        assert any(mention.text == "Tyskland" for mention in linked[0])
    for pair in ("en-no", "en-nb", "eng-nob_Latn"):
        load("kobe").resolve(Task(frozenset({"source"}), pair))
