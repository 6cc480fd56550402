"""mtgauge rerank: the choice, ties, and minimum Bayes risk as the naive computation has it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mtgauge
from mtgauge import cli
from mtgauge.data import candidates
from mtgauge.data.segments import Segments
from mtgauge.encode import load_encoder
from mtgauge.engine import rerank as module
from mtgauge.engine.demo import example
from mtgauge.engine.places import Where, open_place
from mtgauge.engine.rerank import blended
from mtgauge.errors import InputError, UsageError


@pytest.fixture(scope="module")
def data():
    (chunk,) = example("de-en").chunks(1000)
    groups = [list(texts) for texts in zip(*chunk.systems.values(), strict=True)]
    return groups[:8], list(chunk.sources[:8])


def naive(spec, group, source=None, lang="de-en"):
    """u(c_i, c_j), one pair at a time."""
    metric = mtgauge.load(spec)
    given = None if source is None else [source]
    return np.array(
        [
            [
                metric.segment_score(metric.rows(Segments([a], given, [(b,)], lang)))[0]
                for b in group
            ]
            for a in group
        ]
    )


@pytest.mark.parametrize("spec", ["chrf", "sentbleu", "ter", "bertscore", "moverscore", "bertr"])
def test_mbr_is_the_naive_computation(data, spec):
    groups = [*data[0][:3], ["One.", "One.", "Two.", ""], ["Alone."]]
    found = mtgauge.rerank(groups, mbr=[spec], lang="de-en", matrix=True)
    for s, group in enumerate(groups):
        wanted = naive(spec, group)
        np.testing.assert_array_equal(found.matrices[f"mbr:{spec}"][s], wanted)
        np.testing.assert_array_equal(found.scores[f"mbr:{spec}"][s], wanted.mean(axis=1))
        sign = 1 if mtgauge.load(spec).higher_is_better else -1
        assert found.choice[s] == int(np.argmax(sign * wanted.mean(axis=1)))


def test_large_lists_go_in_tiles(data, monkeypatch):
    monkeypatch.setattr(module, "TILE", 3)
    monkeypatch.setattr(module, "_PAIRS", 9)
    group = [text for texts in data[0] for text in texts][:11]
    found = mtgauge.rerank([group, group[:2], group[:5]], mbr=["chrf"], matrix=True)
    for s, part in enumerate((group, group[:2], group[:5])):
        np.testing.assert_array_equal(found.matrices["mbr:chrf"][s], naive("chrf", part, lang=None))


def test_each_text_is_encoded_once(data, monkeypatch):
    encoder = load_encoder("embedded")
    encoder.forget()
    encoded = []
    run = type(encoder)._run

    def counted(self, tokens, texts, layers, lang):
        encoded.extend(texts.tolist())
        return run(self, tokens, texts, layers, lang)

    monkeypatch.setattr(type(encoder), "_run", counted)
    texts = [text for group in data[0] for text in group]
    group = [*texts, *texts[:5]]
    mtgauge.rerank([group[:24], group[5:]], mbr=["bertscore"], lang="de-en")
    assert len(encoded) == len(set(texts))


def test_without_reference_it_is_the_score(data):
    groups, sources = data
    found = mtgauge.rerank(groups, sources, ["xmoverscore:lm=off"], lang="de-en")
    for i in range(3):
        hypotheses = [group[i] for group in groups]
        result = mtgauge.score(
            hypotheses, sources, metrics=["xmoverscore:lm=off"], lang="de-en", ci=False
        )
        (system,) = result.systems
        mine = [scores[i] for scores in found.scores["xmoverscore:lm=off"]]
        assert mine == result["xmoverscore:lm=off"][system].segments.tolist()
    best = [int(np.argmax(scores)) for scores in found.scores["xmoverscore:lm=off"]]
    assert found.choice == best
    assert found.best == [group[i] for group, i in zip(groups, best, strict=True)]


def test_blend(data):
    groups, sources = data
    options: Any = {"metrics": ["xmoverscore:lm=off"], "mbr": ["ter"], "lang": "de-en"}
    found = mtgauge.rerank(groups, sources, **options)
    quality, risk = found.scores["xmoverscore:lm=off"], [-x for x in found.scores["mbr:ter"]]
    for s in range(len(groups)):
        wanted = sum(
            (part[s] - part[s].mean())
            / np.sqrt(np.mean(np.concatenate([x - x.mean() for x in part]) ** 2))
            for part in (quality, risk)
        )
        np.testing.assert_allclose(found.total[s], wanted, atol=1e-8)
    heavy = mtgauge.rerank(groups, sources, **options, weights=[1, 1e6])
    for choice, scores in zip(heavy.choice, heavy.scores["mbr:ter"], strict=True):
        assert scores[choice] == scores.min()


def test_one_candidate_and_equal_ones():
    found = mtgauge.rerank([["Only."], ["", "Text."], ["Same.", "Same."], [""]], mbr=["chrf"])
    assert found.choice[0] == 0
    assert found.order[2] == [0, 1]
    assert found.best[3] == ""
    assert len(found.total[0]) == 1


def test_a_metric_that_is_undefined():
    """KoBE has no score where the source names nothing."""
    groups = [["It rains.", "It is raining."], ["In Berlin.", "In Vienna."]]
    sources = ["Es regnet.", "In Wien."]
    found = mtgauge.rerank(groups, sources, ["kobe"], ["chrf"], "de-en")
    assert np.isnan(found.scores["kobe"][0]).all()
    assert found.choice[0] == int(np.argmax(found.scores["mbr:chrf"][0]))
    assert found.choice[1] == 1
    assert found.to_dict()["rows"][0]["kobe"] is None
    assert mtgauge.rerank(groups, sources, ["kobe"], lang="de-en").choice[0] == 0


def test_undefined_candidates_come_last():
    scores = np.array([np.nan, 1.0, 2.0, 2.0])
    assert module._ordered(scores) == [2, 3, 1, 0]
    (total,) = blended([[scores], [np.array([9.0, 1.0, 1.0, 1.0])]], [1.0, 1.0])
    assert np.isnan(total[0])


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.integers(-100, 100), min_size=1, max_size=5), min_size=1, max_size=4),
    st.floats(0.5, 10),
    st.floats(-50, 50),
)
def test_a_blend_does_not_depend_on_scale_and_origin(groups, scale, shift):
    one = [np.array(group, dtype=float) for group in groups]
    two = [np.sin(x) for x in one]
    moved = [x * scale + shift for x in one]
    for a, b in zip(blended([one, two], [1, 2]), blended([moved, two], [1, 2]), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_equal_scores_do_not_become_an_order_by_rounding():
    equal, other = np.full(3, 0.1), np.array([1.0, 2.0, 3.0])
    assert equal.mean() != 0.1
    (alone,), (both,) = blended([[other], [other]], [1, 1]), blended([[equal], [other]], [9, 2])
    np.testing.assert_array_equal(both, alone)


def test_workers_choose_the_same(data):
    groups, sources = data
    options: Any = {"metrics": ["xmoverscore:lm=off"], "mbr": ["bertscore"], "lang": "de-en"}
    here = mtgauge.rerank(groups, sources, **options)
    with open_place(Where(workers=2)) as place:
        there = mtgauge.rerank(groups, sources, **options, place=place)
    assert there.order == here.order
    for a, b in zip(there.total, here.total, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (([],), InputError, "there are no candidates"),
        (([[]],), InputError, r"candidates\[0\] is empty"),
        ((["text"],), InputError, r"candidates\[0\] is one text"),
        (([["a", 3]],), InputError, r"candidates\[0\]\[1\] is int"),
        (([["a\nb"]],), InputError, "line feed"),
        (([["a"]], ["b", "c"]), InputError, "1 lists of candidates but 2 sources"),
        (([["a"]], None), UsageError, "By what"),
        (([["a"]], None, ["chrf"]), UsageError, "give it with --mbr"),
        (([["a"]], ["b"], (), ["xmoverscore"]), UsageError, "give it with -m"),
        (([["a"]], None, (), ["nist"]), UsageError, "learns from all references"),
        (([["a"]], None, (), "chrf"), UsageError, "mbr is a list of specs"),
    ],
)
def test_what_is_refused(arguments, error, said):
    with pytest.raises(error, match=said):
        mtgauge.rerank(*arguments)


@pytest.mark.parametrize("weights", [[1], [1, 0], [1, -1], [1, float("nan")], [1, 2, 3], ["1", 2]])
def test_weights_that_mean_nothing(weights):
    with pytest.raises(UsageError, match="weights are 2 numbers above 0"):
        mtgauge.rerank([["a"]], mbr=["chrf", "ter"], weights=weights)


# files


@pytest.fixture
def files(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    groups, sources = data
    (tmp_path / "c.txt").write_text("".join(f"{t}\n" for group in groups for t in group))
    (tmp_path / "s.txt").write_text("".join(f"{t}\n" for t in sources))
    lines = [{"source": s, "candidates": g} for g, s in zip(groups, sources, strict=True)]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def rerank(*arguments, code=0):
    assert cli.main(["rerank", *map(str, arguments)]) == code


def test_lines_and_objects_say_the_same(files, capsys, data):
    rerank("-t", "c.txt", "-n", 3, "-s", "s.txt", "-l", "de-en", "-m", "xmoverscore:lm=off")
    lines = capsys.readouterr().out
    rerank("-t", "c.jsonl", "-l", "de-en", "-m", "xmoverscore:lm=off", "-o", "best.txt")
    assert (files / "best.txt").read_text() == lines
    groups, sources = data
    wanted = mtgauge.rerank(groups, sources, ["xmoverscore:lm=off"], lang="de-en").best
    assert lines.splitlines() == wanted


def test_candidates_in_another_language_are_told(files, capsys):
    """Otherwise all score worst, and the first candidates pass for the best."""
    line = ("-t", "c.txt", "-n", 3, "-s", "s.txt", "-m", "xmoverscore:lm=off", "-l")
    rerank(*line, "en-de")
    said = capsys.readouterr().err
    assert "the candidates: 100% of the" in said
    assert "the other way round: write -l de-en" in said
    assert "24 translations are not" in said
    assert "8 of 8 segments: all candidates score the same, so the first one stands." in said
    rerank(*line, "de-en")
    said = capsys.readouterr().err
    assert "warning" not in said
    assert "score the same" not in said


def test_equal_candidates_are_not_undecided():
    found = mtgauge.rerank([["a b", "a b"], ["c", "d"]], mbr=["chrf"])
    assert found.undecided == 1


def test_everything_that_can_be_written(files, data):
    rerank("-t", "c.txt", "-n", 3, "--mbr", "chrf", "ter", "-o", "best.txt", "--nbest", "out.nbest",
           "--scores", "scores.tsv", "--matrix", "matrix.jsonl")  # fmt: skip
    found = mtgauge.rerank(data[0], mbr=["chrf", "ter"], matrix=True)
    table = [line.split("\t") for line in (files / "scores.tsv").read_text().splitlines()]
    assert table[0] == ["segment", "candidate", "rank", "total", "mbr:chrf", "mbr:ter", "text"]
    assert [row[-1] for row in table[1:]] == [text for group in data[0] for text in group]
    assert float(table[1][4]) == found.scores["mbr:chrf"][0][0]
    matrix = [json.loads(line) for line in (files / "matrix.jsonl").read_text().splitlines()]
    assert matrix[0]["utility"] == found.matrices["mbr:chrf"][0].tolist()
    assert matrix[0]["expected"] == found.scores["mbr:chrf"][0].tolist()
    assert len(matrix) == 2 * len(data[0])
    again = candidates.read(files / "out.nbest")
    ordered = zip(data[0], found.order, strict=True)
    assert again.groups == [[group[i] for i in order] for group, order in ordered]
    rerank("-t", "out.nbest", "--mbr", "chrf", "ter", "-o", "again.txt")
    assert (files / "again.txt").read_text() == (files / "best.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-t", "c.txt", "-n", "5", "--mbr", "chrf"], 3, "24 lines are not 5 for every segment"),
        (["-t", "c.txt", "-n", "4", "-s", "s.txt", "--mbr", "chrf"], 3, "6 lists of candidates of"),
        (["-t", "c.txt", "--mbr", "chrf"], 2, "Give -n N"),
        (["-t", "c.txt", "-n", "0", "--mbr", "chrf"], 2, "-n is 1 or more"),
        (["-t", "c.jsonl", "-n", "3", "--mbr", "chrf"], 2, "-n is for plain lines"),
        (["-t", "c.jsonl", "-s", "s.txt", "--mbr", "chrf"], 2, "sources of its own"),
        (["-t", "c.jsonl", "--candidates-column", "x", "--mbr", "chrf"], 3, "'x' is missing"),
        (["-t", "no.txt", "-n", "3", "--mbr", "chrf"], 3, "no such file"),
        (["-t", "c.txt", "-n", "3", "-m", "kobe", "--matrix", "m.jsonl"], 2, "--matrix keeps"),
        (["-t", "c.txt", "-n", "3", "--mbr", "chrf", "--scores", "s.xls"], 2, "which form"),
        (["-t", "-", "-n", "3", "-s", "-", "--mbr", "chrf"], 2, "one of the two"),
        (["-t", "c.txt", "-n", "3", "-m", "kobe"], 2, "kobe needs a source"),
    ],
)
def test_wrong_usage(files, capsys, arguments, code, said):
    rerank(*arguments, code=code)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 ||| a\n2 ||| b\n", "segment 2 comes after segment 0"),
        ("1 ||| a\n", "segment 1 comes after segment -1"),
        ("0 ||| a\n1 ||| b\n0 ||| c\n", "segment 0 comes after segment 1"),
        ("a\n", "no line of an n-best list"),
    ],
)
def test_nbest_lists_with_gaps(tmp_path, text, said):
    path = tmp_path / "a.nbest"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        candidates.read(path)


def test_objects_without_candidates(tmp_path):
    path = tmp_path / "a.jsonl"
    for text, said in [
        ('{"candidates": []}', "no list of texts, or empty"),
        ('{"candidates": "a"}', "no list of texts"),
        ('{"candidates": [1]}', "is int, not text"),
        ('{"candidates": ["a"], "source": "b"}\n{"candidates": ["a"]}', "some have none"),
    ]:
        path.write_text(text + "\n")
        with pytest.raises(InputError, match=said):
            candidates.read(path)
