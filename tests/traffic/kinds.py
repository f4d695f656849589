"""What a message is meant to be, and what may become of it.

A share in a scenario file is the share of one of these kinds; what is left over is `clean`.
"""

CLEAN = "clean"

DUPLICATE_SAME_BATCH = "duplicate_same_batch"
DUPLICATE_LATER_BATCH = "duplicate_later_batch"
DUPLICATES = frozenset({DUPLICATE_SAME_BATCH, DUPLICATE_LATER_BATCH})

CORRECTION = "correction"
STALE_CORRECTION = "stale_correction"
REJECTED_CORRECTION = "rejected_correction"
MONTHS_LATE = {"correction_1_month": 1, "correction_3_months": 3, "correction_14_months": 14}
CORRECTIONS = frozenset({CORRECTION, STALE_CORRECTION, REJECTED_CORRECTION, *MONTHS_LATE})

HERD = "herd"

DRIFT = frozenset({"field_added", "field_removed", "type_changed", "rare_field"})
HOSTILE = frozenset({"hostile_name", "hostile_key"})

REASONS = {
    "empty_payload": "empty",
    "invalid_json": "not_json",
    "not_an_object": "not_an_object",
    "duplicate_key": "duplicate_key",
    "lone_surrogate": "lone_surrogate",
    "too_deep": "too_deep",
}
PARSE_ERRORS = frozenset(REASONS)

INVALID = frozenset(
    {"missing_cde", "uncastable_value", "malformed_timestamp", "malformed_period", "rule_violation", "empty_object"}
)
REJECTED = INVALID | {REJECTED_CORRECTION}

ALL = frozenset({CLEAN, HERD}) | DUPLICATES | CORRECTIONS | DRIFT | HOSTILE | PARSE_ERRORS | INVALID

_ORDERED = frozenset({"accepted", "superseded", "stale"})


def dispositions(kind: str) -> frozenset[str]:
    """The dispositions that a message of this kind can have; which one depends on its neighbours."""
    if kind in DUPLICATES:
        return frozenset({"network_duplicate"})
    if kind in PARSE_ERRORS:
        return frozenset({"parse_error"})
    if kind == STALE_CORRECTION:
        return frozenset({"stale", "superseded"})
    if kind in CORRECTIONS or kind == HERD:
        return _ORDERED
    if kind == CLEAN:
        return frozenset({"accepted", "superseded"})
    return frozenset({"accepted"})
