"""Sentences for the events of our own consumer."""

from kafka_edu.common.words import plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import member_name, quiet
from kafka_edu.trace.events import consumer


@sentence.register
def consumer_subscribed(e: consumer.ConsumerSubscribed) -> Sentence:
    wanted = f"topics {', '.join(e.topics)}" if e.topics else ", ".join(e.partitions)
    if e.pattern:
        wanted = f"pattern {e.pattern}, which matches {wanted or 'no topic'}"
    return quiet(
        f"{e.client}: subscribes to",
        wanted or "nothing",
        because="the program changed the subscription",
    )


@sentence.register
def consumer_assigned(e: consumer.ConsumerAssigned) -> Sentence:
    return quiet(
        f"{e.client}: now reads",
        ", ".join(e.partitions) or "no partition",
        because="the consumer's partitions changed",
    )


@sentence.register
def fetch_state_changed(e: consumer.FetchStateChanged) -> Sentence:
    place = f"at offset {e.offset:,}" if e.offset >= 0 else "without an offset"
    return quiet(
        f"{e.client}:",
        f"{e.topic}-{e.partition}",
        f"is in state {e.after}, {place}",
        reason=e.reason,
        because="the state of the partition changed",
    )


@sentence.register
def partition_paused(e: consumer.PartitionPaused) -> Sentence:
    return quiet(f"{e.client}: pauses", f"{e.topic}-{e.partition}", because="it was paused")


@sentence.register
def partition_resumed(e: consumer.PartitionResumed) -> Sentence:
    return quiet(f"{e.client}: resumes", f"{e.topic}-{e.partition}", because="it was resumed")


@sentence.register
def position_advanced(e: consumer.PositionAdvanced) -> Sentence:
    return quiet(
        f"{e.client}:",
        f"{e.topic}-{e.partition}",
        f"the position moves from {e.before:,} to {e.after:,} ({plural(e.records, 'record')})",
        because="the records were returned",
    )


@sentence.register
def records_fetched(e: consumer.RecordsFetched) -> Sentence:
    return quiet(
        f"{e.client}: has {e.bytes} bytes of",
        f"{e.topic}-{e.partition}",
        f"from broker {e.broker_id}, from offset {e.offset:,} on (HW {e.high_watermark:,})",
        because="the records were fetched",
    )


@sentence.register
def group_coordinator_changed(e: consumer.GroupCoordinatorChanged) -> Sentence:
    if e.broker_id < 0:
        return quiet(
            f"{e.client}: has no coordinator",
            f"for group {e.group}",
            reason=e.reason,
            because="the coordinator was lost",
        )
    return quiet(
        f"{e.client}: the coordinator of group {e.group}",
        f"is broker {e.broker_id}",
        because="the coordinator was found",
    )


@sentence.register
def membership_changed(e: consumer.MembershipChanged) -> Sentence:
    return quiet(
        f"{e.client}: is a member of group {e.group}",
        f"in state {e.after}",
        f"in generation {e.generation}",
        reason=e.reason,
        because="the membership changed",
    )


@sentence.register
def consumer_led_assignment(e: consumer.ConsumerLedAssignment) -> Sentence:
    shares = ", ".join(
        f"{member_name(member)} gets {plural(len(partitions), 'partition')}"
        for member, partitions in e.members
    )
    return quiet(
        f"{e.client}: leads group {e.group} and divides the partitions by {e.assignor}",
        f"for generation {e.generation}",
        shares,
        because="the leader assigned the partitions",
    )


@sentence.register
def consumer_committed(e: consumer.ConsumerCommitted) -> Sentence:
    offsets = ", ".join(f"{partition} at {offset:,}" for partition, offset in e.offsets)
    verb = "could not commit" if e.error else "has committed"
    return quiet(
        f"{e.client}: {verb}",
        f"for group {e.group}",
        offsets or "no offset",
        reason=e.error,
        because="the commit was answered",
    )
