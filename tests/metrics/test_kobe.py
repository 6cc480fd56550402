from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from mtgauge.cli import main
from mtgauge.data.segments import Segments
from mtgauge.errors import UsageError
from mtgauge.knowledge.link.mention import Mention
from mtgauge.metrics.kobe import Kobe, entity_count_penalty
from mtgauge.registry import load
from mtgauge.report.explain import render
from mtgauge.signature import sign


class Letters:
    """A linker for the golden cases: every capital letter is an entity."""

    def link(self, texts: Sequence[str], lang: str) -> list[list[Mention]]:
        return [
            [Mention(i, i + 1, c, (c,), "place") for i, c in enumerate(text) if c.isupper()]
            for text in texts
        ]


def golden(source: str, candidate: str, spec: str = "kobe:preset=paper") -> float:
    metric = load(spec)
    assert isinstance(metric, Kobe)
    metric.use(Letters())
    rows = metric.statistics(Segments([candidate], sources=[source], lang="mi-en"))
    return float(metric.system_score(rows.sum(0)[None], np.array([1.0]))[0])


def test_penalty_goldens() -> None:
    pairs = {10: 1, 19: 1, 20: 1, 21: 0.951229, 30: 0.606531, 40: 0.367879}
    found = entity_count_penalty(np.full(6, 10.0), np.array(list(pairs), dtype=float))
    np.testing.assert_allclose(found, list(pairs.values()), atol=5e-7)


def test_score_goldens() -> None:
    assert golden("AAB", "ABBC") == pytest.approx(66.67)
    assert golden("AAB", "AAABBC") == pytest.approx(100)
    assert golden("AAB", "AAABBCC") == pytest.approx(84.648, abs=5e-4)


def test_the_default_is_the_same_unrounded_and_between_0_and_1() -> None:
    assert golden("AAB", "ABBC", "kobe") == pytest.approx(2 / 3)
    assert golden("AAB", "ABBC", "kobe:measure=precision") == pytest.approx(2 / 4)
    assert golden("AAB", "ABBC", "kobe:measure=f1") == pytest.approx(
        2 * (2 / 3) * 0.5 / (2 / 3 + 0.5)
    )


def test_the_corpus_score_is_of_sums() -> None:
    metric = Kobe()
    metric.use(Letters())
    batch = Segments(["A", "", "x"], sources=["AB", "ABCD", "y"], lang="mi-en")
    rows = metric.statistics(batch)
    np.testing.assert_array_equal(rows, [[1, 2, 1], [0, 4, 0], [0, 0, 0]])
    assert metric.system_score(rows.sum(0)[None], np.array([3.0]))[0] == pytest.approx(1 / 6)
    scores = metric.segment_score(rows)
    assert scores[:2].tolist() == [0.5, 0.0]
    assert math.isnan(scores[2])
    assert metric.notes["no_entities"] == 1


def test_weights_by_category() -> None:
    batch = Segments(["In Prague."], sources=["In Prag waren 7 Leute."], lang="de-en")
    rows = load("kobe:weights='place=3;number=1'").statistics(batch)
    np.testing.assert_array_equal(rows, [[3, 4, 3]])
    with pytest.raises(UsageError, match="not category=number"):
        load("kobe:weights=place").statistics(batch)


def test_what_is_kept_lost_and_invented() -> None:
    segment = Segments(
        ["Kowalczyk flew from Berlin to Oslo with 3 friends."],
        sources=["Am 4. Mai flog Kowalczyk mit 3 Freunden von Berlin nach Prag."],
        lang="de-en",
    )
    metric = load("kobe")
    facts = metric.explain(segment).facts
    assert {row["source"] for row in facts["matched"]} == {"Kowalczyk", "3", "Berlin"}
    assert {row["source"] for row in facts["lost"]} == {"4", "Mai", "Prag"}
    assert [row["target"] for row in facts["invented"]] == ["Oslo"]
    (prague,) = [row for row in facts["lost"] if row["source"] == "Prag"]
    assert (prague["name"], prague["category"]) == ("Prague", "place")
    assert json.dumps(metric.explain(segment).to_dict())


def test_entities_have_a_place_and_the_lost_ones_come_first() -> None:
    source, text = "Er flog von Berlin nach Prag.", "He flew from Berlin to Oslo."
    found = load("kobe").explain(Segments([text], sources=[source], lang="de-en"))
    assert [f.what for f in found.findings] == ["lost place", "invented place", "kept place"]
    lost, invented, kept = found.findings
    assert (lost.other, source[slice(*lost.other_at or ())]) == ("Prag", "Prag")
    assert (invented.text, text[slice(*invented.at or ())]) == ("Oslo", "Oslo")
    assert (kept.text, kept.other) == ("Berlin", "Berlin")
    assert text[slice(*found.facts["matched"][0]["target_at"])] == "Berlin"
    assert "1 are kept and 1 lost; the translation invents 1." in found.remarks[0]
    assert "Prag (25-28)" in render(found)
    nothing = load("kobe").explain(Segments(["oh no"], sources=["ach nein"], lang="de-en"))
    assert "nothing to keep" in render(nothing)


def test_categories() -> None:
    batch = Segments(["Berlin has 5."], sources=["Berlin und Prag haben 5."], lang="de-en")
    metric = load("kobe")
    assert isinstance(metric, Kobe)
    assert metric.categories(batch) == {"number": (1, 1), "place": (1, 2)}


def test_a_copy_of_the_source_keeps_no_kind_of_entity() -> None:
    """Figure 3 said that a system which translated nothing keeps all."""
    source = "Berlin und Prag haben heute zusammen 5 neue Brücken über den Fluss gebaut."
    batch = Segments([source], sources=[source], lang="de-en")
    guarded, kept = load("kobe"), load("kobe:untranslated=keep")
    assert isinstance(guarded, Kobe)
    assert isinstance(kept, Kobe)
    assert kept.categories(batch) == {"number": (1, 1), "place": (2, 2)}
    assert guarded.categories(batch) == {"number": (0, 1), "place": (0, 2)}


def test_names_do_not_make_a_translation_foreign() -> None:
    batch = Segments(
        ["On May 4 Anna Schmidt was in Vienna."],
        sources=["Am 4. Mai war Anna Schmidt in Prag."],
        lang="de-en",
    )
    assert load("kobe").statistics(batch)[0, 0] >= 2


def test_text_left_in_the_source_language_keeps_nothing() -> None:
    text = "Die Kanzlerin war gestern mit 20 Freunden in Berlin und danach in Prag."
    batch = Segments([text], sources=[text], lang="de-en")
    assert load("kobe").rows(batch)[0, :2].tolist() == [0, 3]
    assert load("kobe:untranslated=keep").rows(batch)[0, 0] == 3
    assert load("kobe:untranslated=keep,filter_language=on").rows(batch)[0].tolist() == [0, 3, 0]


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("zh-en", "2019年5月，Anna在北京买了3本书。"),
        ("ja-en", "2019年5月にAnnaは東京で3冊の本を買いました。"),
    ],
)
@pytest.mark.parametrize("spec", ["kobe", "kobe:preset=paper,untranslated=keep"])
def test_short_text_without_spaces_left_untranslated_keeps_nothing(
    spec: str, lang: str, text: str
) -> None:
    metric = load(spec)
    batch = Segments([text], sources=[text], lang=lang)
    assert metric.segment_score(metric.rows(batch))[0] == 0
    kept = load(spec.split(":")[0] + ":untranslated=keep,filter_language=off")
    assert kept.segment_score(kept.rows(batch))[0] > 0.5, "there is something to keep"


@pytest.mark.parametrize("measure", ["recall", "precision", "f1"])
def test_a_partial_copy_is_lowered_by_its_share(measure: str) -> None:
    source = "Anna Schmidt fuhr gestern mit ihren Freunden nach Prag und kaufte dort 20 Bücher."
    half = "Anna Schmidt went to Prague mit ihren Freunden nach Prag und kaufte dort 20 Bücher."
    good = "Anna Schmidt went to Prague yesterday with her friends and bought 20 books there."
    batch = Segments([half, good], sources=[source, source], lang="de-en")
    guarded, kept = (
        load(f"kobe:measure={measure}"),
        load(f"kobe:measure={measure},untranslated=keep"),
    )
    (share, nothing) = guarded.untranslated_shares(batch)
    assert 0.4 < share < 0.8
    assert nothing == 0
    rows, plain = guarded.rows(batch), kept.rows(batch)
    before, after = kept.segment_score(plain), guarded.segment_score(rows)
    assert after[0] == pytest.approx((1 - share) * before[0])
    assert after[1] == before[1]
    assert guarded.notes["untranslated"] == 1
    np.testing.assert_array_equal(rows[:, 1:], plain[:, 1:])


def test_switches() -> None:
    batch = Segments(["Quozzberg has 5."], sources=["Die 5 hat nur Quozzberg."], lang="de-en")
    assert load("kobe:names=on").statistics(batch)[0].tolist() == [2, 2, 2]
    assert load("kobe").statistics(batch)[0].tolist() == [1, 1, 1]
    assert load("kobe:numbers=off").statistics(batch)[0].tolist() == [0, 0, 0]
    assert load("kobe:preset=paper").statistics(batch)[0].tolist() == [0, 0, 0]


def test_the_preset_of_the_paper_is_the_paper_and_nothing_else() -> None:
    """No filter of languages, no mercy for names that the target language lacks; signed so."""
    paper = load("kobe:preset=paper")
    copy = "Der Premierminister sprach gestern lange mit Angela Merkel in Berlin über Prag."
    batch = Segments([copy], sources=[copy], lang="de-en")
    rows = paper.rows(batch)[0]
    assert rows[0] == rows[1] == load("kobe:preset=paper").statistics(batch)[0][1] > 0
    assert load("kobe:preset=paper,filter_language=on").rows(batch)[0, 0] == 0
    full = sign(paper).full
    for said in ("preset:paper", "numbers:off", "names:off", "untranslated:keep"):
        assert said in full
    assert "filter_language:off" in full
    assert "names:on" in sign(load("kobe:preset=paper,names=on")).short


def test_a_name_that_the_target_lacks_is_lost_under_the_papers_rules() -> None:
    lost = Mention(0, 9, "Xyz Abcde", ("no:such",), "place")

    class Everything:
        def link(self, texts, lang):
            return [[lost] if lang == "de" else [] for _ in texts]

    batch = Segments(["Nothing here."], sources=["Xyz Abcde"], lang="de-en")
    for spec, counted in (("kobe", 0), ("kobe:preset=paper", 1)):
        metric = load(spec)
        metric._reader.__dict__["_linker"] = Everything()  # type: ignore[attr-defined]
        assert metric.statistics(batch)[0].tolist() == [0, counted, 0]


def test_against_the_reference() -> None:
    batch = Segments(
        ["He is in Prague."], references=[("He is in Prague and Berlin.",)], lang="de-en"
    )
    metric = load("kobe:against=reference")
    assert metric.needs == {"reference"}
    assert metric.statistics(batch)[0].tolist() == [1, 2, 1]


def test_adjectives_keep_a_country() -> None:
    batch = Segments(
        ["The Russian economy grows."], sources=["Ekonomika Ruska roste."], lang="cs-en"
    )
    assert load("kobe").statistics(batch)[0, :2].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("spec", "batch", "message"),
    [
        ("kobe", Segments(["a"], sources=["b"]), "-l cs-en"),
        ("kobe", Segments(["a"], lang="de-en"), "needs the source texts"),
        ("kobe", Segments(["a"], sources=["b"], lang="mi-en"), "no language 'mi'. It has: af"),
        (
            "kobe:against=reference",
            Segments(["a"], sources=["b"], lang="de-en"),
            "needs references",
        ),
    ],
)
def test_wrong_use(spec: str, batch: Segments, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(spec).statistics(batch)


def test_annotations_take_the_linkers_place(tmp_path: Path) -> None:
    rows = {
        "src": ("Париж", [{"id": "/m/05qtj", "begin": 0, "end": 5}]),
        "hyp": ("Paris", [{"id": "/m/05qtj", "begin": 0, "end": 5}]),
    }
    for name, (text, entities) in rows.items():
        data = {"annotated_sentence": [{"sentence": text, "entities": entities}]}
        (tmp_path / name).write_text(json.dumps(data), encoding="utf-8")
    batch = Segments(["Paris"], sources=["Париж"], lang="ru-en")
    assert load(f"kobe:annotations={tmp_path}").statistics(batch)[0].tolist() == [1, 1, 1]


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "src.cs", tmp_path / "sys.en"
    source.write_text("Bydlí v Praze.\nPřišlo 20 lidí.\n", encoding="utf-8")
    output.write_text("She lives in Prague.\nSome people came.\n", encoding="utf-8")
    files = ["-s", str(source), "-t", str(output), "-l", "cs-en", "-m", "kobe"]
    assert main(["score", *files, "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["metrics"]
    assert found["systems"]["sys"]["score"] == pytest.approx(0.5)
    assert main(["explain", *files, "--segment", "2"]) == 0
    assert "20" in capsys.readouterr().out
    assert main(["explain", *files, "--categories"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[1:] == ["number\t1\t0\t0.000", "place\t1\t1\t1.000", "all\t2\t1\t0.500"]
    assert main(["explain", *files, "--categories", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["place"] == {"kept": 1, "entities": 1}
    assert main(["explain", *files[:-1], "chrf", "--categories"]) == 2


def test_a_corpus_without_entities_has_no_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "src.cs", tmp_path / "sys.en"
    source.write_text("Nic tu není.\n", encoding="utf-8")
    output.write_text("There is nothing here.\n", encoding="utf-8")
    assert (
        main(
            [
                "score",
                "-s",
                str(source),
                "-t",
                str(output),
                "-l",
                "cs-en",
                "-m",
                "kobe",
                "--format",
                "json",
            ]
        )
        == 0
    )
    (found,) = json.loads(capsys.readouterr().out)["metrics"]
    assert found["systems"]["sys"]["score"] is None
    assert found["notes"]["no_entities"] == 1
