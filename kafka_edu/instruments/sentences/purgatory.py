"""Sentences for the events of purgatories."""

from kafka_edu.common.words import duration, joined, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import quiet
from kafka_edu.trace.events import purgatory


def requirements(why: tuple[purgatory.Requirement, ...]) -> str:
    """Return in words what an operation waits for: `web-0 high watermark ≥ 4, is 2 (broker 2 has
    2)`.
    """
    return joined([_requirement(one) for one in why], 2) or "what it waits for is not known"


def _requirement(one: purgatory.Requirement) -> str:
    behind = [f"{name} has {have:,}" for name, have in one.holders if have < one.at_least]
    lacks = f" ({joined(behind)})" if behind else ""
    return f"{one.subject} {one.needs} ≥ {one.at_least:,}, is {one.have:,}{lacks}"


@sentence.register
def operation_watched(e: purgatory.OperationWatched) -> Sentence:
    name = e.label or e.purgatory
    return quiet(f"{name} has to wait", exact=f"{name} has to wait: {requirements(e.why)}")


@sentence.register
def operation_completed(e: purgatory.OperationCompleted) -> Sentence:
    how = {
        "event": f"completed by news of {e.key}",
        "time-out": "ends by its time-out",
        "at once": "completed at once",
    }.get(e.by, "is ended without a reason of its own")
    return quiet(
        f"{e.label or e.purgatory} is done",
        after=f"by {e.by} after {duration(e.waited_ms)}",
        exact=f"{e.label or e.purgatory} {how} after {duration(e.waited_ms)}",
    )


@sentence.register
def purgatory_purged(e: purgatory.PurgatoryPurged) -> Sentence:
    return quiet(
        f"{e.purgatory} purgatory: takes out {plural(e.purged, 'completed operation')},",
        after=f"{e.watched:,} left",
    )


@sentence.register
def waiting_operation_sampled(e: purgatory.WaitingOperationSampled) -> Sentence:
    waits = e.waiting
    name = waits.label or waits.purgatory
    return Sentence(
        f"{name} on",
        ", ".join(waits.keys) or "?",
        f"waits {waits.age_ms:,} ms",
        exact=(f"{name} has waited for {duration(waits.age_ms)}: {requirements(waits.why)}"),
    )
