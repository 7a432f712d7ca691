"""The live part of 08-2: the learner's routes lead clients to two clusters. Meanwhile one of the
clusters dies and comes back.

The clients use kafka-python, because a proxy is for unmodified clients.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from kafka_edu.protocol.types import ProtocolError
from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ..learner_proxy import LearnerProxy, metadata, proxy_before
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step
from .routes_rules import Rule, right_choice

TOPIC: Final = "lab-082"
ADDRESS: Final = "127.0.0.1"
EAST, WEST = "east", "west"
RULES: Final[tuple[Rule, ...]] = (
    ("billing-*", None, (WEST,)),
    ("*", "audit.*", (WEST,)),
    ("*", None, (EAST, WEST)),
)
CLIENTS: Final = ("billing-7", *(f"shop-{number}" for number in range(11)))
RECORDS: Final = 20
REFUSED: Final = "refused"


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in a proxy for two clusters, and yield the result of each check. If
    `file` is None, run the course's own code.
    """
    say(f"starting two clusters, and a proxy with {'yours' if file is not None else 'ours'}")
    options = ["--target-versions"]
    for client, topic, clusters in RULES:
        words = f"client={client}" + ("" if topic is None else f" topic={topic}")
        options += ["--route", f"{words} to={','.join(clusters)}"]
    with contextlib.ExitStack() as stack:
        both = {
            name: stack.enter_context(running_cluster(f"lab-{exercise.id}-{name}", brokers=1))
            for name in (EAST, WEST)
        }
        for cluster in both.values():
            make_topic(cluster, TOPIC, cluster.broker_ids)
        running, address = stack.enter_context(proxy_before(both, exercise, file, options))
        proxy = LearnerProxy(both[EAST], running, address, patience_s)
        names = {_cluster_id(cluster): name for name, cluster in both.items()}
        yield _led(proxy, names, (EAST, WEST), "both clusters serve")
        yield _written(proxy, both)
        say(f"the cluster {WEST} dies")
        both[WEST].kill(0)
        yield _led(proxy, names, (EAST,), f"{WEST} is gone: only its own clients move")
        say(f"the cluster {WEST} comes back")
        both[WEST].start(0)
        yield _led(proxy, names, (EAST, WEST), f"{WEST} is back, and so are its clients")
        if file is not None:
            yield proxy.judge_calls("each client went where it belongs")


def _cluster_id(cluster: Cluster) -> str:
    return metadata(cluster.bootstrap_servers, [], 5).cluster_id or ""


def _led(
    proxy: LearnerProxy, names: Mapping[str, str], serving: tuple[str, ...], when: str
) -> Step:
    """Check that the proxy leads each client to the right cluster, and refuses a client if none of
    its clusters serves.
    """
    expected = {
        client: right_choice(RULES, client, ADDRESS, None, serving) or REFUSED for client in CLIENTS
    }
    came: dict[str, str] = {}

    def all_right() -> bool:
        for client in CLIENTS:
            try:
                answer = metadata(proxy.address, [], 5, client)
            except (OSError, ProtocolError):
                came[client] = REFUSED
            else:
                came[client] = names.get(answer.cluster_id or "", "nowhere")
        return came == expected

    right = proxy.wait_for(all_right)
    wrong = [one for one in CLIENTS if came.get(one) != expected[one]]
    if wrong:
        seen = f"{wrong[0]} belongs to {expected[wrong[0]]}; the proxy led it to {came[wrong[0]]}"
    else:
        seen = ", ".join(
            f"{name} {[*came.values()].count(name)}" for name in sorted(set(came.values()))
        )
    return Step(f"each client goes where it belongs when {when}", right, seen, late=not right)


def _written(proxy: LearnerProxy, both: Mapping[str, Cluster]) -> Step:
    """Check that the records of an ordinary producer are in the cluster west, and only there."""
    says = f"the records of billing-7 lie in {WEST}, and nowhere else"
    partition = TopicPartition(TOPIC, 0)
    try:
        with contextlib.closing(
            KafkaProducer(
                bootstrap_servers=proxy.address,
                client_id="billing-7",
                acks="all",
                enable_idempotence=False,
                linger_ms=0,
            )
        ) as producer:
            sent = [producer.send(TOPIC, b"an invoice", partition=0) for _ in range(RECORDS)]
            producer.flush(proxy.patience_s + 30)
            acked = sum(one.succeeded() for one in sent)
        ends = {}
        for name, cluster in both.items():
            with contextlib.closing(
                KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers)
            ) as consumer:
                ends[name] = consumer.end_offsets([partition])[partition]
    except KafkaError as error:
        return Step(says, False, f"{type(error).__name__}: {error}", late=True)
    seen = f"{acked} of {RECORDS} acked; records in {EAST}: {ends[EAST]}, in {WEST}: {ends[WEST]}"
    return Step(says, ends == {EAST: 0, WEST: RECORDS}, seen, late=acked < RECORDS)
