"""The live part of 15-2: the learner's class decides in broker 2, the leader, what readers of
committed records get. Two transactional producers write in turns, and each aborts once.
"""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from kafka_edu.common.transport import part_bytes
from kafka_edu.learner.learner import Learner, LearnerFailure
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_response
from kafka_edu.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_edu.record.control_record import ControlRecordType, read_end_transaction_marker
from kafka_edu.record.record_batch import BatchHeader, iter_headers, read_records
from kafka_edu.replication.fetch_params import READ_COMMITTED

from ..ch01_protocol.live_versions import frame_of, read_frame
from ..learner_broker import BROKER, LearnerBroker, live_check
from ..runner.manifest import Exercise
from ..runner.verdict import Step
from .committed_world import ABORT, COMMIT, PLAIN, TRANSACTIONAL, Batch
from .readers import COMMITTED, UNCOMMITTED, read_values
from .transactional_job import begin_job, write_open

TOPIC: Final = "lab-152"
FETCH_VERSION: Final = 11
MOST_BYTES: Final = 1 << 20
TIMEOUT_MS: Final = 600_000


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check."""
    servers = broker.cluster.bootstrap_servers
    first, second = (
        begin_job(servers, f"{broker.topic}-{name}", TIMEOUT_MS, broker.patience_s)
        for name in ("first", "second")
    )
    say("two producers have a transaction open, and the second one commits")
    _write(broker, first, "a1")
    _write(broker, second, "b1", "b2")
    second.commit_transaction(broker.patience_s)
    yield _reads(broker, "while the older transaction is open", [])
    say("the first one aborts")
    first.abort_transaction(broker.patience_s)
    yield _reads(broker, "after the older one was aborted", ["b1", "b2"])
    say("the next transactions: the first one commits, the second one stays open")
    _write(broker, first, "a2", "a3")
    _write(broker, second, "b3")
    first.commit_transaction(broker.patience_s)
    committed = ["b1", "b2", "a2", "a3"]
    yield _reads(broker, "before the open one", committed)
    second.abort_transaction(broker.patience_s)
    _write(broker, second, "b4")
    second.commit_transaction(broker.patience_s)
    yield _reads(broker, "when nothing is open", [*committed, "b4"])
    values = read_values(servers, broker.topic, UNCOMMITTED, broker.patience_s)
    wanted = ["a1", "b1", "b2", "a2", "a3", "b3", "b4"]
    seen = f"it read {', '.join(values)}"
    yield Step("a reader of everything sees the others too", values == wanted, seen)


def _write(broker: LearnerBroker, producer: Producer, *values: str) -> None:
    """Write records in a new transaction, which stays open."""
    write_open(producer, broker.topic, values, broker.patience_s)


def _reads(broker: LearnerBroker, when: str, wanted: list[str]) -> Step:
    """Check that an unmodified reader of committed records gets the records `wanted`.

    A reader may be early, because the marker is not replicated yet. So it tries again.
    """
    says = f"{when}, a reader of committed records sees {', '.join(wanted) or 'nothing'}"
    servers = broker.cluster.bootstrap_servers
    values: list[str] = []

    def is_so() -> bool:
        values[:] = read_values(servers, broker.topic, COMMITTED, broker.patience_s)
        return values == wanted or values != wanted[: len(values)]

    broker.listener.wait_for(is_so, broker.patience_s)
    short = values != wanted and values == wanted[: len(values)]
    return Step(says, values == wanted, f"it read {', '.join(values) or 'nothing'}", late=short)


def _fetch(broker: LearnerBroker, offset: int) -> tuple[bytes, list[tuple[int, int]]]:
    """Fetch with read_committed from an offset. Return records and aborted transactions."""
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=MOST_BYTES)
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=MOST_BYTES,
        isolation_level=READ_COMMITTED,
        topics=[FetchTopic(topic=broker.topic, partitions=[partition])],
        forgotten_topics_data=[],
    )
    port = broker.cluster.port(BROKER)
    with socket.create_connection(("127.0.0.1", port), broker.patience_s) as connection:
        connection.sendall(frame_of(request, FETCH_VERSION))
        _, response = decode_response(ApiKey.FETCH, FETCH_VERSION, read_frame(connection))
    assert isinstance(response, FetchResponse)
    came = response.responses[0].partition_responses[0]
    aborted = [(one.producer_id, one.first_offset) for one in came.aborted_transactions or ()]
    return bytes(part_bytes(came.record_set or b"")), aborted


def _kind(header: BatchHeader, batch: bytes) -> str:
    if not header.is_control:
        return TRANSACTIONAL if header.is_transactional else PLAIN
    marker = read_end_transaction_marker(batch)
    return ABORT if marker is not None and marker.type is ControlRecordType.ABORT else COMMIT


def _filters(broker: LearnerBroker, learner: Learner) -> Step:
    """Fetch from each offset, and give each response to the learner's filter. Check that the filter
    passes the records that an unmodified reader gets.
    """
    says = "your filter reads what an unmodified reader reads, from each offset on"
    servers = broker.cluster.bootstrap_servers
    values = read_values(servers, broker.topic, COMMITTED, broker.patience_s)
    offset, fetches = 0, 0
    while found := list(_batches(records := (fetched := _fetch(broker, offset))[0])):
        came = learner.make().call("read", [batch for batch, _ in found], fetched[1])
        contents = [(batch.base, value) for batch, some in found for value in some]
        bases = came if isinstance(came, tuple) else ()
        read = [value for base, value in contents if base in bases]
        wanted = [value for _, value in contents if value in values]
        if read != wanted or not {*bases} <= {batch.base for batch, some in found if some}:
            seen = f"from offset {offset}, {len(records)} bytes: expected {', '.join(wanted)}"
            return Step(says, False, f"{seen}, and your code answered {came!r}")
        offset, fetches = found[0][0].last + 1, fetches + 1
    return Step(says, fetches > 0, f"{fetches} fetches")


def _batches(records: bytes) -> Iterator[tuple[Batch, list[str]]]:
    """Yield each batch for the learner's filter, and the values of its records. A marker has
    none.
    """
    for at, header in iter_headers(records):
        batch = records[at : at + header.size_in_bytes]
        kind = _kind(header, batch)
        some = [] if header.is_control else read_records(batch)
        values = [(record.value or b"").decode() for record in some]
        yield Batch(header.base_offset, header.last_offset, header.producer_id, kind), values


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` (the shipped code if it is None) in broker 2. Then give broker 2's
    responses to the learner's filter. Yield the result of each check.
    """

    def with_filter(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
        yield from moment(broker, say)
        if file is None:
            return
        say("your filter gets what broker 2 returns")
        learner = Learner(file, exercise.wanted)
        try:
            yield _filters(broker, learner)
        except LearnerFailure as failure:
            yield Step("your filter reads", False, str(failure))
        finally:
            learner.close()

    check = live_check(TOPIC, with_filter, "readers saw only what they may see")
    yield from check(exercise, file, say, patience_s)
