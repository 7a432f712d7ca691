"""Programs that write in transactions, for exercise 15-6 and its reference solution."""

from collections.abc import Sequence

from confluent_kafka import KafkaException, Producer

from kafka_edu.supervisor.cluster import ClusterError


def begin_job(servers: str, transactional_id: str, timeout_ms: int, patience_s: float) -> Producer:
    """Return a transactional producer that is ready. This ends an open transaction of the same id.

    Raises ClusterError.
    """
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            "message.timeout.ms": timeout_ms,
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    try:
        producer.init_transactions(patience_s)
    except KafkaException as error:
        raise ClusterError(f"{transactional_id} cannot begin: {error}") from error
    return producer


def write_open(producer: Producer, topic: str, values: Sequence[str], patience_s: float) -> None:
    """Write values in a new transaction, which stays open. Raises ClusterError."""
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value.encode(), partition=0)
    if producer.flush(patience_s):
        raise ClusterError(f"{topic}-0 does not take the records of a transaction")


def write_committed(
    producer: Producer, topic: str, values: Sequence[str], patience_s: float
) -> None:
    """Write values in a transaction, and commit it. Raises ClusterError."""
    write_open(producer, topic, values, patience_s)
    try:
        producer.commit_transaction(patience_s)
    except KafkaException as error:
        raise ClusterError(f"a transaction of {topic}-0 is not committed: {error}") from error
