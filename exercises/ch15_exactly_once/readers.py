"""Read a partition with an unmodified consumer (librdkafka), up to the end that it sees."""

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from confluent_kafka import Consumer, IsolationLevel, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec  # not exported for type checkers

UNCOMMITTED: Final = "read_uncommitted"
COMMITTED: Final = "read_committed"
POLL_S: Final = 0.5
MANY: Final = 500


def read_values(
    servers: str, topic: str, isolation_level: str, patience_s: float, partition: int = 0
) -> list[str]:
    """Return the value of each record up to the end of the partition, in order.

    For `read_committed` the end is the last stable offset. Raises TimeoutError.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation_level,
            "log_level": 0,
        }
    )
    values: list[str] = []
    end = time.monotonic() + patience_s
    with closing(consumer):
        consumer.assign([TopicPartition(topic, partition, 0)])
        while time.monotonic() < end:
            for message in consumer.consume(MANY, timeout=POLL_S):
                error, value = message.error(), message.value()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    return values
                if error is None and value is not None:
                    values.append(value.decode())
    raise TimeoutError(f"{topic}-{partition} was not read to its end in {patience_s:.0f} s")


def doubled(values: Sequence[str]) -> list[str]:
    """Return the values that occur more than once, sorted."""
    return sorted({one for one in values if values.count(one) > 1})


def last_stable_offset(servers: str, topic: str, patience_s: float, partition: int = 0) -> int:
    """Return the last stable offset of a partition, as its leader says."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    place = TopicPartition(topic, partition)
    asked = admin.list_offsets(
        {place: OffsetSpec.latest()},  # type: ignore[no-untyped-call]  # it has no types
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=patience_s,
    )
    return int(asked[place].result().offset)
