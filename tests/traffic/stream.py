"""The deliveries of a scenario, in order."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from random import Random

from tests.traffic import clock, kinds
from tests.traffic.breakage import BREAKS
from tests.traffic.document import render
from tests.traffic.edits import EDITS
from tests.traffic.message import Draft, Message, body
from tests.traffic.scenario import Scenario
from tests.traffic.topics import TOPICS, Topic
from tests.traffic.topics.topic import Occasion

_PROBES = 8
_HOT_KEYS = 16
_HERD_IDENTITY = 9_000_000_000
_HERD_MS = 1000


def messages(scenario: Scenario, seed: int) -> Iterator[Message]:
    return iter(Stream(scenario, seed))


class Stream:
    """Random access to a scenario's messages: `stream[i]` needs nothing but (scenario, seed, i)."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        if seed < 0:
            raise ValueError(f"Cannot seed traffic, seed is negative: {seed}")
        self._scenario = scenario
        self._seed = seed
        self._base = seed << 48
        self._random = Random()
        self._probe = Random()
        self._clock = clock.Clock(scenario.start, scenario.spacing_ms)
        self._topics = [TOPICS[name] for name in scenario.topics]
        self._kinds = [*scenario.shares, kinds.CLEAN]
        self._limits = list(accumulate(scenario.shares.values()))
        self._starts = scenario.batch_starts()

    def __len__(self) -> int:
        return self._scenario.messages

    def __iter__(self) -> Iterator[Message]:
        for index in range(len(self)):
            yield self[index]

    def __getitem__(self, index: int) -> Message:
        if not 0 <= index < len(self):
            raise IndexError(index)
        draft = self._draft(index)
        return Message(self._batch(index), body(draft), self._topic(index).name, draft.ingestion_ts, draft.kind)

    def _batch(self, index: int) -> int:
        return bisect_right(self._starts, index)

    def _topic(self, index: int) -> Topic:
        return self._topics[index % len(self._topics)]

    def _drawn(self, random: Random, index: int) -> str:
        random.seed(self._base + index)
        return self._kinds[bisect_right(self._limits, random.random())]

    def _draft(self, index: int) -> Draft:
        kind = self._drawn(self._random, index)
        if kind in kinds.DUPLICATES:
            delay = 1 + int(self._random.random() * 900_000)
            original = self._original(index, kind)
            if original is not None:
                first = self._draft(original)
                return first._replace(kind=kind, ingestion_ts=first.ingestion_ts + delay)
            kind = kinds.CLEAN
        occasion = Occasion(index, self._clock.published(index), self._clock.updated(index))
        if kind in kinds.CORRECTIONS:
            original = self._original(index, kind)
            if original is None:
                kind = kinds.CLEAN
            else:
                occasion = self._correction(kind, occasion, original)
        elif kind == kinds.HERD:
            moment = occasion.published - occasion.published % _HERD_MS
            occasion = Occasion(_HERD_IDENTITY + int(self._random.random() * _HOT_KEYS), moment, moment)
        return Draft(
            kind=kind,
            message_id=f"{10_000 + self._seed % 90_000}{index:011d}",
            publish_time=clock.text(occasion.published),
            ingestion_ts=occasion.published + 40 + index * 31 % 2000,
            payload=self._payload(kind, self._topic(index), occasion, index),
        )

    def _payload(self, kind: str, topic: Topic, occasion: Occasion, index: int) -> str:
        if kind == "empty_object":
            return "{}"
        edit = EDITS.get(kind)
        if edit is not None:
            fields = dict(zip(topic.paths, topic.tokens(self._random, occasion), strict=True))
            edit(self._random, topic, fields, index)
            return render(fields)
        text = topic.text(self._random, occasion)
        broken = BREAKS.get(kind)
        return text if broken is None else broken(self._random, text)

    def _correction(self, kind: str, own: Occasion, original: int) -> Occasion:
        updated = self._clock.updated(original)
        if kind == kinds.STALE_CORRECTION:
            return Occasion(original, own.published, updated - 1 - int(self._random.random() * 86_400_000))
        months = kinds.MONTHS_LATE.get(kind, 0)
        if months:
            published = clock.months_later(self._clock.published(original), months)
            return Occasion(original, published, published - 5)
        return Occasion(original, own.published, max(own.updated, updated + 1))

    def _original(self, index: int, kind: str) -> int | None:
        """An earlier message of the same topic that this kind may refer to, or None when a few probes find none."""
        low, high = 0, index
        if kind in kinds.DUPLICATES:
            start = self._starts[self._batch(index) - 1]
            low, high = (start, index) if kind == kinds.DUPLICATE_SAME_BATCH else (0, start)
        stride = len(self._topics)
        low += (index - low) % stride
        candidates = (high - low + stride - 1) // stride
        if candidates <= 0:
            return None
        for _ in range(_PROBES):
            found = low + stride * int(self._random.random() * candidates)
            drawn = self._drawn(self._probe, found)
            if drawn == kinds.CLEAN:
                return found
            if kind in kinds.DUPLICATES and drawn not in kinds.DUPLICATES | kinds.PARSE_ERRORS:
                return found
        return None
