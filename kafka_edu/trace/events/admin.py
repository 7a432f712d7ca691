"""Events of our own admin client: its calls, and what is sent again."""

from typing import NamedTuple

from kafka_edu.trace.event import event


@event()
class AdminCallStarted(NamedTuple):
    """The program began a call of the admin client, such as create_topics.

    `items` is the number of topics, groups or other items that the call is about.
    """

    client: str
    call: str
    items: int


@event()
class AdminItemRetried(NamedTuple):
    """An item of a call got an error that may pass. It is sent again after retry.backoff.ms."""

    client: str
    call: str
    item: str
    error: str
    tries: int


@event()
class AdminCallEnded(NamedTuple):
    """Each item of a call has its result or its error."""

    client: str
    call: str
    succeeded: int
    failed: int
