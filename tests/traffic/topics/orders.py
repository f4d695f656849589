"""The topic `orders`: a nested customer, an array of items, money with two digits."""

from random import Random

from tests.traffic import clock
from tests.traffic.document import path, paths
from tests.traffic.topics.topic import KEY, UPDATED, Occasion, Topic, metadata

_STATUSES = ('"placed"', '"paid"', '"shipped"', '"cancelled"', '"returned"', "null")
_NAMES = ("Zoë O'Brien", "Jürgen Groß", "Ana Souza", "李雷", "Siobhán Ní Dhomhnaill")
_COUNTRIES = ("DE", "BR", "IE", "CN", "PT")
_CURRENCIES = ("EUR", "BRL", "GBP", "JPY", "CHF")

_PATHS = paths(
    (
        "_metadata.idempotencyKeyResource",
        "_metadata.periodReference",
        "_metadata.correlationId",
        "_metadata.lastUpdatedTs",
        "orderId",
        "orderDate",
        "status",
        "customer.id",
        "customer.email",
        "customer.name",
        "customer.country",
        "customer.segment",
        "items",
        "itemCount",
        "total",
        "gift",
        "currency",
        "tax.rate",
        "tax.amount",
        "shipping.method",
        "shipping.price",
        "shipping.address.city",
        "shipping.address.zip",
        "channel",
        "coupon",
    )
)


def _tokens(random: Random, occasion: Occasion) -> tuple[str, ...]:
    draw = random.random
    number = int(draw() * 1_000_000)
    who = occasion.identity % 5
    price = f"{number % 500}.{number % 10}0"
    line = f'{{"sku": "A-{number % 997}", "qty": 1, "price": {price}}}'
    count = number % 4
    total = "1234567890123456.78" if number % 97 == 0 else f"{number // 100}.{number % 100:02d}"
    return (
        *metadata("ord", random, occasion),
        str(occasion.identity + 1),
        f'"{clock.text(occasion.updated)[:10]}"',
        _STATUSES[number % 6],
        f'"c{occasion.identity % 10007}"',
        f'"c{occasion.identity % 10007}@example.com"',
        f'"{_NAMES[who]}"',
        f'"{_COUNTRIES[who]}"',
        '"retail"' if number % 3 else '"trade"',
        "[" + ", ".join([line] * count) + "]",
        str(count),
        total,
        "true" if number % 20 == 0 else "false",
        f'"{_CURRENCIES[who]}"',
        "0.190",
        f"{number % 90}.{number % 10}0",
        '"express"' if number % 2 else '"standard"',
        "4.90",
        '"Köln"' if number % 2 else '"Porto"',
        f'"{number % 99999:05d}"',
        '"web"' if number % 3 else '"app"',
        "null" if number % 5 else '"SPRING-10"',
    )


ORDERS = Topic(
    name="orders",
    paths=_PATHS,
    tokens=_tokens,
    cdes=(KEY, path("orderId"), path("total")),
    optional=paths(("status", "customer.email", "customer.name", "items", "gift", "coupon", "tax.rate")),
    numbers=paths(("orderId", "itemCount", "total", "tax.rate")),
    undeclared=paths(("channel", "coupon", "currency", "shipping.method")),
    timestamps=(path("orderDate"), UPDATED),
    uncastable={
        path("orderId"): ("1.0", "9223372036854775808", '"A1"', '" 7"'),
        path("itemCount"): ("1.5", "2147483648", '""', "false"),
        path("total"): ('"19.90 EUR"', "19.905", "12345678901234567.89", '"1.000,00"', '"+1.00"'),
        path("gift"): ('"no"', "0", "[true]"),
    },
    violations=(
        {path("status"): '"lost"'},
        {path("orderId"): "0"},
        {path("orderDate"): "null"},
        {path("customer.email"): '"nobody"'},
        {path("customer.country"): '"DEU"'},
        {path("itemCount"): "-1"},
    ),
)
