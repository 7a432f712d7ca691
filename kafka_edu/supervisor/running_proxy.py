"""Run a metadata proxy in its own process during a `with` block. The demo, tests and chapters use
it.

with running_proxy(folder, "--target", cluster.bootstrap_servers) as (proxy, address):
    ...                          # the address goes to any client as bootstrap.servers
    events = proxy.stop()        # all its events
"""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.supervisor.cluster import ClusterError
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.proxy import ProxyStarted
from kafka_edu.trace.reader import open_recording
from kafka_edu.trace.wire_format import TraceFormatError

_START_TIMEOUT_S: Final = 30.0
_STOP_TIMEOUT_S: Final = 30.0
_LOOK_EVERY_S: Final = 0.02


class RunningProxy:
    """One process of the metadata proxy. All files that it writes are in its own folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        """`options` are the options of `kafka-edu proxy`. By default the proxy listens on a free
        loopback port.
        """
        self.folder = folder
        self._events = folder / "proxy.events"
        self._output = folder / "proxy.out"
        where = () if "--listen" in options else ("--listen", "127.0.0.1:0")
        command = python_command(
            "kafka_edu.supervisor.supervised_child",
            str(os.getpid()),
            "kafka_edu",
            "proxy",
            *where,
            "--events",
            str(self._events),
            *options,
        )
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=python_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self) -> str:
        """Wait until the proxy accepts connections. Return its host:port. Raises ClusterError with
        the proxy's output if it does not start.
        """
        end = time.monotonic() + _START_TIMEOUT_S
        while True:
            for envelope in self.events():
                if isinstance(envelope.event, ProxyStarted):
                    return envelope.event.listener
            if self._process.poll() is not None or time.monotonic() > end:
                raise ClusterError(f"the proxy is not up: {self.said() or 'it said nothing'}")
            time.sleep(_LOOK_EVERY_S)

    def events(self) -> list[Envelope]:
        """Return the events that the proxy has written so far."""
        try:
            return open_recording(str(self._events))
        except (
            FileNotFoundError,
            TraceFormatError,
        ):  # the proxy has not begun to write, or its first line is incomplete
            return []

    def said(self) -> str:
        """Return the text that the proxy has written to its console."""
        return self._output.read_text(encoding="utf-8")

    def stop(self) -> list[Envelope]:
        """Send SIGTERM and wait for the end. Return all events of the proxy."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        return self.events()


@contextlib.contextmanager
def running_proxy(folder: Path, *options: str) -> Iterator[tuple[RunningProxy, str]]:
    """Run the proxy during the block. The block gets the proxy and its address when it is ready.
    Raises ClusterError with the proxy's output if it does not start.
    """
    proxy = RunningProxy(folder, *options)
    try:
        yield proxy, proxy.wait_ready()
    finally:
        proxy.stop()
