"""Clusters in trouble, which an exercise of the kind *operate* is about."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from .manifest import Exercise
from .verdict import Step


class Trouble(Protocol):
    """The functions of the module named `trouble` in the manifest. All of them raise ClusterError.

    `home` is the folder of all clusters, if it is not the usual one.
    """

    def begin(
        self, seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None
    ) -> None:
        """Start the cluster and bring it into the trouble that the seed gives. It stays up.

        `folder` is the learner's; the state before the trouble is kept there.
        """
        ...

    def is_running(self, home: Path | None = None) -> bool:
        """Return whether the cluster is up."""
        ...

    def check_state(
        self, folder: Path, say: Callable[[str], None], home: Path | None = None
    ) -> Iterator[Step]:
        """Yield what holds of the cluster now."""
        ...

    def perform(self, acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
        """Do what a script says: a reference solution or a wrong answer."""
        ...

    def end(self, home: Path | None = None) -> bool:
        """End the cluster. Returns False if there was none."""
        ...


def trouble_of(exercise: Exercise) -> Trouble:
    """Return the module that makes an exercise's trouble."""
    package = __name__.rpartition(".")[0].rpartition(".")[0]
    module: Trouble = importlib.import_module(f"{package}.{exercise.trouble}")
    return module
