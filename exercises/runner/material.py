"""Files made for one learner: a run whose numbers nobody else has."""

import importlib
from collections.abc import Mapping
from random import randrange
from typing import Protocol

from .manifest import Exercise


class Material(Protocol):
    """The functions of the module named `material` in the manifest."""

    def make(self, seed: int) -> Mapping[str, str]:
        """Return file names and contents. Seed 0 is that of the reference solution."""
        ...


def material_of(exercise: Exercise) -> Material:
    """Return the module that makes an exercise's files."""
    package = __name__.rpartition(".")[0].rpartition(".")[0]
    module: Material = importlib.import_module(f"{package}.{exercise.material}")
    return module


def new_seed() -> int:
    """Return a seed that is short enough to be typed again, and not 0."""
    return randrange(1, 1_000_000)
