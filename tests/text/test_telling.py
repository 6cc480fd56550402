from __future__ import annotations

import pytest

from mtgauge.text.telling import joined, read


def telling(text: str) -> list[str]:
    found = read(text)
    return [word for word, tells in zip(found.words, found.telling, strict=True) if tells]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Jan van der Berg sang at home.", ["sang", "at", "home"]),
        ("He sang “Let it be me” at home.", ["sang", "at", "home"]),
        ("„Kommst du mit?“ „Nein, ich bleibe.“", ["du", "mit", "ich", "bleibe"]),
        ("send it to me@example.org or www.example.org", ["send", "it", "to", "or"]),
        ("set display:grid in /etc/my_file.conf now", ["set", "in", "now"]),
        ("call setTimeout again", ["call", "again"]),
        ("17 well-known rules, and 3.5 more", ["well-known", "rules", "and", "more"]),
        ("STOP AND GO", ["stop", "and", "go"]),
        ("他在 New York 工作", ["他", "在", "工", "作"]),
        ("abc12 3 12abc a_b covid-19", []),
        ("", []),
    ],
)
def test_words_that_tell(text: str, words: list[str]) -> None:
    assert telling(text) == words


def test_characters_are_half_words() -> None:
    text = read("他在 home")
    assert text.weights == [0.5, 0.5, 1.0]
    assert text.take([2, 0]).words == ["home", "他"]


def test_joined_with_spaces_where_the_script_has_them() -> None:
    assert joined(["my", "home"]) == "my home"
    assert joined(["他", "在", "home", "工", "作"]) == "他在 home 工作"
    assert joined([]) == ""
