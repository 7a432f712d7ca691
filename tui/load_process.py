"""The load that the dashboard's key starts: a process of its own, `kafka-edu load`."""

from collections.abc import Sequence

from .side_process import SideProcess


class LoadProcess:
    """Runs at most one load at a time.

    A load that was stopped may still wait for its last answers while the next load begins.
    """

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._process: SideProcess | None = None
        self._ending: list[SideProcess] = []

    @property
    def running(self) -> bool:
        """Return whether a load is running that was not stopped."""
        return self._process is not None and self._process.running

    async def runs(self) -> bool:
        """Return `running`. This is a coroutine, because a simulated load must ask the
        simulation.
        """
        return self.running

    async def start(self, options: Sequence[str] = ()) -> None:
        """Start a load with these options of its command.

        Raises OSError if it cannot be started.
        """
        self._ending = [process for process in self._ending if process.running]
        self._process = SideProcess(
            "kafka_edu", "load", "--cluster", self._cluster, "--while-stdin-is-open", *options
        )

    async def stop(self) -> None:
        """Ask the load to end. The load first waits some seconds for its last answers."""
        if self._process is not None:
            self._process.close()
            self._ending.append(self._process)
        self._process = None

    def failure(self) -> str | None:
        """Return why the load ended by itself. Return None if it runs or was stopped.

        Each reason is returned only once.
        """
        if self._process is None or self._process.running:
            return None
        process, self._process = self._process, None
        return process.failure() or None
