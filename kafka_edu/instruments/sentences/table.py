"""The one table of sentences: type of event → function that makes its sentence.

The modules next to this one fill it, one for each area of `kafka_edu.trace.events`. A test demands
a sentence for each fact.
"""

import re
from functools import singledispatch

from kafka_edu.instruments.sentence import Sentence
from kafka_edu.trace.event import EVENT_TYPES, Event, Kind


@singledispatch
def sentence(event: Event) -> Sentence:
    """Return an event as a sentence. O(1): the type of the event finds the function.

    A snapshot or a sample says what is, and not what happened, so most of them share one sentence.
    Raises LookupError if the type of a fact has no sentence.
    """
    name = type(event).__name__
    known = EVENT_TYPES.get(name)
    if known is None or known.kind is Kind.FACT:
        raise LookupError(f"no sentence for {name}: add it to instruments/sentences")
    of_what = re.sub(r"(?<!^)(?=[A-Z])", " ", re.sub(r"(Snapshot|Sampled)$", "", name)).lower()
    return Sentence(f"says how things are: {of_what}", loud=False)


def fact_text(event: Event) -> str:
    """Return an event as one line of plain text, with its numbers."""
    return sentence(event).line
