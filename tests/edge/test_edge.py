"""End to end on the emulator, with the real zips: every message that SQS took is in RAW or in the archive. Lost = 0."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import batched
from pathlib import Path
from typing import Any

import pytest

from leanops.aws import settings
from leanops.core.naming import Environment
from local import package
from local.aws import Emulator
from local.bootstrap.deployment import Options, deploy
from local.delivery.process import Delivery
from tests.edge.chaos import Chaos
from tests.edge.findings import Findings, find
from tests.edge.sendings import POISON, TOPICS, Sending, batches, entries, hostile, poisoned, traffic

pytestmark = pytest.mark.edge

ROOT = Path(__file__).parents[2]
# Of all scenarios together; a longer run may ask for more.
MESSAGES = int(os.environ.get("LEANOPS_EDGE_MESSAGES", "20000"))
POISONED = 30
# Short, so that five deliveries of a message fit into the test.
VISIBILITY_SECONDS = 8
PROCESSOR_SECONDS = 7
# Without any progress.
PATIENCE_SECONDS = 120
# The emulator looks through a whole queue at every poll: a long one slows it down.
LONGEST_QUEUES = 10_000
FAULTS = {
    "refuse": 0.03,
    "throttle": 0.03,
    "lose_answer": 0.02,
    "duplicate": 0.03,
    "fail_delivery": 0.2,
    "shuffle": True,
}


class Edge:
    """A deployment with its delivery service."""

    def __init__(self, emulator: Emulator, environment: Environment, delivery: Delivery) -> None:
        self.emulator = emulator
        self.environment = environment
        self.delivery = delivery
        self._clients: dict[str, Any] = {}
        self.sent: dict[str, Sending] = {}

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self.emulator.client(service)
        return self._clients[service]

    def close(self) -> None:
        for each in self._clients.values():
            each.close()

    def onboard(self, topic: str) -> None:
        """As an owner does it: the contract is uploaded, the validator makes the tables."""
        s3, bucket = self.client("s3"), self.environment.schema_bucket
        names = self.environment.topic(topic)
        contract = (ROOT / "schemas" / topic / "active" / "schema.json").read_bytes()
        s3.put_object(Bucket=bucket, Key=names.schema_key("pending"), Body=contract)
        self.wait(lambda: self._status(topic) != "READY", f"the contract of {topic} is not active")

    def _status(self, topic: str) -> str | None:
        item = self.client("dynamodb").get_item(
            TableName=self.environment.schema_registry, Key={"topic_name": {"S": topic}}
        )
        status = item.get("Item", {}).get("status", {}).get("S")
        return None if status is None else str(status)

    def send(self, sendings: list[Sending]) -> None:
        sqs = self.client("sqs")
        urls = {topic: sqs.get_queue_url(QueueName=self.environment.topic(topic).queue)["QueueUrl"] for topic in TOPICS}

        def send_one(batch: tuple[str, list[Sending]]) -> dict[str, Sending]:
            topic, some = batch
            answer = sqs.send_message_batch(QueueUrl=urls[topic], Entries=entries(some))
            assert not answer.get("Failed"), answer["Failed"]
            return {each["MessageId"]: some[int(each["Id"])] for each in answer["Successful"]}

        with ThreadPoolExecutor(4) as pool:
            for some in batched(batches(sendings), 200):
                self.wait(lambda: max(0, self.left("queue") - LONGEST_QUEUES), "the queues stay long")
                for accepted in pool.map(send_one, some):
                    self.sent |= accepted

    def left(self, kind: str) -> int:
        """Messages in the topics' queues, visible or not."""
        sqs = self.client("sqs")
        count = 0
        for topic in TOPICS:
            url = sqs.get_queue_url(QueueName=getattr(self.environment.topic(topic), kind))["QueueUrl"]
            attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
            names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
            count += sum(int(attributes[name]) for name in names)
        return count

    def wait(self, left: Callable[[], int], complaint: str) -> None:
        """Until nothing is left. Patience begins anew whenever there is less than ever."""
        least, since = left(), time.monotonic()
        while least:
            time.sleep(0.5)
            now = left()
            if now < least:
                least, since = now, time.monotonic()
            elif time.monotonic() - since > PATIENCE_SECONDS:
                log = self.emulator.log.read_text(errors="replace")[-4000:]
                pytest.fail(f"{complaint}: {now}. The emulator's last words:\n{log}")

    def found(self) -> Findings:
        return find(self.client, self.environment)


@pytest.fixture(scope="module")
def zips(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    return package.functions(tmp_path_factory.mktemp("zips"))


@pytest.fixture
def edge(tmp_path: Path, zips: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Edge]:
    """An emulator of its own: what it runs is killed."""
    with Emulator(tmp_path / "aws") as emulator:
        environment = Environment("edge", emulator.account, emulator.region)
        for name, value in emulator.variables.items():
            monkeypatch.setenv(name, value)
        settings.reset()
        # The tables of the edge are there before its delivery service is.
        deploy(emulator.client, environment, TOPICS)
        with Delivery(tmp_path / "delivery", environment, emulator.variables, {"flush_seconds": 4}) as delivery:
            options = Options(
                zips=zips,
                delivery=delivery.endpoint,
                visibility_seconds=VISIBILITY_SECONDS,
                seconds={"sqs_processor": PROCESSOR_SECONDS},
            )
            deploy(emulator.client, environment, TOPICS, options)
            own = Edge(emulator, environment, delivery)
            yield own
            own.close()
        settings.reset()


def test_no_message_is_lost_while_everything_fails_now_and_then(edge: Edge) -> None:
    for topic in TOPICS:
        edge.onboard(topic)
    sendings = [*poisoned(POISONED), *hostile(), *traffic(MESSAGES)]
    assert len(sendings) > MESSAGES
    edge.delivery.set_faults(**FAULTS, poison=POISON)
    began = time.monotonic()
    with Chaos(edge.emulator, edge.delivery, edge.client, edge.environment) as chaos:
        edge.send(sendings)
        sending_seconds = time.monotonic() - began
        edge.wait(lambda: edge.left("queue"), "messages stay in the queues")
    flow_seconds = time.monotonic() - began
    # The dead letters pass the same stream.
    edge.delivery.set_faults(poison="")
    edge.wait(lambda: edge.left("dead_letter_queue"), "messages stay in the dead letter queues")
    edge.delivery.set_faults(**dict.fromkeys(FAULTS, 0))
    edge.delivery.flush()
    found = edge.found()
    chaos.stream.update(edge.delivery.state())
    tell(edge, chaos, found, {"sending": sending_seconds, "flowing": flow_seconds, "all": time.monotonic() - began})

    assert len(edge.sent) == len(sendings)
    assert found.lost(edge.sent) == []
    assert found.invented(edge.sent) == []
    assert found.undelivered == 0
    assert found.quarantined == 0
    # Each fault was there, or the test shows nothing.
    poisoned_ids = {sqs_id for sqs_id, sending in edge.sent.items() if POISON in sending.payload}
    assert poisoned_ids <= found.archived.keys() & found.dead
    assert found.archived.keys() == found.dead
    assert sum(found.raw.values()) > len(edge.sent) - len(found.archived)
    assert found.oversize >= len(TOPICS)
    assert chaos.done["functions killed"] >= 3
    assert "Worker process died" in edge.emulator.log.read_text(errors="replace")
    assert chaos.done["tables dropped"] >= 1
    assert chaos.done["delivery services killed"] >= 1
    for fault in ("refused", "throttled_requests", "lost_answers", "repeated", "failed_deliveries"):
        assert chaos.stream[fault] >= 1, fault


def tell(edge: Edge, chaos: Chaos, found: Findings, seconds: Mapping[str, float]) -> None:
    rows = sum(found.raw.values())
    print(f"{len(edge.sent)} sent, {rows} rows in RAW, {len(found.archived)} archived, {found.oversize} oversize")
    print(json.dumps(chaos.done), json.dumps(chaos.stream))
    print(", ".join(f"{name} {value:.0f} s" for name, value in seconds.items()))
