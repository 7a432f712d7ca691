"""The recorded settings of Apache Kafka's admin client are those that its jar prints."""

import pytest

from kafka_edu.common.maven_jars import PeerMissing
from tests.golden.admin.record import GOLDEN, printed
from tests.interop.external_programs import missing

pytestmark = pytest.mark.interop


def test_the_recorded_settings_are_those_of_the_jar() -> None:
    try:
        keys = printed()
    except PeerMissing as error:
        missing(str(error))
    assert keys == GOLDEN.read_text(encoding="utf-8")
