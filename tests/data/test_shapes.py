"""Lists from Python whose shape would give a plausible number."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import mtgauge
from mtgauge.errors import InputError, MtgaugeError, UsageError

HYPOTHESES = ["The dog sleeps here.", "It rains in Berlin."]
FIRST = ["The dog is asleep here.", "It is raining in Berlin."]
SECOND = ["Here sleeps the dog.", "Rain falls in Berlin."]


def chrf(references: object, hypotheses: object = HYPOTHESES) -> float:
    found = mtgauge.score(hypotheses, references=references, metrics=["chrf"])  # type: ignore[arg-type]
    return found["chrf"]["system"].score


def test_square_lists_are_told_by_their_words() -> None:
    assert chrf([list(pair) for pair in zip(FIRST, SECOND, strict=True)]) > 50
    with pytest.raises(InputError, match="sacrebleu's transposed lists"):
        chrf([FIRST, SECOND])


def test_lists_that_only_differ_in_length_are_not_called_transposed() -> None:
    with pytest.raises(InputError, match="1 hypotheses but 2 entries") as error:
        chrf(FIRST, HYPOTHESES[:1])
    assert "transposed" not in str(error.value)
    with pytest.raises(InputError, match="transposed"):
        chrf([[text] for text in FIRST], HYPOTHESES[:1])


@pytest.mark.parametrize("name", ["hypotheses", "sources"])
@pytest.mark.parametrize("given", ["ab", b"ab", (x for x in "ab"), map(str, "ab")])
def test_a_column_of_segments_is_a_list(name: str, given: Any) -> None:
    """The characters of a text would be scored as so many texts."""
    columns = {"hypotheses": ["a", "b"]} | {name: given}
    with pytest.raises(UsageError, match=f"Segments.{name} is a .*; a list has one entry"):
        mtgauge.Segments(**columns)
    assert len(mtgauge.Segments(np.array(HYPOTHESES), tuple(FIRST))) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [np.array([["a", "b"]]), ({"lp": "de-en"},), {"a": 1}])
def test_judged_data_are_files_or_tables(data: Any) -> None:
    """The columns of a data frame would be looked for as files."""
    with pytest.raises(MtgaugeError, match=r"data is a \w+, not a list|data: dict is no file"):
        mtgauge.meta(data, ["chrf"])
    with pytest.raises(MtgaugeError, match=r"data is a \w+, not a list|data: dict is no file"):
        mtgauge.probe("reorder", data, ["kobe"])


def test_the_metric_of_an_explanation_is_a_text() -> None:
    with pytest.raises(UsageError, match="A metric is named by text"):
        mtgauge.explain(HYPOTHESES, references=FIRST, metric=["chrf"])  # type: ignore[arg-type]


def test_words_of_a_reference_are_not_references() -> None:
    with pytest.raises(InputError, match="list of single words"):
        chrf([text.split() for text in (FIRST[0], "It is raining.")])
    # alternatives of one word, beside a translation of one word
    assert chrf([["dog", "hound", "mutt"], ["rain", "shower"]], ["dog", "rains"]) > 0


@pytest.mark.parametrize("name", ["", " ", None, 3])
def test_a_system_has_a_name(name: object) -> None:
    with pytest.raises(UsageError, match="named by a text"):
        chrf(FIRST, {name: HYPOTHESES})


def test_groups_have_a_name() -> None:
    with pytest.raises(UsageError, match="by is"):
        mtgauge.score(HYPOTHESES, references=FIRST, metrics=["chrf"], by=["a", "b"])  # type: ignore[arg-type]


@pytest.mark.parametrize("segment", [1.0, "1", True, None])
def test_a_segment_is_a_whole_number(segment: object) -> None:
    with pytest.raises(UsageError, match="whole number"):
        mtgauge.explain(HYPOTHESES, references=FIRST, segment=segment)  # type: ignore[arg-type]
    assert mtgauge.explain(HYPOTHESES, references=FIRST, segment=np.int64(2)).score > 0  # type: ignore[arg-type]


def test_a_segment_that_is_not_there_is_told_how_many_there_are() -> None:
    with pytest.raises(InputError, match="from 1 to 2"):
        mtgauge.explain(HYPOTHESES, references=FIRST, segment=3)


def test_results_compare_and_show_themselves() -> None:
    def run(texts: list[str]) -> mtgauge.engine.result.Result:
        return mtgauge.score({"a": texts, "b": SECOND}, references=FIRST, metrics=["chrf", "ter"])

    result = run(HYPOTHESES)
    assert result == pickle.loads(pickle.dumps(result))
    assert result != run(FIRST)
    assert result["chrf"]["a"] != result["chrf"]["b"]
    assert repr(result) == "<Result: chrf, ter of a, b; 2 segments; print() shows the table>"
