"""A program next to the cluster of an operate exercise: its settings, its notes, and its end."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Self

import pytest

from exercises import lab_program
from exercises.ch13_consumer_groups.ex08_lag import office
from exercises.ch14_offsets.ex06_reset_group import billing
from exercises.ch16_spark.ex18s_falls_behind import shop
from exercises.lab_program import (
    SILENT_S,
    LabProgram,
    SettingsFile,
    set_setting,
    settings_of,
    while_cluster_is_up,
    write_notes,
)
from kafka_edu.supervisor.cluster_folder import ClusterFolder

SHOP = LabProgram("a.module.of.nobody", "shop.json")


class Seen(NamedTuple):
    pid: int
    orders: int


class Stopwatch:
    """A clock that a sleep moves."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        patch.setattr(lab_program, "time", self)

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def test_settings_are_given_once_for_each_change(tmp_path: Path) -> None:
    file = tmp_path / "shop.properties"
    settings = SettingsFile(file)
    file.write_text("# so fast\nrate = 50\nnames=a=b\n")
    assert settings.changed() == {"rate": "50", "names": "a=b"}
    assert settings.changed() is None
    set_setting(file, "rate", "60")
    assert settings.changed() == {"names": "a=b", "rate": "60"}
    assert settings.complaint == ""


def test_refused_settings_are_a_complaint_until_new_ones_come(tmp_path: Path) -> None:
    file = tmp_path / "shop.properties"
    file.write_text("rate=x\n")
    settings = SettingsFile(file)
    assert settings.changed() is not None
    settings.refused = "rate=x is no number"
    assert settings.changed() is None
    assert settings.complaint == "rate=x is no number"
    set_setting(file, "rate", "7")
    assert settings.changed() == {"rate": "7"}
    assert settings.complaint == ""


def test_a_file_that_is_back_is_no_complaint_any_more(tmp_path: Path) -> None:
    """An editor may remove the file for a moment and then write the same text again. After that the
    complaint is gone.
    """
    file = tmp_path / "shop.properties"
    file.write_text("rate=50\n")
    settings = SettingsFile(file)
    assert settings.changed() == {"rate": "50"}
    file.unlink()
    assert settings.changed() is None
    assert "shop.properties cannot be read" in settings.complaint
    file.write_text("rate=50\n")
    assert settings.changed() is None, "they are in use all the time"
    assert settings.complaint == ""


def test_a_setting_replaces_its_old_line_alone(tmp_path: Path) -> None:
    file = tmp_path / "shop.properties"
    file.write_text("# rate=1 is slow\nrate = 50\nrate.limit=9\n")
    set_setting(file, "rate", "60")
    assert file.read_text() == "# rate=1 is slow\nrate.limit=9\nrate=60\n"
    assert settings_of(file.read_text()) == {"rate": "60", "rate.limit": "9"}


def test_notes_that_change_are_watched_and_a_program_that_hangs_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Stopwatch(monkeypatch)
    monkeypatch.setattr(LabProgram, "is_it", lambda *_: True)
    notes = (Seen(7, min(number, 9)) for number in range(100_000))
    seen = list(SHOP.watched(lambda: next(notes)))
    assert [one.orders for one in seen[:11]] == [*range(10), 9]
    assert SILENT_S < clock.now_s < SILENT_S + 5


def test_a_program_that_has_ended_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    Stopwatch(monkeypatch)
    monkeypatch.setattr(LabProgram, "is_it", lambda *_: False)
    assert list(SHOP.watched(lambda: Seen(7, 1))) == [Seen(7, 1)] * 2
    assert list(SHOP.watched(lambda: None)) == []
    looks: Iterator[Seen | None] = iter([Seen(7, 1), Seen(7, 2), None])
    assert list(SHOP.watched(lambda: next(looks))) == [Seen(7, 1), Seen(7, 2)]


def test_notes_are_written_as_a_whole(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    assert SHOP.read(folder) is None
    for orders in (1, 2):
        write_notes(tmp_path / SHOP.notes, Seen(7, orders)._asdict())
        assert SHOP.read(folder) == {"pid": 7, "orders": orders}
    assert [file.name for file in tmp_path.iterdir()] == [SHOP.notes]
    write_notes(tmp_path / "gone" / SHOP.notes, {})


def test_only_a_program_of_its_kind_is_ended(tmp_path: Path) -> None:
    for more, right in (([SHOP.module], True), ([], False)):
        with subprocess.Popen(
            [sys.executable, "-c", "input()", *more], stdin=subprocess.PIPE
        ) as process:
            assert SHOP.is_it(process.pid) is right
            (tmp_path / SHOP.notes).write_text(json.dumps({"pid": process.pid}))
            SHOP.end(ClusterFolder(tmp_path))
            assert (process.poll() is not None) is right
            if not right:
                process.communicate(b"\n")
    assert not SHOP.is_it(process.pid)
    SHOP.end(ClusterFolder(tmp_path))


def test_a_program_works_while_its_cluster_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Stopwatch(monkeypatch)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as supervisor:
        is_up = while_cluster_is_up(tmp_path, supervisor.pid)
        assert is_up()
        assert not while_cluster_is_up(tmp_path / "gone", supervisor.pid)()
        clock.sleep(lab_program.OPEN_S)
        assert not is_up()
        is_up = while_cluster_is_up(tmp_path, supervisor.pid)
        supervisor.communicate(b"\n")
    assert not is_up()


class LonelyProducer:
    """A producer whose brokers are gone. A call of `close` would wait for them."""

    sent = 0

    def __init__(self, config: object, trace: object) -> None:
        del config, trace

    async def start(self) -> Self:
        return self

    async def send(self, *_: object, **__: object) -> None:
        LonelyProducer.sent += 1

    async def flush(self) -> None:
        pass

    async def close(self) -> None:
        raise AssertionError("the program waits for brokers that are gone")


@pytest.mark.parametrize(
    ("module", "program"),
    [
        (shop, lambda folder: shop.Shop(folder, 1, "b:1", 7)),
        (office, lambda folder: office.Office(folder, 1, "b:1", folder / "file")),
        (billing, lambda folder: billing.Billing(folder, 1, "b:1", folder / "file", [0])),
    ],
    ids=["16-18s", "13-8", "14-6"],
)
def test_a_program_whose_cluster_is_gone_ends_and_closes_nothing(
    module: ModuleType,
    program: Callable[[Path], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The supervisor was killed, so only the program's own `os._exit` ends the program."""
    up = iter([True, True, False])
    (tmp_path / "file").write_text("workers=0\nmembers=0\n", encoding="utf-8")
    monkeypatch.setattr(module, "while_cluster_is_up", lambda *_: lambda: next(up))
    monkeypatch.setattr(module, "Producer", LonelyProducer)
    monkeypatch.setattr(LonelyProducer, "sent", 0)
    asyncio.run(program(tmp_path).run(None))
    assert LonelyProducer.sent > 0
    assert json.loads((tmp_path / module.NOTES).read_text(encoding="utf-8"))["pid"]
