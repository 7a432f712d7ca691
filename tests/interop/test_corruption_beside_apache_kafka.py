"""Apache Kafka 2.8.2 still does with damaged log dirs what docs/corruption.md says of it.

`tests/unit/log/corruption` has the cases, and our side of them. A run tries some of those in which
Kafka starts; each that keeps it from starting would take another start.
"""

import json
import time
from pathlib import Path

import pytest

from tests.drawn import drawn
from tests.interop.external_programs import apache_kafka_jars
from tests.unit.log.corruption.apache import VERSION, Peer, recorded, run
from tests.unit.log.corruption.judge import NO_START
from tests.unit.log.corruption.written import rounded

pytestmark = pytest.mark.interop
CASES = 12


def test_it_ends_as_it_was_recorded(tmp_path: Path) -> None:
    apache_kafka_jars(VERSION)
    known = recorded()
    cases = drawn([c for c, peer in known.items() if peer.outcome.state != NO_START], CASES)
    found = run(cases, tmp_path, rounded(round(time.time() * 1000)))
    assert {case.topic: as_json(found[case]) for case in cases} == {
        case.topic: as_json(known[case]) for case in cases
    }


def as_json(peer: Peer) -> object:
    return json.loads(json.dumps(peer.outcome._asdict()))
