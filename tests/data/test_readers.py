from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtgauge.data import columns, readers
from mtgauge.data.corpus import Corpus
from mtgauge.data.judgements import data_name, pair_in_name
from mtgauge.errors import InputError, UsageError


def put(path: Path, text: str) -> str:
    pack: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress}
    path.write_bytes(pack.get(path.suffix, bytes)(text.encode()))
    return str(path)


def read(argument: str, role: Any = "system") -> list[list[object]]:
    return [list(column) for column in columns.column(argument, role)]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz", "sys.en", "noending"])
def test_plain_text(tmp_path: Path, name: str) -> None:
    assert read(put(tmp_path / name, "one\r\ntwo\n\nfour")) == [["one", "two", "", "four"]]


@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz", "t.tsv.xz"])
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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "the file is empty"),
        ("t.tsv", "a\tb\n1\n", "line 2: 1 columns where the header has 2"),
        ("t.tsv", "a\ta\n1\t2\n", "two columns are called 'a'"),
        ("t.tsv", "a\tb\n", "a header but no rows"),
        ("t.csv", 'a,b\n1,"2\n', "not valid CSV"),
        ("t.jsonl", '{"mt": "x"}\n{"mt"\n', "line 2: not valid JSON"),
        ("t.jsonl", '{"mt": "x"}\n{"mt": 3}\n', "line 2: the value of 'mt' is int, not text"),
        ("t.jsonl", '{"mt": "x"}\n{"hyp": "y"}\n', "line 2: the value of 'mt' is missing"),
        ("t.jsonl", '{"mt": "x"},\n', "character 12.. Each line is one object, without a comma"),
        ("t.tsv", "Dies ist kein Name\tThis is no name\nEins\tOne\n", "a line of names above it"),
        ("t.jsonl", "[1]\n", "not a JSON object"),
        ("b.txt", "a\tb\n" * 30, "looks like a table"),
        ("t.tsv", "hyp\tHyp\n1\t2\n", "two columns are called 'hyp' and 'Hyp'"),
        ("t.csv", "hyp;ref\na;b\n", "separated by semicolons, not by commas"),
        ("t.csv", "hyp\tref\na\tb\n", "separated by tabs, not by commas"),
        ("t.csv", "\n1,2\n", "line 2: 2 columns where the header has 0"),
        ("t.jsonl", '{"mt": "x", "mt": "y"}\n', "line 1: the key 'mt' stands twice"),
        ("t.jsonl", '{"mt": "x", "MT": "y"}\n', "two columns are called 'mt' and 'MT'"),
        ("t.jsonl", '{"mt": "x"}\n{"mt": "\\ud800"}\n', "line 2: character 1 is half of a surrog"),
        ("t.jsonl", '{"mt": "x"}\n{"mt": "a\\u0000"}\n', "line 2: character 2 is a NUL"),
        ("t.jsonl", '{"mt": "x"}\n{"mt": "a\\nb"}\n', "line 2: character 2 is a line feed"),
        ("t.jsonl", '{"mt": "a\\rb"}\n', "line 1: character 2 is a carriage return"),
        ("t.jsonl", '{"mt": ["x", "y"]}\n', "the value of 'mt' is list, not text"),
        ("t.jsonl", '{"mt": ' + "[" * 100_000 + "\n", "not sensible JSON"),
        ("t.jsonl", '{"mt": ' + "9" * 10_000 + "}\n", "not sensible JSON"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(put(tmp_path / name, content))
    assert name in str(caught.value)


@pytest.mark.parametrize(("name", "packed"), [("a.gz", gzip.compress), ("a.xz", lzma.compress)])
def test_what_was_cut_off(tmp_path: Path, name: str, packed: Any) -> None:
    file = tmp_path / name
    file.write_bytes(packed(b"line\n" * 10000)[:-20])
    with pytest.raises(InputError, match="damaged after this line"):
        read(str(file))
    file.write_bytes(packed(b"line\n")[:-20])
    with pytest.raises(InputError, match=f"{name}: the file is damaged from its start"):
        read(str(file))


@pytest.mark.parametrize("packed", ["", ".gz", ".xz", ".zst"])
def test_names_of_packed_files(packed: str) -> None:
    assert columns.stem(Path(f"online-B.txt{packed}")) == "online-B"
    assert pair_in_name(Path(f"wmt17/de-en.tsv{packed}")) == "de-en"
    assert data_name(Path(f"da17.tsv{packed}")) == "da17"


def test_flipped_bytes_in_gzip(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(bytes(range(65, 91)) * 500 + b"\n"))
    content[14] ^= 0xFF
    file = tmp_path / "a.txt.gz"
    file.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        read(str(file))


@pytest.mark.parametrize("name", ["**.txt", "[.txt", "x" * 300, "a/b/c.txt"])
def test_odd_names_of_missing_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"no such file|cannot be opened"):
        read(str(tmp_path / name))


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


def test_one_file_under_two_names(tmp_path: Path) -> None:
    one = put(tmp_path / "one.txt", "x\n")
    (tmp_path / "two.txt").symlink_to(one)
    with pytest.raises(UsageError, match="systems one and two are the same file"):
        Corpus.from_arguments([one, str(tmp_path / "two.txt")], None, [])
    with pytest.raises(UsageError, match=r"references .* are the same file"):
        Corpus.from_arguments([put(tmp_path / "h.txt", "x\n")], None, [one, one])
    table = put(tmp_path / "t.tsv", "a\tb\n1\t2\n")
    assert list(Corpus.from_arguments([f"{table}:a", f"{table}:b"], None, []).systems) == ["a", "b"]


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


@pytest.mark.parametrize(
    "values",
    [
        {"x", "y"},
        frozenset({"x", "y"}),
        {"x": 1, "y": 2}.keys(),
        {1: "x", 2: "y"}.values(),
        (text for text in ["x", "y"]),
        iter(["x", "y"]),
        np.array([["x", "y"]]),
        b"xy",
        "xy",
        3,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_order_is_refused(values: Any) -> None:
    two = ["x", "y"]
    wrong = "is one text|not a list"
    with pytest.raises(InputError, match=wrong):
        Corpus.from_lists(values)
    with pytest.raises(InputError, match=wrong):
        Corpus.from_lists({"a": values})
    with pytest.raises(InputError, match=f"sources {wrong}"):
        Corpus.from_lists(two, sources=values)
    with pytest.raises(InputError, match=f"references {wrong}"):
        Corpus.from_lists(two, references=values)
    with pytest.raises(InputError, match="references is a dict, not a list"):
        Corpus.from_lists(two, references={"x": "y"})  # type: ignore[arg-type]


def test_lists_tuples_arrays_and_series_are_columns() -> None:
    pandas = pytest.importorskip("pandas")
    kinds: list[Any] = [["x", "y"], ("x", "y"), np.array(["x", "y"]), pandas.Series(["x", "y"])]
    for values in kinds:
        (chunk,) = Corpus.from_lists(values, references=values).chunks(9)
        assert chunk.systems == {"system": ["x", "y"]}
        assert chunk.references == [("x",), ("y",)]


@pytest.mark.parametrize("bad", ["\ud800", "a\0b", "a\rb", "a\nb", "\udfff!"])
def test_texts_from_python_pass_the_same_door(bad: str) -> None:
    for arguments in (
        {"hypotheses": ["x", bad]},
        {"hypotheses": ["x", "y"], "sources": ["x", bad]},
        {"hypotheses": ["x", "y"], "references": ["x", bad]},
        {"hypotheses": ["x", "y"], "references": [["x"], ["y", bad]]},
    ):
        with pytest.raises(InputError, match=r"\[1\]: character \d is"):
            Corpus.from_lists(**arguments)


def test_alternatives_are_columns_where_every_segment_has_as_many() -> None:
    even = Corpus.from_lists(["x", "y"], references=[["a", "b"], ["c", "d"]])
    uneven = Corpus.from_lists(["x", "y"], references=[["a", "b"], ["c"]])
    assert (len(even.references), len(uneven.references)) == (2, 1)
    assert next(even.chunks(9)).references == [("a", "b"), ("c", "d")]
    assert next(uneven.chunks(9)).references == [("a", "b"), ("c",)]


def test_a_line_without_an_end_is_refused(tmp_path: Path) -> None:
    """A small .gz may unpack to gigabytes in one line; it is refused before they are in memory."""
    bomb = tmp_path / "bomb.txt.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as out:
        out.write(b"fine\n")
        for _ in range(17):
            out.write(b"x" * 2**20)
    lines = readers.raw_lines(bomb)
    assert next(lines) == (1, "fine")
    with pytest.raises(InputError, match=r"\.gz, line 2: the line is longer than 16,777,216"):
        next(lines)
