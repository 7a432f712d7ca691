"""Conformance cases: requests sent to a fresh broker of Apache Kafka, and later to ours. Each
module covers one theme.

A module defines:

    SETTINGS           server properties in addition to COMMON
    BESIDE_CONTROLLER  optional: two brokers run, and the requests go to the one that is not the
                       controller
    DIFFERENT          label of a step → why this broker answers otherwise than Apache Kafka 2.8.2
    ask_all(asker)     sends the requests (see `replay.Asker`)

MODULES lists the modules by name. This command records the answers of Apache Kafka:

    python -m tests.conformance.record [NAME …]

It writes tests/conformance/recordings/NAME.jsonl. Two tests replay that file:
tests/conformance/test_simulated_broker.py sends it to the simulated broker, without Java.
tests/conformance/test_broker_processes.py sends it to a broker process and to Apache Kafka itself.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from tests.conformance.replay import Asker

MODULES: Final = (
    "admin_configs",
    "admin_controller",
    "admin_quotas",
    "admin_refused",
    "admin_topics",
    "basics",
    "controlled_shutdown",
    "edges",
    "error_texts",
    "groups",
    "idempotence",
    "not_controller",
    "odd_values",
    "offsets",
    "records",
    "sessions",
    "transactions",
)

COMMON: Final = {
    "auto.create.topics.enable": "false",
    "num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.ms": "-1",
}


class Cases(NamedTuple):
    """One module of cases."""

    name: str
    settings: Mapping[str, str]
    beside_controller: bool
    different: Mapping[str, str]
    ask_all: Callable[[Asker], None]


def load(name: str) -> Cases:
    module = importlib.import_module(f"tests.conformance.cases.{name}")
    return Cases(
        name,
        COMMON | module.SETTINGS,
        getattr(module, "BESIDE_CONTROLLER", False),
        module.DIFFERENT,
        module.ask_all,
    )
