"""The event source mapping between a topic's queue and the processor."""

from __future__ import annotations

from typing import Any, Final

from leanops.aws import queues, settings
from leanops.core.errors import LeanOpsError
from leanops.core.naming import Environment

PROCESSOR: Final = "sqs_processor"
ENABLED_STATES: Final = frozenset({"Enabled", "Enabling", "Creating"})
DISABLED_STATES: Final = frozenset({"Disabled", "Disabling"})


class NoMapping(LeanOpsError):
    def __init__(self, topic: str, queue: str) -> None:
        self.topic = topic
        super().__init__(
            "switch topic",
            "its queue has no event source mapping",
            queue,
            "Add the topic to the topics file and apply it.",
        )


class Mappings:
    def __init__(self, environment: Environment, client: Any = None) -> None:
        self._environment = environment
        self._lambda = client or settings.client("lambda")

    def of(self, topic: str) -> list[dict[str, Any]]:
        """All of them, in case there are two; NoMapping where there is none."""
        queue = queues.arn(self._environment, self._environment.topic(topic).queue)
        pages = self._lambda.get_paginator("list_event_source_mappings").paginate(
            EventSourceArn=queue, FunctionName=self._environment.function(PROCESSOR)
        )
        # An emulator's answer may hold more than was asked for; another topic's mapping must never be touched.
        found = [each for page in pages for each in page["EventSourceMappings"] if each.get("EventSourceArn") == queue]
        if not found:
            raise NoMapping(topic, queue)
        return found

    def switch(self, topic: str, enabled: bool) -> bool:
        """Whether anything had to be changed."""
        wanted = ENABLED_STATES if enabled else DISABLED_STATES
        others = [each for each in self.of(topic) if each.get("State") not in wanted]
        for each in others:
            self._lambda.update_event_source_mapping(UUID=each["UUID"], Enabled=enabled)
        return bool(others)
