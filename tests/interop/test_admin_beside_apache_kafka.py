"""Our admin client on Apache Kafka 2.0.1 and 2.8.2 and on our brokers: equal calls, equal results.

A result is compared by its values and by the names of its errors. Ids and times differ, so brokers
are named by their place in the list of brokers.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import pytest

from benchmarks.apache_kafka import SMALL, apache_kafka
from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.admin_call import Results
from kafka_edu.clients.admin.config_calls import AlterConfigOp, ConfigResource
from kafka_edu.clients.admin.log_dir_calls import BrokerReplica
from kafka_edu.clients.admin.partition_calls import ElectionType
from kafka_edu.clients.admin.topic_calls import NewPartitions, NewTopic
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.describe_configs import ResourceType
from kafka_edu.protocol.messages.incremental_alter_configs import OpType
from kafka_edu.protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_edu.supervisor.cluster import running_cluster
from tests.conformance.broker_processes import OF_A_SMALL_HEAP
from tests.interop.external_programs import apache_kafka_jars
from tests.waiting import LOOK_EVERY_S, PATIENCE_S

pytestmark = pytest.mark.interop

OURS: Final = "ours"
PROPERTIES: Final = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.ms": "-1",
}
T0, T1, MISSING = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("missing", 0)
TOPIC: Final = ConfigResource(ResourceType.TOPIC, "t")
NO_TOPIC: Final = ConfigResource(ResourceType.TOPIC, "missing")
#: The calls that Apache Kafka 2.0.1 does not have, or not in this form.
TOO_NEW: Final = {
    "create with the defaults",
    "incremental alter",
    "elect",
    "elect all",
    "reassign",
    "reassigned",
    "groups that are empty",
    "delete committed",
    "delete committed of a reader",
}
#: What Apache Kafka 2.0.1 answers otherwise: its broker does not expect this error.
OTHERWISE: Final = {"create with a wrong config": "UNKNOWN_SERVER_ERROR"}


@contextlib.contextmanager
def cluster(brokers: str) -> Iterator[str]:
    """Yield the bootstrap servers of two brokers."""
    if brokers == OURS:
        with running_cluster("own-admin", brokers=2, props=PROPERTIES) as ours:
            yield ours.bootstrap_servers
        return
    lines = [f"{key}={value}" for key, value in {**PROPERTIES, **OF_A_SMALL_HEAP}.items()]
    with apache_kafka(apache_kafka_jars(brokers), 2, lines, java=SMALL) as kafka:
        yield kafka.bootstrap


async def until(check: Callable[[], Awaitable[bool]], what: str) -> None:
    """Call `check` again and again until it returns True. No event of the brokers would report
    this.
    """
    end = time.monotonic() + PATIENCE_S
    while not await check():
        assert time.monotonic() < end, f"not within {PATIENCE_S} s: {what}"
        await asyncio.sleep(LOOK_EVERY_S)  # nothing would report it


class Story:
    """Makes a series of calls, which are the same for all brokers. `told` has the result of each
    call.
    """

    def __init__(self, servers: str, admin: Admin) -> None:
        self.settings: dict[str, object] = {"bootstrap.servers": servers}
        self.admin = admin
        self.told: dict[str, object] = {}

    async def tell(
        self,
        name: str,
        call: Awaitable[Any],
        show: Callable[[Any], object] = lambda value: value,
    ) -> None:
        """Make a call, and note its values, shown by `show`, and the names of its errors."""
        try:
            answer = await call
        except ClientException as error:
            self.told[name] = error.name
            return
        if not isinstance(answer, Results):
            self.told[name] = show(answer)
            return
        names = {error.name for error in answer.errors.values()}
        self.told[name] = (
            names.pop()
            if len(names) == 1 and not answer.values
            else {
                **{item: show(value) for item, value in answer.values.items()},
                **{item: error.name for item, error in answer.errors.items()},
            }
        )

    async def run(self) -> None:
        admin = self.admin
        nodes = (await admin.describe_cluster()).nodes
        a, b = (node.id for node in nodes)
        place = {a: "a", b: "b"}
        await self.tell(
            "create",
            admin.create_topics(
                [
                    NewTopic("t", assignments={0: [a, b], 1: [b, a]}, configs={"flush.ms": "9"}),
                    NewTopic("bad name", 1, 1),
                    NewTopic("wide", 1, 3),
                    NewTopic("none", 0, 1),
                ]
            ),
            lambda made: None,
        )
        await self.tell(
            "create with a wrong config",
            admin.create_topics([NewTopic("odd", 1, 1, configs={"flush.ms": "soon"})]),
        )
        await self.tell("create again", admin.create_topics([NewTopic("t", 1, 1)]))
        await self.tell(
            "create with the defaults",
            admin.create_topics([NewTopic("default")], validate_only=True),
            lambda made: (made.num_partitions, made.replication_factor),
        )
        await until(self._everywhere, "each broker knows topic t")
        await self.tell("list", admin.list_topics(), list)
        await self.tell(
            "describe",
            admin.describe_topics(["t", "missing"]),
            lambda topic: [
                (p.partition, place[p.leader.id], [place[n.id] for n in p.replicas])
                for p in topic.partitions
            ],
        )
        await self._configs(a)
        await self._records()
        await self._groups()
        await self._replicas(place)
        await self.tell(
            "more partitions",
            admin.create_partitions({"t": NewPartitions(3, [[a, b]]), "missing": NewPartitions(2)}),
        )
        await self.tell("fewer partitions", admin.create_partitions({"t": NewPartitions(1)}))
        await self.tell("delete", admin.delete_topics(["t", "missing"]))

    async def _everywhere(self) -> bool:
        """Ask ten times for the topic t, so that both brokers are asked. Return whether it was
        known each time.
        """
        for _ in range(10):
            found = await self.admin.describe_topics(["t"])
            if found.errors or not all(p.leader for p in found["t"].partitions):
                return False
        return True

    async def _configs(self, a: int) -> None:
        admin = self.admin
        broker = ConfigResource(ResourceType.BROKER, f"{a}")
        await self.tell(
            "configs",
            admin.describe_configs([TOPIC, NO_TOPIC], include_synonyms=True),
            lambda configs: [
                (name, c.value, c.source, c.read_only, c.sensitive, c.synonyms)
                for name, c in configs.items()
                if name in ("flush.ms", "cleanup.policy", "retention.ms")
            ],
        )
        configs = (await admin.describe_configs([broker])).all()[broker]
        self.told["a broker's configs"] = [
            configs[name][1:5] for name in ("log.retention.ms", "offsets.topic.num.partitions")
        ]
        await self.tell("alter", admin.alter_configs({TOPIC: {"retention.ms": "-1"}}))
        await self.tell("alter wrongly", admin.alter_configs({TOPIC: {"retention.ms": "soon"}}))
        await self.tell(
            "incremental alter",
            admin.incremental_alter_configs(
                {
                    TOPIC: [AlterConfigOp("cleanup.policy", OpType.APPEND, "compact")],
                    NO_TOPIC: [AlterConfigOp("flush.ms", OpType.SET, "1")],
                },
                validate_only=True,
            ),
        )

    async def _records(self) -> None:
        async with Producer({**self.settings, "acks": "all"}) as producer:
            for future in [await producer.send("t", f"{n}", partition=0) for n in range(10)]:
                await future
        admin = self.admin
        await self.tell(
            "ends",
            admin.list_offsets(dict.fromkeys([T0, T1, MISSING], LATEST_TIMESTAMP)),
            lambda found: found.offset,
        )
        await self.tell("delete records", admin.delete_records({T0: 4, T1: 1, MISSING: 0}))
        await self.tell(
            "starts",
            admin.list_offsets(dict.fromkeys([T0, T1], EARLIEST_TIMESTAMP)),
            lambda found: found.offset,
        )

    async def _groups(self) -> None:
        admin = self.admin
        readers = {**self.settings, "group.id": "g", "client.id": "r"}
        async with Consumer({**readers, "auto.offset.reset": "earliest"}) as consumer:
            consumer.subscribe(["t"])
            while not await consumer.poll(PATIENCE_S * 1_000):
                pass
            await consumer.commit()
            await self.tell(
                "groups",
                admin.describe_consumer_groups(["g", "none"]),
                lambda group: (
                    group.state,
                    group.partition_assignor,
                    [(m.client_id, m.host, sorted(m.assignment)) for m in group.members],
                ),
            )
            await self.tell("delete a group", admin.delete_consumer_groups(["g", "none"]))
            await self.tell(
                "delete committed of a reader", admin.delete_consumer_group_offsets("g", [T0])
            )
            await self.tell(
                "alter committed of a reader",
                admin.alter_consumer_group_offsets("g", {T0: OffsetAndMetadata(1)}),
            )
        await self.tell("groups that are empty", self._listed("Empty"))
        await self.tell("all groups", self._listed())
        await self.tell(
            "alter committed",
            admin.alter_consumer_group_offsets("g", {T0: OffsetAndMetadata(3, "again")}),
        )
        await self.tell(
            "committed",
            admin.list_consumer_group_offsets("g", [T0, T1, MISSING]),
            lambda found: found and found[:2],
        )
        await self.tell("delete committed", admin.delete_consumer_group_offsets("g", [T1]))
        await self.tell("delete the group", admin.delete_consumer_groups(["g"]))

    async def _listed(self, *states: str) -> list[str]:
        """Return the groups of all brokers, or raise the first error."""
        listed = (await self.admin.list_consumer_groups(states=states)).all()
        return [each.group_id for groups in listed.values() for each in groups]

    async def _replicas(self, place: dict[int, str]) -> None:
        a, b = place
        admin = self.admin
        log_dirs = (await admin.describe_log_dirs([a, b])).all()
        self.told["log dirs"] = [
            {tp: r.is_future for tp, r in each.replicas.items() if tp.topic == "t"}
            for broker in (a, b)
            for each in log_dirs[broker].values()
        ]
        await self.tell(
            "move to no log dir", admin.alter_replica_log_dirs({BrokerReplica(T0, a): "/nowhere"})
        )
        await self.tell("elect", admin.elect_leaders(ElectionType.PREFERRED, [T0, T1, MISSING]))
        await self.tell("elect all", admin.elect_leaders(ElectionType.PREFERRED))
        await self.tell(
            "reassign", admin.alter_partition_reassignments({T0: [b, a], T1: [b], MISSING: [a]})
        )
        if self.told["reassign"] == "UnsupportedVersionException":
            self.told["reassigned"] = "UnsupportedVersionException"
            return

        async def at_rest() -> bool:
            return await admin.list_partition_reassignments() == {}

        await until(at_rest, "t-1 has moved")

        async def told_to_all() -> bool:
            for _ in range(10):  # any broker answers, so both have answered then
                found = (await admin.describe_topics(["t"]))["t"].partitions
                if [[node.id for node in p.replicas] for p in found] != [[b, a], [b]]:
                    return False
            return True

        await until(told_to_all, "both brokers know the new replicas")
        self.told["reassigned"] = "t-0 is on b and a, t-1 is on b"


def told_by(brokers: str) -> dict[str, object]:
    async def run(servers: str) -> dict[str, object]:
        async with Admin({"bootstrap.servers": servers}) as admin:
            story = Story(servers, admin)
            await story.run()
            return story.told

    with cluster(brokers) as servers:
        return asyncio.run(run(servers))


def test_equal_calls_have_equal_results() -> None:
    ours = told_by(OURS)
    assert ours.keys() >= TOO_NEW
    newest = told_by("2.8.2")
    assert {name: ours[name] for name in newest} == newest
    oldest = told_by("2.0.1")
    assert {name for name, told in oldest.items() if told == "UnsupportedVersionException"} == (
        TOO_NEW
    )
    expected = {name: told for name, told in ours.items() if name not in TOO_NEW}
    assert {name: told for name, told in oldest.items() if name not in TOO_NEW} == (
        expected | OTHERWISE
    )
