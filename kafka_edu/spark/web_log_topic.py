"""Fill a topic with a web log of known counts, by an unmodified producer (confluent-kafka)."""

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.clients.web_log import WebLog, WebLogTruth


class TopicNotFilled(Exception):
    """The log could not be written to the topic. The text says why."""


def create_topic(
    bootstrap_servers: str, topic: str, partitions: int, replication_factor: int
) -> bool:
    """Create the topic, or leave it if it exists. Return whether it is new. Raises TopicNotFilled.

    A new topic is empty. For a moment its partitions may have no leader yet.

    The topic has no retention limit by time. The log's lines carry times long past, and
    retention.ms (a week) is counted from those.
    """
    new = NewTopic(topic, partitions, replication_factor, config={"retention.ms": "-1"})
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    for future in admin.create_topics([new], request_timeout=30).values():
        try:
            future.result(60)
        except Exception as error:
            refused = error.args[0] if error.args else error
            if (
                not isinstance(refused, KafkaError)
                or refused.code() != KafkaError.TOPIC_ALREADY_EXISTS
            ):
                why = refused.str() if isinstance(refused, KafkaError) else refused
                raise TopicNotFilled(f"topic {topic} could not be created: {why}") from error
            return False
    return True


def fill_topic(bootstrap_servers: str, topic: str, lines: int, seed: int) -> WebLogTruth:
    """Write `lines` lines of a seeded web log, keyed by visitor, with acks=all. Return their true
    counts.

    Raises TopicNotFilled if a line was not acknowledged.
    """
    log = WebLog(seed)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "acks": "all",
            "linger.ms": 20,
            "compression.type": "lz4",
        }
    )
    failed: list[str] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(f"{message.topic()}-{message.partition()}: {error}")

    for _ in range(lines):
        line = next(log)
        while True:
            try:
                producer.produce(
                    topic,
                    line.text.encode(),
                    line.visitor.encode(),
                    timestamp=line.time_ms,
                    on_delivery=delivered,
                )
                break
            except BufferError:  # the producer's own buffer is full: let it send
                producer.poll(0.1)
        producer.poll(0)
    left = producer.flush(120)
    if left or failed:
        raise TopicNotFilled(
            f"{left + len(failed)} of {lines} lines were not acked; first:"
            f" {failed[0] if failed else 'no answer within 120 s'}"
        )
    return log.truth
