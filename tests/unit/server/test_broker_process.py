"""A broker's process: what it imports, and its end when a part of it fails."""

import asyncio
import logging
import os
import subprocess
from pathlib import Path

import pytest

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.common.time import MockTime
from kafka_edu.log.log_dirs import LogDirs
from kafka_edu.server import broker_process
from kafka_edu.server.broker_process import BrokerProcess, fresh_recording
from kafka_edu.server.config.kafka_config import Setting, make_config
from kafka_edu.server.kafka_server import KafkaServer


def test_a_broker_does_not_import_what_only_the_cleaners_process_needs() -> None:
    program = "import sys, kafka_edu.server.broker_process; print('numpy' in sys.modules)"
    command = [*python_command("-")[:-2], "-c", program]
    done = subprocess.run(
        command, capture_output=True, text=True, env=python_environment(), timeout=60, check=True
    )
    assert done.stdout.strip() == "False"


def test_the_last_word_of_a_broker_that_failed_is_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """`cluster up` shows the end of the broker's log. So the reason must come last, after many
    other lines.
    """

    async def startup(server: KafkaServer) -> None:
        server.on_failure("the reaper", RuntimeError("it stumbled"))

    monkeypatch.setattr(KafkaServer, "startup", startup)
    # this process is pytest's
    for of_the_process in ("settle_garbage_collector", "raise_file_limit"):
        monkeypatch.setattr(broker_process, of_the_process, lambda: None)
    given = {"broker.id": "1", "zookeeper.connect": "127.0.0.1:1", "log.dirs": str(tmp_path)}
    config, _ = make_config({key: Setting(value, "the test") for key, value in given.items()})
    with caplog.at_level(logging.INFO):
        assert asyncio.run(BrokerProcess(config).run()) == 1
    assert (
        caplog.messages[-1]
        == "the broker has stopped, because the reaper failed: RuntimeError: it stumbled"
    )


def test_a_second_start_touches_neither_the_events_file_nor_the_recording_of_the_first(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log dirs are named in server.properties, so a second start would use the same log
    dirs.
    """
    events, recording = tmp_path / "events.json", tmp_path / "record"
    events.write_text("where the first tells its events")
    recording.write_text("what the first has recorded")
    given = {
        "broker.id": "1",
        "zookeeper.connect": "127.0.0.1:1",
        "log.dirs": str(tmp_path / "data"),
        "edu.events.file": str(events),
        "edu.record.file": str(recording),
    }
    config, _ = make_config({key: Setting(value, "the test") for key, value in given.items()})
    first = LogDirs(config.log_dirs, OsFileSystem())
    first.open()
    assert asyncio.run(BrokerProcess(config).run()) == 1
    first.release_all()
    assert "Failed to acquire lock on file .lock in" in caplog.text
    assert f"held by process {os.getpid()}" in caplog.text
    assert events.read_text() == "where the first tells its events"
    assert recording.read_text() == "what the first has recorded"


@pytest.mark.parametrize(
    ("name", "older"),
    [("events", ["events.1", "events.2"]), ("events.gz", ["events.1.gz", "events.2.gz"])],
)
def test_older_recordings_get_numbers_and_stay_readable(
    name: str, older: list[str], tmp_path: Path
) -> None:
    """The suffix .gz says that a recording is compressed, so it stays at the end of the name."""
    for start in range(3):
        Path(fresh_recording(str(tmp_path / name))).write_text(f"start {start}")
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([name, *older])
    assert [(tmp_path / one).read_text() for one in (*older, name)] == [
        "start 0",
        "start 1",
        "start 2",
    ]


@pytest.mark.parametrize("has_heap", [True, False])
def test_garbage_is_searched_once_a_minute_and_for_a_thousandth_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_heap: bool
) -> None:
    """In a broker with many partitions a search takes long. Then the next search comes later."""
    time = MockTime()
    took_ms = iter([5.0, 200.0])
    steps: list[tuple[str, int]] = []

    def search() -> float:
        steps.append(("search", time.milliseconds()))
        return next(took_ms)  # the third search ends the test

    def trim() -> None:
        steps.append(("trim", time.milliseconds()))

    given = {"broker.id": "1", "zookeeper.connect": "127.0.0.1:1", "log.dirs": str(tmp_path)}
    config, _ = make_config({key: Setting(value, "the test") for key, value in given.items()})
    process = BrokerProcess(config)
    monkeypatch.setattr(process, "_time", time)
    monkeypatch.setattr(broker_process, "collect_garbage", search)
    monkeypatch.setattr(broker_process, "heap_trimmer", lambda: trim if has_heap else None)
    began = time.milliseconds()
    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(process._give_back_memory())
    process._workers.shutdown()
    searched = [at - began for step, at in steps if step == "search"]
    assert searched == [60_000, 120_000, 320_000]
    assert [step for step, _ in steps].count("trim") == (2 if has_heap else 0)
