"""Standardized rows against their contract: each row's violations, and the row that Curated would hold."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from leanops.core.contract import Contract, model
from leanops.core.expression import columns_of
from leanops.core.layout import curated_fields
from leanops.core.period import PERIOD
from spark_jobs.casts import cast_column, is_blank, literal
from spark_jobs.expressions import column_of
from spark_jobs.treatments import treated

# No payload's key can become a column with a `$`: these never meet a column of the rows.
VIOLATIONS: Final = "$violations"
RECORD: Final = "$record"
TEXT: Final = "$text_{}"
VALUE: Final = "$value_{}"

NO_TEXT: Final = "CAST(NULL AS STRING)"
BRACE: Final = re.compile(
    r"(?P<kept>\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[0-9]+(?:,[0-9]*)?\})|\{(?P<most>,[0-9]*\})|\{", re.DOTALL
)


def judged(rows: DataFrame, contract: Contract, pii_key: bytes) -> DataFrame:
    """The rows as they are, with two more columns.

    VIOLATIONS is an array of (column, rule, value), empty where the row is valid; RECORD is the row of Curated, typed
    and treated, and means nothing where there are violations. Filter only after `persist` or a write: Spark would copy
    every cast into the filter.
    """
    names = frozenset(rows.columns)
    given = {column.name: _given(names, contract.standardized_column(column)) for column in contract.columns}
    texts = {TEXT.format(column.name): _text(column, given[column.name]) for column in contract.columns}
    values = {VALUE.format(column.name): _value(column) for column in contract.columns}
    entries = [*_column_entries(contract, given), *_rule_entries(contract), _period_entry(names, contract)]
    return (
        rows.withColumns(texts)
        .withColumns(values)
        .withColumns(
            {
                VIOLATIONS: _violations(entries),
                RECORD: _record(contract, pii_key),
            }
        )
        .drop(*texts, *values)
    )


def _violations(entries: Sequence[Column]) -> Column:
    """Most rows are valid: the list, which Spark does not compile, is made only where a rule is broken."""
    is_broken = reduce(operator.or_, (entry["rule"].isNotNull() for entry in entries))
    broken = F.filter(F.array(*entries), lambda entry: entry["rule"].isNotNull())
    return F.when(is_broken, broken).otherwise(
        F.expr("CAST(array() AS ARRAY<STRUCT<column: STRING, rule: STRING, value: STRING>>)")
    )


def _given(names: Collection[str], name: str) -> Column:
    """What the row has there; a column that no payload has ever filled is not in the table."""
    return F.col(name) if name in names else F.expr(NO_TEXT)


def _text(column: model.Column, given: Column) -> Column:
    """The text to judge: NULL where it is missing, the default in its place where there is one."""
    if column.cde and _is_text(column):
        return F.when(~is_blank(given), given)
    return given if column.default is None else F.coalesce(given, F.lit(column.default))


def _is_text(column: model.Column) -> bool:
    """All but the message's own columns is text in Standardized, and message_id is."""
    return column.path is not None or column.type.name == "STRING"


def _value(column: model.Column) -> Column:
    text = F.col(TEXT.format(column.name))
    return cast_column(text, column.type) if _is_text(column) else text


def _can_be_uncast(column: model.Column) -> bool:
    return column.path is not None and column.type.name != "STRING"


def _is_uncast(column: model.Column) -> Column:
    return F.col(TEXT.format(column.name)).isNotNull() & F.col(VALUE.format(column.name)).isNull()


def _entry(column: str | None, rule: Column, value: Column) -> Column:
    return F.struct(F.lit(column).cast("string").alias("column"), rule.alias("rule"), value.alias("value"))


def _column_entries(contract: Contract, given: Mapping[str, Column]) -> Iterator[Column]:
    for column in contract.columns:
        for rule in _broken_rules(column):
            yield _entry(column.name, rule, given[column.name].cast("string"))


def _broken_rules(column: model.Column) -> Iterator[Column]:
    """Names of rules, NULL where they hold."""
    value = F.col(VALUE.format(column.name))
    if not column.may_be_missing:
        is_missing = F.col(TEXT.format(column.name)).isNull()
        yield F.when(is_missing, F.lit("cde" if column.cde else "not_null"))
    if _can_be_uncast(column):
        yield F.when(_is_uncast(column), F.lit("cast"))
    if column.enum:
        choices = [literal(column.type.cast(text), column.type) for text in column.enum]
        yield F.when(~value.isin(choices), F.lit("enum"))
    if (bounds := column.range) is not None:
        ends = (None if end is None else literal(end, column.type) for end in (bounds.minimum, bounds.maximum))
        yield F.when(_is_outside(value, *ends), F.lit("range"))
    if column.regex is not None:
        yield F.when(~value.rlike(java_pattern(column.regex)), F.lit("regex"))
    if (length := column.length) is not None:
        ends = (None if end is None else F.lit(end) for end in (length.minimum, length.maximum))
        yield F.when(_is_outside(F.length(value), *ends), F.lit("length"))


def _is_outside(value: Column, low: Column | None, high: Column | None) -> Column:
    below = F.lit(False) if low is None else value < low
    return below if high is None else below | (value > high)


def java_pattern(pattern: str) -> str:
    """A contract's pattern, for the whole text, as Java reads it: braces that repeat nothing are escaped, and a line
    ends with a line feed only."""

    def mended(match: re.Match[str]) -> str:
        return match["kept"] or (f"{{0{match['most']}" if match["most"] else r"\{")

    return rf"\A(?d)(?:{BRACE.sub(mended, pattern)})\z"


def _rule_entries(contract: Contract) -> Iterator[Column]:
    values = {column.name: F.col(VALUE.format(column.name)) for column in contract.columns}
    types = {column.name: column.type for column in contract.columns}
    for rule in contract.rules:
        names = columns_of(rule.expression)
        doubts = [_is_uncast(column) for column in contract.columns if column.name in names and _can_be_uncast(column)]
        holds = reduce(operator.or_, doubts, column_of(rule.expression, values, types))
        yield _entry(None, F.when(~holds, F.lit(f"rule:{rule.name}")), F.expr(NO_TEXT))


def _period_entry(names: Collection[str], contract: Contract) -> Column:
    text = _given(names, contract.period_column)
    is_other = ~text.rlike(rf"\A(?:{PERIOD.pattern})\z")
    return _entry("period_reference", F.when(is_other, F.lit("period")), text)


def _record(contract: Contract, pii_key: bytes) -> Column:
    values = {
        column.name: treated(column, F.col(VALUE.format(column.name)), pii_key)
        for column in contract.columns
        if column.is_kept
    }
    values |= {
        "period_reference": F.col("period_reference"),
        "_message_id": F.col("message_id"),
        "_contract_version": F.lit(contract.schema_version),
    }
    if "last_updated_ts" not in contract.by_name:
        # Standardized's is never NULL: publish_time stands in there.
        values["last_updated_ts"] = F.lit(None)
    return F.struct(
        *(
            values.get(field.name, F.col(field.name)).cast(field.type).alias(field.name)
            for field in curated_fields(contract)
        )
    )
