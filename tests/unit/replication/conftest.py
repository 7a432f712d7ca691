"""Fixtures of the replication tests."""

import pytest

from kafka_edu.replication import delayed_fetch, fetch, local_reads
from kafka_edu.replication.fetch_params import FetchInfos
from kafka_edu.replication.log_read_result import FetchResults


@pytest.fixture
def read_counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of partitions that each fetch has read."""
    counts: list[int] = []
    read = local_reads.read_from_local_log

    def counted(
        partitions: object, params: object, infos: FetchInfos, session: object, rules: object
    ) -> FetchResults:
        counts.append(len(infos))
        return read(partitions, params, infos, session, rules)  # type: ignore[arg-type]  # passed on

    for module in (fetch, delayed_fetch):
        monkeypatch.setattr(module, "read_from_local_log", counted)
    return counts
