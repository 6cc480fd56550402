from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from mtgauge.data import readers
from mtgauge.data.corpus import Corpus
from mtgauge.errors import InputError, UsageError


def put(path: Path, text: str) -> str:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_bytes(text.encode())
    return str(path)


def read(argument: str, role: str = "system") -> list[list[object]]:
    return [list(column) for column in readers.column(argument, role)]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "sys.en", "noending"])
def test_plain_text(tmp_path: Path, name: str) -> None:
    assert read(put(tmp_path / name, "one\r\ntwo\n\nfour")) == [["one", "two", "", "four"]]


@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz"])
def test_tsv_by_role_and_by_column(tmp_path: Path, name: str) -> None:
    file = put(tmp_path / name, 'sid\tsource\treference\ta\tb\n1\tQ\tR\t"x\ty\n2\tQ2\tR2\tx2\ty2\n')
    assert read(file, "source") == [["Q", "Q2"]]
    assert read(file, "reference") == [["R", "R2"]]
    assert read(file, "system") == [['"x', "x2"], ["y", "y2"]]
    assert read(file + ":b") == [["y", "y2"]]


def test_csv_with_quotes(tmp_path: Path) -> None:
    file = put(tmp_path / "t.csv", 'src,hyp\n"a, ""b""",c\nd,e\n')
    assert read(file, "source") == [['a, "b"', "d"]]
    assert read(file) == [["c", "e"]]


def test_jsonl_with_a_list_of_references(tmp_path: Path) -> None:
    rows = [{"mt": "x", "references": ["r", "s"]}, {"mt": "y", "references": ["t"]}]
    file = put(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows)) + "\n")
    corpus = Corpus.from_arguments([file], None, [])
    (chunk,) = corpus.chunks(10)
    assert chunk.systems == {"mt": ["x", "y"]}
    assert chunk.references == [("r", "s"), ("t",)]


def test_standard_input_is_read_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b"one\ntwo\n")

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Stdin())
    (column,) = readers.column("-", "system")
    assert list(column) == ["one", "two"]
    assert list(column) == ["one", "two"]  # a second pass, for metrics that need one
    readers.forget_spooled()
    assert column.path is not None
    assert not column.path.exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "the file is empty"),
        ("t.tsv", "a\tb\n1\n", r"line 2: 1 cells, but the header names 2 columns"),
        ("t.tsv", "a\ta\n1\t2\n", "two columns are called 'a'"),
        ("t.tsv", "a\tb\n", "a header but no rows"),
        ("t.csv", 'a,b\n1,"2\n', "not valid CSV"),
        ("t.jsonl", '{"mt": "x"}\n{"mt"\n', "line 2: not valid JSON"),
        ("t.jsonl", '{"mt": "x"}\n{"mt": 3}\n', "line 2: the value of 'mt' is int, not text"),
        ("t.jsonl", '{"mt": "x"}\n{"hyp": "y"}\n', "line 2: the value of 'mt' is missing"),
        ("t.jsonl", "[1]\n", "not a JSON object"),
        ("b.txt", "a\tb\n" * 30, "looks like a table"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(put(tmp_path / name, content))
    assert name in str(caught.value)


def test_damaged_gzip(tmp_path: Path) -> None:
    file = tmp_path / "a.txt.gz"
    file.write_bytes(gzip.compress(b"line\n" * 10000)[:-20])
    with pytest.raises(InputError, match="damaged after this line"):
        read(str(file))


def test_missing_file_and_folder(tmp_path: Path) -> None:
    put(tmp_path / "hypo.txt", "x\n")
    with pytest.raises(InputError, match=r"no such file.*hypo\.txt"):
        read(str(tmp_path / "hyp.txt"))
    with pytest.raises(InputError, match="a folder, not a file"):
        read(str(tmp_path))


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    file = put(tmp_path / "t.tsv", "a\tb\n1\t2\n")
    with pytest.raises(InputError, match=r"no column 'c'.*The columns are: a, b"):
        read(file + ":c")
    with pytest.raises(InputError, match="no column looks like a source"):
        read(file, "source")


def test_systems_are_named_by_as_much_as_tells_them_apart(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        put(tmp_path / folder / "out.txt", "x\n")
    put(tmp_path / "b.txt", "x\n")
    paths = [str(tmp_path / p) for p in ("one/out.txt", "two/out.txt")]
    assert list(Corpus.from_arguments(paths, None, []).systems) == ["one/out", "two/out"]
    assert list(Corpus.from_arguments([str(tmp_path / "b.txt")], None, []).systems) == ["b"]
    with pytest.raises(UsageError, match="given twice"):
        Corpus.from_arguments([paths[0], paths[0]], None, [])


def test_files_of_different_length(tmp_path: Path) -> None:
    lines = ["x" * n for n in (40, 12, 90, 33, 7, 61, 25, 80, 14, 52)]
    ref = put(tmp_path / "ref.txt", "\n".join(lines) + "\n")
    hyp = put(tmp_path / "hyp.txt", "\n".join(lines[:4] + lines[5:]) + "\n")
    corpus = Corpus.from_arguments([hyp], None, [ref])
    with pytest.raises(InputError, match=r"hyp\.txt has 9.*part near line 5"):
        list(corpus.chunks(2))


def test_lists_of_the_wrong_shape() -> None:
    three = ["a", "b", "c"]
    with pytest.raises(InputError, match="transposed"):
        Corpus.from_lists(three, references=[three])
    with pytest.raises(InputError, match="3 hypotheses but 2 entries"):
        Corpus.from_lists(three, references=["a", "b"])
    with pytest.raises(InputError, match="is one text"):
        Corpus.from_lists("abc")
    with pytest.raises(InputError, match=r"references\[1\]"):
        Corpus.from_lists(["a", "b"], references=["a", 3])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"\[0\] is float, not text"):
        Corpus.from_lists([float("nan")])  # type: ignore[list-item]
    with pytest.raises(InputError, match="no segments"):
        Corpus.from_lists([])
