"""One delivery on a topic's queue."""

import json
from typing import NamedTuple


class Message(NamedTuple):
    batch: int
    body: str
    topic: str
    ingestion_ts: int
    kind: str


class Draft(NamedTuple):
    """A message before it is delivered: two deliveries of it have the same body."""

    kind: str
    message_id: str
    publish_time: str
    ingestion_ts: int
    payload: str


def body(draft: Draft) -> str:
    return (
        f'{{"messageId":"{draft.message_id}","publishTime":"{draft.publish_time}",'
        f'"attributes":{{"origin":"gateway-{draft.message_id[-1]}"}},"payload":{json.dumps(draft.payload)}}}'
    )
