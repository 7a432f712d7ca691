"""The settings that all clients share: names, addresses, and values as text."""

from collections.abc import Callable, Mapping

import pytest

from kafka_edu.clients.client_config import address, config_text
from kafka_edu.clients.consumer.consumer_config import parse_consumer_config
from kafka_edu.clients.producer.producer_config import parse_producer_config
from kafka_edu.common.config_def import ConfigException

Parse = Callable[[Mapping[str, object], int], object]
CLIENTS: Mapping[str, tuple[Parse, str]] = {
    "producer": (parse_producer_config, "docs/clients.md"),
    "consumer": (parse_consumer_config, "docs/consumer.md"),
}


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"retry_backoff_ms": 1}, "A {} has no setting retry_backoff_ms. Did you mean retry."),
        ({"wxyz": 1}, "A {} has no setting wxyz. {} has all keys."),
        ({"ssl.x": 1}, "ssl.x is refused, because connections are never encrypted. Remove it"),
        ({"bootstrap.servers": "a:b"}, "Invalid value a:b for configuration bootstrap.servers"),
        ({"retry.backoff.ms": 1.5}, "Invalid value 1.5 for configuration retry.backoff.ms: Not"),
        ({"retry.backoff.ms": [1, 2]}, "Invalid value 1,2 for configuration retry.backoff.ms: N"),
    ],
)
@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_refuses_a_setting_in_the_same_words(
    client: str, given: dict[str, object], line: str
) -> None:
    parse, page = CLIENTS[client]
    with pytest.raises(ConfigException) as refused:
        parse({"bootstrap.servers": "a:1"} | given, 1)
    assert str(refused.value).startswith(line.format(client, page))


def test_an_address_is_a_host_and_a_port() -> None:
    assert address("a.b:9092") == ("a.b", 9092)
    assert address("[::1]:9092") == ("::1", 9092)
    for wrong in ("a", ":1", "a:0", "a:65536", "a:-1"):
        with pytest.raises(ConfigException, match="it is not host:port"):
            address(wrong)


def test_values_become_text_as_a_properties_file_has_them() -> None:
    assert [config_text(value) for value in (5, 1.5, True, "x", ["a", "b"], None)] == [
        "5",
        "1.5",
        True,
        "x",
        "a,b",
        "None",
    ]
