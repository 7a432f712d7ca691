"""The keys of a broker from DescribeConfigs, compared one by one with Apache Kafka 2.8.2's recorded
answer.
"""

from typing import Any, Final

import pytest

from tests.conformance.brokers import SimulatedBroker
from tests.conformance.cases import load
from tests.conformance.cases.admin_configs import ALL_KEYS
from tests.conformance.replay import Replay, read_steps

Keys = dict[str, dict[str, Any]]

#: Keys with another default in 2.0.1, whose defaults we take, or by design (docs/differences.md).
OTHER_DEFAULT: Final = {
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
    "zookeeper.session.timeout.ms",
}
#: Set for Apache Kafka alone, because its heap is small here.
SET_FOR_THE_TEST: Final = {"log.cleaner.dedupe.buffer.size"}


@pytest.fixture(scope="module")
def told() -> tuple[Keys, Keys]:
    """Return Kafka's recorded keys, and this broker's."""
    broker = SimulatedBroker(load("admin_configs").settings)
    steps = [step for step in read_steps("admin_configs") if step["step"].startswith(ALL_KEYS)]
    difference = next(iter(Replay(broker).differences(steps)))
    broker.close()
    return by_name(difference.recorded), by_name(difference.answered)


def by_name(answer: Any) -> Keys:
    return {config["name"]: config for config in answer["results"][0]["configs"]}


def test_every_key_of_kafka_is_there_and_only_our_own_are_added(told: tuple[Keys, Keys]) -> None:
    kafka, ours = told
    assert not kafka.keys() - ours.keys()
    assert all(name.startswith("edu.") for name in ours.keys() - kafka.keys())


@pytest.mark.parametrize("what", ["config_type", "is_sensitive", "documentation"])
def test_each_key_has_kafkas_type_and_is_as_secret(told: tuple[Keys, Keys], what: str) -> None:
    kafka, ours = told
    assert {name: config[what] for name, config in kafka.items()} == {
        name: ours[name][what] for name in kafka
    }


@pytest.mark.parametrize("what", ["value", "config_source", "synonyms"])
def test_each_key_has_kafkas_value_but_for_those_that_are_known(
    told: tuple[Keys, Keys], what: str
) -> None:
    kafka, ours = told
    wrong = {
        name: (config[what], ours[name][what])
        for name, config in kafka.items()
        if config[what] != ours[name][what]
    }
    assert not wrong.keys() - OTHER_DEFAULT - SET_FOR_THE_TEST, wrong


def test_every_known_difference_is_still_one(told: tuple[Keys, Keys]) -> None:
    kafka, ours = told
    assert not {name for name in OTHER_DEFAULT if kafka[name]["synonyms"] == ours[name]["synonyms"]}


def test_nothing_can_be_changed_here_that_kafka_refuses_to_change(told: tuple[Keys, Keys]) -> None:
    kafka, ours = told
    assert not {
        name
        for name, config in kafka.items()
        if config["read_only"] and not ours[name]["read_only"]
    }
