"""Records to the stream: within the limits, each taken or named, for whatever the stream answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from leanops.aws import delivery, settings
from tests.aws.stream import Answer, Stream, refuse_all

CODES = st.sampled_from([None, None, "ServiceUnavailableException", "InternalFailure"])


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stream]:
    with Stream() as found:
        for name, value in {
            "AWS_ENDPOINT_URL_FIREHOSE": found.url,
            "AWS_ACCESS_KEY_ID": "x",
            "AWS_SECRET_ACCESS_KEY": "x",
            "LEANOPS_REGION": "eu-central-1",
        }.items():
            monkeypatch.setenv(name, value)
        settings.reset()
        yield found
        settings.reset()


def put(records: list[bytes], seconds: float = 300.0) -> dict[int, str]:
    return delivery.put("stream", records, lambda: seconds, pause=lambda _: None)


@hypothesis_settings(deadline=None)
@given(st.lists(st.integers(1, delivery.RECORD_BYTES), max_size=60), st.booleans())
def test_requests_keep_order_and_limits(sizes: list[int], small: bool) -> None:
    records = [bytes(size) for size in ([min(size, 50) for size in sizes] * 20 if small else sizes[:12])]
    cut = list(delivery.requests(records, range(len(records))))
    assert [index for request in cut for index in request] == list(range(len(records)))
    for request in cut:
        assert 1 <= len(request) <= 500
        assert sum(len(records[index]) for index in request) <= 4 * 1024 * 1024


def test_full_batches_of_each_limit_are_taken(stream: Stream) -> None:
    assert put([b"x"] * 1201) == {}
    assert [count for count, _ in stream.requests] == [500, 500, 201]
    stream.reset()
    assert put([bytes(1_024_000)] * 5) == {}
    assert [size for _, size in stream.requests] == [4 * 1_024_000, 1_024_000]


@hypothesis_settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.sampled_from([0, 3, 40, delivery.RECORD_BYTES, delivery.RECORD_BYTES + 1]), max_size=12),
    answers=st.lists(st.lists(CODES, min_size=12, max_size=12) | st.just("ServiceUnavailableException"), max_size=8),
)
def test_every_record_is_taken_once_or_named(
    stream: Stream, sizes: list[int], answers: list[list[str | None] | str]
) -> None:
    records = [f"{place:03}".encode().ljust(size, b".")[:size] for place, size in enumerate(sizes)]
    script = iter(answers)

    def rule(came: list[bytes]) -> Answer:
        answer = next(script, None)
        if isinstance(answer, str):
            return 503, answer
        return 200, [None] * len(came) if answer is None else answer[: len(came)]

    stream.reset(rule)
    refused = put(records)
    taken = Counter(stream.taken)
    expected = Counter(record for place, record in enumerate(records) if place not in refused)
    assert taken == expected
    assert {place for place, code in refused.items() if code in ("RecordEmpty", "RecordTooLarge")} == {
        place for place, size in enumerate(sizes) if not 0 < size <= delivery.RECORD_BYTES
    }


def test_a_lasting_error_is_not_tried_again(stream: Stream) -> None:
    stream.reset(refuse_all("ResourceNotFoundException"))
    assert put([b"a", b"b"]) == {0: "ResourceNotFoundException", 1: "ResourceNotFoundException"}
    assert len(stream.requests) == 1


def test_without_time_nothing_is_tried_and_everything_named(stream: Stream) -> None:
    assert put([b"a"], seconds=1) == {0: "NotTried"}
    assert stream.requests == []


def test_an_answer_of_another_length_counts_for_nothing(stream: Stream) -> None:
    class Odd:
        def put_record_batch(self, **_: object) -> dict[str, object]:
            return {"FailedPutCount": 0, "RequestResponses": [{"RecordId": "1"}]}

    refused = delivery.put("stream", [b"a", b"b"], lambda: 300.0, client=Odd(), pause=lambda _: None)
    assert refused == {0: "UnusableAnswer", 1: "UnusableAnswer"}


def test_a_stream_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, stream: Stream) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_FIREHOSE", "http://127.0.0.1:9")
    settings.reset()
    assert put([b"a"]) == {0: "EndpointConnectionError"}
