"""docs/corruption.md says what Apache Kafka 2.8.2 does with damaged log dirs. These tests check
that this is true.

`tests/unit/log/corruption` has the cases, and tests our broker with them. A run tries some of the
cases in which Kafka starts. The other cases are left out, because each of them would need a
separate start of Kafka.
"""

import json
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.drawn import drawn
from tests.interop.external_programs import apache_kafka_jars
from tests.unit.log.corruption.apache import VERSION, Peer, recorded, run
from tests.unit.log.corruption.judge import NO_START
from tests.unit.log.corruption.written import rounded, written

pytestmark = pytest.mark.interop
CASES = 12


@pytest.mark.rotated
def test_it_ends_as_it_was_recorded(tmp_path: Path) -> None:
    apache_kafka_jars(VERSION)
    known = recorded()
    cases = drawn([c for c, peer in known.items() if peer.outcome.state != NO_START], CASES)
    now_ms = rounded(round(time.time() * 1000))
    found = run(cases, tmp_path, now_ms)
    aborted = written(clean=True, now_ms=now_ms).aborted
    assert {case.topic: as_json(found[case], aborted) for case in cases} == {
        case.topic: as_json(known[case], aborted) for case in cases
    }


def as_json(peer: Peer, aborted: Collection[int]) -> object:
    """Return the outcome without the records of aborted transactions. Kafka's cleaner removes these
    records, and only these, but it is not known whether the cleaner has already done so.
    """
    lost = [offset for offset in peer.outcome.lost if offset not in aborted]
    return json.loads(json.dumps(peer.outcome._replace(lost=lost)._asdict()))
