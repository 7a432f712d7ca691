"""The clusters in trouble that exercises of the kind *operate* are about."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from .manifest import Exercise
from .verdict import Step


class Trouble(Protocol):
    """The functions that the module named `trouble` in the manifest must have.

    All functions raise ClusterError. `home` is the folder of all clusters. None means the usual
    folder.
    """

    def begin(
        self, seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None
    ) -> None:
        """Start the cluster, and make the trouble that the seed determines. The cluster stays up.

        `folder` is the learner's folder. The state before the trouble is stored in this folder.
        """
        ...

    def is_running(self, home: Path | None = None) -> bool:
        """Return whether the cluster is up."""
        ...

    def check_state(
        self, folder: Path, say: Callable[[str], None], home: Path | None = None
    ) -> Iterator[Step]:
        """Check the cluster now. Yield a step for each condition."""
        ...

    def perform(self, acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
        """Do the actions of a script, which is a reference solution or a wrong answer."""
        ...

    def end(self, home: Path | None = None) -> bool:
        """Stop and remove the cluster. Return whether it was up."""
        ...


def trouble_of(exercise: Exercise) -> Trouble:
    """Return the module that makes an exercise's trouble."""
    package = __name__.rpartition(".")[0].rpartition(".")[0]
    module: Trouble = importlib.import_module(f"{package}.{exercise.trouble}")
    return module
