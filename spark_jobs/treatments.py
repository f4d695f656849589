"""What Curated keeps of a personal value, as Spark expressions."""

from __future__ import annotations

import hashlib
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from leanops.core.contract import model

BLOCK: Final = 64
INNER, OUTER = 0x36, 0x5C
TOKEN_HEX: Final = 32
PADDED_KEY: Final = f"[0-9A-F]{{{2 * BLOCK}}}"


def treated(column: model.Column, value: Column, key: bytes) -> Column:
    """The value after the column's PII treatment; NULL stays NULL, a column without PII stays as it is.

    HMAC's two padded keys stand in the plan as binary literals, from which the key can be read back: whoever may see
    `explain`, the Spark UI or the event log sees it. A session that sets `spark.sql.redaction.string.regex` to
    PADDED_KEY hides them from plan texts, though not from the event log's nodes.
    """
    match column.pii:
        case None:
            return value
        case model.Pii("hash"):
            return _hmac_sha256(key, value.cast("binary"))
        case model.Pii("tokenise"):
            named = F.concat(F.lit(column.name.encode() + b"\0"), value.cast("binary"))
            return F.concat(F.lit("tok_"), F.substring(_hmac_sha256(key, named), 1, TOKEN_HEX))
        case model.Pii("truncate", int(keep)):
            return F.substring(value, 1, keep)
    raise ValueError(
        f"Cannot treat column, its values are not kept: {column.name}. Leave it out where is_kept is false."
    )


def _hmac_sha256(key: bytes, message: Column) -> Column:
    """RFC 2104, in 64 hex digits."""
    block = (hashlib.sha256(key).digest() if len(key) > BLOCK else key).ljust(BLOCK, b"\0")
    inner = F.sha2(F.concat(_pad(block, INNER), message), 256)
    return F.sha2(F.concat(_pad(block, OUTER), F.unhex(inner)), 256)


def _pad(block: bytes, mask: int) -> Column:
    return F.lit(bytes(byte ^ mask for byte in block))
