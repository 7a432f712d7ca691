"""The hops of requests as sentences: too frequent for the ticker, they stand in chains and in the
whole time line.
"""

from kafka_edu.common.link_faults import LinkFault
from kafka_edu.common.words import duration, joined, plural
from kafka_edu.instruments.sentence import Sentence, api_name, micros
from kafka_edu.trace.event import Event
from kafka_edu.trace.events import (
    client,
    controller,
    group,
    log,
    network,
    purgatory,
    replication,
    server,
    zk,
)


def hop_sentence(event: Event) -> Sentence | None:
    """Return the sentence of a hop, None if the event is no hop."""
    return (
        _request(event)
        or _record(event)
        or _log(event)
        or _control(event)
        or _broker(event)
        or _zookeeper(event)
    )


def _quiet(
    before: str, subject: str = "", after: str = "", *, because: str = "", exact: str = ""
) -> Sentence:
    return Sentence(before, subject, after, because=because, exact=exact, loud=False)


def _offsets(first: int, end: int) -> str:
    """Name the records from `first` up to `end`, which is not among them."""
    return f"offset {first:,}" if end - first == 1 else f"offsets {first:,} to {end - 1:,}"


def _request(event: Event) -> Sentence | None:
    match event:
        case network.RequestReceived() as e:
            of = f" of {e.client_id}" if e.client_id else ""
            return _quiet(
                f"receives {api_name(e.api_key)}",
                after=f"from {e.client_id or '?'}",
                exact=(
                    f"receives {api_name(e.api_key)} v{e.api_version} #{e.correlation_id}{of},"
                    f" {e.size_bytes:,} bytes"
                ),
            )
        case server.RequestDequeued() as e:
            return _quiet(
                "a handler takes the request",
                exact=(
                    f"handler {e.handler} takes {api_name(e.api_key)} #{e.correlation_id} after"
                    f" {micros(e.queued_us)} in the queue"
                ),
            )
        case server.RequestHandled() as e:
            then = "" if e.answered else "; it waits, or needs no answer"
            return _quiet(
                "the handler is done with the request",
                exact=(
                    f"handler {e.handler} is done with {api_name(e.api_key)} #{e.correlation_id}"
                    f" after {micros(e.handler_us)}{then}"
                ),
            )
        case network.ResponseSent() as e:
            return _quiet(
                f"answers {api_name(e.api_key)}",
                after=f"after {duration(e.total_us / 1000)}",
                exact=(
                    f"answers {api_name(e.api_key)} #{e.correlation_id} after"
                    f" {micros(e.total_us)}, {e.size_bytes:,} bytes"
                ),
            )
        case purgatory.OperationWatched() as e:
            name = e.label or e.purgatory
            return _quiet(f"{name} has to wait", exact=f"{name} has to wait: {requirements(e.why)}")
        case purgatory.OperationCompleted() as e:
            how = {
                "event": f"completed by news of {e.key}",
                "time-out": "ends by its time-out",
                "at once": "completed at once",
            }.get(e.by, "is ended by force")
            return _quiet(
                f"{e.label} is done",
                after=f"by {e.by} after {duration(e.waited_ms)}",
                exact=f"{e.label or e.purgatory} {how} after {duration(e.waited_ms)}",
            )
        case network.ConnectionOpened() as e:
            return _quiet(
                "a connection opens:",
                e.connection_id,
                exact=f"accepts connection {e.connection_id}",
            )
        case network.ConnectionClosed() as e:
            return _quiet(
                "a connection is closed:",
                e.connection_id,
                exact=f"connection {e.connection_id} is gone: {e.reason}",
            )
    return None


def requirements(why: tuple[purgatory.Requirement, ...]) -> str:
    """Return what an operation waits for: `web-0 high watermark ≥ 4, is 2 (broker 2 has 2)`."""
    return joined([_requirement(one) for one in why], 2)


def _requirement(one: purgatory.Requirement) -> str:
    behind = [f"{name} has {have:,}" for name, have in one.holders if have < one.at_least]
    told = f" ({joined(behind)})" if behind else ""
    return f"{one.subject} {one.needs} ≥ {one.at_least:,}, is {one.have:,}{told}"


def _record(event: Event) -> Sentence | None:
    match event:
        case log.BatchValidated() as e:
            again = ", rebuilt" if e.rebuilt else ""
            return _quiet(
                "validates a batch for",
                f"{e.topic}-{e.partition}",
                exact=f"{e.topic}-{e.partition}: batch of {e.records:,} records is valid{again}",
            )
        case log.SegmentAppended() as e:
            return _quiet(
                "writes to the segment of",
                f"{e.topic}-{e.partition}",
                f"up to {e.last_offset + 1:,}",
                exact=(
                    f"{e.topic}-{e.partition}: {_offsets(e.first_offset, e.last_offset + 1)}"
                    f" written to segment {e.segment_base_offset:,} at byte {e.position:,}"
                ),
            )
        case log.SegmentRead() as e:
            return _quiet(
                "reads from",
                f"{e.topic}-{e.partition}",
                f"from {e.start_offset:,}",
                exact=(
                    f"{e.topic}-{e.partition}: finds {e.size:,} bytes from offset"
                    f" {e.start_offset:,} for a reader"
                ),
            )
        case replication.ProduceAppended() as e:
            needs = f"; acks=all needs HW {e.required_offset:,}" if e.required_acks == -1 else ""
            return _quiet(
                "appends to",
                f"{e.topic}-{e.partition}",
                f"at {e.first_offset:,}",
                exact=(
                    f"appends {_offsets(e.first_offset, e.required_offset)} to"
                    f" {e.topic}-{e.partition}{needs}"
                ),
            )
        case replication.FollowerFetched() as e:
            return _quiet(
                f"broker {e.follower} fetches",
                f"{e.topic}-{e.partition}",
                f"from {e.fetch_offset:,}",
                exact=(
                    f"broker {e.follower} fetches {e.topic}-{e.partition} from"
                    f" {e.fetch_offset:,}: it has all before"
                ),
            )
        case replication.FollowerAppended() as e:
            return _quiet(
                "stores a copy of",
                f"{e.topic}-{e.partition}",
                f"up to {e.log_end_offset:,}",
                exact=(
                    f"stores {_offsets(e.fetch_offset, e.log_end_offset)} of"
                    f" {e.topic}-{e.partition} from broker {e.leader}"
                ),
            )
        case replication.HighWatermarkAdvanced() as e:
            return _quiet(
                "HW of",
                f"{e.topic}-{e.partition}",
                f"{e.before:,} → {e.after:,}",
                exact=f"HW of {e.topic}-{e.partition} moves {e.before:,} → {e.after:,}",
            )
        case server.ProduceAnswered() as e:
            parts = [
                f"{topic}-{partition} {error if error != 'NONE' else f'up to {end:,}'}"
                for topic, partition, _, end, error in e.partitions
            ]
            return _quiet(
                "acknowledges a produce",
                exact=f"has the answer for produce #{e.correlation_id}: {joined(parts)}",
            )
        case client.RecordAcknowledged() as e:
            return _quiet(
                f"{e.client}:",
                f"{e.topic}-{e.partition}",
                f"offset {e.offset:,} is acknowledged",
            )
    return None


def _log(event: Event) -> Sentence | None:
    match event:
        case log.LogCreated() as e:
            return _quiet(
                "makes the log of",
                f"{e.topic}-{e.partition}",
                exact=f"makes an empty log of {e.topic}-{e.partition}",
            )
        case log.LogLoaded() as e:
            how = "closed cleanly" if e.clean else "not closed cleanly"
            return _quiet(
                "has loaded",
                f"{e.topic}-{e.partition}",
                f"up to {e.log_end_offset:,}",
                exact=(
                    f"opens the log of {e.topic}-{e.partition}: offsets {e.log_start_offset:,} to"
                    f" {e.log_end_offset:,}, {how}"
                ),
            )
        case log.LeaderEpochAssigned() as e:
            return _quiet(
                "log of",
                f"{e.topic}-{e.partition}",
                f"begins epoch {e.leader_epoch} at {e.start_offset:,}",
                exact=(
                    f"{e.topic}-{e.partition}: leader epoch {e.leader_epoch} begins at offset"
                    f" {e.start_offset:,}"
                ),
            )
        case log.CheckpointWritten() as e:
            what = "recovery points" if e.file.startswith("recovery") else "log start offsets"
            return _quiet(
                f"writes the {what}",
                after=f"of {plural(e.entries, 'partition')} to its checkpoint",
            )
        case replication.HwCheckpointed() as e:
            return _quiet(
                "writes the high watermarks",
                after=f"of {plural(e.partitions, 'partition')} to its checkpoint",
            )
        case replication.FetchSessionOpened() as e:
            return _quiet(
                "opens fetch session",
                str(e.session_id),
                f"of {plural(e.partitions, 'partition')}",
            )
        case replication.LogTruncatedByEpoch() as e if e.before == e.after:
            return _quiet(
                "has nothing to cut in",
                f"{e.topic}-{e.partition}",
                exact=f"{e.topic}-{e.partition}: nothing to cut, says leader {e.leader}",
            )
        case group.OffsetsCommitted() as e:
            of = [f"{topic}-{partition} {offset:,}" for topic, partition, offset in e.offsets]
            return _quiet(f"group {e.group} commits", joined(of))
    return None


def _control(event: Event) -> Sentence | None:
    match event:
        case controller.ControllerRequestSent() as e:
            return _quiet(
                f"sends {api_name(e.api_key)}",
                f"to broker {e.broker_id}",
                because=f"the controller sent {api_name(e.api_key)}",
                exact=(
                    f"sends {api_name(e.api_key)} #{e.correlation_id} to broker {e.broker_id}:"
                    f" {e.partitions:,} partitions"
                ),
            )
        case controller.ControllerResponseReceived() as e:
            return _quiet(
                f"has the answer to {api_name(e.api_key)}",
                f"of broker {e.broker_id}",
                exact=(
                    f"broker {e.broker_id} has answered {api_name(e.api_key)}"
                    f" #{e.correlation_id} after {micros(e.took_us)}"
                ),
            )
        case controller.ControllerEventProcessed() as e:
            failed = f": {e.error}" if e.error else ""
            return _quiet(
                f"controller is done with {e.name}",
                after=f"it took {duration(e.took_us / 1000)}",
                exact=f"controller is done with {e.name} after {micros(e.took_us)}{failed}",
            )
        case controller.ActiveControllerChanged() as e if e.controller_id >= 0:
            return _quiet(f"reads that the controller is broker {e.controller_id}")
        case replication.ControllerEpochSeen() as e:
            return _quiet(f"hears of controller {e.controller}, epoch {e.controller_epoch}")
    return None


def _broker(event: Event) -> Sentence | None:
    match event:
        case server.BrokerStateChanged() as e:
            return _quiet(f"broker {e.broker_id}: {e.before} → {e.after}")
        case server.LinkFaultChanged() as e:
            state = LinkFault(e.delay_ms, e.cut)
            ports = "port" if len(e.ports) == 1 else "ports"
            return _quiet(f"its link to {ports} {joined(e.ports)} is {state}")
        case server.LinkReset() as e:
            ports = "port" if len(e.ports) == 1 else "ports"
            lost = plural(e.connections, "connection")
            return _quiet(f"loses its {lost} to {ports} {joined(e.ports)}, by a reset")
        case server.ServerStarted() as e:
            return _quiet("has started", after=f"after {duration(e.startup_ms)}")
        case server.MetadataUpdated() as e:
            of = joined(e.updated) if e.updated else "the brokers"
            return _quiet("knows the cluster's new metadata", exact=f"updates its metadata of {of}")
        case replication.FetcherConnected() as e:
            return _quiet(
                f"is connected to broker {e.leader}",
                after=f"at port {e.port}",
                exact=f"its fetcher is connected to broker {e.leader}",
            )
        case replication.FetcherStarted() as e:
            return _quiet(
                f"begins to fetch from broker {e.leader}",
                exact=f"starts a fetcher from broker {e.leader}",
            )
        case replication.FetcherStopped() as e:
            return _quiet(
                f"fetches from broker {e.leader} no more",
                exact=f"stops its fetcher from broker {e.leader}",
            )
    return None


def _zookeeper(event: Event) -> Sentence | None:
    match event:
        case zk.WatchFired() as e:
            return _quiet("watch fires on", e.path, exact=f"fires the {e.kind} watch on {e.path}")
        case zk.WatchSet() as e:
            return _quiet(
                "a watch is set on",
                e.path,
                exact=f"keeps a {e.kind} watch on {e.path} for connection {e.cnxn}",
            )
        case zk.SessionDisconnected() as e:
            return _quiet(
                f"session {e.session_id:#x} has lost its connection",
                after=e.reason,
                exact=f"session {e.session_id:#x} lost its connection: {e.reason}",
            )
        case zk.SessionOpened() as e:
            return _quiet(
                f"session {e.session_id:#x} begins",
                after=f"for {e.peer}",
                exact=(f"session {e.session_id:#x} opened, time-out {duration(e.timeout_ms)}"),
            )
    return None
