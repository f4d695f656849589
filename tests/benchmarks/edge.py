"""sqs_processor and firehose_transform, against a bare loop of json.loads and base64 over the same messages in the same run."""

import base64
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.harness import Measure

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv" / "edge" / "bin" / "python"
MESSAGES, BATCH, ROUNDS, STARTS = 20_000, 500, 5, 7
TOPIC = "events"
ARN = f"arn:aws:sqs:eu-central-1:000000000000:lean-ops-dev-{TOPIC}"
# What Lambda hands over at most.
EVENT_BYTES = 6 * 1024 * 1024
FUNCTIONS = ("sqs_processor", "firehose_transform")
FORMS = ("data in base64", "payload as text", "payload as object", "flat")


def measures() -> Iterator[Measure]:
    """The functions have an environment of their own: processes there do the work, and print a measure a line."""
    from tests.lambdas.sqs_processor.double import served

    with served() as double:
        double.keeps = False
        url = f"http://127.0.0.1:{double.port}"
        variables = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {
            "PYTHONPATH": f"{ROOT / 'plugins'}:{ROOT}",
            "LEANOPS_ENVIRONMENT": "dev",
            "LEANOPS_ACCOUNT": "000000000000",
            "LEANOPS_REGION": "eu-central-1",
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_DEFAULT_REGION": "eu-central-1",
            "POWERTOOLS_LOG_LEVEL": "WARNING",
        }
        yield from _said(["throughput"], variables)
        for function in FUNCTIONS:
            yield from _cold_starts(function, variables)
        for case in ("small", "large", "escaped"):
            for function in FUNCTIONS:
                yield from _said(["memory", function, case], variables)
        yield from _said(["memory", "sqs_processor", "oversize"], variables)


def _said(arguments: Sequence[str], variables: dict[str, str]) -> Iterator[Measure]:
    command = [str(PYTHON), "-m", "tests.benchmarks.edge", *arguments]
    answer = subprocess.run(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True)
    if answer.returncode:
        raise RuntimeError(f"Cannot measure, the process ended with {answer.returncode}: {' '.join(arguments)}")
    for line in answer.stdout.splitlines():
        if line.startswith("= "):
            name, value, unit, ratio_to, aim = line[2:].split("\t")
            yield Measure(name, float(value), unit, ratio_to or None, aim or None)


def _cold_starts(function: str, variables: dict[str, str]) -> Iterator[Measure]:
    found: dict[str, list[Measure]] = {}
    for _ in range(STARTS):
        for measure in _said(["start", function], variables):
            found.setdefault(measure.measure, []).append(measure)
    for name, several in found.items():
        middle = statistics.median(measure.value for measure in several)
        yield Measure(name, middle, several[0].unit, several[0].ratio_to, several[0].aim)


def say(name: str, value: float, unit: str, ratio_to: str = "", aim: str = "") -> None:
    print(f"= {name}\t{value}\t{unit}\t{ratio_to}\t{aim}", flush=True)


def main(task: str, *arguments: str) -> None:
    tasks: dict[str, Callable[..., None]] = {"throughput": throughput, "start": start, "memory": memory}
    tasks[task](*arguments)


def throughput() -> None:
    bodies = _bodies()
    records: list[bytes] = []
    for form in FORMS:
        events = [_messages(bodies[form][at : at + BATCH]) for at in range(0, MESSAGES, BATCH)]
        client = Null()
        bare = _best(_bare, events)
        ours = _best(partial(_failures, client), events)
        say(f"bare loop, {form}", MESSAGES / bare / 1000, "thousand records/s/core")
        say(f"sqs_processor, {form}", MESSAGES / ours / 1000, "thousand records/s/core")
        say(f"sqs_processor, {form}, times as long", ours / bare, "ratio", f"bare loop, {form}", "≤ 3")
        records = records or client.records[:MESSAGES]
    _transform_throughput(records)


def _transform_throughput(records: Sequence[bytes]) -> None:
    from lambdas.firehose_transform import handler

    handler.tables._known.add(f"{TOPIC}_staging")
    events = [{"records": _stream_records(records[at : at + BATCH])} for at in range(0, len(records), BATCH)]
    bare = _best(lambda event: [json.loads(base64.b64decode(each["data"])) for each in event["records"]], events)
    ours = _best(lambda event: handler.handler(event, None), events)
    say("bare loop, stream records", len(records) / bare / 1000, "thousand records/s/core")
    say("firehose_transform", len(records) / ours / 1000, "thousand records/s/core")
    say("firehose_transform, times as long", ours / bare, "ratio", "bare loop, stream records", "≤ 3")


def start(function: str) -> None:
    """In a process of its own, with the bytecode there already, as in a zip that was built with it."""
    import importlib

    begun = time.process_time()
    importlib.import_module(f"lambdas.{function}.handler")
    imported = time.process_time()
    from leanops.aws import settings

    settings.client({"sqs_processor": "firehose", "firehose_transform": "glue"}[function])
    say(f"import of {function}", (imported - begun) * 1000, "ms of CPU")
    say(f"its first AWS client ({function})", (time.process_time() - imported) * 1000, "ms of CPU", "", "boto3's share")


def memory(function: str, case: str) -> None:
    """Over HTTP with real boto3, since the requests are part of what is held."""
    import importlib

    module = importlib.import_module(f"lambdas.{function}.handler")
    before = _peak()
    event = json.loads(_largest(function, case))
    if function == "firehose_transform":
        module.tables._known.add(f"{TOPIC}_staging")
        module.settings.client("glue")
    with redirect_stdout(sys.stderr):
        answer = module.handler(event, Context())
    failures = answer.get("batchItemFailures") or [each for each in answer.get("records", ()) if each["result"] != "Ok"]
    if failures:
        raise RuntimeError(f"Cannot measure, {len(failures)} records were not accepted")
    name = f"peak memory of {function}, largest batch, {case} records"
    say(name, _peak() / 1024, "MB", "", "< 128")
    if case == "small":
        say(f"of it after import ({function})", before / 1024, "MB")


class Context:
    aws_request_id = "bench"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


class Null:
    """Takes every record, and keeps the first."""

    def __init__(self) -> None:
        self.records: list[bytes] = []

    def put_record_batch(self, *, DeliveryStreamName: str, Records: list[dict[str, bytes]]) -> dict[str, Any]:  # noqa: N803
        if len(self.records) < MESSAGES:
            self.records += [record["Data"] for record in Records]
        return {"FailedPutCount": 0, "RequestResponses": [{"RecordId": "r"}] * len(Records)}

    def batch_get_item(self, **_: Any) -> dict[str, Any]:
        return {"Responses": {}}

    def batch_write_item(self, **_: Any) -> dict[str, Any]:
        return {}


def _failures(client: Null, event: Sequence[dict[str, Any]]) -> list[str]:
    from lambdas.sqs_processor.accepted import AcceptedMessages
    from lambdas.sqs_processor.archive import Archive
    from lambdas.sqs_processor.delivery import DeliveryStream
    from lambdas.sqs_processor.handler import Invocation
    from leanops.aws import settings

    environment = settings.environment()
    invocation = Invocation(
        environment,
        AcceptedMessages(lambda: client, environment.idempotency, lambda: 60.0),
        Archive(lambda: client, environment.archive_bucket, lambda: 60.0),
        DeliveryStream(client, environment.delivery_stream, lambda: 60.0),
    )
    return invocation.failures(event)


def _bare(event: Sequence[dict[str, Any]]) -> None:
    """What no function on this path can do without: read the body, and base64 once in one direction."""
    for message in event:
        found = json.loads(message["body"])
        if "data" in found:
            base64.b64decode(found["data"])
        else:
            base64.b64encode(message["body"].encode())


def _best(work: Callable[[Any], object], events: Sequence[Any]) -> float:
    """CPU seconds; the least of some rounds, since other work on the machine only adds."""
    best = float("inf")
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):  # noqa: PTH123
        for _ in range(ROUNDS):
            begun = time.process_time()
            for event in events:
                work(event)
            best = min(best, time.process_time() - begun)
    return best


def _bodies() -> dict[str, list[str]]:
    from tests.traffic import load_scenario, messages

    found: dict[str, list[str]] = {form: [] for form in FORMS}
    for message in messages(load_scenario("clean").resized(topic=TOPIC, messages=MESSAGES), seed=1):
        envelope = json.loads(message.body)
        payload = envelope.pop("payload")
        head = json.dumps(envelope)[:-1]
        found["data in base64"].append(f'{head},"data":"{base64.b64encode(payload.encode()).decode()}"}}')
        found["payload as text"].append(message.body)
        found["payload as object"].append(f'{head},"payload":{payload}}}')
        found["flat"].append(payload)
    return found


def _messages(bodies: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "messageId": f"{number:08d}-0000-4000-8000-000000000000",
            "receiptHandle": "r" * 200,
            "body": body,
            "attributes": {
                "ApproximateReceiveCount": "1",
                "SentTimestamp": "1784541600123",
                "SenderId": "AIDAEXAMPLE",
                "ApproximateFirstReceiveTimestamp": "1784541600200",
            },
            "messageAttributes": {},
            "md5OfBody": "0" * 32,
            "eventSource": "aws:sqs",
            "eventSourceARN": ARN,
            "awsRegion": "eu-central-1",
        }
        for number, body in enumerate(bodies)
    ]


def _stream_records(records: Sequence[bytes]) -> list[dict[str, Any]]:
    return [
        {
            "recordId": f"{number:056d}",
            "approximateArrivalTimestamp": 1784541600123,
            "data": base64.b64encode(record).decode(),
        }
        for number, record in enumerate(records)
    ]


def _largest(function: str, case: str) -> str:
    """The text of an event of about Lambda's limit, or of the stream's buffer: many small, few large, or all escapes."""
    size = {"small": 650, "large": 700_000, "escaped": 120_000, "oversize": 180_000}[case]
    filling = "\x01" if case in ("escaped", "oversize") else "x"
    if function == "sqs_processor":
        payload = base64.b64encode(f'{{"_metadata":{{}},"a":"{filling * size}"}}'.encode()).decode()
        body = json.dumps({"messageId": "1", "publishTime": "2026-07-20T10:00:00Z", "data": payload})
        count = min(EVENT_BYTES // (len(json.dumps(_messages([body])[0]))), 10_000)
        return json.dumps({"Records": _messages([body] * count)})
    record = json.dumps(
        {"message_id": "1", "topic_name": TOPIC, "publish_time": "2026-07-20T10:00:00Z", "ingestion_ts": 1,
         "json_payload": filling * size}
    ).encode()  # fmt: skip
    # The buffer of the stream is 1 MiB; the record that fills it comes on top.
    count = max(1024 * 1024 // len(record), 1) + 1
    return json.dumps({"records": _stream_records([record] * count)})


def _peak() -> int:
    """kB. Not ru_maxrss, which a child begins with its parent's."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main(*sys.argv[1:])
