"""The table that maps each type of event to the function that makes its sentence.

The modules next to this one fill the table, one module for each area of `kafka_edu.trace.events`. A
test checks that each type of fact has a sentence.
"""

import re
from functools import singledispatch

from kafka_edu.instruments.sentence import Sentence
from kafka_edu.trace.event import EVENT_TYPES, Event, Kind


@singledispatch
def sentence(event: Event) -> Sentence:
    """Return the sentence for an event. O(1): a look-up by the type of the event.

    A snapshot or a sample describes a state and not a change. So most types of snapshots and
    samples have the same sentence. Raises LookupError if a type of fact has no sentence.
    """
    name = type(event).__name__
    known = EVENT_TYPES.get(name)
    if known is None or known.kind is Kind.FACT:
        raise LookupError(f"no sentence for {name}: add it to instruments/sentences")
    of_what = re.sub(r"(?<!^)(?=[A-Z])", " ", re.sub(r"(Snapshot|Sampled)$", "", name)).lower()
    return Sentence(f"reports its state: {of_what}", loud=False)


def fact_text(event: Event) -> str:
    """Return an event as one line of plain text, with its numbers."""
    return sentence(event).line
