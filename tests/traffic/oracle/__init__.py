"""What must become of each record, by docs/rules.md, in plain Python that shares nothing with the product."""

from tests.traffic.oracle.checks import Violation
from tests.traffic.oracle.contract import Contract, read_contract
from tests.traffic.oracle.ledger import Ledger, Outcome, Rejection, Row, Truth, truth
from tests.traffic.oracle.records import Version

__all__ = [
    "Contract",
    "Ledger",
    "Outcome",
    "Rejection",
    "Row",
    "Truth",
    "Version",
    "Violation",
    "read_contract",
    "truth",
]
