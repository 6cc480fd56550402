"""Readers of judgements: what is in a file arrives, what is wrong is named with its place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from mtgauge.data import judged_files, judgements, mtme, scores
from mtgauge.data.judged_tables import read_system_human
from mtgauge.errors import InputError, UsageError

HEADER = "lp\tsystem\tsid\tsource\treference\thypothesis\thuman\traw"
LINES = [
    "de-en\ta\t1\tEin Hund.\tA dog.\tA dog.\t0.8\t90",
    "de-en\tb\t1\tEin Hund.\tA dog.\tOne hound.\t-0.1\t60",
    "cs-en\ta\t1\tPes.\tA dog.\tDog.\t0.5\t80",
    "de-en\ta\t2\tEs regnet.\tIt rains.\tIt is raining.\t\t",
]


def _file(folder, lines, name="judged.tsv"):
    path = folder / name
    data = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["wmt18.tsv", "wmt18.tsv.gz"])
def test_judged_segments_are_split_by_pair(tmp_path, name):
    found = judged_files.read(_file(tmp_path, [HEADER, *LINES], name))
    assert [j.lp for j in found] == ["de-en", "cs-en"]
    german = found[0]
    assert german.data == "wmt18"
    assert german.dataset == "WMT18"
    assert list(german.systems) == ["a", "b", "a"]
    assert german.human[:2].tolist() == [0.8, -0.1]
    assert np.isnan(german.human[2]), "an empty cell is a missing judgement"
    assert german.raw is not None
    assert german.raw[:2].tolist() == [90.0, 60.0]
    assert german.lines is not None
    assert german.lines.tolist() == [2, 3, 5]
    assert german.segments().references[1] == ("A dog.",)
    assert judged_files.read(tmp_path / name, "cs-en")[0].lp == "cs-en"


def test_column_order_is_free_and_references_may_be_several(tmp_path):
    lines = [
        "human\thypothesis\treference2\treference\tsid\tsystem\tlp",
        "1\tA dog.\tOne dog.\tA dog.\t7\tx\tde-en",
    ]
    found = judged_files.read(_file(tmp_path, lines))[0]
    assert found.references == [("One dog.", "A dog.")]
    assert found.sources is None


def test_one_unnamed_system_without_system_and_sid(tmp_path):
    lines = ["lp\thypothesis\thuman", "de-en\tA dog.\t1", "fi-en\tA cat.\t3", "de-en\tA.\t2"]
    german, finnish = judged_files.read(_file(tmp_path, lines))
    assert list(german.systems) == ["system", "system"]
    assert list(german.sids) == ["1", "2"]
    assert (list(german.human), list(finnish.human)) == ([1.0, 2.0], [3.0])


def test_the_pair_may_come_from_the_caller_or_the_name(tmp_path):
    lines = ["sid\thypothesis\thuman", "7\tA dog.\t1", "8\tA.\t2"]
    path = _file(tmp_path, lines)
    (found,) = judged_files.read(path, "de-en")
    assert (found.lp, list(found.sids), list(found.systems)) == (
        "de-en",
        ["7", "8"],
        ["system"] * 2,
    )
    path.rename(tmp_path / "fi-en.tsv")
    (found,) = judged_files.read(tmp_path / "fi-en.tsv")
    assert (found.lp, len(found)) == ("fi-en", 2)
    with pytest.raises(InputError, match="no column lp"):
        judged_files.read(_file(tmp_path, lines))
    repeated = _file(tmp_path, [*lines, "7\tB.\t3"])
    with pytest.raises(InputError, match=r"line 4: sid repeats line 2.*need a column system"):
        judged_files.read(repeated, "de-en")


def test_judged_segments_as_csv_and_jsonl(tmp_path):
    (tmp_path / "a.csv").write_text('lp,hypothesis,human,n\nde-en,"A, dog.",1,3\nde-en,B,,4\n')
    (found,) = judged_files.read(tmp_path / "a.csv")
    assert list(found.hypotheses) == ["A, dog.", "B"]
    assert np.isnan(found.human[1])
    assert list(found.judges) == [3, 4]
    row = '{"lp": "de-en", "hypothesis": "A", "reference": "B", "sid": 4, "human": 0.5}'
    (tmp_path / "a.jsonl").write_text(row + "\n" + row.replace("4", "5").replace("0.5", "null"))
    (found,) = judged_files.read(tmp_path / "a.jsonl")
    assert (list(found.sids), found.references) == (["4", "5"], [("B",), ("B",)])
    assert found.human[0] == 0.5
    assert np.isnan(found.human[1])


def test_columns_of_one_length_and_texts_through_the_door():
    with pytest.raises(UsageError, match="1 human for 2 systems"):
        judgements.Judgements("x", "de-en", ["a", "b"], ["1", "2"], np.array([1.0]))
    table = judgements.Judgements("x", "de-en", ["a"], ["1"], np.array([1.0]), ["a\nb"])
    with pytest.raises(InputError, match=r"x de-en hypotheses\[0\]: character 2 is a line feed"):
        table.check()


@pytest.mark.parametrize("text", ["1_000", "١", "0x1", "infinity", "1e999", "--1", "1,5"])
def test_numbers_are_written_plainly(tmp_path, text):
    with pytest.raises(InputError, match="line 2: column human"):
        judged_files.read(_file(tmp_path, [HEADER, LINES[0].replace("0.8", text)]))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEADER], "the table has a header but no rows"),
        (
            ["lp\tsystem\tsid\thypothesis", "de-en\ta\t1\tx"],
            "line 1: the header has no column human",
        ),
        ([HEADER, LINES[0] + "\textra"], "line 2: 9 columns where the header has 8"),
        ([HEADER, LINES[0].replace("0.8", "good")], "line 2: column human: 'good' is not a number"),
        ([HEADER, LINES[0].replace("0.8", "inf")], "line 2: column human: 'inf' is not a number"),
        ([HEADER, LINES[0].replace("de-en", "german")], "line 2: column lp: 'german'"),
        ([HEADER, LINES[0], LINES[0]], "line 3: columns system and sid repeat line 2"),
        ([HEADER.replace("raw", "human"), LINES[0]], "line 1: two columns are called 'human'"),
    ],
)
def test_schema_errors_name_file_line_and_column(tmp_path, lines, message):
    path = _file(tmp_path, lines)
    with pytest.raises(InputError, match=r"judged\.tsv") as error:
        judged_files.read(path)
    assert message in str(error.value)


def test_missing_and_strange_input(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        judged_files.read(tmp_path / "none.tsv")
    with pytest.raises(InputError, match="no judgements that mtgauge knows"):
        judged_files.read(tmp_path)
    with pytest.raises(InputError, match="no judgements of fi-en"):
        judged_files.read(_file(tmp_path, [HEADER, *LINES]), "fi-en")


def _test_set(folder):
    lines = [
        "sid\tsource\treference\ta.1\tb.2\tc.3",
        "1\tEin Hund.\tA dog.\tA dog.\tDog.\t",
        "2\tEs regnet.\tIt rains.\tRain.\tIt rains.\tIt rains.",
    ]
    _file(folder, lines, "de-en.tsv")
    (folder / "human.tsv").write_text("lp\thuman\tsystem\nde-en\t0.3\tb.2\nde-en\t-0.1\ta.1\n")
    return read_system_human(folder / "human.tsv")


def test_test_set_with_system_scores(tmp_path):
    human = _test_set(tmp_path)
    (found,) = judged_files.read(tmp_path, human=human)
    assert found.lp == "de-en"
    assert list(found.systems) == ["a.1", "a.1", "b.2", "b.2"], "nobody judged c.3"
    assert found.hypotheses == ["A dog.", "Rain.", "Dog.", "It rains."]
    assert found.system_human == {"b.2": 0.3, "a.1": -0.1}
    assert np.isnan(found.human).all()
    everything = judged_files.read(tmp_path / "de-en.tsv")[0]
    assert sorted(set(everything.systems)) == ["a.1", "b.2", "c.3"]


def test_test_set_faults(tmp_path):
    human = _test_set(tmp_path)
    named = tmp_path / "mine.tsv"
    (tmp_path / "de-en.tsv").rename(named)
    with pytest.raises(UsageError, match="which language pair"):
        judged_files.read(named)
    assert judged_files.read(named, "de-en", human)[0].lp == "de-en"
    with pytest.raises(InputError, match="none of the 3 systems"):
        judged_files.read(named, "de-en", {"de-en": {"z": 1.0}})


def test_take_keeps_pairs_inside():
    whole = judgements.Judgements(
        "d", "de-en", ["a", "b", "c"], ["1"] * 3, np.arange(3.0), pairs=np.array([[0, 1], [2, 0]])
    )
    part = whole.take(np.array([2, 0]))
    assert list(part.systems) == ["a", "c"]
    assert part.pairs.tolist() == [[1, 0]]


# Scores from elsewhere


@pytest.mark.parametrize("ending", ["tsv", "txt", "csv", "jsonl"])
def test_scores_at_segment_level_are_matched_by_system_and_sid(tmp_path, ending):
    data = judged_files.read(_file(tmp_path, [HEADER, *LINES]))
    path = tmp_path / f"scores.{ending}"
    table = [
        ["lp", "system", "sid", "mine"],
        ["de-en", "b", "1", "0.5"],
        ["de-en", "a", "1", "0.7"],
    ]
    lines = [("," if ending == "csv" else "\t").join(row) for row in table]
    if ending == "jsonl":
        lines = [json.dumps(dict(zip(table[0], row, strict=True))) for row in table[1:]]
    path.write_text("\n".join(lines) + "\n")
    german, czech = scores.attach(data, scores.read_scores(path))
    assert german.scores["mine"][:2].tolist() == [0.7, 0.5]
    assert np.isnan(german.scores["mine"][2]), "not scored is not 0"
    assert np.isnan(czech.scores["mine"]).all()


def test_a_plain_list_of_scores_follows_the_lines_of_the_data(tmp_path):
    data = judged_files.read(_file(tmp_path, [HEADER, *LINES]))
    path = tmp_path / "mine.txt"
    path.write_text("1\n2\n3\n4\n")
    german, czech = scores.attach(data, scores.read_scores(path))
    assert german.scores["mine"].tolist() == [1.0, 2.0, 4.0]
    assert czech.scores["mine"].tolist() == [3.0]
    path.write_text("1\n" * 8)
    with pytest.raises(UsageError, match="one TSV of judged segments"):
        scores.attach([*data, *data], scores.read_scores(path))
    path.write_text("1\n2\n")
    with pytest.raises(InputError, match="2 scores for 4 judged segments"):
        scores.attach(data, scores.read_scores(path))


def test_a_table_with_human_scores_stands_alone(tmp_path):
    path = tmp_path / "sys19.csv"
    path.write_text(",lp,DA,system,BLEU,segid\n0,de-en,0.1,a,30.5,7\n1,de-en,0.2,b,,7\n")
    (found,) = scores.read_scores(path)
    assert found.system_human == {"a": 0.1, "b": 0.2}
    assert found.system_scores == {"BLEU": {"a": 30.5}}
    assert found.dataset == "WMT19"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lp\tsid\tm\nde-en\t1\t2\n", "the header needs lp and system"),
        ("lp\tsystem\nde-en\ta\n", "no column of metric scores"),
        ("lp\tsystem\tm\nde-en\ta\tx\n", "line 2: column m: 'x' is not a number"),
        ("lp\tsystem\tm\nde-en\ta\t1\nde-en\ta\t2\n", "line 3: de-en a stands twice"),
        ("lp\tsystem\tm\nde-en\ta\n", "line 2: 2 columns"),
    ],
)
def test_score_table_faults(tmp_path, text, message):
    path = tmp_path / "scores.tsv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        scores.read_scores(path)
    assert message in str(error.value)


# The mt-metrics-eval layout


def test_mtme_round_trip(tmp_path):
    source = judged_files.read(_file(tmp_path, [HEADER, *LINES]), "de-en")[0]
    columns = {"mine-refA": np.array([0.1, 0.2, 0.3])}
    whole = judgements.Judgements(
        **{
            **{k: getattr(source, k) for k in ("data", "lp", "systems", "sids", "human")},
            **{k: getattr(source, k) for k in ("hypotheses", "sources", "references")},
            "system_human": {"a": 0.25, "b": -0.5},
            "scores": columns,
            "system_scores": {"mine-refA": {"a": 0.2, "b": 0.3}},
        }
    )
    folder = tmp_path / "wmt99"
    mtme.write_folder(folder, whole)
    (back,) = judged_files.read(folder)
    rows = {(s, i): k for k, (s, i) in enumerate(zip(back.systems, back.sids, strict=True))}
    assert len(back) == 4, "two systems, two segments"
    assert back.human[rows["a", "1"]] == 0.8
    assert np.isnan(back.human[rows["b", "2"]])
    assert back.hypotheses[rows["b", "1"]] == "One hound."
    assert back.references[rows["a", "2"]] == ("It rains.",)
    assert back.system_human == whole.system_human
    assert back.scores["mine-refA"][rows["b", "1"]] == 0.2
    assert back.system_scores["mine-refA"] == {"a": 0.2, "b": 0.3}


def test_mtme_faults_and_gold(tmp_path):
    folder = tmp_path / "set"
    for name, text in {
        "sources/de-en.txt": "Ein Hund.\n",
        "references/de-en.refA.txt": "A dog.\n",
        "system-outputs/de-en/a.txt": "A dog.\n",
        "system-outputs/de-en/refA.txt": "A dog.\n",
        "human-scores/de-en.wmt-z.seg.score": "a\tNone\n",
        "human-scores/de-en.mqm.seg.score": "a\t-1.5\nrefA\t0\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (found,) = judged_files.read(folder)
    assert list(found.systems) == ["a"], "a reference is no system"
    assert found.human.tolist() == [-1.5], "mqm comes before wmt-z"
    assert np.isnan(mtme.read_folder(folder, gold="wmt-z")[0].human).all()
    with pytest.raises(UsageError, match="no human scores 'other'"):
        mtme.read_folder(folder, gold="other")
    (folder / "system-outputs/de-en/a.txt").write_text("A dog.\nMore.\n")
    with pytest.raises(InputError, match="a has 2 lines, the source 1"):
        judged_files.read(folder)


def test_mtme_refuses_what_the_layout_cannot_hold(tmp_path):
    bare = judgements.Judgements("d", "de-en", ["a"], ["1"], np.zeros(1))
    with pytest.raises(UsageError, match="needs sources"):
        mtme.write_folder(tmp_path, bare)
    two = judgements.Judgements(
        "d", "de-en", ["a", "b"], ["1", "1"], np.zeros(2), ["x", "y"], ["one", "two"]
    )
    with pytest.raises(InputError, match="two different sources"):
        mtme.write_folder(tmp_path, two)


@pytest.mark.shared
def test_the_data_pack_is_read_in_full(shared):
    found = judged_files.read(shared / "wmt" / "da17.tsv.gz")
    assert {j.lp: len(j) for j in found} == dict.fromkeys(
        ["cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en"], 560
    )
    human = read_system_human(shared / "wmt" / "sys17.tsv")
    assert sum(map(len, human.values())) == 152
    (czech,) = judged_files.read(shared / "wmt" / "wmt17" / "cs-en.tsv.gz", human=human)
    assert (len(czech), len(czech.system_human)) == (3005 * 4, 4)


@pytest.mark.parametrize("name", ["../../../x", "/x", "..", "a b", "a\tb", "a/b"])
def test_export_stays_in_its_folder(tmp_path, name):
    home = tmp_path / "one" / "two" / "out"
    table = judgements.Judgements(
        "x",
        "de-en",
        [name, "b"],
        ["1", "1"],
        np.array([1.0, 2.0]),
        ["A", "B"],
        ["C", "C"],
        scores={f"{name}-src": np.array([3.0, 4.0])},
        system_human={name: 0.5, "b": 0.25},
    )
    mtme.write_folder(home, table)
    assert [p for p in tmp_path.rglob("*") if p.is_file() and home not in p.parents] == []
    (back,) = judged_files.read(home)
    assert sorted(back.human) == [1.0, 2.0]
    assert sorted(back.system_human.values()) == [0.25, 0.5]
    assert list(back.hypotheses) in (["A", "B"], ["B", "A"])
    assert len(back.scores) == 1


def test_pairs_are_matched_however_they_are_written(tmp_path: Path) -> None:
    """Plain pairs stay as they are; others have one form in files, names and -l."""
    header = "lp\tsystem\tsid\tsource\treference\thypothesis\thuman"
    rows = [
        f"{lp}\ta\t{i}\ts\tr\th\t{i}" for i in (1, 2) for lp in ("en-zh_CN", "en-zh", "eng-deu")
    ]
    (tmp_path / "judged.tsv").write_text("\n".join([header, *rows]) + "\n")
    found = judged_files.read(tmp_path / "judged.tsv")
    assert [item.lp for item in found] == ["en-zh-CN", "en-zh", "en-de"]
    assert found[0].segments().target_lang == "zh"
    for lang in ("en-zh_CN", "en-zho_CN", "en-zh-CN"):
        (item,) = judged_files.read(tmp_path / "judged.tsv", lang)
        assert (item.lp, len(item)) == ("en-zh-CN", 2)
    (tmp_path / "sets").mkdir()
    text = "sid\tsource\treference\tsys\n1\ts\tr\th\n"
    (tmp_path / "sets" / "en-zh_TW.tsv").write_text(text)
    (tmp_path / "human.tsv").write_text("lp\thuman\tsystem\neng-zho_TW\t0.5\tsys\n")
    human = read_system_human(tmp_path / "human.tsv")
    (item,) = judged_files.read(tmp_path / "sets", "en-zh_TW", human)
    assert item.system_human == {"sys": 0.5}
