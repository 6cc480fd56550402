"""Columns that do not belong together are noticed, and good ones are left alone."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import mtgauge
from mtgauge.data import readers
from mtgauge.data.alignment import Together
from mtgauge.data.corpus import Corpus
from mtgauge.errors import InputError

EXAMPLE = Path(mtgauge.__file__).parent / "data" / "example" / "de-en.tsv"
TABLE = [row for _, row in readers.rows(EXAMPLE)]
SYSTEM = next(name for name in TABLE[0] if name not in ("sid", "source", "reference"))
HYPOTHESES, SOURCES, REFERENCES = (
    [row[name] for row in TABLE] for name in (SYSTEM, "source", "reference")
)


def told(texts: list[str], *, references: bool = True) -> str:
    together = Together()
    rows = [(text,) for text in REFERENCES] if references else None
    for at in range(0, len(texts), 7):  # in chunks, as a run reads them
        part = slice(at, at + 7)
        together.look({"a": texts[part]}, SOURCES[part], None if rows is None else rows[part])
    return " ".join(together.messages())


@pytest.mark.parametrize("references", [True, False])
def test_files_in_order_are_not_doubted(references: bool) -> None:
    assert told(HYPOTHESES, references=references) == ""


def test_shifted_sorted_and_shuffled_lines_are_told() -> None:
    assert "a: its lines seem to be shifted by 1" in told(HYPOTHESES[1:] + HYPOTHESES[:1])
    assert "shifted by 3" in told(HYPOTHESES[-3:] + HYPOTHESES[:-3])
    assert "in another order" in told(sorted(HYPOTHESES))
    assert "in another order" in told(random.Random(1).sample(HYPOTHESES, len(HYPOTHESES)))


def test_lengths_tell_where_no_word_does() -> None:
    lengths = [random.Random(n).randint(1, 300) for n in range(150)]
    rows = [("x" * n,) for n in lengths]
    for texts, said in (
        (["y" * n for n in lengths], ""),
        (["y" * n for n in lengths[-4:] + lengths[:-4]], "shifted by 4"),
        (["y" * n for n in sorted(lengths)], "in another order"),
        ([f"{n:03}_" + "y" * 10 for n in range(150)], ""),  # one length tells nothing
    ):
        together = Together()
        together.look({"a": texts}, None, rows)
        message = " ".join(together.messages())
        assert said in message if said else message == "", said


def test_equal_columns_are_told() -> None:
    rows = [(text, text) for text in REFERENCES]
    together = Together()
    together.look({"a": HYPOTHESES, "b": list(HYPOTHESES)}, REFERENCES, rows)
    assert together.messages() == [
        "the references: two of them are equal in every line.",
        "a and b are equal in every line. Is a file named twice?",
        "the source and the references are equal in every line. Is a file named twice?",
    ]


def test_a_file_named_often_is_told_in_one_line() -> None:
    together = Together()
    together.look(dict.fromkeys("abcd", HYPOTHESES), None, None)
    assert together.messages() == ["a, b, c and d are equal in every line. Is a file named twice?"]


def test_one_text_in_all_lines_is_told() -> None:
    for texts, said in (
        (["No."] * 6, ["a: all 6 lines are the same text."]),
        (["No."] * 5 + ["No"], []),
        ([" "] * 6, []),  # told as empty lines
    ):
        together = Together()
        for part in (slice(3), slice(3, 6)):
            together.look({"a": texts[part]}, None, [(text,) for text in HYPOTHESES[:6][part]])
        assert together.messages() == said
    together = Together()
    together.look({"a": ["No."] * 4}, None, [(text,) for text in HYPOTHESES[:4]])
    assert together.messages() == [], "four short answers may be alike"


def test_few_lines_and_bad_translations_are_not_doubted() -> None:
    for texts in (
        ["", "", "", "", "", ""],
        ["the"] * 5 + ["a"],
        ["No.", "Yes 1.", "I", "it", "2", "3"],
    ):
        together = Together()
        together.look({"a": texts}, None, [(f"Word{i} {i}",) for i in range(6)])
        assert together.messages() == [], texts


def test_a_file_that_changes_between_two_readings_is_refused(tmp_path: Path) -> None:
    """A metric that learns from the references reads them before they are scored."""
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n")
    with Corpus.from_arguments([str(file)], None, [str(file)]) as corpus:
        assert list(corpus.reference_texts()) == ["one", "two"]
        file.write_text("one\nTWO\n")
        with pytest.raises(InputError, match="was changed while it was read"):
            list(corpus.chunks(10))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n" * 5000)
    with Corpus.from_arguments([str(file)], None, []) as corpus:
        chunks = corpus.chunks(100)
        next(chunks)
        file.write_text("ONE\nTWO\n" * 5000)
        with pytest.raises(InputError, match=r"a\.txt: the file was changed while it was read"):
            list(chunks)


def test_one_file_named_twice_and_uneven_files_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mtgauge.cli import main

    one, two, short = (tmp_path / f"{name}.txt" for name in ("one", "two", "short"))
    for file, text in ((one, "a\nb\n"), (two, "a\nc\n"), (short, "a\n")):
        file.write_text(text)
    again = f"{tmp_path}/./two.txt"
    assert main(["score", "-t", str(one), "-r", str(two), again, "-m", "chrf"]) == 2
    assert "the same file" in capsys.readouterr().err
    command = ["explain", "-t", str(one), "-r", str(short), "-m", "chrf", "--segment", "1"]
    assert main(command) == 3
    assert "different numbers of lines" in capsys.readouterr().err


@pytest.mark.parametrize(("first", "later"), [("A", "B"), ("hyp", "hyp2"), ("mt", "translation")])
def test_a_key_of_json_that_begins_later_is_not_lost(
    first: str, later: str, tmp_path: Path
) -> None:
    file = tmp_path / "x.jsonl"
    row = {"reference": "b", first: "c"}
    file.write_text(f"{json.dumps(row)}\n{json.dumps(row | {later: 'd'})}\n")
    with (
        Corpus.from_arguments([str(file)], None, []) as corpus,
        pytest.raises(InputError, match=f"line 1: the value of '{later}' is missing"),
    ):
        list(corpus.chunks(5))


@pytest.mark.parametrize("text", ["x" * (2**24 + 1), "\u20ac" * (2**24 // 3 + 1)])
def test_a_text_from_python_has_the_longest_length_of_a_line(text: str) -> None:
    with pytest.raises(InputError, match=r"'system'\[1\]: the text is longer than 16,777,216"):
        Corpus.from_lists(["a", text])
    with pytest.raises(InputError, match=r"references\[0\]: the text is longer"):
        Corpus.from_lists(["a"], references=[[text]])
