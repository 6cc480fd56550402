"""The small language of `--keep`: which records stay.

    keep = Expression("xmoverscore > 0.45 and not copy and source_lang in ('de', 'nl')")
    keep.columns                                  {"xmoverscore", "copy", "source_lang"}
    keep({"xmoverscore": 0.5, "copy": False, "source_lang": "de"})       True

It is Python's syntax, read by `ast` and checked against a list of what is allowed; nothing is ever
evaluated by Python itself:

    and or not    < <= > >= == !=  (also chained)    in, not in    is None, is not None
    + - * /       abs() min() max() len()            numbers, 'texts', True, False, (lists,)
    column("any name")                               for names that are no Python names

`in` looks in a list, or for a text inside a text. A cell of a TSV file is text; beside a number it
counts as a number, if it is one.

What is missing (null, NaN, an empty TSV cell beside a number, a division by zero) makes a
comparison neither true nor false: `not` leaves it so, `and` is false if another part is false, `or`
true if another part is true (Kleene's logic, as in SQL). A record stays only if the whole is true,
so an undefined score never slips through a `not`.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mtgauge.data.readers import is_number
from mtgauge.errors import UsageError

Row = Mapping[str, Any]
Node = Callable[[Row], Any]
_LONGEST, _DEEPEST = 10_000, 100  # characters, levels
_ORDER: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ARITHMETIC: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS = {"abs": (1, 1), "len": (1, 1), "min": (2, 99), "max": (2, 99)}  # number of arguments


class Expression:
    """A condition on a record; `parts` are the conditions that a leading `and` joins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.columns: set[str] = set()
        self._node = self._compiled(self._parsed())

    def __call__(self, row: Row) -> bool:
        return _truth(self._node(row)) is True

    def value(self, row: Row) -> Any:
        """What the expression yields: True, False, a number, a text, or None where it is missing"""
        return self._node(row)

    @property
    def parts(self) -> list[Expression]:
        tree = self._parsed()
        if not isinstance(tree, ast.BoolOp) or not isinstance(tree.op, ast.And):
            return [self]
        return [Expression(ast.unparse(value)) for value in tree.values]

    def _parsed(self) -> ast.expr:
        if len(self.text) > _LONGEST:
            raise UsageError(f"The expression is longer than {_LONGEST:,} characters.")
        try:
            tree = ast.parse(self.text.strip(), mode="eval").body
        except SyntaxError as error:
            at = error.offset - 1 if error.offset else len(self.text.strip())
            raise self._fault(error.msg, at) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise UsageError(f"The expression cannot be read ({error}).") from None
        level: list[ast.AST] = [tree]
        for _ in range(_DEEPEST):
            level = [child for node in level for child in ast.iter_child_nodes(node)]
        if level:
            raise UsageError("The expression is nested too deep.")
        return tree

    def _fault(self, message: str, at: int) -> UsageError:
        rest = self.text.strip()[at : at + 20]
        return UsageError(
            f"The expression {self.text.strip()!r} is wrong at character {at + 1} "
            f"({repr(rest) if rest else 'its end'}): {message}. "
            "Allowed are column names, numbers, texts, and or not, comparisons, in, is None, "
            "+ - * /, abs() min() max() len() column()."
        )

    def _refuse(self, node: ast.AST, message: str) -> UsageError:
        line = self.text.strip().encode()[: getattr(node, "col_offset", 0)]  # ast counts bytes
        return self._fault(message, len(line.decode("utf-8", "ignore")))

    def _compiled(self, node: ast.expr) -> Node:
        match node:
            case ast.Constant(value=value) if isinstance(value, bool | int | float | str | None):
                return lambda row: value
            case ast.Name(id=name):
                return self._column(name)
            case ast.BoolOp(op=op, values=values):
                return _joined([self._compiled(v) for v in values], isinstance(op, ast.Or))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._compiled(operand)
                return lambda row: _not(_truth(inner(row)))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=operand):
                inner, sign = self._compiled(operand), -1 if isinstance(op, ast.USub) else 1
                return lambda row: None if (x := _number(inner(row))) is None else sign * x
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return _arithmetic(
                    _ARITHMETIC[type(op)], self._compiled(left), self._compiled(right)
                )
            case ast.Compare():
                return self._comparison(node)
            case ast.Call():
                return self._call(node)
        raise self._refuse(node, f"{_NAMES.get(type(node), 'this')} is not allowed")

    def _column(self, name: str) -> Node:
        self.columns.add(name)
        return lambda row: _present(row.get(name))

    def _comparison(self, node: ast.Compare) -> Node:
        steps: list[Node] = []
        left = self._compiled(node.left)
        for op, other in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.Is | ast.IsNot):
                if not (isinstance(other, ast.Constant) and other.value is None):
                    raise self._refuse(other, "`is` compares with None only")
                steps.append(_is_missing(left, isinstance(op, ast.IsNot)))
                right = self._compiled(other)
            elif isinstance(op, ast.In | ast.NotIn):
                if isinstance(other, ast.Tuple | ast.List | ast.Set):
                    right = _listed([self._compiled(item) for item in other.elts])
                else:
                    right = self._compiled(other)
                steps.append(_contained(left, right, isinstance(op, ast.NotIn)))
            else:
                right = self._compiled(other)
                steps.append(_compared(_ORDER[type(op)], left, right))
            left = right
        return steps[0] if len(steps) == 1 else _joined(steps, False)

    def _call(self, node: ast.Call) -> Node:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise self._refuse(node, "arguments are given by place")
        if name == "column":
            if len(node.args) != 1 or not _is_text(node.args[0]):
                raise self._refuse(node, 'column("name") takes the name of one column')
            constant = node.args[0]
            assert isinstance(constant, ast.Constant)
            return self._column(str(constant.value))
        if name not in _FUNCTIONS:
            raise self._refuse(node, "there is no such function")
        least, most = _FUNCTIONS[name]
        if not least <= len(node.args) <= most:
            raise self._refuse(node, f"{name}() takes {least if least == most else 'more'} values")
        args = [self._compiled(arg) for arg in node.args]
        if name == "len":
            return lambda row: len(x) if isinstance(x := args[0](row), str) else None
        return _numeric(abs if name == "abs" else min if name == "min" else max, args)


_NAMES: dict[type, str] = {
    ast.Attribute: "a dot",
    ast.Subscript: "an index",
    ast.Lambda: "lambda",
    ast.IfExp: "if",
    ast.NamedExpr: "an assignment",
    ast.BinOp: "this operator",
    ast.JoinedStr: "an f-string",
    ast.Tuple: "a list that does not follow `in`",
    ast.List: "a list that does not follow `in`",
    ast.Set: "a list that does not follow `in`",
}


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _present(value: Any) -> Any:
    """A value that can be compared: NaN, lists and objects count as missing."""
    if isinstance(value, bool | int | str):
        return value
    return value if isinstance(value, float) and not math.isnan(value) else None


def _truth(value: Any) -> bool | None:
    """True, False, or None where it is unknown; a number or a text alone is no condition."""
    if isinstance(value, str) and value in ("true", "false"):  # as TSV has them
        return value == "true"
    return value if isinstance(value, bool) else None


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return float(value) if is_number(value) else None
    return value if isinstance(value, int | float) else None


def _joined(parts: Sequence[Node], settles: bool) -> Node:
    """`or` (settled by a True) or `and` (by a False); else unknown if a part is."""

    def joined(row: Row) -> bool | None:
        unknown = False
        for part in parts:
            truth = _truth(part(row))
            if truth is settles:
                return settles
            unknown = unknown or truth is None
        return None if unknown else not settles

    return joined


def _arithmetic(apply: Callable[[float, float], float], left: Node, right: Node) -> Node:
    def computed(row: Row) -> float | None:
        x, y = _number(left(row)), _number(right(row))
        if x is None or y is None:
            return None
        try:
            return _present(apply(x, y))  # type: ignore[no-any-return]
        except (ZeroDivisionError, OverflowError):
            return None

    return computed


def _numeric(apply: Callable[..., Any], args: Sequence[Node]) -> Node:
    def computed(row: Row) -> Any:
        values = [_number(arg(row)) for arg in args]
        return None if None in values else apply(*values)

    return computed


def _pair(x: Any, y: Any) -> tuple[Any, Any] | None:
    """Two values of one type; None where they cannot be compared."""
    if x is None or y is None:
        return None
    if isinstance(x, str) != isinstance(y, str):
        other = x if isinstance(y, str) else y
        read = _truth if isinstance(other, bool) else _number
        x, y = read(x), read(y)
    return None if x is None or y is None else (x, y)


def _compared(holds: Callable[[Any, Any], bool], left: Node, right: Node) -> Node:
    def compared(row: Row) -> bool | None:
        pair = _pair(left(row), right(row))
        return None if pair is None else holds(*pair)

    return compared


def _listed(items: Sequence[Node]) -> Node:
    return lambda row: tuple(item(row) for item in items)


def _contained(left: Node, right: Node, negated: bool) -> Node:
    def contained(row: Row) -> bool | None:
        x, y = left(row), right(row)
        if x is None:
            return None
        if isinstance(y, tuple):
            pairs = [_pair(x, item) for item in y]
            found: bool | None = any(pair is not None and pair[0] == pair[1] for pair in pairs)
            if not found and any(item is None for item in y):
                found = None
        elif isinstance(x, str) and isinstance(y, str):
            found = x in y
        else:
            found = None
        return _not(found) if negated else found

    return contained


def _is_missing(inner: Node, negated: bool) -> Node:
    return lambda row: (inner(row) is None) is not negated
