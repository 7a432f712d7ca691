"""A tool passes on the settings that its client knows. It reports addresses that cannot be reached,
and each address only once in a while.
"""

import pytest

from kafka_edu.clients.consumer.consumer_config import CONSUMER_CONFIG, parse_consumer_config
from kafka_edu.tools.client_settings import REPEATED_AFTER_S, ConnectionWarnings, known_settings
from kafka_edu.trace.event import CLIENT, Envelope
from kafka_edu.trace.events.producer import ClientDisconnected


def test_an_address_that_is_not_reached_is_told_once_in_a_while(
    capsys: pytest.CaptureFixture[str],
) -> None:
    warnings = ConnectionWarnings()

    def told(reason: str, at_s: float, local: str = "") -> str:
        event = ClientDisconnected(
            client="c", broker_id=-1, local=local, reason=reason, in_flight=0
        )
        warnings.accept(Envelope(CLIENT, 1, 0, 0, int(at_s * 1_000_000), event))
        return capsys.readouterr().err

    refused = "cannot connect to 127.0.0.1:1: Connection refused"
    assert told(refused, 0).endswith(
        f" WARN [clientId=c] {refused} (org.apache.kafka.clients.NetworkClient)\n"
    )
    assert told(refused, REPEATED_AFTER_S - 1) == ""
    assert refused in told(refused, REPEATED_AFTER_S)
    assert "b:2" in told("cannot connect to b:2: no answer in time", 1)
    assert told("closed by the other side", 2, "127.0.0.1:5") == "", "it was open"


def test_nothing_is_told_after_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    warnings = ConnectionWarnings()
    event = ClientDisconnected(
        client="c", broker_id=-1, local="", reason="the consumer closes", in_flight=0
    )
    warnings.end()
    warnings.tracer(event)
    assert capsys.readouterr().err == ""


def test_the_assignor_of_a_properties_file_acts(capsys: pytest.CaptureFixture[str]) -> None:
    given = {
        "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
        "key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
        "nonsense": "1",
    }
    settings = known_settings(given, CONSUMER_CONFIG.keys, "a.Logger")
    assert list(settings) == ["partition.assignment.strategy"]
    brokers = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}
    config = parse_consumer_config(brokers | settings, 1)
    assert config.assignors == ("roundrobin",)
    assert "'nonsense' was supplied but isn't a known config" in capsys.readouterr().err
