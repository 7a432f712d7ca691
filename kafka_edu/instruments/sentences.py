"""Facts as sentences: the text of each kind of event in the ticker and in chains of causes.

The hops of requests are in `hop_sentences`.
"""

from typing import Final

from kafka_edu.common.link_faults import Link, LinkFault
from kafka_edu.common.words import duration, joined, plural, span
from kafka_edu.instruments.hop_sentences import hop_sentence
from kafka_edu.instruments.link_events import LinkLost, LinkMade
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.trace.event import Event, Source, SourceKind, fields_of
from kafka_edu.trace.events import (
    client,
    group,
    learner,
    log,
    network,
    reassignment,
    replication,
    server,
    spark,
    supervisor,
    timer,
    trace,
    zk,
)
from kafka_edu.trace.events import controller as ctl

SHORT_NAMES: Final = {
    SourceKind.BROKER: "b",
    SourceKind.ZOOKEEPER: "zk",
    SourceKind.SUPERVISOR: "sup",
    SourceKind.CLIENT: "cli",
    SourceKind.PROXY: "pxy",
}


def teller(source: Source) -> str:
    """Return the source in three characters: `b1`, `sup`, `zk`, `cli`."""
    name = SHORT_NAMES[source.kind]
    return f"{name}{source.id}" if source.kind is SourceKind.BROKER else name


def _ids(brokers: tuple[int, ...]) -> str:
    """Format a set of brokers in sorted order, so that equal sets look equal."""
    return "{" + ",".join(map(str, sorted(brokers))) + "}"


def _who(broker: int) -> str:
    return "nobody" if broker < 0 else str(broker)


def _process(name: str) -> str:
    return name.replace("broker-", "broker ")


def sentence(event: Event) -> Sentence:
    """Return any fact as a sentence. An event without a sentence of its own shows its name and
    fields.
    """
    found = (
        _supervisor(event)
        or _controller(event)
        or _reassignment(event)
        or _replication(event)
        or _broker(event)
        or _zookeeper(event)
        or _group(event)
        or _load(event)
        or _spark(event)
        or hop_sentence(event)
    )
    return found or _plain(event)


def fact_text(event: Event) -> str:
    """Return any fact as one line of plain text, with its numbers."""
    return sentence(event).line


def _plain(event: Event) -> Sentence:
    told = " ".join(
        f"{name}={value}" for name, value in fields_of(event).items() if value not in ("", ())
    )
    return Sentence(type(event).__name__, after=told, because=type(event).__name__, loud=False)


def _supervisor(event: Event) -> Sentence | None:
    match event:
        case supervisor.ProcessStarted() as e:
            return Sentence(
                f"{_process(e.process)} started",
                after=f"as process {e.pid}",
                because=f"{_process(e.process)} started",
            )
        case supervisor.ProcessEnded() as e:
            how = (
                f"killed by {e.signal}"
                if e.signal
                else "ended"
                if e.code == 0
                else f"ended with code {e.code}"
            )
            return Sentence(
                f"{_process(e.process)} {how}",
                reason="somebody asked for it" if e.asked else "nobody asked for it",
                because=f"{_process(e.process)} was {how}",
            )
        case supervisor.ProcessPaused() as e:
            return Sentence(
                f"{_process(e.process)} paused",
                after="(SIGSTOP): it holds its sockets and answers nothing",
            )
        case supervisor.ProcessResumed() as e:
            return Sentence(f"{_process(e.process)} goes on", after="(SIGCONT)")
        case supervisor.ZooKeeperModeChanged() as e:
            does = {"leader": "leads", "follower": "follows"}.get(e.mode, "serves nobody")
            return Sentence(f"{_process(e.process)} {does}")
        case supervisor.ClusterReady() as e:
            return Sentence(
                f"cluster ready after {duration(e.after_ms)}",
                after=f"brokers {_ids(e.brokers)}, controller {e.controller}",
            )
        case supervisor.LinkChanged() as e:
            fault = LinkFault(e.delay_ms, e.cut)
            words = f"the link {Link(e.broker, e.other, e.side)} is {fault}"
            return Sentence(words, because=words)
        case supervisor.ActionAsked() as e:
            return Sentence(
                f"asked to {e.action}",
                str(e.target) if e.target.broker is not None else "",
                because=f"somebody asked to {e.action} it",
                loud=False,
            )
        case supervisor.ActionDone() as e:
            # The event of the process that started, ended or paused says what was done.
            return Sentence(
                f"{'✓ done' if e.ok else '✗ refused'}: {e.action}",
                after=_process(e.message),
                loud=not e.ok,
            )
        case LinkLost():
            return Sentence("tells no more events", because="its socket closed", loud=False)
        case LinkMade() as e:
            return Sentence("tells its events", after=f"(process {e.pid})", loud=False)
    return None


def _controller(event: Event) -> Sentence | None:
    match event:
        case ctl.ControllerElected() as e:
            return Sentence(
                "♛ is the controller now",
                after=f"(epoch {e.epoch})",
                because="a new controller was elected",
            )
        case ctl.ControllerResigned() as e:
            return Sentence(
                "is the controller no more", after=f"(epoch {e.epoch})", reason=e.reason
            )
        case ctl.BrokerJoined() as e:
            return Sentence(
                f"broker {e.broker_id} {'came back' if e.bounced else 'joined'}",
                because=f"broker {e.broker_id} joined",
            )
        case ctl.BrokerFailed() as e:
            how = "said farewell" if e.shutting_down else "is gone: its session ended"
            return Sentence(
                f"broker {e.broker_id} {how}",
                because=f"broker {e.broker_id} {'left' if e.shutting_down else 'is gone'}",
            )
        case ctl.LeaderElected() as e:
            return _elected(e)
        case ctl.LeaderElectionFailed() as e:
            nobody = (
                "✕ no leader for" if e.strategy == "OfflinePartition" else "no other leader for"
            )
            return Sentence(nobody, f"{e.topic}-{e.partition}", "", e.reason)
        case ctl.ReplicaRemovedFromIsr() as e:
            return Sentence(
                "ISR of",
                f"{e.topic}-{e.partition}",
                f"{_ids(e.isr_before)} → {_ids(e.isr)}",
                f"replica {e.replica} is offline",
            )
        case ctl.ControlledShutdownProcessed() as e:
            left = "it may go" if e.remaining == 0 else f"{e.remaining} remain"
            return Sentence(
                f"broker {e.broker_id} asks to go:",
                after=f"led {e.led}, followed {e.followed}; {left}",
                because="it shuts down in order",
            )
        case ctl.TopicDeletionChanged() as e:
            return Sentence(f"deletion {e.step}:", f"topic {e.topic}", "", e.reason)
        case ctl.ControllerEventStarted() as e:
            return Sentence(f"controller deals with {e.name}", after=e.detail, loud=False)
        case ctl.ControllerEventQueued() as e:
            return Sentence(f"queued for the controller: {e.name}", after=e.detail, loud=False)
        case ctl.ZkWatchFired() as e:
            return Sentence(
                f"watch fired: {e.type}",
                after=e.path,
                because=f"{e.path} changed",
                exact=f"hears of its watch on {e.path}",
                loud=False,
            )
        case ctl.PartitionStateChanged() as e:
            return Sentence(
                "partition",
                f"{e.topic}-{e.partition}",
                f"{_short(e.before)} → {_short(e.after)}",
                e.reason,
                loud=False,
            )
        case ctl.ReplicaStateChanged() as e:
            replica = f"{e.topic}-{e.partition} on {e.replica}"
            return Sentence(
                "replica", replica, f"{_short(e.before)} → {_short(e.after)}", e.reason, loud=False
            )
    return None


def _elected(e: ctl.LeaderElected) -> Sentence:
    """Describe the election: the strategy, and the set of replicas that decided."""
    if e.old_leader < 0:
        reason = ""  # a new topic, or a controller that came later: the chain of causes says it
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
    what = f"{_who(e.old_leader)} → {_who(e.new_leader)}{loss}"
    return Sentence(
        "leader of",
        f"{e.topic}-{e.partition}",
        what,
        reason,
        f"{e.topic}-{e.partition} got a new leader",
    )


def _reassignment(event: Event) -> Sentence | None:
    match event:
        case reassignment.ReassignmentStarted() as e:
            where = f"from {list(e.before)} to {[r for r in e.replicas if r not in e.removing]}"
            return Sentence(
                "moves",
                f"{e.topic}-{e.partition}",
                where,
                f"ordered by {e.ordered_by}",
                "it is moved",
            )
        case reassignment.ReassignmentWaits() as e:
            return Sentence(
                "move of", f"{e.topic}-{e.partition}", f"waits for {_ids(e.missing)} to be in sync"
            )
        case reassignment.ReassignmentCompleted() as e:
            return Sentence(
                "has moved",
                f"{e.topic}-{e.partition}",
                f"to {list(e.replicas)}",
                because="it has moved",
            )
        case reassignment.ReassignmentRefused() as e:
            return Sentence("✗ does not move", f"{e.topic}-{e.partition}", "", e.reason)
    return None


def _isr_reason(reason: str) -> str:
    """Drop the offsets, which differ between partitions: `1 has caught up: LEO 534, HW 534`."""
    brief = reason.partition(":")[0]
    return f"broker {brief}" if brief[:1].isdigit() else brief


def _brief(error: str) -> str:
    """Shorten an operating system error to a few words."""
    if "Refused" in error:
        return "connection refused: nobody listens there"
    return error.partition(": ")[2] or error


def _short(state: str) -> str:
    return state.removesuffix("Partition").removesuffix("Replica")


def _replication(event: Event) -> Sentence | None:
    match event:
        case replication.BecameLeader() as e:
            return Sentence(
                "leads",
                f"{e.topic}-{e.partition}",
                f"from offset {e.start_offset:,} on, epoch {e.leader_epoch}",
                loud=False,
            )
        case replication.BecameFollower() as e:
            return Sentence(
                "follows", f"{e.topic}-{e.partition}", f"of broker {_who(e.leader)}", loud=False
            )
        case replication.IsrShrunk() as e:
            return Sentence(
                "ISR of",
                f"{e.topic}-{e.partition}",
                f"shrinks {_ids(e.before)} → {_ids(e.after)}",
                _isr_reason(e.reason),
                "the ISR shrank",
            )
        case replication.IsrExpanded() as e:
            return Sentence(
                "ISR of",
                f"{e.topic}-{e.partition}",
                f"grows {_ids(e.before)} → {_ids(e.after)}",
                _isr_reason(e.reason),
                "the ISR grew",
            )
        case replication.IsrChangeProposed() as e:
            return Sentence(
                "wants for",
                f"{e.topic}-{e.partition}",
                f"the ISR {_ids(e.before)} → {_ids(e.after)}",
                e.reason,
                loud=False,
            )
        case replication.LogTruncatedByEpoch() as e if e.before != e.after:
            return Sentence(
                "cuts",
                f"{e.topic}-{e.partition}",
                f"back {e.before:,} → {e.after:,}",
                f"leader {e.leader} has no more of epoch {e.epoch}",
            )
        case replication.UncleanTruncation() as e:
            at_least = "" if e.exact else "at least "
            lost = (
                f"{at_least}{plural(e.records, 'committed record')} lost: {e.after:,} to"
                f" {e.high_watermark - 1:,}"
            )
            return Sentence(
                "✕ UNCLEAN: cuts",
                f"{e.topic}-{e.partition}",
                lost,
                f"leader {e.leader}, elected uncleanly, never had them",
            )
        case replication.LogTruncatedByRange() as e:
            return Sentence(
                "cuts", f"{e.topic}-{e.partition}", f"{e.before:,} → {e.after:,}", e.reason
            )
        case replication.PartitionOffline() as e:
            return Sentence("✕ disk failed below", f"{e.topic}-{e.partition}")
        case replication.FetcherFailed() as e:
            return Sentence(
                f"cannot fetch from broker {e.leader}",
                reason=_brief(e.reason),
                because="its leader does not answer",
            )
        case replication.StaleControllerRefused() as e:
            return Sentence(
                f"refuses {e.request} of old controller {e.controller}",
                after=f"(epoch {e.controller_epoch} < {e.current_epoch})",
            )
    return None


def _broker(event: Event) -> Sentence | None:
    match event:
        case server.SessionLost():
            return Sentence("lost its ZooKeeper session", because="its session expired")
        case server.BrokerRegistered() as e:
            return Sentence(
                "registered",
                after=f"in ZooKeeper (broker epoch {e.broker_epoch})",
                because=f"broker {e.broker_id} registered",
                loud=False,
            )
        case server.ServerStopping() as e:
            return Sentence("shuts down", reason=e.reason)
        case server.ControlledShutdownAttempted() as e if (
            e.error == "NONE" and not e.partitions_remaining
        ):
            return Sentence(
                "may go,", after=f"says controller {e.controller_id}: its leaders have moved"
            )
        case server.ControlledShutdownAttempted() as e:
            why = (
                e.error
                if e.error != "NONE"
                else f"{plural(e.partitions_remaining, 'partition')} could not be moved"
            )
            return Sentence(f"asked to go in vain, attempt {e.attempt}", reason=why)
        case server.ServerStopped() as e:
            return Sentence(
                "stopped",
                after=f"{'cleanly' if e.clean else 'in a hurry'} after {duration(e.shutdown_ms)}",
            )
        case server.TopicCreated() as e:
            how = "by first use" if e.automatic else ""
            with_partitions = f"with {plural(len(e.assignment), 'partition')} {how}".rstrip()
            return Sentence(
                "creates",
                f"topic {e.topic}",
                with_partitions,
                because=f"topic {e.topic} was created",
            )
        case server.BackgroundTaskFailed() as e:
            return Sentence(f"✕ {e.task} failed", after=e.error)
        case server.RequestStuck() as e:
            what = (
                "bytes that nobody reads"
                if e.api_key < 0
                else f"request {e.correlation_id} of {e.client_id or 'a client'}"
            )
            return Sentence(
                f"✕ does not answer {what}",
                after=f"for {duration(e.waited_ms)}",
                reason=f"it stands in: {e.hop}",
            )
        case server.LoopStalled() as e:
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
        case log.LogRecovered() as e if e.truncated_bytes or e.segments:
            cut = f", cut off {e.truncated_bytes:,} torn bytes" if e.truncated_bytes else ""
            return Sentence(
                "recovered", f"{e.topic}-{e.partition}", f"after an unclean stop{cut}", e.reason
            )
        case log.LogDirFailed() as e:
            return Sentence("✕ log dir failed", after=e.log_dir, reason=e.reason)
        case log.SegmentRolled() as e:
            return Sentence(
                "new segment of", f"{e.topic}-{e.partition}", f"at {e.base_offset:,}", e.reason
            )
        case network.ConnectionFailed() as e:
            return Sentence(
                "✕ failed and closed a connection", after=f"while {e.doing}", reason=e.error
            )
        case network.ConnectionRefused() as e:
            return Sentence(f"refused a connection of {e.peer}", reason=e.reason)
        case network.FrameCaptureStarted() as e:
            return Sentence(f"captures the frames of {', '.join(e.clients)} (key 0, Wire)")
        case network.FrameCaptureStopped() as e:
            return Sentence(f"has captured {plural(e.frames, 'frame')} and stops", reason=e.reason)
        case timer.WheelCreated() as e:
            made = f"level {e.level} ({span(e.tick_ms)} × {e.wheel_size})"
            return Sentence(
                f"timer {e.timer} made {made}",
                reason=f"a task of {duration(e.delay_ms)} came",
                loud=False,
            )
        case learner.LearnerInstalled() as e:
            return Sentence("runs learner's code", after=f"{e.exercise}: {e.replaces}")
        case learner.LearnerFailed() as e:
            return Sentence("✕ learner's code failed", after=f"{e.exercise}: {e.message}")
        case trace.Gap() as e:
            return Sentence(
                f"told {e.dropped:,} events that did not get here",
                reason="the dashboard was too slow",
            )
        case trace.SinkFailed() as e:
            return Sentence(f"✕ {e.sink} has failed", after="and ends here", reason=e.reason)
        case trace.SampleFailed() as e:
            return Sentence(f"✕ {e.sample} cannot be sampled", reason=e.reason)
        case trace.EventConnectionFailed() as e:
            return Sentence(f"✕ failed at {e.doing}", after=f"for {e.peer}", reason=e.error)
        case trace.HopsLeftOut() as e:
            return Sentence(
                "left out its hops",
                after=f"for {duration(e.for_us / 1000)}",
                reason="there were more than edu.record.hops.per.second allows",
                loud=False,
            )
    return None


def _load(event: Event) -> Sentence | None:
    match event:
        case client.LoadStarted(load=load):
            rate = f"{load.rate:,} records a second, acks={load.acks}"
            return Sentence("a load begins on", f"topic {load.topic}", f"({rate})", loud=False)
        case client.LoadStalled() as e:
            return Sentence(
                "the load stalls:",
                f"topic {e.topic}",
                f"{plural(e.waiting, 'record')} without an answer for {duration(e.oldest_ms)}",
                reason=e.error,
                because="the load stalled",
                loud=False,
            )
        case client.LoadGoesOn() as e:
            return Sentence(
                "the load goes on:",
                f"topic {e.topic}",
                f"after {duration(e.stalled_ms)}",
                loud=False,
            )
        case client.RecordLost() as e:
            return Sentence(
                "an acked record is lost:",
                f"{e.topic}-{e.partition}",
                f"offset {e.offset:,}",
                loud=False,
            )
        case client.LoadStopped(load=load):
            counts = f"sent {load.sent:,}, acked {load.acked:,}, read {load.read:,}"
            return Sentence(
                "the load ends on",
                f"topic {load.topic}",
                f"({counts}, lost {load.lost:,})",
                loud=False,
            )
    return None


def _spark(event: Event) -> Sentence | None:
    match event:
        case spark.JobStarted() as e:
            return Sentence(f"Spark is up, and the job {e.job} begins", loud=False)
        case spark.QueryStarted() as e:
            return Sentence(f"Spark's query {e.query} begins on", f"topic {e.topic}")
        case spark.OffsetsRead() as e:
            return Sentence(
                f"batch {e.batch} of {e.query} has read",
                f"{e.topic}-{e.partition}",
                f"from {e.start:,} to {e.end:,}: {plural(e.records, 'record')}",
            )
        case spark.MicroBatchDone() as e:
            mark = f", watermark {e.watermark}" if e.watermark else ""
            dropped = f", {e.dropped:,} dropped as too late" if e.dropped else ""
            return Sentence(
                f"batch {e.batch} of {e.query} is done:",
                after=f"{plural(e.rows, 'row')} in {duration(e.took_ms)}{mark}{dropped}",
            )
        case spark.WindowWritten() as e:
            return Sentence(
                f"batch {e.batch} of {e.query} writes",
                f"the window of {e.begin}",
                f"with {plural(e.rows, 'row')}",
            )
        case spark.CommitMarkRemoved() as e:
            return Sentence(f"the mark of batch {e.batch} of {e.query} is taken away")
        case spark.SinkCounted() as e:
            return Sentence(
                "a reader finds in",
                e.sink,
                f"{plural(e.rows, 'record')}, {e.different:,} different ones",
            )
        case spark.QueryEnded() as e:
            return Sentence(
                f"Spark's query {e.query} ends",
                after=f"after {plural(e.batches, 'batch')}",
            )
    return None


def _zookeeper(event: Event) -> Sentence | None:
    match event:
        case zk.SessionExpired() as e:
            return Sentence(
                f"session {e.session_id:#x} expired",
                after=f"(nothing heard for {duration(e.timeout_ms)})",
                because="its session expired",
            )
        case zk.SessionClosed() as e:
            return Sentence(
                f"session {e.session_id:#x} is over",
                after=f"{e.ephemerals} ephemerals go",
                loud=False,
            )
        case zk.ZnodeDeleted() as e:
            return Sentence(f"znode {e.path} deleted", because=f"{e.path} was deleted", loud=False)
        case zk.ZnodeCreated() as e:
            return Sentence(f"znode {e.path} created", because=f"{e.path} was created", loud=False)
        case zk.ZnodeChanged() as e:
            return Sentence(
                f"znode {e.path} set",
                after=f"version {e.version}",
                because=f"{e.path} was set",
                loud=False,
            )
    return None


def member_name(member: str) -> str:
    """Return a member id for a line: `reader-1-3f2a` without the rest of its uuid."""
    client = member[:-37]
    return f"{client}-{member[-36:-32]}" if client and member[-37] == "-" else member


def _group(event: Event) -> Sentence | None:
    match event:
        case group.RebalanceStarted() as e:
            whose = f" of {e.member}" if e.member else ""
            return Sentence(
                f"group {e.group} rebalances",
                after=f"(generation {e.generation} ends)",
                reason="" if e.member else e.reason,
                because=f"group {e.group} rebalances",
                exact=f"group {e.group} rebalances{whose}: {e.reason}",
            )
        case group.RebalanceCompleted() as e:
            told = plural(len(e.members), "member")
            return Sentence(
                f"group {e.group} begins generation {e.generation}",
                after=f"with {told}",
                because="all members have joined",
                exact=(
                    f"group {e.group} begins generation {e.generation} with {joined(e.members)}"
                ),
            )
        case group.GroupAssigned() as e:
            return Sentence(
                f"group {e.group} has its assignment",
                after=f"by the leader {member_name(e.leader)}",
                because="the leader sent the assignment",
            )
        case group.MemberJoined() as e:
            name = member_name(e.member)
            return Sentence(
                f"group {e.group}:",
                name,
                "joins",
                because=f"{name} joined {e.group}",
                exact=f"group {e.group}: {e.member} joins, {e.members} members now",
            )
        case group.MemberUpdated() as e:
            name = member_name(e.member)
            changed = " with another subscription" if e.topics or e.topics_before else ""
            return Sentence(
                f"group {e.group}:",
                name,
                f"joins again{changed}",
                because=f"{name} joined {e.group} again{changed}",
                loud=bool(changed),
            )
        case group.MemberLeft() as e:
            name = member_name(e.member)
            return Sentence(
                f"group {e.group}:",
                name,
                "leaves",
                because=f"{name} left {e.group}",
                exact=f"group {e.group}: {e.member} leaves",
            )
        case group.MemberFailed() as e:
            name = member_name(e.member)
            return Sentence(
                f"group {e.group}:",
                name,
                "is removed",
                reason=e.reason,
                because=f"{name} fell silent",
                exact=f"group {e.group}: {e.member} is removed, because {e.reason}",
            )
        case group.GroupStateChanged() as e:
            return Sentence(
                f"group {e.group} {e.before} → {e.after}",
                because=f"group {e.group} was {e.before}",
                exact=f"group {e.group}: {e.before} → {e.after}, {e.members} members",
                loud=False,
            )
        case group.GroupLoaded(group=group.GroupDescription() as told):
            return Sentence(f"coordinates group {told.group} from now on", after=f"({told.state})")
    return None
