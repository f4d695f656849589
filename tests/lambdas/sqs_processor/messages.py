"""Messages as Lambda hands them over."""

from __future__ import annotations

import base64
import json
from typing import Any

SENT = 1_784_541_600_123
SENT_TEXT = "2026-07-20T10:00:00.123000Z"


def sqs(
    body: str, topic: str = "events", sqs_id: str = "sqs-1", prefix: str = "lean-ops-dev", **more: Any
) -> dict[str, Any]:
    return {
        "messageId": sqs_id,
        "receiptHandle": "handle",
        "body": body,
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": str(SENT),
            "SenderId": "sender",
            "ApproximateFirstReceiveTimestamp": str(SENT + 77),
        },
        "messageAttributes": {},
        "md5OfBody": "",
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:eu-central-1:000000000000:{prefix}-{topic}",
        "awsRegion": "eu-central-1",
    } | more


def pubsub(payload: str | bytes, message_id: str = "m-1", time: str = "2026-07-20T09:59:59.5Z", **more: Any) -> str:
    """Pub/Sub's message with `data`."""
    content = payload if isinstance(payload, bytes) else payload.encode()
    data = base64.b64encode(content).decode()
    return json.dumps({"messageId": message_id, "publishTime": time, "data": data} | more)
