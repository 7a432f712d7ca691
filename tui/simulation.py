"""A simulated run for the dashboard: `kafka_edu.cli.sim.stage_server`, a process of its own.

The dashboard imports nothing of the simulator. It finds the run by the folder of a cluster, as it
finds a real cluster.
"""

import itertools
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kafka_edu.instruments.stage_feed import StageFeed, published
from kafka_edu.supervisor.cluster_folder import ClusterFolder

from .side_process import SideProcess

SERVER: Final = "kafka_edu.cli.sim.stage_server"
"""The module of the process. It is only a name, so nothing of the simulator is imported."""
_numbers: Final = itertools.count(1)


class Simulation:
    """Starts the process of a run, and ends it. Files of its futures stay in its folder."""

    def __init__(
        self,
        file: str,
        seed: int | None,
        learners: Sequence[str] = (),
        *,
        follows: bool = False,
        resumes: bool = False,
    ) -> None:
        """Start the run of a scenario file, with learners' parts as `--learner` has them. Raises
        OSError if it cannot be started.

        A run that `follows` another run goes only to the points to which it is sent. If the run
        `resumes` an earlier run, the acts in the file are acts that a user has done by hand.
        """
        # The follower before it may still be ending, so each one has a folder of its own.
        stored = f"-stored-{next(_numbers)}" if follows else ""
        self.folder = ClusterFolder.of(f"sim-{os.getpid()}{stored}")
        self.folder.path.mkdir(parents=True, exist_ok=True)
        how = "follow" if follows else "resume" if resumes else "" if seed is None else str(seed)
        self._process = SideProcess(SERVER, str(self.folder.path), file, how, *learners)
        self.feed = StageFeed(published(self.folder.supervisor_events), self._process.failure)

    def failure(self) -> str:
        """Return why the run has ended by itself; "" while it runs."""
        return self._process.failure()

    def end(self) -> list[Path]:
        """End the run. Return the files of its futures, in the order of their numbers."""
        self._process.end()
        for path in (self.folder.supervisor_events, self.folder.action_address):
            path.unlink(missing_ok=True)
        kept = list(self.folder.futures().values())
        if not kept:
            self.folder.path.rmdir()
        return kept

    def end_and_delete(self) -> None:
        """End the run. Delete its folder, with the files of its futures."""
        self.end()
        shutil.rmtree(self.folder.path, ignore_errors=True)
