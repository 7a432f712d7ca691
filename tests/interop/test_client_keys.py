"""The recorded settings of Apache Kafka's clients are those that the kafka-clients jar prints."""

import pytest

from kafka_edu.common.maven_jars import PeerMissing
from tests.golden.client_keys.record import KafkaClient, printed
from tests.interop.external_programs import missing

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("client", KafkaClient)
def test_the_recorded_settings_are_those_of_the_jar(client: KafkaClient) -> None:
    try:
        keys = printed(client)
    except PeerMissing as error:
        missing(str(error))
    assert keys == client.file.read_text(encoding="utf-8")
