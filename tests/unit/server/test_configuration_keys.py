"""The table of keys, compared with the answer of Apache Kafka 2.8.2 to DescribeConfigs."""

import json
from pathlib import Path
from typing import Any

from kafka_edu.common.config_def import Effect
from kafka_edu.log.log_config import TOPIC_CONFIG
from kafka_edu.server.config.config_gaps import BROKER_GAPS
from kafka_edu.server.config.config_page import page
from kafka_edu.server.config.dynamic_broker_config import DYNAMIC
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "golden/configuration/keys-2.8.2.json").read_text(encoding="utf-8")
)

#: Our defaults are Kafka 2.0.1's, unless docs/differences.md says otherwise.
OTHER_DEFAULTS = {
    "group.max.session.timeout.ms",
    "host.name",
    "inter.broker.protocol.version",
    "log.message.format.version",
    "message.max.bytes",
    "queued.max.request.bytes",
    "replica.lag.time.max.ms",
    "ssl.enabled.protocols",
    "ssl.protocol",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    "zookeeper.max.in.flight.requests",
}


def test_every_key_of_kafka_is_known_with_its_type() -> None:
    for recorded, ours in ((RECORDED["broker"], CONFIG_DEF), (RECORDED["topic"], TOPIC_CONFIG)):
        kafka_has = {name: known["type"] for name, known in recorded.items()}
        assert {
            key.name: key.type.value for key in ours if not key.name.startswith("edu.")
        } == kafka_has


def test_the_defaults_are_kafkas_but_for_those_of_2_0() -> None:
    recorded = {
        name: known["default"] or ""
        for name, known in RECORDED["broker"].items()
        if known["default"] != "set"
    }
    assert {
        name for name, default in recorded.items() if CONFIG_DEF.default_text(name) != default
    } == OTHER_DEFAULTS


def test_what_changes_while_the_broker_runs_here_does_so_in_kafka() -> None:
    ours = {name for name in DYNAMIC if name.startswith("edu.")}
    assert {name for name in DYNAMIC - ours if not RECORDED["broker"][name]["dynamic"]} == set()


def test_each_gap_belongs_to_a_key() -> None:
    assert BROKER_GAPS.keys() <= CONFIG_DEF.keys.keys()
    assert {key.name for key in CONFIG_DEF if key.effect is not Effect.WORKS} == set(BROKER_GAPS)


def test_a_value_meets_the_gap_of_its_key_or_does_not() -> None:
    preallocate = CONFIG_DEF.keys["log.preallocate"]
    assert preallocate.effect is Effect.NONE
    assert preallocate.gap_of(False) is None
    assert preallocate.gap_of(True) is preallocate.gap
    assert CONFIG_DEF.keys["authorizer.class.name"].effect is Effect.REFUSED
    assert CONFIG_DEF.keys["num.partitions"].gap_of(3) is None


def test_the_page_of_keys_is_current() -> None:
    written = (Path(__file__).parents[3] / "docs/configuration.md").read_text(encoding="utf-8")
    assert written == page(), (
        "run: python -m kafka_edu.server.config.config_page docs/configuration.md"
    )
