"""`__transaction_state` as Apache Kafka 2.8.2 wrote it, read and written again, byte for byte.

See tests/golden/log/README.md.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.coordinator.coordinator_type import partition_for
from kafka_edu.coordinator.transaction.transaction_metadata import (
    TxnTransitMetadata,
)
from kafka_edu.coordinator.transaction.transaction_records import (
    read_transaction_key,
    read_transaction_value,
    transaction_batch,
    transaction_key,
    transaction_value,
)
from kafka_edu.record.record_batch import HEADER_START, iter_headers, read_records
from tests.unit.coordinator.transaction.test_transaction_metadata import TRANSITS

GOLDEN = Path(__file__).parents[3] / "golden" / "log" / "transactions"


@pytest.mark.parametrize("partition", [0, 1])
def test_kafka_s_records_are_read_and_written_again(partition: int) -> None:
    data = (GOLDEN / f"__transaction_state-{partition}.records").read_bytes()
    states: dict[str, list[str]] = {}
    for at, header in iter_headers(data):
        batch = data[at : at + header.size_in_bytes]
        for record in read_records(batch):
            assert record.key is not None
            assert record.value is not None
            transactional_id, transit = (
                read_transaction_key(record.key),
                read_transaction_value(record.value),
            )
            assert transactional_id is not None
            assert transit is not None
            assert partition_for(transactional_id, 2) == partition
            states.setdefault(transactional_id, []).append(transit.state)
            ours = transaction_batch(transactional_id, transit, record.timestamp)
            assert ours[HEADER_START.size :] == batch[HEADER_START.size :]
    for found in states.values():
        assert found[:5] == ["Empty", "Ongoing", "PrepareAbort", "CompleteAbort", "Ongoing"]
        assert {"PrepareCommit", "CompleteCommit"} <= set(found)
    assert len(states) == 1


@given(st.text(max_size=20), TRANSITS)
def test_records_are_read_as_they_were_written(
    transactional_id: str, transit: TxnTransitMetadata
) -> None:
    assert read_transaction_key(transaction_key(transactional_id)) == transactional_id
    assert read_transaction_value(transaction_value(transit)) == transit


def test_keys_and_values_of_later_versions_are_left_alone() -> None:
    assert read_transaction_key(b"\0\1" + transaction_key("a")[2:]) is None
    assert read_transaction_value(b"\0\1") is None
    assert read_transaction_key(b"") is None
