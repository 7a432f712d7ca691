"""The functions with which the Spark commands look up topics, on one real broker."""

from collections.abc import Iterator

import pytest

from kafka_edu.clients import blocking
from kafka_edu.spark.log_topic import brokers_up, fill_topic, records_in_topic
from kafka_edu.spark.pipeline_log import first_values, topic_ends
from kafka_edu.spark.topic_answers import read_lines
from kafka_edu.spark.web_log_topic import TopicNotFilled, create_topic
from kafka_edu.supervisor.cluster import running_cluster

pytestmark = pytest.mark.cluster
LINES = 300


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with running_cluster("questions", brokers=1) as cluster:
        yield cluster.bootstrap_servers


def test_a_log_is_counted_in_its_topic(servers: str) -> None:
    assert brokers_up(servers) == 1
    assert create_topic(servers, "log", 3, 1)
    assert not create_topic(servers, "log", 3, 1)
    assert records_in_topic(servers, "log") == 0
    assert first_values(servers, "log") == []
    truth = fill_topic(servers, "log", LINES, 1)
    assert truth.lines == LINES
    assert records_in_topic(servers, "log") == LINES
    ends = topic_ends(servers, "log")
    assert sorted(ends) == [0, 1, 2]
    assert sum(ends.values()) == LINES
    assert len(first_values(servers, "log")) == sum(end > 0 for end in ends.values())


def test_only_committed_lines_are_read_and_markers_at_the_end_are_passed(servers: str) -> None:
    create_topic(servers, "lines", 2, 1)
    settings = {"bootstrap.servers": servers, "transactional.id": "lines"}
    with blocking.Producer(settings) as producer:
        producer.init_transactions()
        for last in (False, True):
            with producer.transaction():
                for partition in range(2):
                    line = f'{{"partition": 0, "offset": {partition}, "status": 200}}'
                    producer.send("lines", line, partition=partition)
            if not last:
                producer.begin_transaction()
                producer.send("lines", b"no line", partition=0)
                producer.abort_transaction()
    found = read_lines(servers, "lines")
    assert (found.records, found.lines, found.by_status) == (4, 2, {200: 2})


def test_what_is_wrong_is_one_error(servers: str) -> None:
    with pytest.raises(TopicNotFilled, match=r"could not be created: Topic name .* is illegal"):
        create_topic(servers, "no name", 1, 1)
    with pytest.raises(TopicNotFilled, match="An address is HOST:PORT"):
        brokers_up("nowhere")
