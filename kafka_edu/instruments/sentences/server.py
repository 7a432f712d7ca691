"""Sentences for the events of brokers."""

from kafka_edu.common.link_faults import LinkFault
from kafka_edu.common.words import duration, joined, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import api_name, changes, micros, ports, quiet, settings
from kafka_edu.trace.events import server


@sentence.register
def server_starting(e: server.ServerStarting) -> Sentence:
    return quiet(
        "begins to start",
        after=f"as process {e.pid}",
        exact=f"begins to start as process {e.pid}, with the APIs of Kafka {e.api_level}",
    )


@sentence.register
def cluster_joined(e: server.ClusterJoined) -> Sentence:
    return quiet(
        f"joins cluster {e.cluster_id}",
        after=f"as broker {e.broker_id}",
        because=f"broker {e.broker_id} joined cluster {e.cluster_id}",
        exact=f"joins cluster {e.cluster_id} as broker {e.broker_id}; the id is {e.id_source}",
    )


@sentence.register
def broker_registered(e: server.BrokerRegistered) -> Sentence:
    return Sentence(
        "registered",
        after=f"in ZooKeeper (broker epoch {e.broker_epoch})",
        because=f"broker {e.broker_id} registered",
        loud=False,
    )


@sentence.register
def server_started(e: server.ServerStarted) -> Sentence:
    return quiet("has started", after=f"after {duration(e.startup_ms)}")


@sentence.register
def broker_state_changed(e: server.BrokerStateChanged) -> Sentence:
    return quiet(f"broker {e.broker_id}: {e.before} → {e.after}")


@sentence.register
def server_stopping(e: server.ServerStopping) -> Sentence:
    return Sentence("shuts down", reason=e.reason)


@sentence.register
def controlled_shutdown_attempted(e: server.ControlledShutdownAttempted) -> Sentence:
    if e.error == "NONE" and not e.partitions_remaining:
        return Sentence(
            "may go,", after=f"as controller {e.controller_id} answers: its leaders have moved"
        )
    why = (
        e.error
        if e.error != "NONE"
        else f"{plural(e.partitions_remaining, 'partition')} could not be moved"
    )
    return Sentence(f"got no permission to stop, attempt {e.attempt}", reason=why)


@sentence.register
def server_stopped(e: server.ServerStopped) -> Sentence:
    return Sentence(
        "stopped",
        after=f"{'cleanly' if e.clean else 'in a hurry'} after {duration(e.shutdown_ms)}",
    )


@sentence.register
def session_lost(e: server.SessionLost) -> Sentence:
    return Sentence("lost its ZooKeeper session", because="its session expired")


@sentence.register
def link_fault_changed(e: server.LinkFaultChanged) -> Sentence:
    state = LinkFault(e.delay_ms, e.cut)
    return quiet(f"its link to {ports(e.ports)} is {state}")


@sentence.register
def link_reset(e: server.LinkReset) -> Sentence:
    lost = plural(e.connections, "connection")
    return quiet(f"loses its {lost} to {ports(e.ports)}, because of a reset")


@sentence.register
def background_task_failed(e: server.BackgroundTaskFailed) -> Sentence:
    return Sentence(f"✕ {e.task} failed", after=e.error)


@sentence.register
def loop_stalled(e: server.LoopStalled) -> Sentence:
    ours = e.turn_cpu_ms if e.turn_cpu_ms >= 0 else min(e.cpu_ms, e.stalled_ms)
    reason = f"its own computing took {duration(ours)} of it"
    if e.core_wait_ms > ours:
        reason += f", waiting for a core {duration(e.core_wait_ms)}"
    return Sentence(
        "stalled",
        after=f"for {duration(e.stalled_ms)}",
        reason=f"{reason}; in {e.held_by}" if e.held_by else reason,
        loud=ours >= 1000,
    )


@sentence.register
def metadata_updated(e: server.MetadataUpdated) -> Sentence:
    of = joined(e.updated) if e.updated else "the brokers"
    return quiet("knows the cluster's new metadata", exact=f"updates its metadata of {of}")


@sentence.register
def topic_created(e: server.TopicCreated) -> Sentence:
    how = "by first use" if e.automatic else ""
    with_partitions = f"with {plural(len(e.assignment), 'partition')} {how}".rstrip()
    return Sentence(
        "creates",
        f"topic {e.topic}",
        with_partitions,
        because=f"topic {e.topic} was created",
    )


@sentence.register
def entity_config_written(e: server.EntityConfigWritten) -> Sentence:
    return quiet(
        "writes the settings of",
        e.entity,
        because=f"the settings of {e.entity} were written",
        exact=f"writes the settings of {e.entity}: {settings(e.configs)}",
    )


@sentence.register
def entity_config_taken(e: server.EntityConfigTaken) -> Sentence:
    return quiet(
        "applies the settings of",
        e.entity,
        because=f"the settings of {e.entity} changed",
        exact=f"applies the settings of {e.entity}, notification {e.notification}",
    )


@sentence.register
def broker_config_changed(e: server.BrokerConfigChanged) -> Sentence:
    return Sentence(
        "uses other settings:",
        after=changes(e.changes),
        because="its settings changed",
        loud=False,
    )


@sentence.register
def topic_config_changed(e: server.TopicConfigChanged) -> Sentence:
    return Sentence(
        "uses other settings for",
        f"topic {e.topic}:",
        changes(e.changes),
        because=f"the settings of topic {e.topic} changed",
        loud=False,
    )


@sentence.register
def logger_level_changed(e: server.LoggerLevelChanged) -> Sentence:
    return quiet(f"logger {e.logger} writes at", after=f"level {e.level or 'of its parent'}")


@sentence.register
def handler_pool_resized(e: server.HandlerPoolResized) -> Sentence:
    return quiet(
        f"has {plural(e.after, 'request handler')} now",
        after=f"({e.before} before)",
        because="num.io.threads changed",
    )


@sentence.register
def partitions_created(e: server.PartitionsCreated) -> Sentence:
    return Sentence(
        "adds to",
        f"topic {e.topic}",
        f"{plural(len(e.assignment), 'partition')}, from {e.topic}-{e.first} on",
        because=f"topic {e.topic} got more partitions",
    )


@sentence.register
def topic_deletion_ordered(e: server.TopicDeletionOrdered) -> Sentence:
    return Sentence(
        "orders the deletion of",
        f"topic {e.topic}",
        because=f"somebody deleted topic {e.topic}",
        loud=False,
    )


@sentence.register
def producer_id_block_allocated(e: server.ProducerIdBlockAllocated) -> Sentence:
    return quiet("reserves the producer ids", after=f"{e.first:,} to {e.last:,}")


@sentence.register
def request_dequeued(e: server.RequestDequeued) -> Sentence:
    return quiet(
        "a handler takes the request",
        exact=(
            f"handler {e.handler} takes {api_name(e.api_key)} #{e.correlation_id} after"
            f" {micros(e.queued_us)} in the queue"
        ),
    )


@sentence.register
def request_handled(e: server.RequestHandled) -> Sentence:
    then = "" if e.answered else "; it waits, or needs no answer"
    return quiet(
        "the handler has handled the request",
        exact=(
            f"handler {e.handler} has handled {api_name(e.api_key)} #{e.correlation_id}"
            f" after {micros(e.handler_us)}{then}"
        ),
    )


@sentence.register
def produce_answered(e: server.ProduceAnswered) -> Sentence:
    parts = [
        f"{topic}-{partition} {error if error != 'NONE' else f'up to {end:,}'}"
        for topic, partition, _, end, error in e.partitions
    ]
    return quiet(
        "acknowledges a produce",
        exact=f"has the answer for produce #{e.correlation_id}: {joined(parts) or 'no partition'}",
    )


@sentence.register
def request_failed(e: server.RequestFailed) -> Sentence:
    return Sentence(
        f"✕ failed to handle {api_name(e.api_key)} v{e.api_version}",
        reason=e.error,
        because=f"{api_name(e.api_key)} failed in the broker",
        exact=(
            f"✕ failed to handle {api_name(e.api_key)} v{e.api_version} #{e.correlation_id},"
            f" because {e.error}"
        ),
    )


@sentence.register
def request_stuck(e: server.RequestStuck) -> Sentence:
    what = (
        "bytes that nobody reads"
        if e.api_key < 0
        else f"request {e.correlation_id} of {e.client_id or 'a client'}"
    )
    return Sentence(
        f"✕ does not answer {what}",
        after=f"for {duration(e.waited_ms)}",
        reason=f"it is in: {e.hop}",
    )


@sentence.register
def request_refused(e: server.RequestRefused) -> Sentence:
    return Sentence(
        f"refuses {api_name(e.api_key)} v{e.api_version}",
        after="and closes the connection",
        reason=e.reason,
        loud=False,
    )
