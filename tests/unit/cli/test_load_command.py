"""At its end, `kafka-edu load` prints what it has done. Its exit code is 1 if the load failed."""

import json
from collections import deque
from pathlib import Path

import pytest

from kafka_edu.cli.load_command import _report
from kafka_edu.clients.load.load import Load, LoadClients, LoadSpec
from kafka_edu.clients.load.load_outcomes import Acked, Broken, Found, Outcome
from kafka_edu.clients.load.load_tally import StoredRecord
from kafka_edu.common.time import MockTime
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Source, SourceKind
from kafka_edu.trace.tracer import Tracer


def ended(*outcomes: Outcome) -> Load:
    """Return a load without clients, which has counted these outcomes."""
    trace = Tracer(Source(SourceKind.CLIENT, 1), MockTime())
    load = Load(LoadSpec(), LoadClients([], [], deque(outcomes), 0), trace)
    load.tick()
    return load


def test_a_load_whose_client_was_ended_by_a_bug_does_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = StoredRecord(0, 0, 1)
    load = ended(Acked(record), Found(record), Broken("the consumer has ended by a bug: KeyError"))
    file = tmp_path / "load.json"
    with pytest.raises(SystemExit) as left:
        _report(load, 1.0, ClusterFolder(tmp_path), file, compacted=False)
    assert left.value.code == 1
    said = capsys.readouterr().out
    assert "This load does not count: the consumer has ended by a bug: KeyError." in said
    targets = json.loads(file.read_text(encoding="utf-8"))["targets"]
    assert [target["holds"] for target in targets] == [True, False]


def test_a_load_that_lost_nothing_ends_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = StoredRecord(0, 0, 1)
    _report(ended(Acked(record), Found(record)), 1.0, ClusterFolder(tmp_path), None, False)
    assert "1 records, and each acked one is among them" in capsys.readouterr().out
