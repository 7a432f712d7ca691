"""The settings of a scenario's brokers and topics, checked before the cluster starts.

A wrong setting would end a run while its cluster starts. So `language` checks each setting when it
reads the line, and the error names this line.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kafka_edu.common.config_def import ConfigException
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.topic import colliding_topics, is_internal, validate_topic_name
from kafka_edu.log.log_config import TOPIC_CONFIG, LogConfig
from kafka_edu.server.config.kafka_config import default_config
from kafka_edu.server.config.settings_check import check_settings, only_while_running, suggestion

LATENCY: Final = "sim.latency.ms"
"""A setting of the simulation, and not of the brokers: the longest time that data takes on a link
that is not slow. The shortest one is a tenth of it.
"""
CLUSTER: Final = "sim.cluster"
"""A setting of the simulation. With `real`, brokers have Kafka's own time-outs, and acts and
processes are facts of a supervisor, as in a real cluster.
"""
SHORT_TIMES: Final[Mapping[str, str]] = {
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "2000",
    "replica.socket.timeout.ms": "3000",
    "controller.socket.timeout.ms": "3000",
    "controlled.shutdown.retry.backoff.ms": "500",
    "leader.imbalance.check.interval.seconds": "5",
    "unclean.leader.election.enable": "false",
}
"""The settings of all simulated brokers, if a scenario does not say otherwise. Time-outs are short,
so that a run of a few virtual seconds has sessions that expire, ISRs that shrink, and elections.
"""
KAFKAS_TIMES: Final[Mapping[str, str]] = {"auto.create.topics.enable": "false"}
"""With Kafka's own time-outs. A topic is made by the client that wants it."""
OF_THE_SIMULATOR: Final = frozenset(
    {"advertised.listeners", "broker.id", "listeners", "log.dir", "log.dirs", "zookeeper.connect"}
)
"""The settings that the simulator itself gives to each broker."""


def check_broker_settings(given: Mapping[str, str]) -> None:
    """Raise ValueError if the brokers would not start with these settings, or would ignore a
    setting.
    """
    check_latency([given[LATENCY]] if LATENCY in given else [])
    if given.get(CLUSTER, "real") != "real":
        raise ValueError(f"{CLUSTER}={given[CLUSTER]} is not real")
    of_brokers = {key: value for key, value in given.items() if key not in (LATENCY, CLUSTER)}
    for key in of_brokers:
        if key in OF_THE_SIMULATOR:
            raise ValueError(f"the simulator itself sets {key}: leave it out")
    for finding in (*check_settings(of_brokers), *only_while_running(of_brokers)):
        advice = "" if finding.refuses else " Correct the name, or leave the setting out."
        dot = "" if finding.text.endswith((".", "?")) else "."
        raise ValueError(f"the brokers say: {finding.text}{dot}{advice}")
    try:
        default_config({**(KAFKAS_TIMES if CLUSTER in given else SHORT_TIMES), **of_brokers})
    except ConfigException as error:
        raise ValueError(str(error)) from error


def check_latency(values: Iterable[str]) -> None:
    """Raise ValueError if one of the values is no latency."""
    for value in values:
        if not value.isdigit() or not 0 < int(value) <= 1_000:
            raise ValueError(f"{LATENCY}={value} is not a whole number from 1 to 1000")


def check_topic(name: str, configs: Mapping[str, str], others: Collection[str]) -> None:
    """Raise ValueError if the topic could not be created in a cluster with the topics `others`."""
    if is_internal(name):
        raise ValueError(f"the brokers themselves create {name}: choose another name")
    if name in others:
        raise ValueError(f"two topics have the name {name!r}: choose another one")
    for other in colliding_topics(name, others):
        raise ValueError(f"{name} and {other} have the same name in metrics: choose another one")
    for key in TOPIC_CONFIG.unknown(configs):
        raise ValueError(f"a topic has no setting {key!r}{suggestion(key, TOPIC_CONFIG)}")
    try:
        validate_topic_name(name)
        LogConfig.parse(configs)
    except (KafkaException, ConfigException) as error:
        raise ValueError(str(error)) from error
