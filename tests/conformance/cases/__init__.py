"""Questions to brokers: one module a theme, each asked of a broker of its own that has nothing yet.

A module has `SETTINGS` (server properties beyond COMMON), perhaps BESIDE_CONTROLLER (there are two
brokers, and the one that is not the controller is asked), `DIFFERENT` (label of a step → why this
broker answers otherwise than Apache Kafka 2.8.2) and `ask_all(asker)`, which asks; see
`replay.Asker`. It is entered in MODULES by its name. What Apache Kafka answers is recorded by

    python -m tests.conformance.record [NAME …]

into tests/conformance/recordings/NAME.jsonl, and replayed from there: without Java against the
simulated broker (tests/conformance/test_simulated_broker.py), and against a broker process and
Apache Kafka itself (tests/conformance/test_broker_processes.py).
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
    """One module of questions."""

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
