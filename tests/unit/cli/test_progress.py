"""A demo waits as long as something changes, however long this takes. If nothing changes, it gives
up.
"""

import shutil
import tempfile

import pytest

from kafka_edu.cli.progress import Progress, Standstill, full_disk
from kafka_edu.supervisor.patience import Patience


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0
        self.without_core_s = 0.0

    def patience(self, limit_s: float) -> Patience:
        return Patience(
            limit_s,
            lambda: (1,),
            clock_s=lambda: self.now_s,
            waited_s=lambda _: self.without_core_s,
        )


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_it_waits_for_ever_while_something_moves(clock: Clock) -> None:
    progress = Progress("acks", 60, clock.patience)
    for acked in range(100):
        clock.now_s += 59
        progress.note(acked)


def test_it_gives_up_when_nothing_moves_and_says_what_it_saw(clock: Clock) -> None:
    progress = Progress("acks on all partitions", 60, clock.patience)
    progress.note({"acked": 7})
    clock.now_s += 59
    progress.note({"acked": 7})
    clock.now_s += 2
    with pytest.raises(Standstill) as raised:
        progress.note({"acked": 7})
    assert str(raised.value) == (
        "nothing changed for 60 s while the demo waited for acks on all partitions; seen last:"
        " {'acked': 7}"
    )


def test_it_notes_at_that_moment_whether_the_disk_is_full(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The demo must check the disk at the time of the failure, because the files of the demo's
    cluster are removed before the demo reports anything.
    """
    usage = shutil.disk_usage(tempfile.gettempdir())
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=4096))
    progress = Progress("acks", 60, clock.patience)
    progress.note(7)
    clock.now_s += 61
    with pytest.raises(Standstill) as raised:
        progress.note(7)
    assert raised.value.full_disk == tempfile.gettempdir()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1 << 30))
    assert full_disk() == ""


def test_the_time_without_a_core_does_not_count(clock: Clock) -> None:
    progress = Progress("acks", 60, clock.patience)
    progress.note(7)
    clock.now_s, clock.without_core_s = 500, 450
    progress.note(7)
    clock.now_s += 11
    with pytest.raises(Standstill):
        progress.note(7)
