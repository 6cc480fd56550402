"""mtgauge stream end to end: columns, conditions, shards, kills, refusals."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import mtgauge
from mtgauge import cli
from mtgauge.engine.demo import example

LINES = 240


def texts(many=LINES):
    """(source, target, reference) of the example's systems, made distinct by a number."""
    (chunk,) = example("de-en").chunks(1000)
    for i in range(many):
        system = list(chunk.systems.values())[i // 20 % 3]
        mark = f" {i // 60}" if i >= 60 else ""
        yield chunk.sources[i % 20] + mark, system[i % 20] + mark, chunk.references[i % 20][0]


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("in.jsonl")
    with path.open("w") as out:
        for i, (source, target, reference) in enumerate(texts()):
            row = {"id": i, "src": source, "tgt": target, "ref": reference}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


SIDES = ["--source-column", "src", "--target-column", "tgt", "--reference-column", "ref"]


def stream(*arguments, code=0):
    assert cli.main(["stream", *SIDES, *map(str, arguments)]) == code


def rows(folder):
    return [
        json.loads(line)
        for path in sorted(Path(folder).glob("part-*"))
        for line in path.read_text().splitlines()
    ]


def content(folder):
    """Everything in a folder, hidden files too."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def test_scores_are_those_of_score(corpus):
    stream(
        corpus, "-m", "chrf", "xmoverscore:lm=off", "-l", "de-en", "-o", "out", "--shard-size", 70
    )
    found = rows("out")
    sources, targets, references = zip(*texts(), strict=True)
    result = mtgauge.score(targets, sources, references, ["chrf", "xmoverscore:lm=off"], "de-en",
                           ci=False)  # fmt: skip
    (system,) = result.systems
    for column, spec in (("chrf", "chrf"), ("xmoverscore", "xmoverscore:lm=off")):
        assert [row[column] for row in found] == result[spec][system].segments.tolist()
    assert [row["id"] for row in found] == list(range(LINES))
    assert sorted(os.listdir("out")) == [
        "manifest.jsonl",
        *(f"part-{i:05d}.jsonl" for i in range(4)),
    ]


def test_conditions_are_counted_and_cheap_ones_come_first(corpus, capsys):
    keep = "chrf > 50 and source_words > 9 and not duplicate_source"
    stream(corpus, "-m", "chrf", "-o", "out", "--keep", keep)
    said = capsys.readouterr().err
    found = rows("out")
    assert found
    assert all(row["chrf"] > 50 and row["source_words"] > 9 for row in found)
    assert len({row["src"] for row in found}) == len(found)
    sources = [source for source, _, _ in texts()]
    short = sum(len(source.split()) <= 9 for source in sources)
    assert f"{short} by source_words > 9" in said
    manifest = [json.loads(line) for line in Path("out/manifest.jsonl").read_text().splitlines()]
    done = manifest[-1]["done"]
    assert done["kept"] == len(found)
    assert done["kept"] + sum(done["dropped"].values()) == done["records"] == LINES


def test_what_was_dropped_early_is_not_scored(corpus, monkeypatch):
    from mtgauge.metrics.chrf import Chrf

    seen = []
    whole = Chrf.statistics

    def counted(self, batch):
        seen.append(len(batch))
        return whole(self, batch)

    monkeypatch.setattr(Chrf, "statistics", counted)
    stream(corpus, "-m", "chrf", "-o", "out", "--keep", "id < 10 and chrf >= 0")
    assert sum(seen) == 10


def test_languages_are_asked_only_of_what_cheap_conditions_left(corpus, monkeypatch):
    from mtgauge.text import language

    seen = []
    whole = language.identify

    def counted(texts, candidates):
        seen.append(len(texts))
        return whole(texts, candidates)

    monkeypatch.setattr(language, "identify", counted)
    stream(corpus, "-o", "out", "--keep", "target_lang == 'en' and id < 10", "--add", "source_lang")
    assert sum(seen) == 20
    assert {row["source_lang"] for row in rows("out")} <= {"de", "nl", "en"}
    assert len(rows("out")) > 5


@pytest.mark.parametrize("share", ["10%", "7"])
def test_top(corpus, share):
    stream(corpus, "-m", "chrf", "-o", "all", "--shard-size", 50)
    stream(corpus, "-m", "chrf", "-o", "out", "--shard-size", 50, "--top", share, "--add", "copy")
    number = 24 if share == "10%" else 7
    scores = np.array([row["chrf"] for row in rows("all")])
    best = sorted(np.argsort(-scores, kind="stable")[:number].tolist())
    assert [row["id"] for row in rows("out")] == best
    assert not (Path("out") / ".work").exists()
    assert len(list(Path("out").glob("part-*"))) == 5


def test_top_of_a_distance_takes_the_lowest(corpus):
    stream(corpus, "-m", "ter", "-o", "out", "--top", "5", "--by", "ter")
    stream(corpus, "-m", "ter", "-o", "all")
    lowest = sorted(row["ter"] for row in rows("all"))[:5]
    assert sorted(row["ter"] for row in rows("out")) == lowest


def test_top_by_an_expression_and_undefined_keys(corpus, capsys):
    stream(corpus, "-o", "out", "--top", "3", "--by", "100 / (id - 5)")
    assert [row["id"] for row in rows("out")] == [6, 7, 8]
    assert "1 by 100 / (id - 5) is undefined" in capsys.readouterr().err


def test_two_settings_of_one_metric(corpus):
    stream(corpus, "-m", "chrf", "chrf:beta=3", "-o", "out", "--keep", 'column("chrf:beta=3") > 60')
    assert {"chrf", "chrf:beta=3"} <= set(rows("out")[0])


def test_rejects(corpus, capsys):
    lines = corpus.read_bytes().splitlines(keepends=True)
    lines[3] = b'{"src": "\xff"}\n'
    lines[120] = b"not json\n"
    lines[121] = b'{"src": "a", "tgt": null, "ref": "b"}\n'
    corpus.write_bytes(b"".join(lines))
    stream(corpus, "-m", "chrf", "-o", "out", "--shard-size", 100)
    assert (
        f"{LINES} read, {LINES - 3} kept, 3 rejected".replace(",", ",") in capsys.readouterr().err
    )
    assert [row["id"] for row in rows("out")] == [i for i in range(LINES) if i not in (3, 120, 121)]
    files = sorted(Path("out").glob("rejects-*"))
    assert [file.name for file in files] == ["rejects-00000.jsonl", "rejects-00001.jsonl"]
    found = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert [(r["line"], r["file"]) for r in found] == [
        (4, "in.jsonl"),
        (121, "in.jsonl"),
        (122, "in.jsonl"),
    ]
    assert "not UTF-8" in found[0]["reason"]
    stream(corpus, "-m", "chrf", "-o", "less", "--shard-size", 100, "--max-rejects", 2, code=3)
    said = capsys.readouterr().err
    assert "3 records cannot be used, more than --max-rejects 2" in said
    assert "in.jsonl, line 4" in said
    assert (Path("less") / "part-00000.jsonl").exists()
    stream(corpus, "-m", "chrf", "-o", "less", "--shard-size", 100, "--max-rejects", 3)
    assert content("less") == content("out")


def test_rejects_are_shown_and_nothing_but_rejects_is_an_error(corpus, capsys):
    lines = corpus.read_bytes().splitlines(keepends=True)
    lines[2:9] = [b"not json\n"] * 7
    corpus.write_bytes(b"".join(lines))
    stream(corpus, "-m", "chrf")
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("rejected")]
    assert len(told) == 6
    assert told[0].startswith("rejected   in.jsonl, line 3: not valid JSON")
    assert told[-1] == "rejected   and 2 more"
    latin = "".join(f"Satz {i} ist schön.\tSentence {i}.\t-\n" for i in range(20))
    Path("latin.tsv").write_bytes(f"src\ttgt\tref\n{latin}".encode("latin-1"))
    for more in ((), ("-o", "out")):
        stream("latin.tsv", "-m", "chrf", *more, code=3)
        said = capsys.readouterr().err
        assert "none of the 20 records can be used (latin.tsv, line 2: byte" in said
        assert "iconv" in said


def test_lines_to_standard_output(corpus, capfdbinary):
    stream(corpus, "-m", "chrf", "--keep", "chrf > 99", "--quiet")
    lines = capfdbinary.readouterr().out.splitlines()
    assert lines
    assert all(json.loads(line)["chrf"] > 99 for line in lines)
    stream(corpus, "-m", "chrf", "--top", "3", code=2)


@pytest.mark.parametrize("name", ["out.jsonl", "out.tsv.gz", "out.parquet"])
def test_the_name_of_a_file_is_no_folder(corpus, tmp_path, capsys, name):
    """A folder called out.jsonl is hardly what was meant; one that is there already is."""
    stream(corpus, "--add", "length_ratio", "-o", name, code=3)
    assert "this is the name of a file. Name a folder, or leave -o out" in capsys.readouterr().err
    assert not (tmp_path / name).exists()
    (tmp_path / name).mkdir()
    stream(corpus, "--add", "length_ratio", "-o", name)
    assert len(rows(name)) == LINES


def test_standard_input(corpus, tmp_path):
    command = [sys.executable, "-m", "mtgauge", "stream", "-", "--format", "tsv", "--no-header",
               "--source-column", "1", "--target-column", "2", "--keep", "duplicate",
               "--rejects", "bad.jsonl", "--quiet"]  # fmt: skip
    done = subprocess.run(command, input=b"a\tb\nc\td\na\tb\nbroken\n", capture_output=True)
    assert done.stdout == b"a\tb\ttrue\n", done.stderr
    assert json.loads(Path("bad.jsonl").read_text())["line"] == 4
    without = subprocess.run([*command[:5], *command[7:]], input=b"", capture_output=True)
    assert without.returncode == 2
    assert b"Which form has standard input?" in without.stderr


def test_parquet_and_compressed(corpus):
    stream(corpus, "-m", "chrf", "-o", "a")
    Path("in.jsonl.gz").write_bytes(gzip.compress(corpus.read_bytes()))
    stream("in.jsonl.gz", "-m", "chrf", "-o", "b")
    assert (
        gzip.decompress(Path("b/part-00000.jsonl.gz").read_bytes())
        == Path("a/part-00000.jsonl").read_bytes()
    )
    import pyarrow as pa

    pq.write_table(pa.Table.from_pylist([json.loads(x) for x in corpus.open()]), "in.parquet")
    for options in (["-o", "c"], ["-o", "d", "--top", "5"], ["-o", "e", "--keep", "id < 3"]):
        stream("in.parquet", "-m", "chrf", "--shard-size", 100, *options)
    tables = {name: pq.read_table(sorted(Path(name).glob("*.parquet"))) for name in "cde"}
    assert tables["c"].to_pylist() == rows("a")
    assert tables["d"].num_rows == 5
    assert tables["e"]["id"].to_pylist() == [0, 1, 2]


# killed and taken up again


def run(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "mtgauge", "stream", *SIDES, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("more", [[], ["--top", "20%"]], ids=["one-pass", "two-passes"])
def test_killed_at_any_moment_it_goes_on_to_the_same_bits(corpus, more):
    arguments = [corpus, "-m", "chrf", "--keep", "chrf > 20 and not duplicate_target",
                 "--shard-size", 4, *more]  # fmt: skip
    lines = corpus.read_bytes().splitlines(keepends=True)
    corpus.write_bytes(b"".join([*lines[:50], b"broken\n", *lines[50:]]))
    started = time.monotonic()
    assert run(*arguments, "-o", "whole").wait() == 0
    length = time.monotonic() - started
    chance = random.Random(len(more))
    for _ in range(5):
        process = run(*arguments, "-o", "out")
        time.sleep(length * chance.uniform(0.5, 1.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
    process = run(*arguments, "-o", "out")
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert content("out") == content("whole")


def test_a_cut_manifest_and_files_without_their_line_are_done_again(corpus):
    arguments = [corpus, "-m", "chrf", "--shard-size", 50]
    stream(*arguments, "-o", "whole")
    stream(*arguments, "-o", "out")
    manifest = Path("out/manifest.jsonl")
    lines = manifest.read_bytes().splitlines(keepends=True)
    manifest.write_bytes(b"".join(lines[:3]) + lines[3][:20])
    Path("out/part-00002.jsonl").write_bytes(b"half of an old sh")
    Path("out/.mtgauge-part-00003.jsonl").write_bytes(b"a draft")
    stream(*arguments, "-o", "out")
    assert content("out") == content("whole")


def test_workers_write_the_same_bits(corpus):
    arguments = [corpus, "-m", "chrf", "xmoverscore:lm=off", "-l", "de-en", "--shard-size", 70]
    stream(*arguments, "-o", "here")
    stream(*arguments, "-o", "there", "--workers", 2)
    assert content("here") == content("there")


# refusals


def test_other_settings_are_refused(corpus, capsys):
    stream(corpus, "-m", "chrf", "-o", "out", "--keep", "chrf > 10")
    before = content("out")
    for arguments, said in [
        (["-m", "chrf", "--keep", "chrf > 20"], '--keep was "chrf > 10" and is "chrf > 20"'),
        (["-m", "chrf:beta=3", "--keep", "chrf > 10"], "metrics was"),
        (["-m", "chrf", "--keep", "chrf > 10", "--shard-size", "9"], "--shard-size was 50000"),
    ]:
        capsys.readouterr()
        stream(corpus, "-o", "out", *arguments, code=2)
        assert said in capsys.readouterr().err
    with corpus.open("a") as file:
        file.write(json.dumps({"src": "a", "tgt": "b", "ref": "c"}) + "\n")
    stream(corpus, "-m", "chrf", "-o", "out", "--keep", "chrf > 10", code=2)
    assert "the input was" in capsys.readouterr().err
    assert content("out") == before


def test_input_that_changed_in_place_is_refused(corpus, capsys):
    stream(corpus, "-m", "chrf", "-o", "out", "--shard-size", 50)
    manifest = Path("out/manifest.jsonl")
    manifest.write_bytes(b"".join(manifest.read_bytes().splitlines(keepends=True)[:3]))
    data = corpus.read_bytes()
    corpus.write_bytes(data.replace(b'"id": 3,', b'"id": 4,', 1))
    stream(corpus, "-m", "chrf", "-o", "out", "--shard-size", 50, code=3)
    assert "the input has changed since shard 0" in capsys.readouterr().err


def test_a_folder_of_another_run_is_refused(corpus, capsys):
    Path("out").mkdir()
    Path("out/part-00000.jsonl").write_text("half-written")
    stream(corpus, "-m", "chrf", "-o", "out", code=3)
    assert "files of another run" in capsys.readouterr().err
    assert content("out").keys() == {"part-00000.jsonl"}
    Path("other").mkdir()
    Path("other/manifest.jsonl").write_text("")
    stream(corpus, "-m", "chrf", "-o", "other", code=3)


def test_a_shard_that_is_gone_is_told(corpus, capsys):
    stream(corpus, "-m", "chrf", "-o", "out", "--shard-size", 100)
    Path("out/part-00001.jsonl").unlink()
    stream(corpus, "-m", "chrf", "-o", "out", "--shard-size", 100, code=3)
    assert "part-00001.jsonl: this finished shard is gone" in capsys.readouterr().err


def test_two_runs_in_one_folder(corpus, capsys):
    fcntl = pytest.importorskip("fcntl")
    Path("out").mkdir()
    with Path("out/.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stream(corpus, "-m", "chrf", "-o", "out", code=2)
    assert "Another run is writing to out" in capsys.readouterr().err


def test_a_full_disk_keeps_what_was_finished(corpus):
    """A limit on the size of files stands for the disk: the third shard does not fit."""
    resource = pytest.importorskip("resource")
    lines = corpus.read_bytes().splitlines(keepends=True)
    long = json.dumps({"id": 1, "src": "a" * 60_000, "tgt": "b" * 60_000, "ref": "c"}) + "\n"
    corpus.write_bytes(b"".join([*lines[:20], long.encode(), *lines[21:40]]))
    arguments = [sys.executable, "-m", "mtgauge", "stream", *SIDES, str(corpus), "--add", "copy",
                 "--shard-size", "10", "-o", "out"]  # fmt: skip

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    done = subprocess.run(arguments, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 3
    assert "the disk is full" in done.stderr
    assert "what was finished is kept" in done.stderr
    assert [p.name for p in sorted(Path("out").glob("part-*"))] == [
        "part-00000.jsonl",
        "part-00001.jsonl",
    ]
    assert not list(Path("out").glob(".mtgauge-*"))
    assert subprocess.run(arguments, capture_output=True).returncode == 0
    stream(corpus, "--add", "copy", "--shard-size", 10, "-o", "whole")
    assert content("out") == content("whole")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--source-column", "foo"], 3, "there is no column 'foo'"),
        (["--keep", "soruce_length > 3"], 2, "no column 'soruce_length' to filter by"),
        (["--keep", "id >"], 2, "wrong at character 5"),
        (["--add", "lenght"], 2, "no column 'lenght' to add"),
        (["--add", "target_foreign"], 2, "needs the language pair"),
        (["-m", "nist"], 2, "nist learns from all references"),
        (["-m", "chfr"], 2, "chrf"),
        (["-m", "chrf", "chrf"], 2, "asked for twice"),
        (["-m", "chrf", "--by", "chrf"], 2, "give --top too"),
        (["--top", "3"], 2, "goes by a metric"),
        (["-m", "chrf", "--top", "x"], 2, "neither a share"),
        (["--no-source", "--add", "copy"], 2, "--no-source and --source-column"),
        (["--shard-size", "0"], 2, "--shard-size is 1 or more"),
        (["--format", "tsv"], 2, "--format is for files without an ending"),
        (["--no-header"], 2, "--no-header is for TSV"),
        (["--add", "copy", "--prefix", "a\tb"], 2, "has no tab and no line break"),
        (["--rejects", "x.jsonl"], 2, "--rejects is for standard output"),
        (["-m", "std", "-l", "en-yo"], 4, "std"),
    ],
)
def test_wrong_usage(corpus, capsys, arguments, code, said):
    stream(corpus, "-o", "out", *arguments, code=code)
    assert said in capsys.readouterr().err
    assert not Path("out").exists() or not list(Path("out").glob("part-*"))


def test_a_column_that_is_there_already(corpus, capsys):
    line = {"src": "a", "tgt": "b", "ref": "c", "copy": "mine"}
    corpus.write_text(json.dumps(line) + "\n")
    stream(corpus, "-o", "out", "--add", "copy", code=2)
    assert "The input has a column 'copy' already" in capsys.readouterr().err
    stream(corpus, "-o", "out", "--add", "copy", "--prefix", "is_", "--keep", "copy == 'mine'")
    assert rows("out") == [line | {"is_copy": False}]


def test_a_metric_that_needs_what_is_not_there(corpus, capsys):
    sides = ["--source-column", "src", "--target-column", "tgt"]
    assert cli.main(["stream", str(corpus), *sides, "-m", "chrf", "-o", "out"]) == 2
    assert "chrf needs reference: give --reference-column" in capsys.readouterr().err
    assert cli.main(["stream", str(corpus), "--no-source", "--target-column", "tgt",
                     "--add", "target_lang", "target_words", "-o", "out"]) == 0  # fmt: skip
    assert rows("out")[0]["target_lang"] == "en"
