from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtgauge.errors import InputError, ResourceError
from mtgauge.knowledge.link.annotations import AnnotationFolder, read, write
from mtgauge.knowledge.link.mention import Mention

TEXT = "Rain over London."


def row(**entity: object) -> dict[str, object]:
    return {"annotated_sentence": [{"sentence": TEXT, "entities": [entity]}]}


def test_round_trip(tmp_path: Path) -> None:
    mentions = [
        Mention(10, 16, "London", ("/m/04jpl",), "place"),
        Mention(0, 4, "Rain", ("r",), "x", True),
    ]
    write(tmp_path / "a.json", [TEXT], [mentions])
    assert read(tmp_path / "a.json") == [(TEXT, mentions[:1])]


def test_the_papers_layout_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(row(id="/m/04jpl", begin=10, end=16)))
    linker = AnnotationFolder.read(tmp_path).linker("hypothesis")
    assert linker.link([TEXT, ""], "en") == [
        [Mention(10, 16, "London", ("/m/04jpl",), "entity")],
        [],
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "annotated_sentence"),
        (json.dumps({"annotated_sentence": [{"sentence": TEXT}]}), 'sentence 1: field "entities"'),
        (json.dumps(row(id=3, begin=0, end=2)), 'entity 1: field "id"'),
        (json.dumps(row(id="x", begin=10, end=99)), "10 to 99 is not inside"),
        (json.dumps(row(id="x", begin=0, end=4, text="Snow")), "offsets give 'Rain'"),
    ],
)
def test_malformed_annotations_say_where(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read(file)
    assert str(caught.value).startswith(str(file))


def test_a_text_without_annotation_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [TEXT], [[]])
    with pytest.raises(InputError, match="has no annotation"):
        AnnotationFolder.read(tmp_path / "a.json").linker("source").link(["Other."], "en")
    with pytest.raises(ResourceError, match="no annotations"):
        AnnotationFolder.read(tmp_path / "absent")


def test_sides_do_not_disturb_each_other(tmp_path: Path) -> None:
    """An output that copies its source, annotated in another way."""
    london = [Mention(10, 16, "London", ("/m/04jpl",), "entity")]
    write(tmp_path / "newstest-src.de-en", [TEXT], [london])
    write(tmp_path / "online-A.de-en", [TEXT], [[]])
    folder = AnnotationFolder.read(tmp_path)
    assert folder.linker("source").link([TEXT], "de") == [london]
    assert folder.linker("hypothesis").link([TEXT], "en") == [[]]
    with pytest.raises(InputError, match="this reference has no annotation"):
        folder.linker("reference").link([TEXT], "en")


def test_two_systems_that_disagree_are_refused_when_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "src.json", ["Regen."], [[]])
    write(tmp_path / "a.json", [TEXT, "Rain."], [[], []])
    write(tmp_path / "b.json", [TEXT, "Rain."], [[Mention(0, 4, "Rain", ("r",), "x")], []])
    linker = AnnotationFolder.read(tmp_path).linker("hypothesis")
    assert linker.link(["Rain."], "en") == [[]]
    with pytest.raises(
        InputError, match=r"a\.json and .*b\.json annotate one sentence in two ways"
    ):
        linker.link([TEXT], "en")


@pytest.mark.shared
def test_the_sample_of_the_data_pack(shared: Path) -> None:
    rows = read(shared / "kobe" / "format_sample.json")
    assert [len(mentions) for _, mentions in rows] == [2, 1, 0]
