"""The topics that traffic can be made for."""

from tests.traffic.topics.events import EVENTS
from tests.traffic.topics.orders import ORDERS
from tests.traffic.topics.payments import PAYMENTS
from tests.traffic.topics.topic import Topic

TOPICS: dict[str, Topic] = {topic.name: topic for topic in (EVENTS, ORDERS, PAYMENTS)}

__all__ = ["TOPICS", "Topic"]
