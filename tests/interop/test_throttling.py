"""The recorded versions after which a client waits are those of the kafka-clients jar."""

import pytest

from kafka_edu.common.maven_jars import PeerMissing
from tests.golden.throttling.record import FILE, printed
from tests.interop.external_programs import missing

pytestmark = pytest.mark.interop


def test_the_recorded_versions_are_those_of_the_jar() -> None:
    try:
        versions = printed()
    except PeerMissing as error:
        missing(str(error))
    assert versions == FILE.read_text(encoding="utf-8")
