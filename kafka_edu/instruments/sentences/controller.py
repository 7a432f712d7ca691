"""Sentences for the controller's events."""

from kafka_edu.common.words import duration, joined, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import (
    api_name,
    brief_error,
    ids,
    micros,
    quiet,
    short_state,
)
from kafka_edu.trace.events import controller


def _elected(e: controller.LeaderElected) -> Sentence:
    """Describe a leader election: its strategy, and the set of replicas that decided it."""
    if e.old_leader < 0:
        reason = ""  # no reason here: the chain of causes shows it
    elif e.old_leader not in e.replicas:
        reason = f"it is moved away from broker {e.old_leader}"
    elif e.old_leader in e.shutting_down:
        reason = f"broker {e.old_leader} is about to go"
    elif e.old_leader not in e.live:
        reason = f"broker {e.old_leader} is gone"
    elif e.replicas and e.new_leader == e.replicas[0]:
        reason = "it is the preferred replica"
    else:
        reason = e.strategy
    loss = " UNCLEAN: records may be lost" if e.unclean else ""
    before = f"broker {e.old_leader}" if e.old_leader >= 0 else "nobody"
    after = f"{'broker ' if e.old_leader < 0 else ''}{e.new_leader}"
    what = f"{before} → {after}{loss}"
    return Sentence(
        "leader of",
        f"{e.topic}-{e.partition}",
        what,
        reason,
        f"{e.topic}-{e.partition} got a new leader",
    )


@sentence.register
def zk_watch_fired(e: controller.ZkWatchFired) -> Sentence:
    return Sentence(
        f"watch fired: {e.type}",
        after=e.path,
        because=f"{e.path} changed",
        exact=f"is notified by its watch on {e.path}",
        loud=False,
    )


@sentence.register
def controller_elected(e: controller.ControllerElected) -> Sentence:
    return Sentence(
        "♛ is the controller now",
        after=f"(epoch {e.epoch})",
        because="a new controller was elected",
    )


@sentence.register
def controller_resigned(e: controller.ControllerResigned) -> Sentence:
    return Sentence("is no longer the controller", after=f"(epoch {e.epoch})", reason=e.reason)


@sentence.register
def active_controller_changed(e: controller.ActiveControllerChanged) -> Sentence:
    if e.controller_id < 0:
        return quiet("reads that there is no controller")
    return quiet(f"reads that the controller is broker {e.controller_id}")


@sentence.register
def controller_event_queued(e: controller.ControllerEventQueued) -> Sentence:
    return Sentence(f"queued for the controller: {e.name}", after=e.detail, loud=False)


@sentence.register
def controller_event_started(e: controller.ControllerEventStarted) -> Sentence:
    return Sentence(f"controller handles {e.name}", after=e.detail, loud=False)


@sentence.register
def controller_event_processed(e: controller.ControllerEventProcessed) -> Sentence:
    failed = f": {e.error}" if e.error else ""
    return quiet(
        f"controller has handled {e.name}",
        after=f"it took {duration(e.took_us / 1000)}",
        exact=f"controller has handled {e.name} after {micros(e.took_us)}{failed}",
    )


@sentence.register
def partition_state_changed(e: controller.PartitionStateChanged) -> Sentence:
    return Sentence(
        "partition",
        f"{e.topic}-{e.partition}",
        f"{short_state(e.before)} → {short_state(e.after)}",
        e.reason,
        loud=False,
    )


@sentence.register
def replica_state_changed(e: controller.ReplicaStateChanged) -> Sentence:
    replica = f"{e.topic}-{e.partition} on broker {e.replica}"
    return Sentence(
        "replica",
        replica,
        f"{short_state(e.before)} → {short_state(e.after)}",
        e.reason,
        loud=False,
    )


@sentence.register
def state_change_refused(e: controller.StateChangeRefused) -> Sentence:
    what = "the partition" if e.replica < 0 else f"the replica on broker {e.replica} of"
    return Sentence(
        f"✗ does not change {what}",
        f"{e.topic}-{e.partition}",
        f"{short_state(e.before)} → {short_state(e.after)}",
        e.reason,
        loud=False,
    )


@sentence.register
def isr_altered(e: controller.IsrAltered) -> Sentence:
    return Sentence(
        "writes the ISR of",
        f"{e.topic}-{e.partition}",
        f"{ids(e.isr_before)} → {ids(e.isr)}",
        f"its leader, broker {e.leader}, asked for it",
        because=f"the controller wrote the ISR of {e.topic}-{e.partition}",
        loud=False,
    )


@sentence.register
def leader_elected(e: controller.LeaderElected) -> Sentence:
    return _elected(e)


@sentence.register
def leader_election_failed(e: controller.LeaderElectionFailed) -> Sentence:
    nobody = "✕ no leader for" if e.strategy == "OfflinePartition" else "no other leader for"
    return Sentence(nobody, f"{e.topic}-{e.partition}", "", e.reason)


@sentence.register
def elections_held(e: controller.ElectionsHeld) -> Sentence:
    kind = e.election_type.lower()
    return Sentence(
        f"holds {plural(e.asked, f'{kind} election')}:",
        after=f"{e.elected:,} won, {len(e.refused):,} refused",
        reason=f"{e.trigger} asked for it",
        because=f"{e.trigger} asked for an election",
        loud=False,
    )


@sentence.register
def leader_imbalance_measured(e: controller.LeaderImbalanceMeasured) -> Sentence:
    return quiet(
        f"counts the leaders that belong on broker {e.broker_id}:",
        after=(
            f"{e.led_elsewhere:,} of {e.preferred_here:,} are elsewhere, {e.allowed_percentage} %"
            f" are allowed; {e.given_back:,} given back"
        ),
        because=f"too many leaders of broker {e.broker_id} are elsewhere",
    )


@sentence.register
def replica_removed_from_isr(e: controller.ReplicaRemovedFromIsr) -> Sentence:
    # The last member of an ISR stays in it, so that a clean election can find it again.
    change = f"{ids(e.isr_before)} → {ids(e.isr)}"
    if e.isr == e.isr_before:
        change = f"stays {ids(e.isr)}, and no replica leads"
    return Sentence(
        "ISR of",
        f"{e.topic}-{e.partition}",
        change,
        f"broker {e.replica}'s replica is offline",
    )


@sentence.register
def broker_joined(e: controller.BrokerJoined) -> Sentence:
    return Sentence(
        f"broker {e.broker_id} {'came back' if e.bounced else 'joined'}",
        because=f"broker {e.broker_id} joined",
    )


@sentence.register
def broker_listeners_changed(e: controller.BrokerListenersChanged) -> Sentence:
    return Sentence(
        f"broker {e.broker_id} has other listeners:",
        after=f"{joined(e.before) or 'none'} → {joined(e.after) or 'none'}",
        because=f"broker {e.broker_id} changed its listeners",
    )


@sentence.register
def broker_failed(e: controller.BrokerFailed) -> Sentence:
    how = "has announced its shutdown" if e.shutting_down else "has lost its session"
    return Sentence(
        f"broker {e.broker_id} {how}",
        because=f"broker {e.broker_id} {'left' if e.shutting_down else 'is gone'}",
    )


@sentence.register
def controlled_shutdown_processed(e: controller.ControlledShutdownProcessed) -> Sentence:
    left = "it may go" if e.remaining == 0 else f"{e.remaining} remain"
    return Sentence(
        f"broker {e.broker_id} asks for permission to stop:",
        after=f"led {e.led}, followed {e.followed}; {left}",
        because="it shuts down gracefully",
    )


@sentence.register
def topic_deletion_changed(e: controller.TopicDeletionChanged) -> Sentence:
    return Sentence(f"deletion {e.step}:", f"topic {e.topic}", "", e.reason)


@sentence.register
def controller_request_sent(e: controller.ControllerRequestSent) -> Sentence:
    return quiet(
        f"sends {api_name(e.api_key)}",
        f"to broker {e.broker_id}",
        because=f"the controller sent {api_name(e.api_key)}",
        exact=(
            f"sends {api_name(e.api_key)} #{e.correlation_id} to broker {e.broker_id}:"
            f" {e.partitions:,} partitions"
        ),
    )


@sentence.register
def controller_response_received(e: controller.ControllerResponseReceived) -> Sentence:
    return quiet(
        f"has the answer to {api_name(e.api_key)}",
        f"of broker {e.broker_id}",
        exact=(
            f"broker {e.broker_id} has answered {api_name(e.api_key)}"
            f" #{e.correlation_id} after {micros(e.took_us)}"
        ),
    )


@sentence.register
def controller_request_failed(e: controller.ControllerRequestFailed) -> Sentence:
    return Sentence(
        f"the controller cannot deliver {api_name(e.api_key)} to",
        f"broker {e.broker_id}",
        reason=brief_error(e.reason),
        because=f"broker {e.broker_id} does not answer the controller",
        loud=False,
    )
