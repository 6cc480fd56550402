"""Word-vector stores and every format they are made from."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtgauge.cli import main
from mtgauge.encode.words import fasttext
from mtgauge.encode.words.converted import open_vectors
from mtgauge.encode.words.files import convert
from mtgauge.encode.words.lookup import Lookup
from mtgauge.encode.words.store import WordVectors, embedded_languages, write_store
from mtgauge.errors import InputError, ResourceError, UsageError

WORDS = ["the", "Katze", "猫", "naïve", "the2"]
VALUES = np.array([[1, 2, 3], [-0.5, 0.25, 4], [0, 0, 1], [9, 8, 7], [1, 1, 1]], dtype=np.float32)


def text_lines(words: list[str] = WORDS, values: np.ndarray = VALUES) -> list[str]:
    pairs = zip(words, values, strict=True)
    return [f"{w} " + " ".join(f"{x:g}" for x in row) for w, row in pairs]


def binary(words: list[str] = WORDS, values: np.ndarray = VALUES, newline: bytes = b"\n") -> bytes:
    body = b"".join(
        w.encode() + b" " + row.astype("<f4").tobytes() + newline
        for w, row in zip(words, values, strict=True)
    )
    return f"{len(words)} {values.shape[1]}\n".encode() + body


FILES = {
    "word2vec text": ("\n".join(["5 3", *text_lines()]) + "\n").encode(),
    "text with spaces at line ends": (" \n".join(["5 3", *text_lines()]) + " \n").encode(),
    "glove": ("\n".join(text_lines()) + "\n").encode(),
    "glove with tabs": ("\n".join(text_lines()) + "\n").replace(" ", "\t").encode(),
    "word2vec binary": binary(),
    "binary without line feeds": binary(newline=b""),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("kind", FILES)
def test_every_format_gives_the_same_store(tmp_path: Path, kind: str, packed: bool) -> None:
    file = tmp_path / "vectors"
    file.write_bytes(gzip.compress(FILES[kind]) if packed else FILES[kind])
    store = convert(file, tmp_path / "store").store
    assert list(store.words()) == WORDS
    rows = store.rows(["猫", "the", "dog", "Katze", "katze", ""])
    assert rows.tolist() == [2, 0, -1, 1, -1, -1]
    np.testing.assert_array_equal(store.take(np.arange(5)), VALUES)
    assert WordVectors.open(tmp_path / "store").fingerprint == store.fingerprint


def test_large_stores_are_half_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert write_store(tmp_path / "a", WORDS, VALUES / 3).header["dtype"] == "float32"
    monkeypatch.setattr("mtgauge.encode.words.store._SMALL", 10)
    large = write_store(tmp_path / "b", WORDS, VALUES / 3)
    assert large.header["dtype"] == "float16"
    np.testing.assert_allclose(large.take(np.arange(5)), VALUES / 3, rtol=1e-3)
    with pytest.raises(InputError, match="too large for float16"):
        write_store(tmp_path / "c", WORDS, VALUES * 1e6)


def test_int8_keeps_two_digits(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=(200, 50)).astype(np.float32)
    store = write_store(tmp_path / "s", [f"w{i}" for i in range(200)], values, dtype="int8")
    found = store.take(np.arange(200))
    assert np.abs(found - values).max() <= np.abs(values).max() / 254 + 1e-6


def test_options_of_convert(tmp_path: Path) -> None:
    file = tmp_path / "v.txt"
    lines = text_lines(["The", "the", "Cat", "dog", "the"])
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = convert(file, tmp_path / "a", lowercase=True)
    assert list(done.store.words()) == ["the", "cat", "dog"]
    assert done.notes["twice"] == 2
    np.testing.assert_array_equal(done.store.take(np.array([0])), VALUES[:1])
    done = convert(file, tmp_path / "b", vocabulary={"dog", "Cat"})
    assert list(done.store.words()) == ["Cat", "dog"]
    assert list(convert(file, tmp_path / "c", limit=2).store.words()) == ["The", "the"]
    with pytest.raises(UsageError, match="not empty"):
        convert(file, tmp_path / "c")


def test_words_with_spaces_as_glove_has_them(tmp_path: Path) -> None:
    file = tmp_path / "v.txt"
    file.write_text("the 1 2 3\nat name@domain.com 4 5 6\n", encoding="utf-8")
    assert list(convert(file, tmp_path / "s").store.words()) == ["the", "at name@domain.com"]


def test_words_that_are_not_utf8_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "v.bin"
    file.write_bytes(binary(["a", "b"], VALUES[:2]).replace(b"\nb ", b"\n\xff "))
    done = convert(file, tmp_path / "s")
    assert list(done.store.words()) == ["a"]
    assert done.notes["not UTF-8"] == 1


DAMAGED = {
    "fewer words than promised": (b"3 3\na 1 2 3\nb 1 2 3\n", 3, "promises 3 words"),
    "more words than promised": (b"1 3\na 1 2 3\nb 1 2 3\n", 3, "promises 1 words"),
    "too few numbers": (b"2 3\na 1 2 3\nb 1 2\n", 3, "where 3 are wanted"),
    "too many numbers": (b"a 1 2 3\nb 1 2 3 4\n", 2, "where 3 are wanted"),
    "no number": (b"a 1 2 3\nb 1 x 3\n", 2, "not all values"),
    "not finite": (b"a 1 2 3\nb 1 nan 3\n", 2, "not finite"),
    "an empty line": (b"a 1 2 3\n\nb 1 2 3\n", 2, "0 numbers"),
    "binary cut off": (binary()[:-9], 6, "ends within word 5"),
    "empty": (b"", 1, "empty"),
    "prose": (b"This is no vector file.\n", 1, "no word-vector file"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damage_is_told_with_the_line(tmp_path: Path, kind: str) -> None:
    content, line, message = DAMAGED[kind]
    file = tmp_path / "v.txt"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        convert(file, tmp_path / "s")
    assert caught.value.line == line
    assert caught.value.file == file


def test_a_damaged_gz_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "v.gz"
    file.write_bytes(gzip.compress(FILES["glove"] * 50)[:-20])
    with pytest.raises(InputError, match="damaged"):
        convert(file, tmp_path / "s")


def fasttext_model(
    words: list[str], matrix: np.ndarray, minn: int, maxn: int, bucket: int
) -> bytes:
    numbers = [fasttext.MAGIC, 12, matrix.shape[1], 5, 5, 1, 5, 1, 1, 2, bucket, minn, maxn, 100]
    head = struct.pack("<14i", *numbers) + struct.pack("<d", 1e-4)
    head += struct.pack("<3i", len(words), len(words), 0) + struct.pack("<2q", 100, -1)
    for word in words:
        head += word.encode() + b"\0" + struct.pack("<q", 7) + b"\0"
    return head + b"\0" + struct.pack("<2q", *matrix.shape) + matrix.astype("<f4").tobytes()


def slow_buckets(word: str, minn: int, maxn: int, bucket: int) -> list[int]:
    """The definition, n-gram by n-gram."""
    padded, out = f"<{word}>", []
    for start in range(len(padded)):
        for end in range(start + minn, min(start + maxn, len(padded)) + 1):
            if end - start == 1 and (start == 0 or end == len(padded)):
                continue
            value: Any = np.uint32(2166136261)
            for byte in padded[start:end].encode():
                signed = np.array(byte, dtype=np.uint8).view(np.int8).astype(np.int32)
                with np.errstate(over="ignore"):
                    value = (value ^ signed.view(np.uint32)) * np.uint32(16777619)
            out.append(int(value) % bucket)
    return out


def test_fasttext_with_subwords(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    words, bucket = ["</s>", "haus", "größe"], 11
    matrix = rng.normal(size=(len(words) + bucket, 4)).astype(np.float32)
    file = tmp_path / "m.bin"
    file.write_bytes(fasttext_model(words, matrix, 2, 4, bucket))
    store = convert(file, tmp_path / "s").store
    for row, word in enumerate(words):
        subwords = [] if word == "</s>" else slow_buckets(word, 2, 4, bucket)
        want = matrix[[row, *(len(words) + b for b in subwords)]].mean(axis=0)
        np.testing.assert_allclose(store.take(np.array([row]))[0], want, atol=2e-3)
    want = matrix[[len(words) + b for b in slow_buckets("häuser", 2, 4, bucket)]].mean(axis=0)
    np.testing.assert_allclose(store.subword_vectors(["häuser"])[0], want, atol=2e-3)
    found = Lookup(store, "drop").words([["haus", "häuser"]])
    assert found.missing == 0
    np.testing.assert_allclose(found.table[1], want, atol=2e-3)


def test_a_fasttext_model_that_is_cut_off(tmp_path: Path) -> None:
    whole = fasttext_model(["a", "b"], np.ones((5, 4)), 2, 3, 3)
    for size in (30, 80, len(whole) - 4):
        file = tmp_path / f"{size}.bin"
        file.write_bytes(whole[:size])
        with pytest.raises(InputError):
            convert(file, tmp_path / f"s{size}")


def test_policies_for_words_without_a_vector(tmp_path: Path) -> None:
    store = write_store(tmp_path / "a", ["cat", "dog"], VALUES[:2])
    text = [["cat", "xyz", "dog", "xyz", "abc"]]
    dropped = Lookup(store, "drop").words(text)
    assert dropped.texts[0].tolist() == [0, 1]
    assert dropped.missing == 3
    assert Lookup(store, "paper").words(text).texts[0].tolist() == [0, 1]
    hashed = Lookup(store, "spelling").words(text)
    assert hashed.texts[0].tolist() == [0, 1, 2, 1, 3]
    assert hashed.known.tolist() == [2]
    again = Lookup(store, "spelling").words([["abc", "xyz"]])
    np.testing.assert_array_equal(again.table[::-1], hashed.table[[1, 3]])
    with_unk = write_store(tmp_path / "b", ["cat", "unk"], VALUES[:2])
    lookup = Lookup(with_unk, "paper")
    assert lookup.words(text).texts[0].tolist() == [0, 1, 1, 1, 1]
    assert lookup.kept(text[0]) == ["cat", "unk", "unk", "unk", "unk"]


def test_missing_and_damaged_stores_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="mtgauge vectors convert"):
        WordVectors.open(tmp_path / "nothing")
    with pytest.raises(ResourceError, match="not a store"):
        WordVectors.open(tmp_path)
    with pytest.raises(ResourceError, match=r"(?s)'xx'.*mtgauge vectors convert"):
        WordVectors.embedded("xx")
    store = write_store(tmp_path / "s", ["a", "b"], VALUES[:2])
    header = json.loads((store.folder / "header.json").read_text("utf-8")) | {"words": 3}
    (store.folder / "header.json").write_text(json.dumps(header), "utf-8")
    with pytest.raises(ResourceError, match="not whole"):
        WordVectors.open(store.folder)
    (tmp_path / "s" / "vectors.npy").unlink()
    with pytest.raises(ResourceError, match="damaged"):
        WordVectors.open(store.folder)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_a_byte_that_changed_is_noticed_in_every_file(tmp_path: Path, dtype: Any) -> None:
    folder = write_store(tmp_path / "s", WORDS, VALUES, dtype=dtype).folder
    for file in sorted(folder.iterdir()):
        if file.name != "header.json":
            content = file.read_bytes()
            file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
            with pytest.raises(ResourceError, match=f"damaged: {file.name}"):
                WordVectors.open(folder)
            file.write_bytes(content)
    assert len(WordVectors.open(folder)) == len(WORDS)


def test_a_damaged_store_in_the_cache_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MTGAUGE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "tiny.vec"
    file.write_bytes(FILES["glove"])
    folder = open_vectors(file).folder
    (folder / "vectors.npy").write_bytes(b"rubbish")
    assert list(open_vectors(file).words()) == [word.lower() for word in WORDS]


def test_the_same_conversion_again_is_done_already(tmp_path: Path) -> None:
    """A run that was killed at its very end; another file or option is another store."""
    file, out = tmp_path / "v.txt", str(tmp_path / "s")
    file.write_bytes(FILES["glove"])
    command = ["vectors", "convert", str(file), "-o", out]
    assert main(command) == 0
    before = (tmp_path / "s" / "header.json").stat()
    assert main(command) == 0
    assert (tmp_path / "s" / "header.json").stat() == before
    assert main([*command, "--limit", "2"]) == 2
    file.write_bytes(FILES["glove"].replace(b"Katze", b"Hunde"))
    assert main(command) == 2
    file.write_bytes(FILES["glove"])
    (tmp_path / "s" / "vectors.npy").write_bytes(b"rubbish")
    assert main(command) == 2


def test_a_store_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    file = tmp_path / "v.txt"
    file.write_bytes(FILES["glove"])
    with monkeypatch.context() as patched:
        patched.setattr(np, "save", full)
        assert main(["vectors", "convert", str(file), "-o", str(tmp_path / "s")]) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["v.txt"]
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="there already"):
        write_store(tmp_path / "s", WORDS, VALUES)
    assert (tmp_path / "s" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "not a JSON object"),
        ("{", "not JSON"),
        ("{}", "not of the format"),
        ({"words": None}, "words must be a whole number"),
        ({"dimensions": "3"}, "dimensions must be"),
        ({"dtype": "float8"}, "dtype must be float32, float16 or int8"),
        ({"subwords": [1]}, "subwords must be"),
        ({"fingerprint": "a\x1b[0m"}, "fingerprint must be one line"),
    ],
)
def test_a_malformed_header_is_named(
    tmp_path: Path, text: str | dict[str, object], message: str
) -> None:
    path = write_store(tmp_path / "s", ["a", "b"], VALUES[:2]).folder / "header.json"
    if isinstance(text, dict):
        text = json.dumps(json.loads(path.read_text("utf-8")) | text)
    path.write_text(text, "utf-8")
    with pytest.raises(ResourceError, match=message):
        WordVectors.open(tmp_path / "s")


def test_a_word_twice_is_refused_by_the_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="twice"):
        write_store(tmp_path / "s", ["a", "a"], VALUES[:2])


def test_embedded_vectors_know_what_is_alike() -> None:
    assert "en" in embedded_languages()
    store = WordVectors.embedded("en")
    words = ["year", "month", "parliament", "commission", "blue", "red"]
    values = store.take(store.rows(words)).astype(np.float64)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    cosines = values @ values.T - 2 * np.eye(len(words))
    assert cosines.argmax(axis=1).tolist() == [1, 0, 3, 2, 5, 4]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "v.txt"
    file.write_bytes(FILES["glove"])
    assert main(["vectors", "convert", str(file), "-o", str(tmp_path / "s")]) == 0
    assert main(["vectors", "info", str(tmp_path / "s")]) == 0
    assert "words\t5" in capsys.readouterr().out
    assert main(["vectors", "info"]) == 0
    assert "en\t" in capsys.readouterr().out
    assert main(["vectors", "info", str(tmp_path / "none")]) == 4
    assert main(["vectors", "convert", str(tmp_path / "none"), "-o", str(tmp_path / "t")]) == 3


@pytest.mark.parametrize("ending", ["vec", "txt", "bin", "vec.gz"])
def test_a_file_is_converted_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ending: str,
) -> None:
    monkeypatch.setenv("MTGAUGE_CACHE", str(tmp_path / "cache"))
    content = FILES["word2vec binary" if ending == "bin" else "word2vec text"]
    file = tmp_path / f"tiny.{ending}"
    file.write_bytes(gzip.compress(content, mtime=0) if ending.endswith("gz") else content)
    (tmp_path / "h.txt").write_text("the cat\n", encoding="utf-8")
    (tmp_path / "r.txt").write_text("the naïve cat\n", encoding="utf-8")
    texts = ["-t", str(tmp_path / "h.txt"), "-r", str(tmp_path / "r.txt"), "-l", "de-en", "--no-ci"]
    line = ["score", *texts, "--format", "json", "-m"]
    assert main([*line, f"std:vectors={file}"]) == 0
    first = capsys.readouterr()
    assert first.err.count("converting") == 1
    moved = file.rename(tmp_path / f"moved.{ending}")
    assert main([*line, f"std:vectors={moved}"]) == 0
    again = capsys.readouterr()
    assert "converting" not in again.err
    (stored,) = (tmp_path / "cache" / "vectors").iterdir()
    assert main([*line, f"std:vectors={stored}"]) == 0
    third = capsys.readouterr()
    scores = [json.loads(done.out)["metrics"][0]["systems"] for done in (first, again, third)]
    assert scores[0] == scores[1] == scores[2]


def test_a_file_that_changed_is_converted_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MTGAUGE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "tiny.vec"
    file.write_bytes(FILES["glove"])
    before = open_vectors(file)
    file.write_bytes(FILES["glove"].replace(b"Katze", b"Hunde"))
    assert list(open_vectors(file).words()) != list(before.words())
    file.write_text("neither words nor numbers\n", encoding="utf-8")
    with pytest.raises(InputError):
        open_vectors(file)
    assert len(list((tmp_path / "cache" / "vectors").iterdir())) == 2  # nothing half made stays
