"""A simulated run for the dashboard: `kafka_edu.cli.sim.stage_server`, a process of its own.

The dashboard imports nothing of the simulator. It finds the run by the folder of a cluster, as it
finds a real cluster.
"""

import os
from pathlib import Path
from typing import Final

from kafka_edu.instruments.stage_feed import StageFeed
from kafka_edu.supervisor.cluster_folder import ClusterFolder

from .side_process import SideProcess

SERVER: Final = "kafka_edu.cli.sim.stage_server"
"""The module of the process. It is only a name, so nothing of the simulator is imported."""


class Simulation:
    """Starts the process of a run, and ends it. Files of its futures stay in its folder."""

    def __init__(self, file: str, seed: int | None) -> None:
        """Start the run of a scenario file. Raises OSError if it cannot be started."""
        self.folder = ClusterFolder.of(f"sim-{os.getpid()}")
        self.folder.path.mkdir(parents=True, exist_ok=True)
        seeds = [] if seed is None else [str(seed)]
        self._process = SideProcess(SERVER, str(self.folder.path), file, *seeds)
        self.feed = StageFeed(self.folder, self._process.failure)

    def end(self) -> list[Path]:
        """End the run. Return the files of its futures."""
        self._process.end()
        for path in (self.folder.supervisor_events, self.folder.action_address):
            path.unlink(missing_ok=True)
        kept = sorted(self.folder.path.glob("future-*.sim"))
        if not kept:
            self.folder.path.rmdir()
        return kept
