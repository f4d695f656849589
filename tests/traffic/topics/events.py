"""The topic `events`: 28 leaves, of which the contract declares 16."""

from random import Random

from tests.traffic import clock
from tests.traffic.document import path, paths
from tests.traffic.topics.topic import KEY, UPDATED, Occasion, Topic, metadata

_TYPES = ("login", "logout", "reading", "reading", "reading", "purchase", "alert")
_VERBS = ('"observed"', '"sent"', '"opened"', "null")
_AGENTS = ("Mozilla/5.0 (X11)", "okhttp/4.12.0", "sensor-fw/2.3", "Safari/17.2")
_CITIES = ("Lisboa", "São Paulo", "東京", "Kraków", "Reno")
_CARRIERS = ("vodafone", "t-mobile", "wifi")
_TAGS = ("[]", '["beta"]', '["a", "b"]', '[{"k": "zone", "v": 1.0}]')

_PATHS = paths(
    (
        "_metadata.idempotencyKeyResource",
        "_metadata.periodReference",
        "_metadata.correlationId",
        "_metadata.lastUpdatedTs",
        "sessionId",
        "event.timestamp",
        "event.userId",
        "event.eventType",
        "event.verb",
        "event.metadata.ipAddress",
        "event.metadata.deviceId",
        "event.metadata.userAgent",
        "event.metadata.firmware",
        "event.metadata.os",
        "amount",
        "sensor_reading",
        "battery_percent",
        "is_test",
        "geo.lat",
        "geo.lon",
        "geo.city",
        "net.rssi",
        "net.carrier",
        "app.version",
        "app.build",
        "tags",
        "trace.span",
        "locale",
    )
)


def _tokens(random: Random, occasion: Occasion) -> tuple[str, ...]:
    draw = random.random
    number = int(draw() * 1_000_000)
    kind = _TYPES[int(draw() * 7)]
    device = occasion.identity % 5003
    if kind == "purchase":
        amount = "1234567890123456.78" if number % 97 == 0 else f"{number // 100}.{number % 100:02d}"
    else:
        amount = "null" if number % 2 else "0.10"
    return (
        *metadata("evt", random, occasion),
        f'"s-{occasion.identity:x}"',
        f'"{clock.text(occasion.updated)}"',
        f'"u{occasion.identity % 10007}"',
        f'"{kind}"',
        _VERBS[number % 4],
        f'"10.{device % 250}.{number % 250}.7"',
        f'"dev-{device:05d}"',
        f'"{_AGENTS[number % 4]}"',
        f'"2.{number % 9}.1"',
        '"rtos"' if number % 3 else '"linux"',
        amount,
        f"{number % 900 - 200}.{number % 10}0",
        str(number % 101),
        "true" if number % 50 == 0 else "false",
        f"{number % 89}.{number:06d}",
        f"-{number % 179}.{number:06d}",
        f'"{_CITIES[number % 5]}"',
        f"-{number % 60 + 40}",
        f'"{_CARRIERS[number % 3]}"',
        f'"5.{number % 12}"',
        str(number),
        _TAGS[number % 4],
        f'"{int(draw() * 0x100000000):08x}"',
        '"pt-BR"' if number % 2 else '"en"',
    )


EVENTS = Topic(
    name="events",
    paths=_PATHS,
    tokens=_tokens,
    cdes=(KEY, path("sessionId")),
    optional=paths(
        ("event.userId", "event.verb", "event.metadata.userAgent", "sensor_reading", "is_test", "app.build")
    ),
    numbers=paths(("sensor_reading", "battery_percent", "geo.lat", "app.build")),
    undeclared=paths(("net.rssi", "app.version", "locale", "tags")),
    timestamps=(path("event.timestamp"), UPDATED),
    uncastable={
        path("amount"): ('"12,50"', "19.999", "12345678901234567.89", '"abc"', "true", '""'),
        path("sensor_reading"): ('"warm"', "1e999", '"NaN"', '" 1.0"', "[1.5]"),
        path("battery_percent"): ("1.0", "1e1", "2147483648", '"50%"', '"٥"'),
        path("is_test"): ('"yes"', "1", '"true "'),
    },
    violations=(
        {path("event.eventType"): '"teleport"'},
        {path("event.eventType"): '"purchase"', path("amount"): "null"},
        {path("amount"): "-0.01"},
        {path("sensor_reading"): "-273.16"},
        {path("battery_percent"): "101"},
        {path("event.metadata.deviceId"): '"ab"'},
        {path("event.metadata.deviceId"): "null"},
    ),
)
