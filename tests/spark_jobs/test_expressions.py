from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from leanops.core.errors import InvalidExpression
from leanops.core.expression import Expression, evaluated, parsed
from leanops.core.types import ColumnType, Value
from tests.spark_jobs.test_casts import drawn

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

pytestmark = pytest.mark.spark

TYPES = {
    name: ColumnType.parse(type_)
    for name, type_ in {
        "i": "INT", "j": "INT", "b": "BIGINT", "c": "BIGINT", "d": "DECIMAL(10,2)", "e": "DECIMAL(18,4)",
        "w": "DECIMAL(38,10)", "v": "DECIMAL(38,0)", "f": "DECIMAL(18,18)", "g": "DECIMAL(19,19)", "x": "DOUBLE", "y": "DOUBLE",
        "t": "STRING", "u": "STRING", "p": "BOOLEAN", "q": "BOOLEAN", "day": "DATE", "at": "TIMESTAMP",
    }.items()
}  # fmt: skip
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

literals = st.one_of(
    st.from_regex(r"-?[0-9]{1,12}(\.[0-9]{1,6})?", fullmatch=True),
    st.sampled_from(["0", "-0", "0.00", "0.1", "2147483647", "9223372036854775807", "-9223372036854775808", "9" * 38,
                     "0." + "9" * 38, "1" + "0" * 37, "9007199254740993"]),
)  # fmt: skip
atoms = st.one_of(st.sampled_from([name for name in TYPES if TYPES[name].is_number]), literals)
# Doubles take any number of terms: they may leave the finite numbers, and come back as none.
numbers = st.recursive(
    atoms, lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner), max_leaves=4
)
comparators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
pieces = st.sampled_from(["t", "u", "'a'", "''", "'it''s'", "'Z'", "'\uffff'", "'\U0001f600'"])
days = st.sampled_from(["day", "'2026-01-31'", "'0001-01-01'", "'1582-10-10'", "'9999-12-31'"])
moments = st.sampled_from(["at", "'2026-01-31T00:00:00.000001Z'", "'0001-01-01T00:00'", "'9999-12-31T23:59:59.999999'"])


def one_of_list(operand: st.SearchStrategy[str], choices: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    # Past ten choices Spark looks them up another way.
    listed = st.lists(choices, min_size=1, max_size=14).map(", ".join)
    return st.builds("{} {} ({})".format, operand, st.sampled_from(["in", "not in"]), listed)


predicates = st.one_of(
    st.builds("{} {} {}".format, numbers, comparators, numbers),
    st.builds("{} {} {}".format, numbers, comparators, numbers),
    st.builds("{} {} {}".format, pieces, comparators, pieces),
    st.builds("{} {} {}".format, st.just("day"), comparators, days),
    st.builds("{} {} {}".format, moments, comparators, st.just("at")),
    st.builds("{} {} {}".format, st.sampled_from(["p", "q"]), st.sampled_from(["=", "!="]), st.sampled_from(["p", "true", "false"])),
    one_of_list(numbers, literals),
    one_of_list(st.sampled_from(["t", "u"]), pieces.filter(lambda piece: "'" in piece)),
    one_of_list(st.just("day"), days.filter(lambda text: "'" in text)),
    one_of_list(st.just("at"), moments.filter(lambda text: "'" in text)),
    st.builds("{} is {}".format, st.one_of(numbers, st.sampled_from(["t", "p", "day", "at"])), st.sampled_from(["null", "not null"])),
    st.sampled_from(["p", "q", "true", "false"]),
)  # fmt: skip
checks = st.recursive(
    predicates,
    lambda inner: st.one_of(
        st.builds("not ({})".format, inner),
        st.builds("({}) is null".format, inner),
        st.lists(inner.map("({})".format), min_size=2, max_size=3).map(" and ".join),
        st.lists(inner.map("({})".format), min_size=2, max_size=3).map(" or ".join),
    ),
    max_leaves=5,
)

DOUBLES = [0.0, -0.0, 0.1, 0.3, 1.5, -1.0, 1e308, -1.7976931348623157e308, 5e-324, 9007199254740992.0]
MOMENTS = [datetime(2026, 1, 31, microsecond=1), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)]
VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "INT": st.one_of(st.integers(-3, 3), st.sampled_from([2**31 - 1, -(2**31)])),
    "BIGINT": st.one_of(st.integers(-3, 3), st.sampled_from([2**63 - 1, -(2**63), 9007199254740993])),
    "DOUBLE": st.one_of(st.sampled_from(DOUBLES), st.floats(allow_nan=False, allow_infinity=False)),
    "STRING": st.sampled_from(["", "a", "Z", "it's", "aa", "\uffff", "\U0001f600", "\x00", "é"]),
    "BOOLEAN": st.booleans(),
    "DATE": st.one_of(st.dates(), st.sampled_from([date(1582, 10, 10), date(2026, 1, 31), date.min, date.max])),
    "TIMESTAMP": st.one_of(st.datetimes(), st.sampled_from(MOMENTS)).map(lambda at: at.replace(tzinfo=UTC)),
}  # fmt: skip


def values_of(type_: ColumnType) -> st.SearchStrategy[Any]:
    if type_.name != "DECIMAL":
        return VALUES[type_.name]
    largest = 10**type_.precision - 1
    unscaled = st.one_of(st.integers(-largest, largest), st.sampled_from([largest, -largest, 0, 1, -1]))
    return unscaled.map(
        lambda digits: (
            Decimal(digits).scaleb(-type_.scale) if abs(digits) < 10**28 else Decimal(f"{digits}E-{type_.scale}")
        )
    )


rows = st.fixed_dictionaries(
    {name: st.one_of(st.none(), values_of(type_), values_of(type_), values_of(type_)) for name, type_ in TYPES.items()}
)

BY_HAND = [
    "i + j = 4294967294", "b - c = 18446744073709551615", "b * 99999999999999999 > 0", "d * d = 0", "d * e > 0.000001",
    "w = 9999999999999999999999999999.9999999999", "w < 9999999999999999999999999999.9999999999", "v >= 0", "v = v",
    "f * f > 0", "f < 1", "i in (1, 01, 1.0)", "x in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", "x = -0", "x * x - y * y = 0",
    "x * x - x * x != 0", "x * 99999999999999999999999999999999999999 - x * 99999999999999999999999999999999999999 = i",
    "x * x - x * x > 0", "0 <= x * x - x * x", "x * x - x * x = x * x - x * x", "x * x - x * x in (0, 1)", "b < g", "g < b",
    "d * 0.1234567890123456789012345 > 0.012345678901234567890123449", "x * x > y * y", "b = x", "x = 9007199254740993", "b = 9007199254740993", "d + x > 1", "w * x <= 0", "i is null or i > 0",
    "not (i > 0 and j > 0)", "i > 0 and j is null", "p = q", "not p", "x + x + x + x in (0, 0.3, 1.5)", "true", "1 = 1.0",
    "'a' < 'b' and t is not null", " or ".join(f"i = {n}" for n in range(80)), "+".join(["x"] * 200) + " > 0", "not " * 200 + "p",
]  # fmt: skip
# What a rule may stumble over: smallest and largest numbers, and doubles whose square is no finite number.
FIXED: list[dict[str, Value | None]] = [
    dict.fromkeys(TYPES),
    dict.fromkeys(TYPES) | {"x": -0.0, "y": 1e308, "b": 0, "i": 0, "j": 0, "d": Decimal("0.10"), "g": Decimal("1E-19")},
    dict.fromkeys(TYPES) | {"x": 1e308, "y": -1e308, "b": 2**63 - 1, "c": -(2**63), "i": 2**31 - 1, "j": 2**31 - 1},
]


def frame_of(spark: SparkSession, given: list[dict[str, Value | None]]) -> DataFrame:
    from pyspark.sql import functions as F

    kinds = {"DATE": "int", "TIMESTAMP": "bigint"}
    schema = ", ".join(f"{name} {kinds.get(type_.name, str(type_))}" for name, type_ in TYPES.items())
    plain = [tuple(_plain(row[name]) for name in TYPES) for row in given]
    frame = spark.createDataFrame([(n, *values) for n, values in enumerate(plain)], f"n int, {schema}").coalesce(1)
    return frame.withColumns({"day": F.date_from_unix_date("day"), "at": F.timestamp_micros("at")})


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    return (value - EPOCH.date()).days if isinstance(value, date) else value


def columns_for(expressions: list[Expression]) -> list[Column]:
    from pyspark.sql import functions as F

    from spark_jobs.expressions import column_of

    values = {name: F.col(name) for name in TYPES}
    return [column_of(each, values, TYPES).alias(f"c{n}") for n, each in enumerate(expressions)]


def parsed_or_none(check: str) -> Expression | None:
    try:
        return parsed(check, TYPES)
    except InvalidExpression:
        return None


@pytest.mark.parametrize("precision_loss", ["true", "false"])
def test_spark_and_core_evaluate_every_rule_alike(spark: SparkSession, precision_loss: str) -> None:
    texts = [*BY_HAND, *drawn(checks, 100)]
    rules = {text: tree for text in texts if (tree := parsed_or_none(text)) is not None}
    assert set(BY_HAND) <= set(rules)
    assert len(rules) > 50
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.decimalOperations.allowPrecisionLoss", precision_loss)
    given = [*FIXED, *drawn(rows, 40)]
    found = sorted(frame_of(session, given).select("n", *columns_for(list(rules.values()))).collect())
    wrong = [
        (text, given[n], "spark", answer, "core", expected)
        for n, *answers in found
        for (text, tree), answer in zip(rules.items(), answers, strict=True)
        if answer is not (expected := evaluated(tree, given[n]))
    ]
    assert not wrong[:5]
