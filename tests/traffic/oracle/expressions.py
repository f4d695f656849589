"""The `check` of a contract's rule: a small expression in three-valued logic, None for unknown."""

import operator
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from tests.traffic.oracle.casts import cast

Row: TypeAlias = Mapping[str, Any]
Node: TypeAlias = Callable[[Row], Any]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<string>'(?:[^']|'')*')|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol><=|>=|!=|[=<>+\-*(),]))"
)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WORDS = {"and", "or", "not", "is", "null", "in", "true", "false"}


class Expression:
    """`columns` are the names that it reads; calling it with a row gives True, False or None."""

    def __init__(self, text: str) -> None:
        self.columns: set[str] = set()
        self._text = text
        self._tokens = self._split(text)
        self._node = self._or()
        if self._tokens:
            raise self._error(self._tokens[0])

    def __call__(self, row: Row) -> bool | None:
        result = self._node(row)
        if result is not None and not isinstance(result, bool):
            raise TypeError(f"Cannot check rule, not a truth value: {self._text}")
        return result

    def _split(self, text: str) -> list[str]:
        tokens, position = [], 0
        text = text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if not match:
                raise self._error(text[position:])
            token = match.group().strip()
            tokens.append(token.lower() if token.lower() in _WORDS else token)
            position = match.end()
        return tokens

    def _error(self, token: str) -> ValueError:
        return ValueError(f"Cannot read rule, unexpected {token!r}: {self._text}")

    def _take(self, *options: str) -> str | None:
        return self._tokens.pop(0) if self._tokens and self._tokens[0] in options else None

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise self._error(self._tokens[0] if self._tokens else "end")

    def _or(self) -> Node:
        nodes = [self._and()]
        while self._take("or"):
            nodes.append(self._and())
        return nodes[0] if len(nodes) == 1 else lambda row: _any([node(row) for node in nodes])

    def _and(self) -> Node:
        nodes = [self._not()]
        while self._take("and"):
            nodes.append(self._not())
        return nodes[0] if len(nodes) == 1 else lambda row: _negated(_any([_negated(node(row)) for node in nodes]))

    def _not(self) -> Node:
        if self._take("not"):
            node = self._not()
            return lambda row: _negated(node(row))
        return self._comparison()

    def _comparison(self) -> Node:
        left = self._sum()
        if self._take("is"):
            wanted = not self._take("not")
            self._expect("null")
            return lambda row: (left(row) is None) == wanted
        negative = bool(self._take("not"))
        if self._take("in"):
            options = self._options()
            found: Node = lambda row: _any([_compared("=", left(row), option(row)) for option in options])  # noqa: E731
            return (lambda row: _negated(found(row))) if negative else found
        if negative:
            raise self._error("not")
        symbol = self._take(*_COMPARISONS)
        if symbol is None:
            return left
        right = self._sum()
        return lambda row: _compared(symbol, left(row), right(row))

    def _options(self) -> list[Node]:
        self._expect("(")
        options = [self._sum()]
        while self._take(","):
            options.append(self._sum())
        self._expect(")")
        return options

    def _sum(self) -> Node:
        node = self._product()
        while symbol := self._take("+", "-"):
            node = _calculated(operator.add if symbol == "+" else operator.sub, node, self._product())
        return node

    def _product(self) -> Node:
        node = self._unary()
        while self._take("*"):
            node = _calculated(operator.mul, node, self._unary())
        return node

    def _unary(self) -> Node:
        if self._take("-"):
            return _calculated(operator.sub, lambda row: Decimal(0), self._unary())
        return self._primary()

    def _primary(self) -> Node:
        if self._take("("):
            node = self._or()
            self._expect(")")
            return node
        token = self._tokens.pop(0) if self._tokens else "end"
        if token == "null":
            return lambda row: None
        if token in ("true", "false"):
            return lambda row: token == "true"
        if token[0] == "'":
            text = token[1:-1].replace("''", "'")
            return lambda row: text
        if token[0].isdigit():
            number = Decimal(token)
            return lambda row: number
        if token == "end" or token in _WORDS or not (token[0].isalpha() or token[0] == "_"):
            raise self._error(token)
        self.columns.add(token)
        return lambda row: row[token]


def _any(values: list[bool | None]) -> bool | None:
    if any(value is True for value in values):
        return True
    return None if any(value is None for value in values) else False


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _calculated(how: Callable[[Any, Any], Any], left: Node, right: Node) -> Node:
    def result(row: Row) -> Any:
        first, second = _alike(left(row), right(row))
        return None if first is None or second is None else how(first, second)

    return result


def _compared(symbol: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    first, second = _alike(left, right)
    if isinstance(first, bool) != isinstance(second, bool) or isinstance(first, str) != isinstance(second, str):
        raise TypeError(f"Cannot compare, different types: {left!r} {symbol} {right!r}")
    return _COMPARISONS[symbol](first, second)


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Both of one type: a number beside a DOUBLE is a DOUBLE, a text beside a time is a time."""
    if isinstance(left, float) and isinstance(right, (int, Decimal)):
        return left, float(right)
    if isinstance(left, date) and isinstance(right, str):
        return left, cast(right, "TIMESTAMP" if isinstance(left, datetime) else "DATE")
    if (isinstance(right, float) and isinstance(left, (int, Decimal))) or (
        isinstance(right, date) and isinstance(left, str)
    ):
        second, first = _alike(right, left)
        return first, second
    return left, right
