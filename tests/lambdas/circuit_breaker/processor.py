"""The processor of these tests, as a function on the local AWS: a message's body says what becomes of it."""

from __future__ import annotations

import io
import json
import zipfile

from leanops.core.naming import Environment
from tests.aws.deployment import TOPICS, Deployment

SOURCE = """
def handler(event, context):
    records = event["Records"]
    if any(record["body"] == "crash" for record in records):
        raise RuntimeError("crashed as told")
    return {"batchItemFailures": [{"itemIdentifier": r["messageId"]} for r in records if r["body"] == "fail"]}
"""


def make(deployment: Deployment) -> None:
    """The function, and a mapping for each topic."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("processor.py", SOURCE)
    functions, name = deployment.client("lambda"), deployment.environment.function("sqs_processor")
    functions.create_function(
        FunctionName=name,
        Runtime="python3.12",
        Handler="processor.handler",
        Role="arn:aws:iam::000000000000:role/any",
        Code={"ZipFile": content.getvalue()},
        Timeout=10,
    )
    for topic in TOPICS:
        functions.create_event_source_mapping(
            EventSourceArn=deployment.queue_arn(deployment.environment.topic(topic).queue),
            FunctionName=name,
            BatchSize=10,
            FunctionResponseTypes=["ReportBatchItemFailures"],
        )


def states(deployment: Deployment) -> dict[str, bool]:
    """Topic → whether its mapping is enabled."""
    mappings = deployment.client("lambda").list_event_source_mappings(
        FunctionName=deployment.environment.function("sqs_processor")
    )["EventSourceMappings"]
    return {
        _topic(deployment.environment, each["EventSourceArn"]): each["State"].startswith("Enabl") for each in mappings
    }


def remove(deployment: Deployment) -> None:
    functions, name = deployment.client("lambda"), deployment.environment.function("sqs_processor")
    for each in functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]:
        functions.delete_event_source_mapping(UUID=each["UUID"])
    functions.delete_function(FunctionName=name)


def notice(environment: Environment, topic: str, state: str = "ALARM") -> dict[str, object]:
    message = {
        "AlarmName": f"{environment.prefix}-errors-{topic}",
        "NewStateValue": state,
        "NewStateReason": "Threshold Crossed: 12 % over 5 %",
    }
    return {"Sns": {"Message": json.dumps(message)}}


def _topic(environment: Environment, arn: str) -> str:
    return arn.rsplit(":", 1)[1].removeprefix(f"{environment.prefix}-")
