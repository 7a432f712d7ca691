"""Sentences for the events about the trace itself."""

from kafka_edu.common.words import duration, joined, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.trace.events import trace


@sentence.register
def gap(e: trace.Gap) -> Sentence:
    of = f": {joined([f'{count:,} {name}' for name, count in e.by_type])}" if e.by_type else ""
    lost = f"sent {plural(e.dropped, 'event')} that did not get here"
    slow = "the reader was too slow"
    return Sentence(lost, reason=slow, exact=f"{lost}, because {slow}{of}")


@sentence.register
def hops_left_out(e: trace.HopsLeftOut) -> Sentence:
    return Sentence(
        "left out its hops",
        after=f"for {duration(e.for_us / 1000)}",
        reason="there were more than edu.record.hops.per.second allows",
        loud=False,
    )


@sentence.register
def sink_failed(e: trace.SinkFailed) -> Sentence:
    return Sentence(f"✕ {e.sink} has failed", after="and ends here", reason=e.reason)


@sentence.register
def sample_failed(e: trace.SampleFailed) -> Sentence:
    return Sentence(f"✕ {e.sample} cannot be sampled", reason=e.reason)


@sentence.register
def event_connection_failed(e: trace.EventConnectionFailed) -> Sentence:
    return Sentence(f"✕ failed at {e.doing}", after=f"for {e.peer}", reason=e.error)
