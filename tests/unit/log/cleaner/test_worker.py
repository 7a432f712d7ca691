"""A pass of compaction in a process of its own."""

import ast
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.cleaner.clean_job import CleanJob, job_line, read_result
from kafka_edu.log.cleaner.cleaner import Cleaner, no_throttle
from kafka_edu.log.cleaner.log_cleaner_manager import LogCleanerManager
from kafka_edu.log.cleaner.worker import AUTOGROUP, NICE
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.server.cleaner_process import WORKER, run_in_a_process
from tests.defaults import PRODUCER_ID_EXPIRATION_MS
from tests.unit.log.cleaner.world import NOW, job_of, write


def job_in(folder: Path) -> CleanJob:
    """A job over a log on the machine's disk."""
    log, _ = load_log(
        TopicPartition("t", 0),
        str(folder),
        str(folder / "t-0"),
        OsFileSystem(),
        LogConfig.parse({"cleanup.policy": "compact", "segment.index.bytes": "4096"}),
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
    write(log, ("a", "1"), ("a", "2"), ("b", "1"))
    log.roll(NOW)
    job = job_of(LogCleanerManager({}).look_at(log, NOW))
    log.close()
    return job


def test_it_does_what_a_cleaner_here_would_do(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    found = asyncio.run(run_in_a_process(job))
    cleaned = (tmp_path / "t-0" / f"{0:020d}.log.cleaned").read_bytes()
    assert found == Cleaner(job, OsFileSystem(), no_throttle).clean()
    assert (tmp_path / "t-0" / f"{0:020d}.log.cleaned").read_bytes() == cleaned
    assert found.groups[0].lost.superseded == 1


def test_an_error_of_the_disk_is_one_here_too(tmp_path: Path) -> None:
    job = job_in(tmp_path)._replace(directory=str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError):
        asyncio.run(run_in_a_process(job))


def test_a_worker_that_dies_is_named_by_its_last_line(tmp_path: Path) -> None:
    broken = job_in(tmp_path)._replace(load_factor="much")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="TypeError"):
        asyncio.run(run_in_a_process(broken))


def test_it_ends_with_its_broker(tmp_path: Path) -> None:
    slow = job_in(tmp_path)._replace(max_bytes_per_second=1.0)
    worker = subprocess.Popen(
        python_command(WORKER),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=python_environment(),
    )
    assert worker.stdin is not None
    worker.stdin.write(job_line(slow))
    worker.stdin.close()
    assert worker.wait(60) == 1


LOOK = """
import os
from pathlib import Path
from kafka_edu.log.cleaner import worker
from kafka_edu.log.cleaner.clean_job import CleanResult

class Looking:
    def __init__(self, job, files, took):
        self._took = took

    def clean(self):
        self._took(worker.LARGE_BYTES)
        before = os.getsid(0) == os.getpid()
        self._took(1)
        group = worker.AUTOGROUP.read_text() if worker.AUTOGROUP.exists() else f"nice {worker.NICE}"
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        seen = [nice, before, os.getsid(0) == os.getpid(), group.strip()]
        return CleanResult(0, (), 0, str(seen))

worker.Cleaner = Looking
raise SystemExit(worker.main())
"""


def test_a_large_pass_gives_way_also_to_processes_of_other_sessions(tmp_path: Path) -> None:
    """Where Linux schedules by session, a nice value counts only inside the process's session. So a
    large pass leaves the broker's session. A small pass stays there, so that it ends soon on a busy
    machine.
    """
    worker = subprocess.Popen(
        [sys.executable, "-c", LOOK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=python_environment(),
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    with worker:
        worker.stdin.write(job_line(job_in(tmp_path)))
        worker.stdin.flush()
        nice, before, leads, group = ast.literal_eval(read_result(worker.stdout.readline()).corrupt)
    assert nice == min(os.getpriority(os.PRIO_PROCESS, 0) + NICE, 19)
    assert (before, leads) == (False, AUTOGROUP.exists())
    assert group.endswith(f"nice {NICE}")


TRY = """
import errno, sys
from pathlib import Path
from kafka_edu.log.cleaner import worker

class Autogroup:
    tries = 0

    def exists(self):
        return True

    def write_text(self, text):
        self.tries += 1
        if self.tries < 3:
            raise BlockingIOError(errno.EAGAIN, "only now and then")
        print(self.tries, text)

worker.AUTOGROUP_PAUSE_S = 0
worker.give_way(Autogroup())
"""


def test_it_asks_again_where_linux_takes_the_nice_value_only_now_and_then() -> None:
    found = subprocess.run(
        [sys.executable, "-c", TRY], capture_output=True, text=True, env=python_environment()
    )
    assert found.stdout.split() == ["3", str(NICE)], found.stderr


def test_a_result_is_read_again() -> None:
    line = json.dumps([9, [[[0, 4], 100, 50, 7, [1, 2, 3, 4, 5]]], 6, ""]).encode()
    result = read_result(line)
    assert (result.end_offset, result.map_entries) == (9, 6)
    assert result.groups[0].bases == (0, 4)
    assert result.groups[0].lost.markers == 4
