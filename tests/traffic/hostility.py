"""JSON names and key values that break naive flattening, quoting or paths. Each set keeps the record valid."""

from tests.traffic.document import Fields

_DEEP = tuple(f"level{number}" for number in range(20))

NAMES: tuple[Fields, ...] = (
    {("a-b",): "1", ("a_b",): "2", ("A_B",): "3"},
    {("a.b",): '"dotted"', ("a", "b"): '"nested"'},
    {("sessionid",): '"other"', ("SESSIONID",): '"loud"', ("orderid",): '"x"', ("paymentid",): '"y"'},
    {("event_userId",): '"collides"', ("event_type",): '"takes a contract name"'},
    {("message_id",): '"forged"', ("publish_time",): '"forged"', ("idempotency_key",): '"forged"'},
    {("_batch",): "99", ("_rescued",): '"{}"', ("_contract_version",): '"9"', ("first_seen_ts",): '"1970-01-01"'},
    {("x__0123456789abcdef",): '"hand-made mark"'},
    {("",): '"empty name"', (" ",): '"blank name"', ("_",): '"underscore"'},
    {("9lives",): "9", ("_9lives",): "10"},
    {("`x`; drop table curated; --",): '"sql"', ("' or '1'='1",): '"sql"', ('"quoted"',): '"sql"'},
    {("../../etc/passwd",): '"path"', ("${jndi:ldap://example.invalid}",): '"lookup"', ("{{ ds }}",): '"template"'},
    {("line\nbreak",): '"control"', ("nul\x00",): '"control"', ("tab\t",): '"control"'},
    {("emoji😀",): '"astral"'},
    {("\u212a",): '"kelvin"', ("k",): '"letter"', ("\u0130",): '"dotted"', ("\u202e",): '"rtl"'},
    {("é",): '"composed"', ("e\u0301",): '"decomposed"'},
    {("n" * 300,): '"long"', ("n" * 301,): '"longer"'},
    {_DEEP: '"twenty down"'},
    {("__proto__",): "{}", ("constructor", "name"): "[]"},
    {("nothing",): "null", ("zero",): "-0", ("huge",): "1E400", ("tiny",): "0.000000000000000000001"},
)

# None stands for a number: its digits are the key.
KEYS: tuple[str | None, ...] = (
    None,
    "o'brien'; drop table curated; --",
    '"quoted" \\ back',
    "../../up/",
    "nul\x00nul",
    "line\nbreak",
    " leading",
    "😀",
    "e\u0301",
    "NULL",
    "{}",
    "%s %(x)s {0}",
    "k" * 4000,
    "a|b#c,d=e&f",
)
