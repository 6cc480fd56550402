from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtgauge.data import checks
from mtgauge.data.codes import Language
from mtgauge.data.segments import Segments
from mtgauge.data.watch import Strangers, Watch
from mtgauge.errors import InputError, UsageError
from mtgauge.metric import Task


@pytest.mark.parametrize(
    ("pair", "usual"),
    [
        ("de-en", "de-en"),
        ("kk-ru", "kk-ru"),
        ("pt_BR-en", "pt-BR-en"),
        ("en-zh_CN", "en-zh-CN"),
        ("en-zh-CN", "en-zh-CN"),
        ("eng-zho", "en-zh"),
        ("en-zho_Hans", "en-zh-Hans"),
        ("deu_Latn-eng_Latn", "de-en"),
    ],
)
def test_language_pairs_have_one_form(pair: str, usual: str) -> None:
    assert checks.language_pair(pair) == checks.language_pair(usual) == usual
    assert Segments(["x"], lang=pair).lang == Task(frozenset(), pair).lang == usual


@pytest.mark.parametrize("pair", ["de", "german-english", "", "d-e", "de en"])
def test_nonsense_pairs_are_refused(pair: str) -> None:
    with pytest.raises(UsageError, match="-l de-en"):
        checks.language_pair(pair)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"caf\xe9\n", r"a.txt, line 7: byte 4 \(0xe9\) is not UTF-8.*iconv"),
        (b"a\0b\n", "line 7: character 2 is a NUL"),
        (b"a\rb\n", r"character 2 is a carriage return inside the text"),
    ],
)
def test_faults_name_file_line_and_remedy(raw: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        checks.decode_line(raw, "a.txt", 7)


def test_utf16_is_recognised() -> None:
    with pytest.raises(InputError, match="UTF-16, not UTF-8"):
        checks.decode_line("Hallo\n".encode("utf-16"), "a.txt", 1)


def test_windows_line_end_and_byte_order_mark_are_removed() -> None:
    assert checks.decode_line(b"\xef\xbb\xbfHallo\r\n", "a.txt", 1) == "Hallo"


@given(st.text(alphabet=st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"])))
def test_any_clean_line_survives(text: str) -> None:
    assert checks.decode_line(text.encode() + b"\n", "a.txt", 2) == text


@given(st.integers(0, 199), st.integers(0, 2**32 - 1))
def test_uneven_files_part_where_a_line_was_lost(lost: int, seed: int) -> None:
    lengths = np.random.default_rng(seed).integers(5, 300, size=200)
    shorter = np.delete(lengths, lost)
    error = checks.refuse_uneven(["a.txt", "b.txt"], [shorter, lengths])
    part = int(str(error).split("near line ")[1].split(":")[0])
    assert abs(part - 1 - lost) <= 5  # neighbours of like length cannot be told from it
    assert "a.txt has 199, b.txt has 200" in str(error)


def test_unescape_undoes_double_escapes() -> None:
    assert checks.unescape("don&amp;apos;t &quot;x&quot; A&B") == 'don\'t "x" A&B'


def watched(
    hypotheses: list[str],
    references: list[str],
    sources: list[str] | None = None,
    lang: str | None = None,
) -> str:
    watch = Watch(lang)
    watch.look({"sys": hypotheses}, sources, [(r,) for r in references])
    return "\n".join(watch.messages())


def test_suspicions_are_counted_and_told() -> None:
    text = watched(
        ["", "Guten Tag.", "Это по-русски.", "5 &lt; 6", "one\u2028two"],
        ["a b c d e f"] * 5,
        ["x", "Guten Tag.", "y", "z", "w"],
        "de-en",
    )
    assert "sys: 1 empty line" in text
    assert "sys: 1 line copied from the source" in text
    assert "sys: 1 line not in the script" in text
    assert "sys: 1 line with HTML escapes" in text
    assert "U+2028" in text


def test_clean_text_raises_no_suspicion() -> None:
    assert (
        watched(["The cat sat, then left."] * 6, ["The cat sat. It left."] * 6, None, "de-en") == ""
    )


def test_one_sided_tokenisation_and_casing_are_told() -> None:
    plain = ["The cat sat down, then left."] * 6
    tokens = ["the cat sat down , then left ."] * 6
    text = watched(tokens, plain)
    assert "sys: tokenised (spaces before punctuation), but the references not" in text
    assert "sys: lower-cased, but the references not" in text
    text = watched([line.upper() for line in plain], plain)
    assert "sys: all in capitals, but the references not" in text
    assert "lower-cased" not in text
    text = watched(plain, tokens)
    assert "the references: tokenised (spaces before punctuation), but sys not" in text


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("zh", "猫坐在垫子上。", True),
        ("zh", "The cat sat.", False),
        ("ru", "Кот сидит.", True),
        ("ru", "Kot sidit.", False),
        ("en", "Über alles", True),
        ("en", "12", True),
        ("vi", "Tiếng Việt", True),
        ("sr", "Dobar dan", True),
        ("sr", "Добар дан", True),
        ("sr-Latn", "Добар дан", False),
        ("zh_TW", "貓坐在墊子上。", True),
        ("ja", "ハロー、世界", True),
    ],
)
def test_scripts(lang: str, text: str, expected: bool) -> None:
    assert checks.in_script(text, Language.parse(lang)) is expected


@pytest.mark.parametrize(
    "text", ["", " ", "\u200b", "\ufeff\u200d ", "\xad\u2060", "\u3164", "\x1b"]
)
def test_invisible_text_is_empty(text: str) -> None:
    assert checks.is_blank(text)
    watch = Watch()
    watch.look({"a": [text]}, None, None)
    assert watch.notes("a") == {"empty": 1}


@pytest.mark.parametrize("text", ["a", "\u200ba", ".", "中", "\u0301", "👍\ufe0f", "‎א"])
def test_visible_text_is_not(text: str) -> None:
    assert not checks.is_blank(text)


def _messages(
    hypotheses: list[str], references: list[str], sources: list[str] | None = None
) -> str:
    watch = Watch()
    watch.look({"a": hypotheses}, sources, [(text,) for text in references])
    return " ".join(watch.messages())


def test_suspicions_about_invisible_decomposed_copied_and_numeric_texts() -> None:
    plain = ["Un café.", "Été.", "Déjà vu.", "Une forêt.", "Le garçon."]
    other = [f"{text} Oui." for text in plain]
    assert _messages(other, plain, [f"{text} Ja." for text in plain]) == ""
    assert "a: 1 line with invisible" in _messages([*other[:4], "\ufeffA"], plain)
    assert "direction" in _messages([*other[:4], "a\u202eb"], plain)
    assert "NFD" in _messages([unicodedata.normalize("NFD", text) for text in other], plain)
    few = [*["No accent here."] * 20, *plain[:2]]  # two accented lines are enough
    assert "NFD" in _messages([unicodedata.normalize("NFD", f"{x} Oui.") for x in few], few)
    assert "every line equals a reference" in _messages(plain, plain)
    assert "bare numbers" in _messages(["0.5", "-1", "1e-3", "2,5", "7"], plain)
    assert "the source: 1 empty line" in _messages(other, plain, [*plain[:4], "\u200b"])
    joined = ["نمی\u200cدانم", "👩\u200d🔬", "❤\ufe0f", "a", "b"]
    assert "invisible" not in _messages(joined, plain)


def said_by(first: str) -> Callable[[Sequence[str], Language], Strangers]:
    """A stand-in for language identification: texts that begin like this are French."""

    def stranger(texts: Sequence[str], expected: Language) -> Strangers:
        return lambda: ["fr" if text.startswith(first) else "" for text in texts]

    return stranger


def test_much_text_in_another_language_is_told_for_each_side() -> None:
    watch = Watch("de-en", said_by("le"))
    texts = ["le chat"] * 40 + ["the cat"] * 60
    watch.look({"a": texts, "b": ["the dog"] * 100}, ["le chien"] * 100, [("the cat",)] * 100)
    told = [line for line in watch.messages() if "looked at" in line]
    assert told == [
        "a: 40% of the 50 lines looked at are not in en, but mostly in fr. Check the file, and -l.",
        "the source: 100% of the 50 lines looked at are not in de, but mostly in fr. "
        "Check the file, and -l.",
    ]
    assert watch.notes("a")["language"] == 20
    assert "language" not in watch.notes("b")


LANGUAGE_OF = {"the": "en", "der": "de", "le": "fr"}


def by_first_word(texts: Sequence[str], expected: Language) -> Strangers:
    codes = [LANGUAGE_OF[text.split()[0]] for text in texts]
    return lambda: ["" if code == expected.base else code for code in codes]


@pytest.mark.parametrize(
    ("lang", "source", "system", "reference", "said"),
    [
        ("en-de", "der", "the", "the", "write -l de-en"),
        ("en-de", "der", "the", "", "write -l de-en"),
        ("en-de", "", "the", "the", "write -l de-en"),
        ("de-en", "the", "der", "the", "see which file is -s and which is -t"),
        ("de-en", "the", "der", "", "or exchange the files"),
        ("de-en", "der", "le", "the", ""),
        ("de-en", "the", "the", "the", ""),
        ("de-en", "der", "der", "the", ""),
        ("de-en", "", "der", "", ""),
    ],
)
def test_what_was_exchanged_is_named(
    lang: str, source: str, system: str, reference: str, said: str
) -> None:
    watch = Watch(lang, by_first_word)
    watch.look(
        {"a": [f"{system} {i}" for i in range(3)]},
        [f"{source} {i}" for i in range(3)] if source else None,
        [(f"{reference} {i}",) for i in range(3)] if reference else None,
    )
    last = watch.messages()[-1]
    if said:
        assert said in last
    else:
        assert "Check the file, and -l." in last


def test_lines_that_run_on_are_counted() -> None:
    joined = "word " * 200
    for sources, references in (
        (None, [("A short one.",), ("Two.",)]),
        (["Ein kurzer.", "Zwei."], None),
    ):
        watch = Watch()
        watch.look({"a": [joined, "Two."]}, sources, references)
        assert watch.notes("a") == {"long": 1}
        assert "a: 1 line more than ten times as long" in watch.messages()[0]
    watch = Watch()
    watch.look({"a": [joined, "Two."]}, None, [(joined[:500],), ("Two.",)])
    assert watch.notes("a") == {}


def test_a_few_foreign_lines_are_not_told_and_few_lines_are_identified() -> None:
    asked: list[int] = []

    def stranger(texts: Sequence[str], expected: Language) -> Strangers:
        asked.append(len(texts))
        return lambda: ["fr"] + [""] * (len(texts) - 1)

    watch = Watch("de-en", stranger)
    for _ in range(20):
        watch.look({"a": [f"line {i}" for i in range(2000)]}, None, None)
    assert sum(asked) == 200
    assert watch.messages() == []
    Watch(None, stranger).look({"a": ["x"]}, None, None)
    assert sum(asked) == 200, "without a language nothing is expected"


def test_empty_lines_at_the_end_are_named() -> None:
    lengths = [np.array([5, 7]), np.array([5, 7, 0, 0])]
    error = checks.refuse_uneven(["a.txt", "b.txt"], lengths)
    assert "b.txt ends in 2 empty lines, which a.txt does not have" in str(error)
