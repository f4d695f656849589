"""What Curated holds of a personal value."""

import hmac

from tests.traffic.oracle.casts import Value
from tests.traffic.oracle.contract import Column


def treated(column: Column, text: str | None, value: Value | None, pii_key: bytes) -> Value | None:
    if column.treatment is None or text is None or value is None:
        return value
    if column.treatment == "hash":
        return _digest(pii_key, text.encode())
    if column.treatment == "tokenise":
        return "tok_" + _digest(pii_key, column.name.encode() + b"\0" + text.encode())[:32]
    if column.treatment == "truncate":
        return text[: column.keep]
    raise ValueError(f"Cannot treat column, unknown treatment: {column.treatment} of {column.name}")


def _digest(key: bytes, message: bytes) -> str:
    return hmac.new(key, message, "sha256").hexdigest()
