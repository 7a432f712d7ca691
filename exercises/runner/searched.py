"""The result of trying a learner's rule in every order of a small world's events."""

import importlib
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kafka_edu.learner.learner import Learner
from kafka_edu.trace.event import Envelope

from .manifest import Exercise


class Searched(NamedTuple):
    """What a search has found, in words, and the recording of the shortest wrong order."""

    tried: tuple[str, ...]
    """What was tried, a line for each search, with what was left out."""
    order: tuple[str, ...] = ()
    """The shortest wrong order, a line for each step, and the fault. Empty: no order is wrong."""
    events: Sequence[Envelope] = ()
    """The same order as a recording."""


class SearchError(Exception):
    """The learner's code does not do what can be searched. The message says what it does."""


class EveryOrder(Protocol):
    """The function of the module named `orders` in the manifest."""

    def search(self, learner: Learner, file: str) -> Searched:
        """Try the learner's code in every order. Raises LearnerFailure and SearchError."""
        ...


def every_order_of(exercise: Exercise) -> EveryOrder:
    """Return the module that tries every order for an exercise."""
    package = __name__.rpartition(".")[0].rpartition(".")[0]
    module: EveryOrder = importlib.import_module(f"{package}.{exercise.orders}")
    return module
