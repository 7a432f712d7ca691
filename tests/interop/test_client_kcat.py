"""The client contract with kcat, unmodified. kcat is librdkafka on the command line, without an
admin API.
"""

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from tests.interop.client_contract import (
    FIRST_TIME,
    HEADERS,
    PATIENCE_S,
    Client,
    ClientContract,
    Joined,
    Offsets,
    Read,
    Topics,
    key,
    value,
)
from tests.interop.external_programs import tool
from tests.waiting import wait_for

pytestmark = pytest.mark.interop

READ: str = "%p\t%o\t%k\t%s\n"


class Member:
    """A kcat process in a group. It prints the values it reads, and its assigned partitions."""

    def __init__(self, command: Sequence[str], folder: Path, name: str) -> None:
        self._out, self._errors = folder / f"{name}.out", folder / f"{name}.err"
        with self._out.open("wb") as out, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(command, stdout=out, stderr=errors)

    def values(self) -> set[str]:
        return set(self._out.read_text().splitlines())

    def partitions(self) -> int:
        """Return the number of partitions in the last assignment."""
        lines = re.findall(
            r"^% Group \S+ rebalanced \(.*?\): (assigned|revoked):?(.*)$",
            self._errors.read_text(),
            re.MULTILINE,
        )
        return lines[-1][1].count("[") if lines and lines[-1][0] == "assigned" else 0

    def leave(self) -> None:
        self._process.terminate()
        assert self._process.wait(PATIENCE_S) == 0


class Kcat:
    name = "kcat"  # the version is added when it is known
    lacks: ClassVar[dict[str, str]] = {
        "topics": "kcat has no admin API",
        "time": "kcat sets no timestamps",
    }

    def _kcat(self, servers: str, *arguments: str, given: str = "") -> str:
        command = ["kcat", "-b", servers, *arguments]
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, (
            f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}"
        )
        return done.stdout

    def produce(self, servers: str, topic: str, count: int, codec: str) -> None:
        lines = "".join(f"{key(i)}\t{value(i)}\n" for i in range(count))
        headers = [
            argument for name, header in HEADERS for argument in ("-H", f"{name}={header.decode()}")
        ]
        settings = ["-X", "acks=all", "-X", "linger.ms=20", "-z", codec]
        self._kcat(servers, "-P", "-t", topic, "-K", "\t", *settings, *headers, given=lines)

    def consume(self, servers: str, topic: str, count: int) -> list[Read]:
        lines = self._kcat(
            servers, "-C", "-q", "-t", topic, "-o", "beginning", "-c", str(count), "-f", READ
        ).splitlines()
        return [
            Read(int(partition), int(offset), key, value)
            for partition, offset, key, value in (line.split("\t") for line in lines)
        ]

    def join(self, servers: str, topic: str, group: str, count: int) -> Joined:
        with tempfile.TemporaryDirectory() as folder:
            settings = [
                "-X",
                "auto.offset.reset=earliest",
                "-X",
                "session.timeout.ms=10000",
                "-X",
                "heartbeat.interval.ms=200",
            ]
            command = ["kcat", "-b", servers, "-u", *settings, "-G", group, topic]
            first = Member(command, Path(folder), "first")
            wait_for(lambda: first.partitions() == 4 and len(first.values()) == count, "everything")
            second = Member(command, Path(folder), "second")
            wait_for(lambda: (first.partitions(), second.partitions()) == (2, 2), "a half each")
            first.leave()
            wait_for(lambda: second.partitions() == 4, "the rest")
            second.leave()
            return Joined(4, [2, 2], 4, sorted(first.values()))

    def offsets(self, servers: str, topic: str, group: str) -> Offsets:
        """kcat commits the position that it has read to, when it ends."""

        def query(timestamp: int) -> int:
            return int(
                re.findall(
                    r"offset (\d+)", self._kcat(servers, "-Q", "-t", f"{topic}:0:{timestamp}")
                )[0]
            )

        settings = ["-q", "-X", "auto.offset.reset=earliest", "-f", "%o\n", "-c", "4"]
        read = self._kcat(servers, *settings, "-G", group, topic).split()
        assert read == ["0", "1", "2", "3"]
        return Offsets(None, query(-2), query(-1), query(FIRST_TIME + 3))

    def topics(self, servers: str, topic: str) -> Topics:
        raise NotImplementedError(self.lacks["topics"])


class TestKcat(ClientContract):
    client: ClassVar[Client] = Kcat()

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _program(cls) -> None:
        told = subprocess.run(
            [tool("kcat", "kcat"), "-V"], capture_output=True, text=True, check=True
        )
        Kcat.name = (
            "kcat " + re.findall(r"^Version (\S+)", told.stdout + told.stderr, re.MULTILINE)[0]
        )
