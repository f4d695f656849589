"""From names in GCP to topics. A name that gives no valid topic, or another's, is reported: nothing is guessed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from leanops.core.errors import InvalidName, shown
from leanops.core.naming import valid_topic

SOURCE: Final = re.compile(r"projects/([^/]+)/topics/([^/]+)")
FOLDED: Final = str.maketrans("-.", "__")


@dataclass(frozen=True)
class Findings:
    """`topics` is topic → source. `renamed` are those of them whose GCP name had to be changed."""

    topics: Mapping[str, str]
    renamed: Mapping[str, str]
    problems: tuple[str, ...]


def topic_of(source: str) -> str:
    """The topic that a GCP name gives; InvalidName where it gives none."""
    match = SOURCE.fullmatch(source)
    if match is None:
        raise InvalidName("source", source, "it is not projects/<project>/topics/<topic>", "Look at the API's answer.")
    return valid_topic(match[2].lower().translate(FOLDED))


def findings(sources: Iterable[str], registered: Mapping[str, str]) -> Findings:
    """`registered` is topic → source of those known before: they keep their topic, whoever else would like it."""
    claims: dict[str, list[str]] = defaultdict(list)
    problems: list[str] = []
    for source in sorted(set(sources)):
        try:
            claims[topic_of(source)].append(source)
        except InvalidName as error:
            problems.append(f"{shown(source)}: {error}")
    topics: dict[str, str] = {}
    for topic, sources_of_it in sorted(claims.items()):
        owner = registered.get(topic)
        if owner is None and len(sources_of_it) == 1:
            topics[topic] = sources_of_it[0]
        elif owner is None:
            listed = ", ".join(map(shown, sources_of_it))
            problems.append(f"{topic}: {listed} would share this topic. Register one of them by hand.")
        else:
            if owner in sources_of_it:
                topics[topic] = owner
            problems += [
                f"{shown(source)}: the topic {topic} is that of {shown(owner)}. Rename one of them in GCP."
                for source in sources_of_it
                if source != owner
            ]
    renamed = {topic: source for topic, source in topics.items() if source.rsplit("/", 1)[1] != topic}
    return Findings(topics, renamed, tuple(sorted(problems)))
