"""The language of --keep: what it means, what it refuses."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtgauge.engine.stream.expression import Expression
from mtgauge.errors import UsageError

ROW = {"x": 0.5, "n": 3, "t": "Haus", "cell": "0.7", "no": None, "nan": math.nan, "yes": True}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x > 0.45", True),
        ("x > 0.45 and n < 3", False),
        ("x > 0.45 or n < 3", True),
        ("0 < x <= 0.5 < n", True),
        ("not yes", False),
        ("yes", True),
        ("yes == True", True),
        ("x", False),  # a number is no condition
        ("t", False),
        ("t == 'Haus' and t != 'Hau'", True),
        ("'au' in t", True),
        ("t in ('Haus', 'Hof')", True),
        ("n not in [1, 2]", True),
        ("cell > 0.5", True),  # a cell of a table
        ("cell > '0.5'", True),
        ("cell in (0.7, 1)", True),
        ("t > 0.5", False),
        ("not (t > 0.5)", False),
        ("no > 1", False),
        ("not (no > 1)", False),
        ("nan > 1 or x > 0", True),
        ("nan > 1 and x > 0", False),
        ("no is None and nan is None", True),
        ("x is not None", True),
        ("absent is None", True),
        ("no not in (1, 2)", False),
        ("x + n * 2 - 1 / 2 == 6", True),
        ("1 / 0 > 0", False),
        ("not (1 / 0 > 0)", False),
        ("abs(-x) == 0.5 and max(x, n) == 3 and min(x, n, 0) == 0", True),
        ("len(t) == 4", True),
        ("len(no) == 0 or len(n) == 1", False),
        ('column("x") == 0.5', True),
        ("-x < 0 < +n", True),
        ("1e400 > x", True),
        ("1e308 * 1e308 * 0 == 0", False),  # not a number: missing
    ],
)
def test_what_it_means(text, kept):
    assert Expression(text)(ROW) is kept


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "its end"),
        ("x >", "character 4 .its end"),
        ("x > > 1", "character 5"),
        ("x.real > 1", "a dot is not allowed"),
        ("__import__('os').system('true')", "there is no such function|a dot"),
        ("(lambda: 1)()", "no such function"),
        ("x[0]", "an index"),
        ("x if x else x", "if is not allowed"),
        ("(x := 1)", "an assignment"),
        ("x ** 9", "this operator"),
        ("f'{x}' == 'a'", "f-string"),
        ("[y for y in (1,)]", "not allowed"),
        ("x is x", "`is` compares with None only"),
        ("x == (1, 2)", "a list that does not follow"),
        ("open('x')", "no such function"),
        ("abs(1, 2)", "takes 1 values"),
        ("abs(x=1)", "by place"),
        ("max(*x)", "by place"),
        ("column(x)", "the name of one column"),
        ("b'a' == t", "not allowed"),
        ("1j == x", "not allowed"),
        ("x\0", "null byte|invalid"),
        ("ä > 1 and x.y > 2", "character 11"),
        ("(" * 400 + "x" + ")" * 400, "cannot be read|wrong at"),
        ("not " * 900 + "yes", "nested|cannot be read"),
        ("x" * 10_001, "longer than"),
    ],
)
def test_what_it_refuses(text, said):
    with pytest.raises(UsageError, match=said):
        Expression(text)


def test_columns_and_parts():
    keep = Expression("a > 1 and (b or c) and column('d e') in ('x',)")
    assert keep.columns == {"a", "b", "c", "d e"}
    assert [part.text for part in keep.parts] == ["a > 1", "b or c", "column('d e') in ('x',)"]
    assert [part.columns for part in keep.parts] == [{"a"}, {"b", "c"}, {"d e"}]
    assert [part.text for part in Expression("a or b").parts] == ["a or b"]


TRUTH = st.sampled_from([True, False, None])
NAMES = ("a", "b", "c")


@st.composite
def conditions(draw, depth=3):
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(NAMES))
    left, right = draw(conditions(depth=depth - 1)), draw(conditions(depth=depth - 1))
    return draw(st.sampled_from([f"not ({left})", f"({left} and {right})", f"({left} or {right})"]))


@given(conditions(), conditions(), TRUTH, TRUTH, TRUTH)
def test_laws_of_logic_hold_with_missing_values(left, right, a, b, c):
    row = dict(zip(NAMES, (a, b, c), strict=True))

    def value(text):
        return Expression(text).value(row)

    assert value(f"not (({left}) and ({right}))") == value(f"not ({left}) or not ({right})")
    assert value(f"not not ({left})") == value(left)
    assert value(f"({left}) and ({right})") == value(f"({right}) and ({left})")
    parts = Expression(f"({left}) and ({right})").parts
    assert all(part(row) for part in parts) == Expression(f"({left}) and ({right})")(row)


NUMBER = st.floats(-1e6, 1e6) | st.integers(-1000, 1000)


@given(NUMBER, NUMBER, NUMBER, st.sampled_from("< <= > >= == !=".split()), st.sampled_from("+-*"))
def test_of_numbers_it_says_what_python_says(a, b, c, compare, operator):
    text = f"a {operator} b {compare} c and not (a {compare} b)"
    row = {"a": a, "b": b, "c": c}
    assert Expression(text)(row) == eval(text, {}, row)
