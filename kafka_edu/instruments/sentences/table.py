"""The one table of sentences: type of event → function that makes its sentence.

The modules next to this one fill it, one for each area of `kafka_edu.trace.events`. A test demands
a sentence for each fact.
"""

from functools import singledispatch

from kafka_edu.instruments.sentence import Sentence
from kafka_edu.trace.event import Event


@singledispatch
def sentence(event: Event) -> Sentence:
    """Return an event as a sentence. O(1): the type of the event finds the function.

    Raises LookupError if the type has no sentence.
    """
    raise LookupError(f"no sentence for {type(event).__name__}: add it to instruments/sentences")


def fact_text(event: Event) -> str:
    """Return an event as one line of plain text, with its numbers."""
    return sentence(event).line
