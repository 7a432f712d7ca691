"""Search all orders of a small world's events for an order in which a learner's rule is wrong."""

import importlib
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kafka_edu.learner.learner import Learner
from kafka_edu.trace.event import Envelope

from .manifest import Exercise


class Searched(NamedTuple):
    """The result of a search: the orders tried, and the shortest one in which the rule failed."""

    tried: tuple[str, ...]
    """One line for each search: what was tried and what was left out."""
    order: tuple[str, ...] = ()
    """The shortest series of events in which the learner's rule was wrong. One line for each
    event; the last line is the fault. Empty if the rule was right in every order.
    """
    events: Sequence[Envelope] = ()
    """The recording of `order`: the events of the run in which the rule was wrong."""


class SearchError(Exception):
    """The learner's code does something that cannot be searched. The message says what."""


class EveryOrder(Protocol):
    """The functions that the module named `orders` in the manifest must have."""

    def search(self, learner: Learner, file: str) -> Searched:
        """Try the learner's code in every order of events. Raises LearnerFailure and
        SearchError.
        """
        ...


def every_order_of(exercise: Exercise) -> EveryOrder:
    """Return the module that tries every order of events for an exercise."""
    package = __name__.rpartition(".")[0].rpartition(".")[0]
    module: EveryOrder = importlib.import_module(f"{package}.{exercise.orders}")
    return module
