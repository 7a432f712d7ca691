"""The settings of a scenario's brokers and topics are checked before the cluster starts."""

import pytest

from kafka_edu.sim.scenario.settings import (
    LATENCY,
    OF_THE_SIMULATOR,
    SHORT_TIMES,
    check_broker_settings,
    check_latency,
    check_topic,
)


def test_settings_that_brokers_can_use_are_taken() -> None:
    check_broker_settings({})
    check_broker_settings({LATENCY: "10", "min.insync.replicas": "2"})
    check_broker_settings({"inter.broker.protocol.version": "2.0"})
    check_broker_settings(SHORT_TIMES)
    check_topic("t", {"cleanup.policy": "compact", "segment.bytes": "2000"}, {"u"})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"min.insink.replicas": "2"}, "did you mean min.insync.replicas"),
        ({"min.insync.replicas": "two"}, "Invalid value two for configuration min.insync"),
        ({"inter.broker.protocol.version": "1"}, "inter.broker.protocol.version"),
        ({"replica.lag.time.max.ms": "400"}, "must be at most 400"),
        ({"replica.fetch.wait.max.ms": "4000", "replica.lag.time.max.ms": "5000"}, "at most 3000"),
        ({"sasl.enabled.mechanisms": "PLAIN"}, "there is no SASL"),
        ({LATENCY: "2000"}, "not a whole number from 1 to 1000"),
    ],
)
def test_settings_with_which_brokers_would_not_start_are_refused(
    given: dict[str, str], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        check_broker_settings(given)


@pytest.mark.parametrize("key", sorted(OF_THE_SIMULATOR))
def test_settings_of_the_simulator_are_refused(key: str) -> None:
    with pytest.raises(ValueError, match="the simulator itself sets"):
        check_broker_settings({key: "1"})


def test_a_latency_is_a_number_of_milliseconds() -> None:
    check_latency(["1", "1000"])
    with pytest.raises(ValueError, match="=0 is not"):
        check_latency(["1", "0"])


@pytest.mark.parametrize(
    ("name", "configs", "said"),
    [
        ("u", {}, "two topics have the name 'u'"),
        ("a_b", {}, "a_b and a.b have the same name in metrics"),
        ("a/b", {}, "is illegal"),
        ("__consumer_offsets", {}, "the brokers themselves create"),
        ("t", {"segment.bites": "1"}, "no setting 'segment.bites'; did you mean segment.bytes"),
        ("t", {"cleanup.policy": "smaller"}, "Invalid value smaller"),
    ],
)
def test_topics_that_could_not_be_created_are_refused(
    name: str, configs: dict[str, str], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        check_topic(name, configs, {"u", "a.b"})
