"""The topic `payments`: money in several currencies, each with its own number of digits."""

from random import Random

from tests.traffic import clock
from tests.traffic.document import path, paths
from tests.traffic.topics.topic import KEY, UPDATED, Occasion, Topic, metadata

_CURRENCIES = ("EUR", "USD", "JPY", "KWD", "CHF", "BRL")
_METHODS = ("card", "wallet", "sepa")
_PAYERS = ("Zoë O'Brien", "Łukasz Nowak", "Ana Souza", "田中 太郎")

_PATHS = paths(
    (
        "_metadata.idempotencyKeyResource",
        "_metadata.periodReference",
        "_metadata.correlationId",
        "_metadata.lastUpdatedTs",
        "paymentId",
        "amount.value",
        "amount.currency",
        "amount.minorUnits",
        "fee",
        "method.type",
        "method.cardNumber",
        "method.iban",
        "method.network",
        "payer.name",
        "payer.id",
        "payer.risk.score",
        "payer.risk.model",
        "bookedAt",
        "valueDate",
        "refund",
        "ledgerBalance",
        "fx.rate",
        "fx.source",
        "merchant.id",
        "merchant.mcc",
        "reference",
    )
)


def _amount(number: int, currency: str) -> str:
    if number % 97 == 0:
        return "1234567890123456.7891"
    if currency == "JPY":
        return str(number + 100)
    if currency == "KWD":
        return f"{number // 1000 + 1}.{number % 1000:03d}"
    return f"{number // 100 + 1}.{number % 10}0"


def _tokens(random: Random, occasion: Occasion) -> tuple[str, ...]:
    draw = random.random
    number = int(draw() * 1_000_000)
    method = _METHODS[int(draw() * 3)]
    currency = "EUR" if method == "sepa" else _CURRENCIES[number % 6]
    refund = number % 25 == 0
    amount = _amount(number, currency)
    return (
        *metadata("pay", random, occasion),
        f'"p-{occasion.identity:x}"',
        f"-{amount}" if refund else amount,
        f'"{currency}"',
        "2",
        "null" if number % 7 == 0 else f"0.{number % 100:02d}50",
        f'"{method}"',
        f'"4{occasion.identity % 10**12:012d}{number % 1000:03d}"' if method == "card" else "null",
        f'"DE{number % 90 + 10}5001051754{number:06d}00"' if method == "sepa" else "null",
        '"visa"' if number % 2 else '"mc"',
        f'"{_PAYERS[number % 4]}"',
        f'"u{occasion.identity % 10007}"',
        f"0.{number:06d}",
        '"r7"',
        f'"{clock.text(occasion.updated)}"',
        f'"{clock.text(occasion.published)[:10]}"',
        "true" if refund else "false",
        "12345678901234567.89" if number % 5 == 0 else f"{number}.90",
        f"1.{number:06d}00",
        '"ecb"',
        f'"m-{number % 613}"',
        f'"{number % 9000 + 1000}"',
        f'"RF{number:06d} invoice \\"{number % 31}\\""',
    )


PAYMENTS = Topic(
    name="payments",
    paths=_PATHS,
    tokens=_tokens,
    cdes=(KEY, path("paymentId"), path("amount.value"), path("amount.currency")),
    optional=paths(("fee", "method.iban", "payer.name", "valueDate", "ledgerBalance", "reference")),
    numbers=paths(("amount.value", "fee", "ledgerBalance", "fx.rate")),
    undeclared=paths(("fx.source", "reference", "merchant.mcc", "method.network")),
    timestamps=(path("bookedAt"), path("valueDate"), UPDATED),
    uncastable={
        path("amount.value"): ('"12,50"', "19.99999", "12345678901234567.89", '"€5"', '"1 000"'),
        path("fee"): ("0.00001", '"free"', "1e12", "false"),
        path("refund"): ('"yes"', "1", '"TRUE!"'),
    },
    violations=(
        {path("amount.currency"): '"eur"', path("method.type"): '"card"'},
        {path("method.type"): '"cash"'},
        {path("method.type"): '"sepa"', path("amount.currency"): '"USD"'},
        {path("method.cardNumber"): '"4111"'},
        {path("fee"): "99.5", path("amount.value"): "1.00", path("refund"): "false"},
        {path("bookedAt"): "null"},
    ),
)
