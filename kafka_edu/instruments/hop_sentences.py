"""The hops of requests as sentences: what is too frequent for the ticker, and stands in chains.

`fact_text` returns any fact as one line.
"""

from kafka_edu.common.words import duration, joined
from kafka_edu.instruments.sentences import sentence
from kafka_edu.protocol.api_keys import ApiKey
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


def fact_text(event: Event) -> str:
    """Return any fact as one line of plain text."""
    hop = hop_text(event)
    if hop:
        return hop
    said = sentence(event)
    return f"{said.text()}, because {said.reason}" if said.reason else said.text()


def api_name(api_key: int) -> str:
    """Return a request's name as in Kafka's documentation: 4 → `LeaderAndIsr`."""
    try:
        return "".join(word.capitalize() for word in ApiKey(api_key).name.split("_"))
    except ValueError:
        return f"request of kind {api_key}"


def micros(us: int) -> str:
    """Format µs: `0.3 ms`, `42 ms`, `1.2 s`."""
    return f"{us / 1000:.1f} ms" if us < 10_000 else duration(us / 1000)


def _offsets(first: int, end: int) -> str:
    """Name the records from `first` up to `end`, which is not among them."""
    return f"offset {first:,}" if end - first == 1 else f"offsets {first:,} to {end - 1:,}"


def hop_text(event: Event) -> str:
    """Return a hop as one line, or an empty string if the event is no hop."""
    return _request(event) or _record(event) or _log(event) or _control(event) or _group(event)


def _request(event: Event) -> str:
    match event:
        case network.RequestReceived() as e:
            of = f" of {e.client_id}" if e.client_id else ""
            return (
                f"receives {api_name(e.api_key)} v{e.api_version} #{e.correlation_id}{of},"
                f" {e.size_bytes:,} bytes"
            )
        case server.RequestDequeued() as e:
            return f"handler {e.handler} takes {api_name(e.api_key)} #{e.correlation_id} after" + (
                f" {micros(e.queued_us)} in the queue"
            )
        case server.RequestHandled() as e:
            then = "" if e.answered else "; it waits, or needs no answer"
            return (
                f"handler {e.handler} is done with {api_name(e.api_key)} #{e.correlation_id} after"
                f" {micros(e.handler_us)}{then}"
            )
        case network.ResponseSent() as e:
            return (
                f"answers {api_name(e.api_key)} #{e.correlation_id} after {micros(e.total_us)},"
                f" {e.size_bytes:,} bytes"
            )
        case purgatory.OperationWatched() as e:
            return f"{e.label or e.purgatory} has to wait: {requirements(e.why)}"
        case purgatory.OperationCompleted() as e:
            how = {
                "event": f"completed by news of {e.key}",
                "time-out": "ends by its time-out",
                "at once": "completed at once",
            }.get(e.by, "is ended by force")
            return f"{e.label or e.purgatory} {how} after {duration(e.waited_ms)}"
        case network.ConnectionOpened() as e:
            return f"accepts connection {e.connection_id}"
        case network.ConnectionClosed() as e:
            return f"connection {e.connection_id} is gone: {e.reason}"
    return ""


def requirements(why: tuple[purgatory.Requirement, ...]) -> str:
    """Return what an operation waits for: `web-0 high watermark ≥ 4, is 2 (broker 2 has 2)`."""
    return joined([_requirement(one) for one in why], 2)


def _requirement(one: purgatory.Requirement) -> str:
    behind = [f"{name} has {have:,}" for name, have in one.holders if have < one.at_least]
    told = f" ({joined(behind)})" if behind else ""
    return f"{one.subject} {one.needs} ≥ {one.at_least:,}, is {one.have:,}{told}"


def _record(event: Event) -> str:
    match event:
        case log.BatchValidated() as e:
            again = ", rebuilt" if e.rebuilt else ""
            return f"{e.topic}-{e.partition}: batch of {e.records:,} records is valid{again}"
        case log.SegmentAppended() as e:
            return (
                f"{e.topic}-{e.partition}: {_offsets(e.first_offset, e.last_offset + 1)} written to"
                f" segment {e.segment_base_offset:,} at byte {e.position:,}"
            )
        case log.SegmentRead() as e:
            return (
                f"{e.topic}-{e.partition}: finds {e.size:,} bytes from offset {e.start_offset:,}"
                " for a reader"
            )
        case replication.ProduceAppended() as e:
            needs = f"; acks=all needs HW {e.required_offset:,}" if e.required_acks == -1 else ""
            return (
                f"appends {_offsets(e.first_offset, e.required_offset)} to"
                f" {e.topic}-{e.partition}{needs}"
            )
        case replication.FollowerFetched() as e:
            return (
                f"broker {e.follower} fetches {e.topic}-{e.partition} from {e.fetch_offset:,}: it"
                " has all before"
            )
        case replication.FollowerAppended() as e:
            return (
                f"stores {_offsets(e.fetch_offset, e.log_end_offset)} of {e.topic}-{e.partition}"
                f" from broker {e.leader}"
            )
        case replication.HighWatermarkAdvanced() as e:
            return f"HW of {e.topic}-{e.partition} moves {e.before:,} → {e.after:,}"
        case server.ProduceAnswered() as e:
            parts = [
                f"{topic}-{partition} {error if error != 'NONE' else f'up to {end:,}'}"
                for topic, partition, _, end, error in e.partitions
            ]
            return f"has the answer for produce #{e.correlation_id}: {joined(parts)}"
        case client.RecordAcknowledged() as e:
            return f"{e.client}: {e.topic}-{e.partition} offset {e.offset:,} is acknowledged"
    return ""


def _log(event: Event) -> str:
    match event:
        case log.LogCreated() as e:
            return f"makes an empty log of {e.topic}-{e.partition}"
        case log.LogLoaded() as e:
            how = "closed cleanly" if e.clean else "not closed cleanly"
            return (
                f"opens the log of {e.topic}-{e.partition}: offsets {e.log_start_offset:,} to"
                f" {e.log_end_offset:,}, {how}"
            )
        case log.LeaderEpochAssigned() as e:
            return (
                f"{e.topic}-{e.partition}: leader epoch {e.leader_epoch} begins at offset"
                f" {e.start_offset:,}"
            )
        case replication.HwCheckpointed() as e:
            return f"writes the high watermarks of {e.partitions:,} partitions to its checkpoint"
        case replication.FetchSessionOpened() as e:
            return f"opens fetch session {e.session_id} of {e.partitions:,} partitions"
        case replication.LogTruncatedByEpoch() as e if e.before == e.after:
            return f"{e.topic}-{e.partition}: nothing to cut, says leader {e.leader}"
    return ""


def _group(event: Event) -> str:
    match event:
        case group.OffsetsCommitted() as e:
            of = [f"{topic}-{partition} {offset:,}" for topic, partition, offset in e.offsets]
            return f"group {e.group} commits {joined(of)}"
        case group.GroupStateChanged() as e:
            return f"group {e.group}: {e.before} → {e.after}, {e.members} members"
        case group.RebalanceStarted() as e:
            whose = f" of {e.member}" if e.member else ""
            return f"group {e.group} rebalances{whose}: {e.reason}"
        case group.RebalanceCompleted() as e:
            return f"group {e.group} begins generation {e.generation} with {joined(e.members)}"
        case group.MemberJoined() as e:
            return f"group {e.group}: {e.member} joins, {e.members} members now"
        case group.MemberLeft() as e:
            return f"group {e.group}: {e.member} leaves"
        case group.MemberFailed() as e:
            return f"group {e.group}: {e.member} is removed, because {e.reason}"
    return ""


def _control(event: Event) -> str:
    match event:
        case controller.ControllerRequestSent() as e:
            return (
                f"sends {api_name(e.api_key)} #{e.correlation_id} to broker {e.broker_id}:"
                f" {e.partitions:,} partitions"
            )
        case controller.ControllerResponseReceived() as e:
            return (
                f"broker {e.broker_id} has answered {api_name(e.api_key)} #{e.correlation_id} after"
                f" {micros(e.took_us)}"
            )
        case controller.ControllerEventProcessed() as e:
            failed = f": {e.error}" if e.error else ""
            return f"controller is done with {e.name} after {micros(e.took_us)}{failed}"
        case controller.ZkWatchFired() as e:
            return f"hears of its watch on {e.path}"
        case zk.WatchFired() as e:
            return f"fires the {e.kind} watch on {e.path}"
        case zk.WatchSet() as e:
            return f"keeps a {e.kind} watch on {e.path} for connection {e.cnxn}"
        case server.BrokerStateChanged() as e:
            return f"broker {e.broker_id}: {e.before} → {e.after}"
        case server.ServerStarted() as e:
            return f"has started after {duration(e.startup_ms)}"
        case controller.ActiveControllerChanged() as e if e.controller_id >= 0:
            return f"reads that the controller is broker {e.controller_id}"
        case replication.ControllerEpochSeen() as e:
            return f"hears of controller {e.controller}, epoch {e.controller_epoch}"
        case zk.SessionDisconnected() as e:
            return f"session {e.session_id:#x} lost its connection: {e.reason}"
        case zk.SessionOpened() as e:
            return f"session {e.session_id:#x} opened, time-out {duration(e.timeout_ms)}"
        case server.MetadataUpdated() as e:
            return (
                f"updates its metadata of {joined(e.updated)}"
                if e.updated
                else ("updates its metadata of the brokers")
            )
        case replication.FetcherConnected() as e:
            return f"its fetcher is connected to broker {e.leader}"
        case replication.FetcherStarted() as e:
            return f"starts a fetcher from broker {e.leader}"
        case replication.FetcherStopped() as e:
            return f"stops its fetcher from broker {e.leader}"
    return ""
