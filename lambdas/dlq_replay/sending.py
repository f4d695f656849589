"""One archived message as SQS takes it, and several as one request."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from leanops.aws.dead_letters import Entry, UnusableArchive

REQUEST_MESSAGES: Final = 10
REQUEST_BYTES: Final = 1_048_576


class Message(NamedTuple):
    entry: Entry
    body: str
    attributes: dict[str, dict[str, Any]]
    size: int


def message(entry: Entry, document: Mapping[str, Any]) -> Message:
    """Body and attributes as they first came; UnusableArchive where the object is not this entry's message."""
    if document.get("sqs_message_id") != entry.sqs_message_id or document.get("topic_name") != entry.topic:
        raise UnusableArchive(entry.archive_key, "it is another message's")
    body = document["body"]
    found = document.get("message_attributes")
    if not isinstance(found, dict):
        raise UnusableArchive(entry.archive_key, "its message attributes are missing")
    attributes = {name: _attribute(entry, value) for name, value in found.items()}
    size = len(body.encode("utf-8", "surrogatepass")) + sum(
        len(name.encode()) + sum(len(part if isinstance(part, bytes) else part.encode()) for part in value.values())
        for name, value in attributes.items()
    )
    return Message(entry, body, attributes, size)


def requests(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Cut into requests within SQS's limits of count and bytes."""
    request: list[Message] = []
    size = 0
    for each in messages:
        if request and (len(request) == REQUEST_MESSAGES or size + each.size > REQUEST_BYTES):
            yield request
            request, size = [], 0
        request.append(each)
        size += each.size
    if request:
        yield request


def _attribute(entry: Entry, value: object) -> dict[str, Any]:
    """From the form of Lambda's events to the form of SQS's requests."""
    if not isinstance(value, dict) or not isinstance(value.get("dataType"), str):
        raise UnusableArchive(entry.archive_key, "a message attribute has no type")
    if isinstance(value.get("stringValue"), str):
        return {"DataType": value["dataType"], "StringValue": value["stringValue"]}
    try:
        return {"DataType": value["dataType"], "BinaryValue": base64.b64decode(value["binaryValue"], validate=True)}
    except (KeyError, TypeError, binascii.Error) as error:
        raise UnusableArchive(entry.archive_key, "a message attribute has no value") from error
