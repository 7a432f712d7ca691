"""The files that are made for one learner. Each learner has a different seed, so the files of two
learners have different numbers. A learner cannot copy another learner's answers.
"""

import importlib
from collections.abc import Mapping
from random import randrange
from typing import Protocol

from .manifest import Exercise


class Material(Protocol):
    """The functions that the module named `material` in the manifest must have."""

    def make(self, seed: int) -> Mapping[str, str]:
        """Return the content of each file, by file name. The reference solution uses seed 0."""
        ...


def material_of(exercise: Exercise) -> Material:
    """Return the module that makes the learner's own files for an exercise."""
    package = __name__.rpartition(".")[0].rpartition(".")[0]
    module: Material = importlib.import_module(f"{package}.{exercise.material}")
    return module


def new_seed() -> int:
    """Return a random seed above 0 that is short enough to be typed."""
    return randrange(1, 1_000_000)
