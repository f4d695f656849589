"""Discovery with a Google and an AWS on loopback: found once, registered, in the file, told once, never enabled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.topic_discovery import pubsub
from lambdas.topic_discovery.handler import handler
from lambdas.topic_discovery.pubsub import NoListing
from lambdas.topic_discovery.topics_file import UnusableTopicsFile
from leanops.aws import moments, settings
from leanops.aws.registry import Registry
from tests.aws.deployment import Context, Deployment
from tests.lambdas.topic_discovery.google import DENIED, PROJECT, UNAVAILABLE, Google


@pytest.fixture
def google(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> Iterator[Google]:
    with Google() as found:
        secret = f"{deployment.environment.prefix}-gcp"
        deployment.client("secretsmanager").create_secret(Name=secret, SecretString=found.secret)
        monkeypatch.setenv("LEANOPS_GCP_SECRET", secret)
        monkeypatch.setenv("LEANOPS_PUBSUB_URL", found.url)
        monkeypatch.setattr(pubsub, "FIRST_PAUSE", 0.001)
        yield found


def run(seconds: float = 300.0) -> dict[str, Any]:
    return handler({}, Context(seconds))


def file(deployment: Deployment) -> Any:
    environment = deployment.environment
    found = deployment.client("s3").get_object(Bucket=environment.schema_bucket, Key=environment.topics_file)
    with found["Body"] as stream:
        return json.loads(stream.read())


def registered(deployment: Deployment) -> dict[str, Any]:
    return {item["topic_name"]: item for item in deployment.items(deployment.environment.schema_registry)}


def test_new_topics_are_registered_filed_and_told_but_not_enabled(deployment: Deployment, google: Google) -> None:
    google.ids = ["alpha", "Beta-1", "gamma.x", "delta"]
    answer = run()
    topics = ["alpha", "beta_1", "delta", "gamma_x"]
    assert (answer["listed"], answer["announced"], answer["added_to_file"]) == (4, topics, topics)
    assert file(deployment) == {
        "topics": {
            "alpha": {"source": f"projects/{PROJECT}/topics/alpha", "status": "discovered"},
            "beta_1": {"source": f"projects/{PROJECT}/topics/Beta-1", "status": "discovered"},
            "delta": {"source": f"projects/{PROJECT}/topics/delta", "status": "discovered"},
            "gamma_x": {"source": f"projects/{PROJECT}/topics/gamma.x", "status": "discovered"},
        }
    }
    items = registered(deployment)
    assert {topic: item["status"] for topic, item in items.items()} == dict.fromkeys(topics, "DISCOVERED")
    assert not any(item.get("processing_enabled") for item in items.values())
    registry = Registry(deployment.environment)
    assert not any(entry.is_open for topic in topics if (entry := registry.get(topic)))
    ((subject, text),) = deployment.notifications()
    assert subject == f"[{deployment.environment.name}] 4 new topics"
    assert f"- beta_1 (renamed: 'projects/{PROJECT}/topics/Beta-1')" in text
    assert len(google.requests) == 2


def test_a_second_run_changes_and_tells_nothing(deployment: Deployment, google: Google) -> None:
    google.ids = ["alpha", "beta"]
    run()
    deployment.notifications()
    before = registered(deployment)
    etag = deployment.client("s3").head_object(
        Bucket=deployment.environment.schema_bucket, Key=deployment.environment.topics_file
    )["LastModified"]
    answer = run()
    assert (answer["announced"], answer["added_to_file"]) == ([], [])
    assert (registered(deployment), deployment.notifications()) == (before, [])
    after = deployment.client("s3").head_object(
        Bucket=deployment.environment.schema_bucket, Key=deployment.environment.topics_file
    )
    assert after["LastModified"] == etag


def test_a_topic_that_appears_later_is_told_alone_and_one_that_disappears_stays(
    deployment: Deployment, google: Google
) -> None:
    google.ids = ["alpha", "beta"]
    run()
    deployment.notifications()
    google.ids = ["beta", "able"]
    assert run()["announced"] == ["able"]
    assert list(file(deployment)["topics"]) == ["able", "alpha", "beta"]
    ((_, text),) = deployment.notifications()
    assert "- able" in text
    assert "beta" not in text


def test_a_topic_with_a_contract_only_learns_its_source(deployment: Deployment, google: Google) -> None:
    deployment.client("dynamodb").put_item(
        TableName=deployment.environment.schema_registry,
        Item={
            "topic_name": {"S": "alpha"},
            "status": {"S": "READY"},
            "processing_enabled": {"BOOL": True},
            "revision": {"N": "4"},
        },
    )
    google.ids = ["alpha"]
    assert run()["announced"] == []
    item = registered(deployment)["alpha"]
    assert (item["status"], item["processing_enabled"]) == ("READY", True)
    assert item["source"] == f"projects/{PROJECT}/topics/alpha"
    assert file(deployment)["topics"]["alpha"]["status"] == "onboarded"
    assert deployment.notifications() == []


def test_names_that_can_not_be_taken_are_told_once(deployment: Deployment, google: Google) -> None:
    google.ids = ["a-b", "a.b", "50%", "good"]
    answer = run()
    assert (answer["announced"], len(answer["problems"])) == (["good"], 2)
    ((subject, text),) = deployment.notifications()
    assert subject.endswith("1 new topics, 2 refused")
    assert "would share this topic" in text
    run()
    assert deployment.notifications() == []
    google.ids.append("x" * 50)
    assert len(run()["problems"]) == 3
    assert len(deployment.notifications()) == 1


# Two topics: two are registered, claimed, and marked as told, each by an UpdateItem.
STEPS = [("DynamoDB.Scan", 1), ("PUT /lean-ops", 1), ("DynamoDB.GetItem", 5), ("POST /", 1), ("DynamoDB.PutItem", 1)]
STEPS += [("DynamoDB.UpdateItem", nth) for nth in range(1, 7)]


@pytest.mark.parametrize(("operation", "nth"), STEPS)
@pytest.mark.parametrize("fault", ["refuse", "lose"])
def test_a_fault_in_any_step_is_made_up_for_by_the_next_run(
    deployment: Deployment,
    google: Google,
    monkeypatch: pytest.MonkeyPatch,
    operation: str,
    nth: int,
    fault: Any,
) -> None:
    google.ids = ["alpha", "beta", "a~b"]
    deployment.proxy.spoil_once(operation, fault, nth)
    with pytest.raises(ClientError, match="spoiled by the test"):
        run(10)
    deployment.proxy.heal()
    # Past any claim of the run that failed.
    monkeypatch.setattr(moments, "now", lambda: datetime.now(UTC) + timedelta(seconds=71))
    run()
    assert list(file(deployment)["topics"]) == ["alpha", "beta"]
    assert {item["status"] for item in registered(deployment).values()} == {"DISCOVERED"}
    assert all("announced_at" in item for item in registered(deployment).values())
    told = "\n".join(text for _, text in deployment.notifications())
    assert all(word in told for word in ("- alpha", "- beta", "a~b"))
    run()
    assert deployment.notifications() == []


def test_runs_at_once_lose_no_entry_and_tell_each_topic_once(deployment: Deployment, google: Google) -> None:
    google.ids = [f"topic{place:02}" for place in range(12)]
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: run(), range(4)))
    assert list(file(deployment)["topics"]) == google.ids
    assert sorted(topic for answer in answers for topic in answer["announced"]) == google.ids
    told = "\n".join(text for _, text in deployment.notifications())
    assert [told.count(f"- {topic}") for topic in google.ids] == [1] * 12


def test_a_writer_in_between_loses_nothing(deployment: Deployment, google: Google) -> None:
    """A person puts the file back while discovery is about to write it."""
    google.ids = ["alpha"]
    bucket, key = deployment.environment.schema_bucket, deployment.environment.topics_file
    theirs = {"topics": {"zeta": {"enabled": False}}}
    seen: list[str] = []

    def race(call: str) -> None:
        if call.startswith("PUT") and not seen:
            seen.append(call)
            deployment.client("s3").put_object(Bucket=bucket, Key=key, Body=json.dumps(theirs).encode())

    deployment.proxy.spoil(race)
    run()
    assert seen
    assert file(deployment)["topics"]["zeta"] == {"enabled": False}
    assert list(file(deployment)["topics"]) == ["alpha", "zeta"]


@pytest.mark.parametrize("content", [b"", b"not json", b"[]", b'{"topics": []}', b'{"topics": {"a": 1}}'])
def test_a_broken_topics_file_is_never_overwritten(deployment: Deployment, google: Google, content: bytes) -> None:
    google.ids = ["alpha"]
    bucket, key = deployment.environment.schema_bucket, deployment.environment.topics_file
    deployment.client("s3").put_object(Bucket=bucket, Key=key, Body=content)
    with pytest.raises(UnusableTopicsFile, match="Cannot write topics file"):
        run()
    with deployment.client("s3").get_object(Bucket=bucket, Key=key)["Body"] as stream:
        assert stream.read() == content


def test_an_empty_project_is_fine(deployment: Deployment, google: Google) -> None:
    assert run()["listed"] == 0
    assert (registered(deployment), deployment.notifications()) == ({}, [])


def test_passing_faults_of_google_are_tried_again(deployment: Deployment, google: Google) -> None:
    google.ids = [f"topic{place}" for place in range(7)]
    google.faults = lambda nth: (503, UNAVAILABLE) if nth in (1, 3) else (429, b"slow down") if nth == 4 else None
    assert run()["listed"] == 7


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ((403, DENIED), "the answer was 403"),
        ((404, {}), "the answer was 404"),
        ((503, UNAVAILABLE), "the answer was 503, 4 times"),
        ((200, b"<html>"), "not a list of topics"),
        ((200, []), "not a list of topics"),
        ((200, {"topics": {}}), "not a list of topics"),
        ((200, {"topics": [{"name": None}]}), "an entry has no name"),
        ((200, {"topics": ["alpha"]}), "an entry has no name"),
        ((200, {"topics": [], "nextPageToken": "3"}), "its pages do not end"),
    ],
)
def test_half_a_list_registers_nothing(deployment: Deployment, google: Google, fault: Any, reason: str) -> None:
    google.ids = [f"topic{place}" for place in range(7)]
    google.faults = lambda nth: fault if nth >= 2 else None
    with pytest.raises(NoListing, match=reason) as caught:
        run()
    assert str(caught.value).startswith("Cannot list Pub/Sub topics, ")
    assert registered(deployment) == {}


def test_without_a_token_there_is_a_clear_error(deployment: Deployment, google: Google) -> None:
    google.gives_tokens = False
    with pytest.raises(NoListing, match="Google gave no token"):
        run()


@pytest.mark.parametrize(
    "secret", ["", "no json", "[]", "{}", '{"client_email": "a", "token_uri": "b", "private_key": "PRIVATE"}']
)
def test_a_wrong_secret_is_named_without_being_shown(secret: str) -> None:
    with pytest.raises(NoListing, match="not a service account's key") as caught:
        pubsub.topics(secret, None)
    assert "PRIVATE" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_missing_setting_is_named(deployment: Deployment) -> None:
    with pytest.raises(settings.MissingSetting, match="LEANOPS_GCP_SECRET"):
        run()
