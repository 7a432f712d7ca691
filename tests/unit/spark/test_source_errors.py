"""Each error of a Spark job that a user can mend becomes one line, whichever part reports it."""

import socket

import pytest

from kafka_edu.spark.source_errors import CheckpointError, DataLossError, is_ctrl_c, user_error


def test_our_line_is_found_in_the_text_of_sparks_exception() -> None:
    text = (
        "[PYTHON_DATA_SOURCE_ERROR] Failed to generate read partitions: Traceback (most recent"
        ' call last):\n  File "data_source.py", line 179, in partitions\n'
        "kafka_edu.spark.source_errors.DataLossError: t-0 has offsets 0 to 100\n\nSQLSTATE: 38000"
    )
    assert user_error(RuntimeError(text)) == "t-0 has offsets 0 to 100"


def test_a_cause_counts_too() -> None:
    failed = RuntimeError("the batch failed")
    failed.__cause__ = DataLossError("t-0 is gone")
    assert user_error(failed) == "t-0 is gone"
    assert user_error(CheckpointError("of another")) == "of another"


def test_a_fault_of_ours_stays_a_traceback() -> None:
    assert user_error(KeyError("x")) is None
    assert user_error(ConnectionRefusedError("not of py4j")) is None


def test_an_exception_that_cannot_say_its_text_is_no_further_error() -> None:
    class Unreadable(Exception):
        def __str__(self) -> str:
            raise ConnectionRefusedError("the JVM is gone")

    assert user_error(Unreadable()) is None


def test_a_jvm_that_is_gone_is_one_line() -> None:
    py4j = pytest.importorskip("py4j.java_gateway", reason="PySpark is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    gateway = py4j.JavaGateway(gateway_parameters=py4j.GatewayParameters(port=port))
    with pytest.raises(Exception) as refused:  # noqa: PT011  py4j chooses the class
        gateway.jvm.System.currentTimeMillis()
    line = user_error(refused.value)
    assert line is not None
    assert line.startswith("Spark's JVM has ended")


LOSS = (
    "Some data may have been lost because they are not available in Kafka any more;\n"
    "either the data was aged out by Kafka or the topic may have been deleted before all the data"
    " in the\ntopic was processed.\nIf you don't want your streaming query to fail on such cases,"
    " set the source option failOnDataLoss to false.\nReason: "
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            f"{LOSS}Partition s2-0 offset was changed from 100 to 50.\nThis could be either 1)",
            "Records that this query needs are gone: Partition s2-0 offset was"
            " changed from 100 to"
            " 50. Set failOnDataLoss to false to read the remaining records, or begin a new query"
            " with a"
            " new checkpoint",
        ),
        (
            f"{LOSS}Could not read records in offset [100, 150) for topic partition t-0\nwith"
            " consumer group g.\n\tat org.apache",
            "Records that this query needs are gone: Could not read records in offset"
            " [100, 150)"
            " for topic partition t-0. Set failOnDataLoss to false to read the remaining records,"
            " or begin"
            " a new query with a new checkpoint",
        ),
        (
            "KafkaIllegalStateException: The resolved start offset 150 is greater than the resolved"
            " end offset 100 for topic t partition 0.\nPlease investigate in this order:",
            "The resolved start offset 150 is greater than the resolved end offset 100 for topic t"
            " partition 0. Exchange the starting and ending options, or look whether the topic was"
            " deleted and created again",
        ),
        (
            "[STREAM_FAILED] terminated with exception: UnknownTopicOrPartitionException: This"
            " server does not host this topic-partition. SQLSTATE: XXKST",
            "A topic of the query does not exist. Create it, or correct the option that names it",
        ),
        (
            "No offset matched from request of topic-partition t-0 and timestamp 99999999999999.",
            "No offset matched from request of topic-partition t-0 and timestamp 99999999999999."
            " Give an earlier time, or startingOffsetsByTimestampStrategy=latest to begin at the"
            " end",
        ),
        (
            'terminated with exception: Expected e.g. {"topicA":{"0":23}}, got {"t": {"0": 100},'
            ' "topic ids": {"t": "1"}} SQLSTATE: XXKST',
            "The checkpoint was written by another query, or by an earlier version of this one."
            " Give each query a checkpointLocation of its own, and a changed query a new one",
        ),
        (
            "[STREAM_FAILED] Query terminated with exception: No space left on device",
            "The disk of the checkpoint, or of Spark's temporary files, is full. Free some space,"
            " then start the query again: it continues where its last complete batch ended",
        ),
        (
            "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node"
            " assignment. Call: listNodes",
            "No broker of kafka.bootstrap.servers answers. Is the cluster up, and is the address"
            " right?",
        ),
    ],
)
def test_what_the_official_connector_says_is_one_line(text: str, line: str) -> None:
    assert user_error(RuntimeError(text)) == line


def test_an_error_while_ctrl_c_unwinds_is_ctrl_c() -> None:
    def unwind() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise OSError("the connection is gone")

    with pytest.raises(OSError, match="gone") as found:
        unwind()
    assert is_ctrl_c(found.value)
    assert is_ctrl_c(KeyboardInterrupt())
    assert not is_ctrl_c(OSError("the connection is gone"))
