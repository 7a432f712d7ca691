"""The live part of 08-4: the learner's code finds the coordinators of groups in a proxy. Meanwhile
a broker is restarted, and then it leads its partitions again.

The members of the groups use kafka-python, because a proxy is for unmodified clients.
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from kafka_edu.coordinator.coordinator_type import INTERNAL_TOPIC, CoordinatorType
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.supervisor.cluster import ClusterError

from ..learner_proxy import LearnerProxy, ask, learner_proxy
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step

TOPIC: Final = "lab-084"
GROUPS: Final = tuple(f"group-{number}" for number in range(12))
PARTITIONS: Final = 4
OFFSETS: Final = INTERNAL_TOPIC[CoordinatorType.GROUP]
RESTARTED: Final = 1
VERSION: Final = 2
PROPS: Final = {
    "offsets.topic.num.partitions": str(PARTITIONS),
    "offsets.topic.replication.factor": "2",
    "auto.leader.rebalance.enable": "false",
}
Asked = dict[str, int]


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in a proxy, and yield the result of each check. If `file` is None,
    run the course's own code.
    """
    with learner_proxy(
        exercise, file, say, patience_s, props=PROPS, options=("--find-coordinator",)
    ) as proxy:
        yield _commits(proxy)
        yield _same(proxy, "both brokers live")
        say(f"broker {RESTARTED} is stopped in order")
        proxy.cluster.stop(RESTARTED)
        yield _same(proxy, f"broker {RESTARTED} is away")
        say(f"broker {RESTARTED} starts again, and gets its leaderships")
        proxy.cluster.start(RESTARTED)
        yield _prefer(proxy)
        yield _same(proxy, f"broker {RESTARTED} leads again")
        if file is not None:
            yield proxy.judge_calls("each answer was the brokers' own")


def _commits(proxy: LearnerProxy) -> Step:
    """Check that an ordinary client can commit. Its commit also creates __consumer_offsets."""
    says = "a client commits an offset"
    make_topic(proxy.cluster, TOPIC, proxy.cluster.broker_ids)
    partition = TopicPartition(TOPIC, 0)
    try:
        with contextlib.closing(
            KafkaConsumer(
                bootstrap_servers=proxy.cluster.bootstrap_servers,
                group_id=GROUPS[0],
                enable_auto_commit=False,
            )
        ) as consumer:
            consumer.assign([partition])
            consumer.commit({partition: OffsetAndMetadata(0, "", -1)})
    except KafkaError as error:
        return Step(says, False, f"{type(error).__name__}: {error}", late=True)
    return Step(says, True, f"for {GROUPS[0]}")


def _coordinators(address: str) -> Asked:
    """Ask the broker or proxy at this address for the coordinator of each group, and return its
    answers. Raises OSError and ProtocolError.
    """
    return {
        group: ask(
            address, FindCoordinatorRequest(key=group), VERSION, FindCoordinatorResponse
        ).node_id
        for group in GROUPS
    }


def _same(proxy: LearnerProxy, when: str) -> Step:
    """Check that the proxy and a broker name the same coordinator for each group."""
    says = f"the proxy names the coordinators that the brokers name, and {when}"
    broker = f"127.0.0.1:{proxy.cluster.port(1 - RESTARTED)}"
    theirs: Asked = {}
    came: Asked = {}

    def are_same() -> bool:
        nonlocal theirs, came
        try:
            theirs, came = _coordinators(broker), _coordinators(proxy.address)
        except (OSError, ProtocolError):
            return False
        return theirs == came and -1 not in theirs.values()

    same = proxy.wait_for(are_same)
    wrong = [group for group in GROUPS if came.get(group) != theirs.get(group)]
    if wrong:
        first = wrong[0]
        seen = f"{first}: the proxy says broker {came.get(first)}, and it is {theirs.get(first)}"
    else:
        count = list(theirs.values()).count(RESTARTED)
        seen = f"{count} of {len(GROUPS)} groups at broker {RESTARTED}"
    return Step(says, same, seen, late=not same)


def _prefer(proxy: LearnerProxy) -> Step:
    """Let the restarted broker lead again, and check that it coordinates groups."""
    broker = f"127.0.0.1:{proxy.cluster.port(1 - RESTARTED)}"

    def leads() -> bool:
        for number in range(PARTITIONS):
            with contextlib.suppress(ClusterError):
                proxy.cluster.perform("elect-preferred", {"partition": f"{OFFSETS}-{number}"})
        try:
            return RESTARTED in _coordinators(broker).values()
        except (OSError, ProtocolError):
            return False

    says = f"broker {RESTARTED} coordinates groups again"
    led = proxy.wait_for(leads)
    return Step(says, led, "" if led else "it leads no partition of its own", late=not led)
