"""The recorded names of exceptions are those that the kafka-clients and zookeeper jars print."""

import pytest

from kafka_edu.common.maven_jars import PeerMissing
from tests.golden.errors.record import PROGRAMS, VERSIONS, golden_file, printed_by
from tests.interop.external_programs import missing

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("peer", PROGRAMS)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_recorded_exceptions_are_those_of_the_jar(version: str, peer: str) -> None:
    try:
        printed = printed_by(version, peer)
    except PeerMissing as error:
        missing(str(error))
    assert printed == golden_file(version, peer).read_text(encoding="utf-8")
