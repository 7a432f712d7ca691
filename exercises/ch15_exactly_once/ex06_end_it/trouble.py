"""Start exercise 15-6's cluster with an open transaction, check the cluster, and end it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from kafka_edu.supervisor.cluster import Cluster, ClusterError
from kafka_edu.supervisor.cluster_spec import Wish

from ...lab_cluster import (
    OTHERS_LIMIT_S,
    LabCluster,
    answering,
    keep_before,
    read_before,
    restart,
    topic_facts,
)
from ...runner.verdict import Step
from ..readers import COMMITTED, UNCOMMITTED, last_stable_offset, read_values
from ..transactional_job import begin_job, write_committed, write_open
from .facts import Facts, judge
from .material import LONG_JOB, TOPIC, plan, values_of

SETTINGS: Final = {"min.insync.replicas": "1"}
PROPS: Final = {
    "transaction.state.log.num.partitions": "1",
    "transaction.max.timeout.ms": "86400000",
    "auto.leader.rebalance.enable": "false",
}
DAY_MS: Final = 86_400_000
REPLICAS: Final = (0, 1, 2)
LAB: Final = LabCluster("15-6", TOPIC)
is_running = LAB.is_running
end = LAB.end


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster, and let the jobs write in transactions. Two of the transactions stay open.
    Raises ClusterError.

    The state is saved in `folder`. The cluster runs on when this process ends.
    """
    made = plan(seed)
    say("starting three brokers")
    with LAB.begun(Wish(brokers=3, props=PROPS), home) as cluster:
        cluster.wait_ready()
        LAB.create_topic(cluster, REPLICAS, SETTINGS)
        say("five jobs write payments in transactions")
        servers = cluster.bootstrap_servers
        jobs = {
            job: begin_job(servers, job, DAY_MS, OTHERS_LIMIT_S)
            for job in (*(job for job, _ in made.before), LONG_JOB)
        }
        rows = enumerate((*made.before, *made.behind, *made.later))
        held, exports = len(made.before), len(made.before) + len(made.behind)
        for number, (job, count) in rows:
            for at, name, records in (
                (held, made.holder, made.left_open),
                (exports, LONG_JOB, made.exported),
            ):
                if number == at:
                    values = [f"open {value}" for value in values_of(number, name, records)]
                    write_open(jobs[name], TOPIC, values, OTHERS_LIMIT_S)
            write_committed(jobs[job], TOPIC, values_of(number, job, count), OTHERS_LIMIT_S)
        say("one of them is gone, and its transaction is open")
        keep_before(folder, seed, look(cluster))


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the cluster's current state. Yield each result. Raises ClusterError if it is not up."""
    with closing(LAB.attach(home)) as cluster:
        seed, before = read_before(folder)
        say("looking at brokers, the last stable offset, and what readers get")
        now = look(cluster)
    yield from judge(plan(seed), facts_of(before), now)


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    states, topic, lso, records, committed = fields.values()
    return Facts(tuple(states), topic_facts(topic), lso, tuple(records), tuple(committed))


def look(cluster: Cluster) -> Facts:
    """Collect the facts about the cluster's current state. Raises ClusterError."""
    status = cluster.status()
    states = tuple(status.broker(number).state for number in cluster.broker_ids)
    topic = LAB.in_zookeeper(cluster)
    servers = ",".join(answering(cluster))
    if not topic.created or not servers:
        return Facts(states, topic, -1)
    try:
        return Facts(
            states,
            topic,
            last_stable_offset(servers, TOPIC, OTHERS_LIMIT_S),
            tuple(read_values(servers, TOPIC, UNCOMMITTED, OTHERS_LIMIT_S)),
            tuple(read_values(servers, TOPIC, COMMITTED, OTHERS_LIMIT_S)),
        )
    except TimeoutError as error:
        raise ClusterError(str(error)) from error


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster. Raises ClusterError.

    "fence" starts a program with this transactional id, which ends the open transaction of the
    same id. "restart" restarts a broker. "topic-config" sets or removes a setting of the topic.
    "topic-again" deletes the topic and creates it again with the same settings.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "fence", [str(job)]:
                    begin_job(cluster.bootstrap_servers, job, DAY_MS, OTHERS_LIMIT_S)
                case "restart", [int(broker)]:
                    restart(cluster, broker)
                case "topic-config", [str(setting)]:
                    cluster.perform("topic-config", {"topic": TOPIC, "setting": setting})
                case "topic-again", []:
                    LAB.create_again(cluster, REPLICAS, SETTINGS)
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")
