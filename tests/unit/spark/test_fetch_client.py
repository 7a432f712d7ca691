"""The client of Spark's workers, with scripted brokers: leaders move, connections break, records or
topics are gone.
"""

import json
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final
from uuid import UUID

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
)
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.spark.fetch_client import FetchClient
from kafka_edu.spark.source_errors import ClusterError, DataLossError, SourceError
from kafka_edu.spark.source_options import ConsumerOptions, parse_options
from kafka_edu.spark.source_planning import OffsetRange
from tests.unit.spark.scripted_brokers import ScriptedBrokers

if TYPE_CHECKING:
    from kafka_edu.spark.data_source import KafkaEduStreamReader

TP: Final = TopicPartition("t", 0)
FIRST_ID, SECOND_ID = UUID(int=1), UUID(int=2)
END: Final = 4
SERVED: Final = {ApiKey.METADATA: 11, ApiKey.LIST_OFFSETS: 5,
                 ApiKey.FETCH: 11}  # fmt: skip


class ScriptedCluster(ScriptedBrokers):
    """Two brokers on loopback. One of them leads the only partition, in which each record is one
    byte.
    """

    def __init__(self) -> None:
        self.leader = 1
        self.topic_id = FIRST_ID
        self.exists = True
        self.log_start = 0
        self.log_end = END
        self.high_watermark = END
        self.on_fetch: Callable[[int, int], Errors | None] = lambda broker, offset: None
        """Called with broker and offset before each answer. It returns the error to answer."""
        self.fetches: list[tuple[int, int]] = []
        super().__init__(2, SERVED)

    def answer(self, broker: int, request: Message) -> Message | None:
        match request:
            case MetadataRequest():
                return self._metadata()
            case ListOffsetsRequest():
                wanted = request.topics[0].partitions[0].timestamp
                one = ListOffsetsPartitionResponse(
                    partition_index=0,
                    error_code=0 if broker == self.leader else Errors.NOT_LEADER_OR_FOLLOWER,
                    offset={-1: self.log_end, -2: self.log_start}.get(wanted, -1),
                )
                return ListOffsetsResponse(
                    topics=[ListOffsetsTopicResponse(name="t", partitions=[one])]
                )
            case FetchRequest():
                return self._fetch(broker, request.topics[0].partitions[0].fetch_offset)
        raise AssertionError(request)

    def _metadata(self) -> MetadataResponse:
        one = MetadataResponsePartition(partition_index=0, leader_id=self.leader)
        return MetadataResponse(
            brokers=self.nodes,
            topics=[
                MetadataResponseTopic(
                    error_code=0 if self.exists else Errors.UNKNOWN_TOPIC_OR_PARTITION,
                    name="t",
                    topic_id=self.topic_id,
                    partitions=[one] if self.exists else [],
                )
            ],
        )

    def _fetch(self, broker: int, offset: int) -> FetchResponse | None:
        self.fetches.append((broker, offset))
        error = self.on_fetch(broker, offset)
        if error is Errors.NETWORK_EXCEPTION:
            return None
        if error is None and broker != self.leader:
            error = Errors.NOT_LEADER_OR_FOLLOWER
        if error is None and not self.log_start <= offset <= self.log_end:
            error = Errors.OFFSET_OUT_OF_RANGE
        one = FetchablePartitionResponse(
            partition=0,
            error_code=error or 0,
            high_watermark=self.high_watermark,
            aborted_transactions=None,
            record_set=bytes([offset]) if error is None and offset < self.log_end else b"",
        )
        return FetchResponse(
            responses=[FetchableTopicResponse(topic="t", partition_responses=[one])]
        )


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    cluster = ScriptedCluster()
    yield cluster
    cluster.close()


def options(ports: list[int], **more: str) -> ConsumerOptions:
    return parse_options(
        {
            "kafka.bootstrap.servers": ",".join(f"127.0.0.1:{port}" for port in ports),
            "subscribe": "t",
            "kafka.retry.backoff.ms": "1",
            **{name.replace("__", "."): text for name, text in more.items()},
        }
    ).consumer


def read(
    cluster: ScriptedCluster,
    start: int = 0,
    fail_on_data_loss: bool = True,
    poll_timeout_ms: int = 60_000,
    topic_id: UUID = FIRST_ID,
) -> list[int]:
    """Return the offsets that a task reads. Each fetch of the script returns one byte: its
    offset.
    """
    with FetchClient(options(cluster.ports)) as client:
        return [
            fetched.records[0]
            for fetched in client.read_range(
                OffsetRange("t", 0, start, END, str(topic_id)),
                next_offset=lambda view, at: view[0] + 1 if len(view) else at,
                fail_on_data_loss=fail_on_data_loss,
                poll_timeout_ms=poll_timeout_ms,
            )
        ]


def test_a_range_is_read_once_from_its_leader(cluster: ScriptedCluster) -> None:
    assert read(cluster, start=1) == [1, 2, 3]
    assert cluster.fetches == [(1, 1), (1, 2), (1, 3)]


def test_the_system_sizes_the_receive_buffer_unless_an_option_does(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    set_option = socket.socket.setsockopt

    def record(self: socket.socket, level: int, name: int, value: int) -> None:
        if name == socket.SO_RCVBUF:
            sizes.append(value)
        set_option(self, level, name, value)

    monkeypatch.setattr(socket.socket, "setsockopt", record)
    with FetchClient(options(cluster.ports)) as client:
        client.latest([TP])
    assert sizes == []
    with FetchClient(options(cluster.ports, kafka__receive__buffer__bytes="8192")) as client:
        client.latest([TP])
    assert set(sizes) == {8192}


def test_a_leader_that_moves_in_the_middle_is_followed(cluster: ScriptedCluster) -> None:
    def moves(broker: int, offset: int) -> Errors | None:
        if offset == 2:
            cluster.leader = 2
        return None

    cluster.on_fetch = moves
    assert read(cluster) == [0, 1, 2, 3]
    assert cluster.fetches == [(1, 0), (1, 1), (1, 2), (2, 2), (2, 3)]


@pytest.mark.parametrize(
    "error",
    [Errors.NETWORK_EXCEPTION, Errors.FENCED_LEADER_EPOCH, Errors.OFFSET_NOT_AVAILABLE],
)
def test_what_passes_is_repeated_and_no_record_comes_twice(
    cluster: ScriptedCluster, error: Errors
) -> None:
    left = [error, error]
    cluster.on_fetch = lambda broker, offset: left.pop() if offset == 2 and left else None
    assert read(cluster) == [0, 1, 2, 3]


def test_an_error_that_stays_ends_with_its_name(cluster: ScriptedCluster) -> None:
    cluster.on_fetch = lambda broker, offset: Errors.KAFKA_STORAGE_ERROR
    with pytest.raises(ClusterError, match=r"t-0 gave nothing for 20 ms at offset 0 .*STORAGE"):
        read(cluster, poll_timeout_ms=20)
    cluster.on_fetch = lambda broker, offset: Errors.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(ClusterError, match="t-0: TOPIC_AUTHORIZATION_FAILED"):
        read(cluster)


def test_records_that_are_gone_are_an_error_or_are_skipped(
    cluster: ScriptedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.log_start = 2
    with pytest.raises(DataLossError, match="t-0 has offsets 2 to 4, and 0 is wanted"):
        read(cluster)
    assert read(cluster, fail_on_data_loss=False) == [2, 3]
    assert capsys.readouterr().err == (
        "kafka-edu: t-0 has offsets 2 to 4, and 0 is wanted. What is there is read, because"
        " failOnDataLoss is false\n"
    )
    cluster.log_start, cluster.log_end = 0, 1
    assert read(cluster, start=3, fail_on_data_loss=False) == []


def test_a_log_that_ends_early_now_is_read_to_its_end(cluster: ScriptedCluster) -> None:
    cluster.log_end = cluster.high_watermark = 2
    with pytest.raises(ClusterError, match="its end is 2, and offset 3 is wanted"):
        read(cluster, poll_timeout_ms=20)
    assert read(cluster, fail_on_data_loss=False, poll_timeout_ms=20) == [0, 1]


def test_a_fetch_says_where_it_began_because_its_batch_may_hold_deleted_records(
    cluster: ScriptedCluster,
) -> None:
    cluster.log_start = 2
    with FetchClient(options(cluster.ports)) as client:
        assert [
            fetched.start
            for fetched in client.read_range(
                OffsetRange("t", 0, 0, END),
                next_offset=lambda view, at: view[0] + 1 if len(view) else at,
                fail_on_data_loss=False,
                poll_timeout_ms=60_000,
            )
        ] == [2, 3]


def test_a_topic_that_was_created_again_is_an_error(cluster: ScriptedCluster) -> None:
    cluster.topic_id = SECOND_ID
    with pytest.raises(DataLossError, match="topic t was deleted and created again"):
        read(cluster)
    assert read(cluster, fail_on_data_loss=False) == [], "its records are not those planned for"


def test_a_topic_that_is_deleted_in_the_middle_is_an_error(cluster: ScriptedCluster) -> None:
    def deletes(broker: int, offset: int) -> Errors | None:
        cluster.exists = offset < 2
        return None if cluster.exists else Errors.UNKNOWN_TOPIC_OR_PARTITION

    cluster.on_fetch = deletes
    with pytest.raises(DataLossError, match="t-0 does not exist any more"):
        read(cluster)
    cluster.exists = True
    assert read(cluster, fail_on_data_loss=False) == [0, 1]


def test_a_range_whose_rest_was_compacted_away_ends(cluster: ScriptedCluster) -> None:
    cluster.log_end, cluster.high_watermark = 2, END
    assert read(cluster) == [0, 1]


def test_the_driver_learns_partitions_ids_and_offsets(cluster: ScriptedCluster) -> None:
    cluster.log_start = 2
    with FetchClient(options(cluster.ports), rounds=1) as client:
        layout = client.layout(parse_options({"kafka.bootstrap.servers": "h:1", "subscribePattern":
                                              "[a-z]"}).topics)  # fmt: skip
        assert layout.partitions == (TP,)
        assert layout.topic_ids == {"t": str(FIRST_ID)}
        cluster.leader = 2
        assert client.earliest([TP]) == {TP: 2}
        assert client.latest([TP]) == {TP: END}
        assert client.offsets_for_times({TP: 5}) == {TP: None}


def test_what_the_user_named_and_is_not_there_is_listed(cluster: ScriptedCluster) -> None:
    with FetchClient(options(cluster.ports), rounds=2) as client:
        wanted = {"kafka.bootstrap.servers": "h:1", "assign": '{"t": [0, 7]}'}
        assert client.layout(parse_options(wanted).topics).missing == ("partition t-7",)
        cluster.exists = False
        assert client.layout(parse_options(wanted).topics).missing == ("topic t",)


def test_a_broker_list_that_leads_nowhere_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    client = FetchClient(options([port]), rounds=2)
    with pytest.raises(SourceError, match=rf"no broker of 127.0.0.1:{port} answers .*refused"):
        client.latest([TP])


def stream_reader(cluster: ScriptedCluster, starting: str) -> "KafkaEduStreamReader":
    """Return the reader of a stream. The test is skipped where PySpark is not installed."""
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./kafka-edu setup spark")
    from kafka_edu.spark.data_source import KafkaEduStreamReader

    wanted = {
        "kafka.bootstrap.servers": f"127.0.0.1:{cluster.ports[0]}",
        "subscribe": "t",
        "startingOffsets": starting,
    }
    return KafkaEduStreamReader(parse_options(wanted))


def grow(cluster: ScriptedCluster, end: int) -> None:
    cluster.log_end = cluster.high_watermark = end


def test_a_first_micro_batch_that_was_planned_by_a_driver_that_died_is_read_as_planned(
    cluster: ScriptedCluster,
) -> None:
    """Spark has stored where the micro-batch ends, and asks the next reader where it begins."""
    first = stream_reader(cluster, "latest")
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    begins = first.initialOffset()
    grow(cluster, END + 3)
    ends = json.loads(json.dumps(first.latestOffset(begins, ReadAllAvailable())))
    first.stop()
    for now in (END + 3, END + 5):
        grow(cluster, now)
        second = stream_reader(cluster, "latest")
        begins = second.initialOffset()
        assert begins["t"] == {"0": now}
        (piece,) = second.partitions(begins, ends)
        assert (piece.wanted.start, piece.wanted.end) == (END, END + 3)
        assert second.partitions(ends, ends) == [], "a micro-batch without data reads nothing again"
        grow(cluster, END + 7)
        later = second.latestOffset(ends, ReadAllAvailable())
        assert "began at" not in later
        (piece,) = second.partitions(ends, later)
        assert (piece.wanted.start, piece.wanted.end) == (END + 3, END + 7)
        second.stop()


def test_a_stream_that_begins_at_the_earliest_offset_finds_it_again(
    cluster: ScriptedCluster,
) -> None:
    reader = stream_reader(cluster, "earliest")
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    ends = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert ends == {"t": {"0": END}, "topic ids": {"t": str(FIRST_ID)}}
    reader.stop()


def test_a_stream_looks_up_its_beginning_once(cluster: ScriptedCluster) -> None:
    """Spark asks for the beginning twice before the first micro-batch. In between, more records may
    come.
    """
    reader = stream_reader(cluster, "latest")
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    begins = reader.initialOffset()
    assert begins["t"] == {"0": END}
    grow(cluster, END + 3)
    ends = reader.latestOffset(begins, ReadAllAvailable())
    grow(cluster, END + 5)
    assert reader.initialOffset() == begins
    (piece,) = reader.partitions(reader.initialOffset(), ends)
    assert (piece.wanted.start, piece.wanted.end) == (END, END + 3)
    reader.stop()
