"""Consumer groups with unmodified clients: confluent-kafka (librdkafka) and kafka-python, against
three broker processes (spec O1, O2, I2).
"""

import threading
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient, KafkaConsumer
from kafka import TopicPartition as PyTopicPartition

from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.interop.client_contract import rd
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.interop

PARTITIONS = 4
RECORDS = 200


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    props = {
        "group.initial.rebalance.delay.ms": "100",
        "group.min.session.timeout.ms": "1000",
        "offsets.topic.num.partitions": "10",
    }
    with running_cluster("groups", brokers=3, props=props) as running:
        yield running


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """Return a topic of four partitions with 50 records each."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    make_topic(cluster.bootstrap_servers, name, PARTITIONS, 3)
    producer = Producer(rd(cluster.bootstrap_servers))
    for i in range(RECORDS):
        producer.produce(name, value=b"%d" % i, partition=i % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0
    return name


class Member:
    """A confluent consumer that polls until it is stopped. It remembers its assignments, and the
    records that it read.
    """

    def __init__(self, cluster: Cluster, group: str, topic: str, **more: object) -> None:
        settings = rd(
            cluster.bootstrap_servers,
            **{
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **more,
            },
        )
        self.consumer = Consumer(settings)
        self.assigned: set[int] = set()
        self.rebalances = 0
        self.read: list[tuple[int, int]] = []
        self._topic = topic
        self._stopped = threading.Event()
        # A daemon thread does not stop the test run from ending if a failed test leaves it behind.
        self._thread = threading.Thread(target=self._run, name=f"member of {group}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        def given(_: Consumer, partitions: list[TopicPartition]) -> None:
            self.rebalances += 1
            self.assigned |= {p.partition for p in partitions}

        def taken(_: Consumer, partitions: list[TopicPartition]) -> None:
            self.assigned -= {p.partition for p in partitions}

        self.consumer.subscribe([self._topic], on_assign=given, on_revoke=taken, on_lost=taken)
        while not self._stopped.is_set():
            message = self.consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.read.append((message.partition(), message.offset()))

    def pause(self) -> None:
        """Stop polling. From now on the test itself may use the consumer."""
        self._stopped.set()
        self._thread.join(PATIENCE_S)

    def close(self) -> None:
        """Leave the group."""
        self.pause()
        self.consumer.close()


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "cooperative-sticky"])
def test_partitions_move_when_a_second_consumer_joins_and_when_it_leaves(
    cluster: Cluster, topic: str, assignor: str
) -> None:
    more = {"partition.assignment.strategy": assignor}
    group = f"g-{topic}"
    one = Member(cluster, group, topic, **more)
    wait_for(lambda: one.assigned == {0, 1, 2, 3}, "the first has all")
    two = Member(cluster, group, topic, **more)
    wait_for(
        lambda: (
            len(one.assigned) == len(two.assigned) == 2
            and one.assigned | two.assigned == {0, 1, 2, 3}
        ),
        "each has half",
    )
    two.close()
    wait_for(lambda: one.assigned == {0, 1, 2, 3}, "the first has all again")
    wait_for(lambda: len(set(one.read) | set(two.read)) == RECORDS, "every record was read")
    one.close()


def test_who_comes_later_goes_on_where_the_offsets_say(cluster: Cluster, topic: str) -> None:
    group = f"g-{topic}"
    one = Member(cluster, group, topic)
    wait_for(lambda: len(one.read) == RECORDS, "all was read")
    one.pause()
    one.consumer.commit(
        offsets=[TopicPartition(topic, p, 40 + p, metadata=f"m{p}") for p in range(PARTITIONS)],
        asynchronous=False,
    )
    committed = one.consumer.committed(
        [TopicPartition(topic, p) for p in range(PARTITIONS)], timeout=PATIENCE_S
    )
    assert [(c.offset, c.metadata) for c in committed] == [
        (40 + p, f"m{p}") for p in range(PARTITIONS)
    ]
    one.close()
    two = Member(cluster, group, topic)
    wait_for(lambda: len(two.read) == 10 + 9 + 8 + 7, "the rest was read")
    assert sorted(two.read)[0] == (0, 40)
    two.close()


def test_a_static_member_that_is_back_in_time_causes_no_rebalance(
    cluster: Cluster, topic: str
) -> None:
    group = f"g-{topic}"
    one = Member(
        cluster, group, topic, **{"group.instance.id": "one", "session.timeout.ms": 60_000}
    )
    two = Member(
        cluster, group, topic, **{"group.instance.id": "two", "session.timeout.ms": 60_000}
    )
    wait_for(lambda: len(one.assigned) == len(two.assigned) == 2, "each has half")
    before, rebalances = set(two.assigned), one.rebalances
    two.close()  # a static member sends no LeaveGroup
    again = Member(
        cluster, group, topic, **{"group.instance.id": "two", "session.timeout.ms": 60_000}
    )
    wait_for(lambda: again.assigned == before, "it has what it had")
    assert one.rebalances == rebalances
    one.close()
    again.close()


def test_the_admin_client_lists_describes_and_deletes_groups(cluster: Cluster, topic: str) -> None:
    group = f"g-{topic}"
    one = Member(cluster, group, topic, **{"client.id": "the-client"})
    wait_for(lambda: one.assigned == {0, 1, 2, 3}, "the first has all")
    admin = AdminClient(rd(cluster.bootstrap_servers))
    listed = {each.group_id: each for each in admin.list_consumer_groups().result(PATIENCE_S).valid}
    assert listed[group].state is ConsumerGroupState.STABLE
    described = admin.describe_consumer_groups([group])[group].result(PATIENCE_S)
    (member,) = described.members
    assert (described.state, described.partition_assignor, member.client_id) == (
        ConsumerGroupState.STABLE,
        "range",
        "the-client",
    )
    assert {p.partition for p in member.assignment.topic_partitions} == {0, 1, 2, 3}
    with pytest.raises(Exception, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups([group])[group].result(PATIENCE_S)
    one.close()
    admin.delete_consumer_groups([group])[group].result(PATIENCE_S)
    assert group not in {
        each.group_id for each in admin.list_consumer_groups().result(PATIENCE_S).valid
    }


def test_kafka_python_shares_and_commits(cluster: Cluster, topic: str) -> None:
    group = f"g-{topic}"

    def consumer() -> KafkaConsumer:
        return KafkaConsumer(
            topic,
            bootstrap_servers=cluster.bootstrap_servers,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=10_000,
            heartbeat_interval_ms=200,
        )

    one, two = consumer(), consumer()
    read: set[tuple[int, int]] = set()

    def poll(*consumers: KafkaConsumer) -> None:
        for each in consumers:
            for tp, records in each.poll(timeout_ms=200).items():
                read.update((tp.partition, record.offset) for record in records)

    def shared() -> bool:
        threads = [threading.Thread(target=poll, args=(each,)) for each in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # The next owner of a partition reads its records again, because no offset is committed.
        places = [each.position(place) for each in (one, two) for place in each.assignment()]
        return (
            len(one.assignment()) == len(two.assignment()) == 2
            and len(read) == RECORDS
            and places == [50] * PARTITIONS
        )

    wait_for(shared, "each has half, and has read it to the end")
    one.commit()
    two.commit()
    two.close()

    def alone() -> bool:
        poll(one)
        return len(one.assignment()) == 4

    wait_for(alone, "the first has all again")
    assert [one.committed(PyTopicPartition(topic, p)) for p in range(PARTITIONS)] == [
        50
    ] * PARTITIONS
    one.close()
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    try:
        offsets = admin.list_group_offsets(group)[group]
        assert {tp.partition: entry.offset for tp, entry in offsets.items()} == dict.fromkeys(
            range(PARTITIONS), 50
        )
    finally:
        admin.close()
