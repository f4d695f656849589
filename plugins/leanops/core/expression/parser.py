"""Rule text to a typed tree; a wrong word, type or column is an error with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, cast

from leanops.core.errors import InvalidExpression
from leanops.core.expression.digits import MOST_DIGITS, common_type, number_type
from leanops.core.expression.tree import (
    Arithmetic,
    Column,
    Comparator,
    Comparison,
    Constant,
    Expression,
    Family,
    IsIn,
    IsNull,
    Junction,
    Not,
)
from leanops.core.types import ColumnType, NotOfType

TEXT_LENGTH: Final = 1000
DEPTH_LIMIT: Final = 32
TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<text>'(?:[^']|'')*')|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign><=|>=|!=|[=<>+*(),-]))"
)
WORDS: Final = frozenset({"and", "or", "not", "is", "null", "in", "true", "false"})
COMPARATORS: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})
FAMILIES: Final[Mapping[str, Family]] = {
    "STRING": "text",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "INT": "number",
    "BIGINT": "number",
    "DOUBLE": "number",
    "DECIMAL": "number",
}


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int


def parsed(text: str, columns: Mapping[str, ColumnType]) -> Expression:
    """The rule's tree, over these columns."""
    return _Parser(text, columns).whole()


class _Parser:
    def __init__(self, text: str, columns: Mapping[str, ColumnType]) -> None:
        self._text = text
        self._columns = columns
        self._depth = 0
        if len(text) > TEXT_LENGTH:
            raise self._error(TEXT_LENGTH, "it is too long", f"Write at most {TEXT_LENGTH} characters.")
        self._tokens = self._tokenised()
        self._index = 0

    def _tokenised(self) -> list[_Token]:
        tokens: list[_Token] = []
        position, end = 0, len(self._text.rstrip())
        while position < end:
            match = TOKEN.match(self._text, position)
            if match is None:
                position += len(self._text[position:]) - len(self._text[position:].lstrip())
                reason = f"unexpected {self._text[position]!a}"
                raise self._error(position, reason, "Use columns, numbers, 'text', and or not, = != < <= > >=, + - *.")
            kind = cast(str, match.lastgroup)
            word = match[kind]
            if kind == "word" and word.lower() in WORDS:
                kind, word = "keyword", word.lower()
            tokens.append(_Token(kind, word, match.start(cast(str, match.lastgroup))))
            position = match.end()
        return [*tokens, _Token("end", "", len(self._text))]

    def whole(self) -> Expression:
        expression = self._check()
        if self._now.kind != "end":
            raise self._error(self._now.position, f"unexpected '{self._now.text}'", "Join parts with and / or.")
        if expression.family != "boolean":
            raise self._error(0, "it is not true or false", "Write a comparison, for example amount >= 0.")
        return expression

    def _check(self) -> Expression:
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise self._error(self._now.position, "it is nested too deeply", "Split it into several rules.")
        expression = self._junction("or", lambda: self._junction("and", self._negation))
        self._depth -= 1
        return expression

    def _junction(self, word: Literal["and", "or"], part: Callable[[], Expression]) -> Expression:
        start = self._now.position
        parts = [part()]
        while self._take("keyword", word):
            parts.append(part())
        if len(parts) == 1:
            return parts[0]
        if any(each.family != "boolean" for each in parts):
            raise self._error(start, f"'{word}' joins something that is not true or false", "Compare it first.")
        return Junction(word, tuple(parts))

    def _negation(self) -> Expression:
        start = self._now.position
        if not self._take("keyword", "not"):
            return self._predicate()
        operand = self._negation()
        if operand.family != "boolean":
            raise self._error(start, "'not' before something that is not true or false", "Compare it first.")
        return Not(operand)

    def _predicate(self) -> Expression:
        start = self._now.position
        left = self._sum()
        if self._now.kind == "sign" and self._now.text in COMPARATORS:
            operator = cast(Comparator, self._next().text)
            return self._comparison(operator, left, self._sum(), start)
        if self._take("keyword", "is"):
            inverted = self._take("keyword", "not")
            self._expect("keyword", "null")
            return Not(IsNull(left)) if inverted else IsNull(left)
        if self._now.text == "not" and self._tokens[self._index + 1].text == "in":
            self._next()
            return Not(self._membership(left))
        return self._membership(left) if self._now.text == "in" and self._now.kind == "keyword" else left

    def _membership(self, left: Expression) -> Expression:
        start = self._now.position
        self._expect("keyword", "in")
        self._expect("sign", "(")
        choices = [self._choice(left)]
        while self._take("sign", ","):
            choices.append(self._choice(left))
        self._expect("sign", ")")
        self._check_digits("'in'", (left, *choices), start)
        return IsIn(left, tuple(choices))

    def _choice(self, left: Expression) -> Constant:
        start = self._now.position
        atom = self._sum()
        if not isinstance(atom, Constant):
            raise self._error(start, "a list holds literals only", "Write in ('a', 'b') or in (1, 2).")
        return cast(Constant, self._alike(left, atom, start)[1])

    def _comparison(self, operator: Comparator, left: Expression, right: Expression, start: int) -> Expression:
        left, right = self._alike(left, right, start)
        if left.family == "boolean" and operator not in {"=", "!="}:
            raise self._error(start, f"true and false have no order for '{operator}'", "Use = or !=.")
        self._check_digits(f"'{operator}'", (left, right), start)
        return Comparison(operator, left, right)

    def _alike(self, left: Expression, right: Expression, start: int) -> tuple[Expression, Expression]:
        left, right = self._moment(left, right, start), self._moment(right, left, start)
        if left.family != right.family:
            reason = f"a {left.family} is compared with a {right.family}"
            raise self._error(start, reason, "Compare values of the same type.")
        return left, right

    def _moment(self, side: Expression, other: Expression, start: int) -> Expression:
        """A text literal beside a date or timestamp is one."""
        if not (isinstance(side, Constant) and isinstance(side.value, str) and other.family in {"date", "timestamp"}):
            return side
        try:
            return Constant(ColumnType(other.family.upper()).cast(side.value), other.family)  # type: ignore[arg-type]
        except NotOfType as error:
            raise self._error(start, f"'{side.value}' is no {other.family}", "Write it as ISO 8601.") from error

    def _sum(self) -> Expression:
        left = self._product()
        while self._now.kind == "sign" and self._now.text in {"+", "-"}:
            left = self._arithmetic(left, self._product)
        return left

    def _product(self) -> Expression:
        left = self._atom()
        while self._now.kind == "sign" and self._now.text == "*":
            left = self._arithmetic(left, self._atom)
        return left

    def _arithmetic(self, left: Expression, operand: Callable[[], Expression]) -> Expression:
        sign = self._next()
        right = operand()
        if left.family != "number" or right.family != "number":
            raise self._error(sign.position, f"'{sign.text}' joins something that is no number", "Use numbers only.")
        result = Arithmetic(cast(Literal["+", "-", "*"], sign.text), left, right)
        self._check_digits(f"'{sign.text}'", (result,), sign.position)
        return result

    def _check_digits(self, what: str, numbers: Sequence[Expression], position: int) -> None:
        """Every value has to be exact where Spark evaluates the rule, too."""
        if numbers[0].family != "number":
            return
        needed = common_type(number_type(number, self._columns) for number in numbers).precision
        if needed > MOST_DIGITS:
            remedy = "Use columns and literals with fewer digits, or a DOUBLE."
            raise self._error(position, f"{what} may need {needed} digits, {MOST_DIGITS} can be exact", remedy)

    def _atom(self) -> Expression:
        token = self._next()
        match token.kind, token.text:
            case "number", digits:
                return self._number(digits, token.position)
            case "text", quoted:
                return Constant(quoted[1:-1].replace("''", "'"), "text")
            case "keyword", ("true" | "false") as word:
                return Constant(word == "true", "boolean")
            case "word", name if name in self._columns:
                return Column(name, FAMILIES[self._columns[name].name])
            case "word", name:
                known = ", ".join(sorted(self._columns))
                raise self._error(token.position, f"there is no column '{name}'", f"Use one of: {known}.")
            case "sign", "-" if self._now.kind == "number":
                return self._number(f"-{self._next().text}", token.position)
            case "sign", "(":
                inner = self._check()
                self._expect("sign", ")")
                return inner
            case "end", _:
                raise self._error(token.position, "it ends too early", "Complete the comparison.")
        raise self._error(token.position, f"unexpected '{token.text}'", "Write a column, a number or 'text' here.")

    def _number(self, digits: str, position: int) -> Constant:
        constant = Constant(Decimal(digits), "number")
        self._check_digits("the number", (constant,), position)
        return constant

    @property
    def _now(self) -> _Token:
        return self._tokens[self._index]

    def _next(self) -> _Token:
        token = self._now
        self._index = min(self._index + 1, len(self._tokens) - 1)
        return token

    def _take(self, kind: str, text: str) -> bool:
        if (self._now.kind, self._now.text) != (kind, text):
            return False
        self._next()
        return True

    def _expect(self, kind: str, text: str) -> None:
        if not self._take(kind, text):
            raise self._error(self._now.position, f"'{text}' is missing", f"Write {text} here.")

    def _error(self, position: int, reason: str, remedy: str) -> InvalidExpression:
        return InvalidExpression(self._text, position, reason, remedy)
