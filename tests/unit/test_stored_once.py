"""The rule by which live tests leave out copies of records that a client has sent again
(`tests.stored_once`).
"""

from pathlib import Path

import pytest

from chapters.demo_parts.stored_records import ProducerIdAndEpoch
from tests import stored_once

FIRST, SECOND = ProducerIdAndEpoch(7, 0), ProducerIdAndEpoch(7, 1)


@pytest.mark.parametrize(
    ("producers", "left"),
    [
        ([FIRST, FIRST, FIRST, FIRST], [1, 2, 1, 3]),  # the broker has stored 1 twice
        ([FIRST, FIRST, SECOND, SECOND], [1, 2, 3]),  # librdkafka has sent 1 again
    ],
)
def test_only_a_copy_under_a_new_epoch_is_forgiven(
    monkeypatch: pytest.MonkeyPatch, producers: list[ProducerIdAndEpoch], left: list[int]
) -> None:
    monkeypatch.setattr(stored_once, "producers_by_offset", lambda _: dict(enumerate(producers)))
    read = list(enumerate([1, 2, 1, 3]))
    assert stored_once.without_copies_sent_anew(read, Path("t-0")) == left
