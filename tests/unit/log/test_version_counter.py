"""The same version of a log means the same read."""

from collections.abc import Callable

import pytest

from kafka_edu.log.log import Log
from tests.unit.log.test_log import NOW, batch, filled


def act(name: str) -> Callable[[Log], object]:
    acts: dict[str, Callable[[Log], object]] = {
        "append": lambda log: log.append_as_leader(batch(1), 0, NOW),
        "the high watermark moves": lambda log: log.update_high_watermark(4),
        "the start moves": lambda log: log.maybe_increment_log_start_offset(2),
        "truncation": lambda log: log.truncate_to(3),
        "a new epoch": lambda log: log.maybe_assign_epoch_start_offset(8, 6),
    }
    return acts[name]


@pytest.mark.parametrize(
    "name",
    ["append", "the high watermark moves", "the start moves", "truncation", "a new epoch"],
)
def test_what_changes_a_read_changes_the_version(name: str) -> None:
    log = filled(batches=2, records=3)
    if name == "the high watermark moves":
        log.truncate_to(3)
        log.append_as_leader(batch(3), 0, NOW)
    before = log.version.value
    act(name)(log)
    assert log.version.value > before


def test_a_read_does_not_change_it() -> None:
    log = filled(batches=2, records=3)
    before = log.version.value
    log.read(0, 1 << 20)
    log.fetch_offset_by_timestamp(NOW)
    log.convert_to_offset_metadata(3)
    assert log.version.value == before
