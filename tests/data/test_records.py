"""Records: every form in and out again, damage as rejects, constant memory."""

from __future__ import annotations

import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from mtgauge.data import records as module
from mtgauge.data.record_files import input_files, open_records
from mtgauge.data.record_output import writer
from mtgauge.data.records import Form
from mtgauge.errors import InputError, UsageError

ROWS = [{"id": i, "src": f"Satz {i} ä漢", "tgt": f"Sentence {i}"} for i in range(7)]
JSONL = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()
TSV = b"id\tsrc\ttgt\n" + "".join(f"{r['id']}\t{r['src']}\t{r['tgt']}\n" for r in ROWS).encode()


def lay(path):
    """The rows in the form that the file's name says."""
    if path.name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=3)
        return path
    data = JSONL if ".jsonl" in path.name else TSV
    if path.name.endswith(".gz"):
        data = gzip.compress(data)
    if path.name.endswith(".zst"):
        data = zstandard.compress(data[:50]) + zstandard.compress(data[50:])  # two frames
    path.write_bytes(data)
    return path


def read(paths, form, size=3, **options):
    records = open_records(paths, form, ["src", "tgt"], batch=size, **options)
    blocks = []
    while block := records.take(size):
        blocks.append(block)
    return records, blocks


FORMS = ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.tsv", "a.tsv.gz", "a.tsv.zst", "a.parquet"]


@pytest.mark.parametrize("name", FORMS)
def test_what_was_read_is_written_again_with_more_columns(tmp_path, name):
    path = lay(tmp_path / name)
    paths, form = input_files([path], None)
    records, blocks = read(paths, form)
    assert [row["tgt"] for block in blocks for row in block.rows] == [r["tgt"] for r in ROWS]
    assert [at for block in blocks for at in block.at] == list(range(7))
    out = tmp_path / f"out{form.ending}"
    with (
        out.open("wb") as stream,
        writer(stream, records, form, {"score": "number", "copy": "truth"}) as write,
    ):
        for block in blocks:
            marks = [row["tgt"] != "Sentence 2" for row in block.rows]
            scores = [0.1 * at if at else float("nan") for at in block.at]
            write.write(block, {"score": scores, "copy": marks}, marks)
    _, again = read([out], form)
    rows = [row for block in again for row in block.rows]
    assert [row["tgt"] for row in rows] == [r["tgt"] for r in ROWS if r["id"] != 2]
    if form.kind == "parquet":
        table = pq.read_table(out)
        assert table["score"].to_pylist() == [None, 0.1, *(0.1 * i for i in range(3, 7))]
        assert table["id"].to_pylist() == [0, 1, 3, 4, 5, 6]
    elif form.kind == "jsonl":
        assert [row["score"] for row in rows][:2] == [None, 0.1]
        assert rows[1]["copy"] is True
    else:
        assert [row["score"] for row in rows][:2] == ["", "0.1"]


@pytest.mark.parametrize("name", FORMS)
def test_skipping_leads_to_the_same_place(tmp_path, name):
    path = lay(tmp_path / name)
    form = Form.of(path)
    _, blocks = read([path], form, 2)
    later = open_records([path], form, ["src", "tgt"], batch=2)
    later.skip(4)
    block = later.take(2)
    assert block.rows == blocks[2].rows
    assert block.first == 4
    for start in (0, 3):
        first, second = (open_records([path], form, ["src"], batch=2) for _ in range(2))
        for each in (first, second):
            each.skip(start)
        first.take(2)
        second.skip(2)
        assert first.digest() == second.digest()


def test_the_same_bytes_every_time(tmp_path):
    path = lay(tmp_path / "a.jsonl")
    records, blocks = read([path], Form("jsonl"))
    outs = []
    for _ in range(2):
        stream = io.BytesIO()
        with writer(stream, records, Form("jsonl", "gz"), {}) as write:
            for block in blocks:
                write.write(block, {}, [True] * len(block.rows))
        outs.append(stream.getvalue())
    assert outs[0] == outs[1]
    assert gzip.decompress(outs[0]) == JSONL


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"src": "a", "tgt": "\xff"}', "not UTF-8"),
        (b'{"src": "a", "tgt": ', "not valid JSON"),
        (b'["a"]', "not a JSON object"),
        (b'{"src": "a"}', "'tgt' is missing"),
        (b'{"src": "a", "tgt": null}', "'tgt' is missing"),
        (b'{"src": "a", "tgt": 3}', "is int, not text"),
        (b'{"src": "a", "tgt": "a\\nb"}', "a line feed inside the text"),
        (b'{"src": "a", "tgt": "\\ud800"}', "half of a surrogate pair"),
        (b'{"src": "a", "src": "b", "tgt": "c"}', "stands twice"),
        (b"", "not valid JSON"),
    ],
)
def test_a_damaged_line_is_a_reject(tmp_path, line, reason):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"src": "x", "tgt": "y"}\n' + line + b'\n{"src": "x", "tgt": "z"}\n')
    _, (block,) = read([path], Form("jsonl"))
    assert [row["tgt"] for row in block.rows] == ["y", "z"]
    assert block.at == [0, 2]
    (reject,) = block.rejects
    assert reason in reject.reason
    assert (reject.line, reject.file) == (2, str(path))
    json.dumps(reject.to_dict()).encode()


def test_damaged_tables(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("src\ttgt\na\tb\na\na\tb\tc\n")
    _, (block,) = read([path], Form("tsv"))
    assert [reject.reason for reject in block.rejects] == [
        "1 columns where the header has 2.",
        "3 columns where the header has 2.",
    ]
    path.write_text("a\tb\na\n")
    records = open_records([path], Form("tsv"), ["1", "2"], header=False)
    block = records.take(9)
    assert block.rows == [{"1": "a", "2": "b"}]
    assert "the first record has 2" in block.rejects[0].reason


def test_parquet_without_a_text(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"src": ["a", None, "c"], "tgt": ["x", "y", "z\0"]}), path)
    _, (block,) = read([path], Form("parquet"))
    assert block.at == [0]
    assert block.table.num_rows == 1
    assert ["is missing" in r.reason or "NUL" in r.reason for r in block.rejects] == [True, True]


def test_parquet_of_which_nothing_can_be_used(tmp_path):
    """Rejects as of any form, also where no record is left; a file without rows is refused."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"src": ["a", "b"], "tgt": [1, 2]}), path)
    records, (block,) = read([path], Form("parquet"))
    assert [r.reason for r in block.rejects] == ["the value of 'tgt' is int, not text."] * 2
    assert block.table.num_rows == 0
    out = io.BytesIO()
    with writer(out, records, Form("parquet"), {"chrf": "number"}) as written:
        written.write(block, {"chrf": []}, [])
    assert pq.read_table(io.BytesIO(out.getvalue())).column_names == ["src", "tgt", "chrf"]
    pq.write_table(pa.table({"src": ["a"], "tgt": ["b"]}).slice(0, 0), path)
    with pytest.raises(InputError, match=r"a\.parquet: there are no records"):
        read([path], Form("parquet"))


def test_an_endless_line_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 100)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"src": "x", "tgt": "y"}\n' + b"x" * 1000 + b'\n{"src": "x", "tgt": "z"}\n')
    _, (block,) = read([path], Form("jsonl"))
    assert [row["tgt"] for row in block.rows] == ["y", "z"]
    assert "longer than 100 bytes" in block.rejects[0].reason
    assert len(block.rejects[0].text) == 100


@pytest.mark.parametrize("name", ["a.jsonl", "a.tsv", "a.parquet"])
def test_a_missing_column_is_refused_with_those_there_are(tmp_path, name):
    path = lay(tmp_path / name)
    with pytest.raises(InputError, match=r"no column 'foo'.*The columns are: id, src, tgt"):
        open_records([path], Form.of(path), ["foo"])


def test_files_that_do_not_go_together(tmp_path):
    tsv, jsonl, other = (lay(tmp_path / name) for name in ("a.tsv", "b.jsonl", "c.tsv"))
    other.write_text("src\ttgt\na\tb\n")
    with pytest.raises(UsageError, match="another form"):
        input_files([tsv, jsonl], None)
    with pytest.raises(UsageError, match="named twice"):
        input_files([tsv, tsv], None)
    with pytest.raises(InputError, match=r"c.tsv, line 1: the columns are not those of"):
        read([tsv, other], Form("tsv"))
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(pa.table({"src": ["a"], "tgt": ["b"]}), first)
    pq.write_table(pa.table({"src": ["a"], "tgt": ["b"], "x": [1]}), second)
    with pytest.raises(InputError, match="the columns are not those of"):
        read([first, second], Form("parquet"))
    with pytest.raises(UsageError, match="which form"):
        input_files([_touched(tmp_path / "x.dat")], None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no corpus"):
        input_files([tmp_path / "empty"], None)
    with pytest.raises(InputError, match="no Parquet file"):
        read([_touched(tmp_path / "no.parquet")], Form("parquet"))
    with pytest.raises(InputError, match="no records"):
        read([_touched(tmp_path / "no.jsonl")], Form("jsonl"))


def _touched(path):
    path.write_bytes(b"")
    return path


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    for name in ("b.jsonl", "a.jsonl", "sub/c.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"src": name, "tgt": name}) + "\n")
    (tmp_path / "readme.txt").write_text("not a corpus")
    paths, form = input_files([tmp_path], None)
    _, blocks = read(paths, form)
    assert [r["src"] for b in blocks for r in b.rows] == ["a.jsonl", "b.jsonl", "sub/c.jsonl"]


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
def test_a_file_that_was_cut_off(tmp_path, name):
    path = lay(tmp_path / name)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"damaged|no records"):
        read([path], Form.of(path))


LINE = st.dictionaries(
    st.text(min_size=1), st.none() | st.booleans() | st.integers() | st.text(), max_size=4
)


@settings(max_examples=60, deadline=None)
@given(st.lists(LINE, min_size=1, max_size=5), st.sampled_from(["", "gz", "zst"]))
def test_any_json_survives(tmp_path_factory, rows, packing):
    path = tmp_path_factory.mktemp("any") / "a.jsonl"
    lines = [json.dumps({**row, "src": "a", "tgt": "b"}, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    records, blocks = read([path], Form("jsonl"))
    assert not any(block.rejects for block in blocks)
    stream = io.BytesIO()
    with writer(stream, records, Form("jsonl", packing), {"new": "number"}) as write:
        for block in blocks:
            write.write(block, {"new": [1.5] * len(block.rows)}, [True] * len(block.rows))
    data = stream.getvalue()
    if packing == "gz":
        data = gzip.decompress(data)
    elif packing == "zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    found = [json.loads(line) for line in data.decode().split("\n")[:-1]]
    assert found == [{**row, "src": "a", "tgt": "b", "new": 1.5} for row in rows]
