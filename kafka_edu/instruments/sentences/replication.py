"""Sentences for the events of replication."""

from kafka_edu.common.words import duration, joined, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import brief_error, ids, isr_reason, offsets, quiet
from kafka_edu.trace.events import replication


@sentence.register
def became_leader(e: replication.BecameLeader) -> Sentence:
    return Sentence(
        "leads",
        f"{e.topic}-{e.partition}",
        f"from offset {e.start_offset:,} on, epoch {e.leader_epoch}",
        loud=False,
    )


@sentence.register
def became_follower(e: replication.BecameFollower) -> Sentence:
    leader = f"of broker {e.leader}" if e.leader >= 0 else "without a leader"
    return quiet("follows", f"{e.topic}-{e.partition}", leader)


@sentence.register
def replica_stopped(e: replication.ReplicaStopped) -> Sentence:
    also = " and deletes its log" if e.deleted else ""
    return quiet(
        f"stops its replica{also} of" if not e.deleted else "stops and deletes its replica of",
        f"{e.topic}-{e.partition}",
        "because the controller said so",
    )


@sentence.register
def replica_move_started(e: replication.ReplicaMoveStarted) -> Sentence:
    how = "continues to move" if e.resumed else "begins to move"
    return Sentence(
        how,
        f"{e.topic}-{e.partition}",
        f"from {e.from_dir} to {e.to_dir}",
        exact=(
            f"{how} {e.topic}-{e.partition} from {e.from_dir} to {e.to_dir}: {e.size:,} bytes, from"
            f" offset {e.future_log_end_offset:,} to {e.log_end_offset:,}"
        ),
    )


@sentence.register
def replica_move_completed(e: replication.ReplicaMoveCompleted) -> Sentence:
    return Sentence(
        "has moved",
        f"{e.topic}-{e.partition}",
        f"from {e.from_dir} to {e.to_dir}",
        exact=(
            f"has moved {e.topic}-{e.partition} from {e.from_dir} to {e.to_dir}:"
            f" {e.copied_bytes:,} bytes in {duration(e.took_ms)}, up to offset"
            f" {e.log_end_offset:,}"
        ),
    )


@sentence.register
def replica_move_ended(e: replication.ReplicaMoveEnded) -> Sentence:
    return Sentence(
        "does not move",
        f"{e.topic}-{e.partition}",
        f"from {e.from_dir} to {e.to_dir} any more",
        e.reason,
    )


@sentence.register
def future_log_truncated(e: replication.FutureLogTruncated) -> Sentence:
    return Sentence(
        "cuts the copy of",
        f"{e.topic}-{e.partition}",
        f"from offset {e.before:,} to {e.after:,}",
        e.reason,
        loud=False,
    )


@sentence.register
def replica_move_progress(e: replication.ReplicaMoveProgress) -> Sentence:
    held = "; the throttle holds it back" if e.throttled else ""
    return quiet(
        "copies",
        f"{e.topic}-{e.partition}",
        f"to {e.to_dir}: at offset {e.future_log_end_offset:,} of {e.log_end_offset:,}{held}",
    )


@sentence.register
def partition_offline(e: replication.PartitionOffline) -> Sentence:
    return Sentence("✕ disk failed below", f"{e.topic}-{e.partition}")


@sentence.register
def controller_epoch_seen(e: replication.ControllerEpochSeen) -> Sentence:
    return quiet(f"learns that broker {e.controller} is the controller, epoch {e.controller_epoch}")


@sentence.register
def stale_controller_refused(e: replication.StaleControllerRefused) -> Sentence:
    return Sentence(
        f"refuses {e.request} of the old controller, broker {e.controller}",
        after=f"(epoch {e.controller_epoch} < {e.current_epoch})",
    )


@sentence.register
def isr_change_proposed(e: replication.IsrChangeProposed) -> Sentence:
    return Sentence(
        "wants for",
        f"{e.topic}-{e.partition}",
        f"the ISR {ids(e.before)} → {ids(e.after)}",
        isr_reason(e.reason),
        loud=False,
    )


@sentence.register
def isr_shrunk(e: replication.IsrShrunk) -> Sentence:
    return Sentence(
        "ISR of",
        f"{e.topic}-{e.partition}",
        f"shrinks {ids(e.before)} → {ids(e.after)}",
        isr_reason(e.reason),
        "the ISR shrank",
    )


@sentence.register
def isr_expanded(e: replication.IsrExpanded) -> Sentence:
    return Sentence(
        "ISR of",
        f"{e.topic}-{e.partition}",
        f"grows {ids(e.before)} → {ids(e.after)}",
        isr_reason(e.reason),
        "the ISR grew",
    )


@sentence.register
def isr_write_failed(e: replication.IsrWriteFailed) -> Sentence:
    return Sentence(
        "could not write the ISR of",
        f"{e.topic}-{e.partition}",
        f"as {ids(e.wanted)}",
        f"its znode no longer has version {e.zk_version}: another broker wrote it",
        loud=False,
    )


@sentence.register
def isr_changes_propagated(e: replication.IsrChangesPropagated) -> Sentence:
    return quiet("reports its new ISRs to the controller:", joined(e.partitions))


@sentence.register
def high_watermark_advanced(e: replication.HighWatermarkAdvanced) -> Sentence:
    return quiet(
        "HW of",
        f"{e.topic}-{e.partition}",
        f"{e.before:,} → {e.after:,}",
        exact=f"HW of {e.topic}-{e.partition} moves {e.before:,} → {e.after:,}",
    )


@sentence.register
def log_truncated_by_epoch(e: replication.LogTruncatedByEpoch) -> Sentence:
    tp = f"{e.topic}-{e.partition}"
    if e.before == e.after:
        return quiet(
            "has nothing to cut in",
            tp,
            exact=f"{tp}: nothing to cut, as leader broker {e.leader} answers",
        )
    known = (
        f"leader broker {e.leader} knows no epoch that old"
        if e.epoch < 0
        else f"leader broker {e.leader} has no more of epoch {e.epoch}"
    )
    return Sentence("cuts", tp, f"back {e.before:,} → {e.after:,}", known)


@sentence.register
def log_truncated_by_range(e: replication.LogTruncatedByRange) -> Sentence:
    return Sentence("cuts", f"{e.topic}-{e.partition}", f"{e.before:,} → {e.after:,}", e.reason)


@sentence.register
def unclean_truncation(e: replication.UncleanTruncation) -> Sentence:
    at_least = "" if e.exact else "at least "
    lost = (
        f"{at_least}{plural(e.records, 'committed record')} lost: {e.after:,} to"
        f" {e.high_watermark - 1:,}"
    )
    return Sentence(
        "✕ UNCLEAN: cuts",
        f"{e.topic}-{e.partition}",
        lost,
        f"its leader, broker {e.leader}, elected uncleanly, never had them",
    )


@sentence.register
def follower_fetched(e: replication.FollowerFetched) -> Sentence:
    return quiet(
        f"broker {e.follower} fetches",
        f"{e.topic}-{e.partition}",
        f"from {e.fetch_offset:,}",
        because=f"broker {e.follower} has stored it",
        exact=(
            f"broker {e.follower} fetches {e.topic}-{e.partition} from"
            f" {e.fetch_offset:,}: it has all records before"
        ),
    )


@sentence.register
def follower_appended(e: replication.FollowerAppended) -> Sentence:
    return quiet(
        "stores a copy of",
        f"{e.topic}-{e.partition}",
        f"up to {e.log_end_offset:,}",
        exact=(
            f"stores {offsets(e.fetch_offset, e.log_end_offset)} of"
            f" {e.topic}-{e.partition} from broker {e.leader}"
        ),
    )


@sentence.register
def produce_appended(e: replication.ProduceAppended) -> Sentence:
    needs = f"; acks=all needs HW {e.required_offset:,}" if e.required_acks == -1 else ""
    return quiet(
        "appends to",
        f"{e.topic}-{e.partition}",
        f"at {e.first_offset:,}",
        exact=(
            f"appends {offsets(e.first_offset, e.required_offset)} to"
            f" {e.topic}-{e.partition}{needs}"
        ),
    )


@sentence.register
def fetcher_started(e: replication.FetcherStarted) -> Sentence:
    return quiet(
        f"begins to fetch from broker {e.leader}",
        exact=f"starts a fetcher from broker {e.leader}",
    )


@sentence.register
def fetcher_connected(e: replication.FetcherConnected) -> Sentence:
    return quiet(
        f"is connected to broker {e.leader}",
        after=f"at port {e.port}",
        exact=f"its fetcher is connected to broker {e.leader}",
    )


@sentence.register
def fetcher_stopped(e: replication.FetcherStopped) -> Sentence:
    return quiet(
        f"stops fetching from broker {e.leader}",
        exact=f"stops its fetcher from broker {e.leader}",
    )


@sentence.register
def follower_stuck(e: replication.FollowerStuck) -> Sentence:
    return Sentence(
        "✕ cannot follow",
        f"{e.topic}-{e.partition}",
        f"of broker {e.leader}, and stays out of the ISR",
        f"its log ends with leader epoch {e.latest_epoch}, which that leader does not know",
        because="its leader does not know its last epoch",
    )


@sentence.register
def fetcher_failed(e: replication.FetcherFailed) -> Sentence:
    return Sentence(
        f"cannot fetch from broker {e.leader}",
        reason=brief_error(e.reason),
        because="its leader does not answer",
    )


@sentence.register
def fetcher_partition_delayed(e: replication.FetcherPartitionDelayed) -> Sentence:
    return Sentence(
        "leaves aside",
        f"{e.topic}-{e.partition}",
        f"for {duration(e.delay_ms)}",
        f"broker {e.leader} answered {e.error}",
        loud=False,
    )


@sentence.register
def hw_checkpointed(e: replication.HwCheckpointed) -> Sentence:
    return quiet(
        "writes the high watermarks",
        after=f"of {plural(e.partitions, 'partition')} to its checkpoint",
    )


@sentence.register
def fetch_session_opened(e: replication.FetchSessionOpened) -> Sentence:
    return quiet(
        "opens fetch session",
        str(e.session_id),
        f"of {plural(e.partitions, 'partition')}",
    )


@sentence.register
def fetch_session_closed(e: replication.FetchSessionClosed) -> Sentence:
    return Sentence("closes fetch session", str(e.session_id), "", e.reason, loud=False)


@sentence.register
def replication_throttle_began(e: replication.ReplicationThrottleBegan) -> Sentence:
    what = "sends to followers" if e.side == "leader" else "fetches as a follower"
    return Sentence(
        "throttles",
        f"{e.topic}-{e.partition}",
        f"in what it {what}: {e.rate:,} bytes/s, and {e.bound:,} are allowed",
        f"{e.side}.replication.throttled.rate is {e.bound}",
        because="a throttle holds its replication back",
    )


@sentence.register
def replication_throttle_ended(e: replication.ReplicationThrottleEnded) -> Sentence:
    what = "sends to followers" if e.side == "leader" else "fetches as a follower"
    return Sentence(
        f"throttles no longer what it {what}",
        "",
        f"after {duration(e.lasted_ms)} and {e.bytes:,} bytes",
        e.reason,
    )


@sentence.register
def consumer_sent_to_follower(e: replication.ConsumerSentToFollower) -> Sentence:
    behind = e.leader_log_end_offset - e.follower_log_end_offset
    return Sentence(
        f"sends consumer {e.client_id or 'without a name'} to broker {e.follower} for",
        f"{e.topic}-{e.partition}",
        f"from offset {e.fetch_offset:,} on",
        f"both are in rack {e.rack}"
        + (f"; that follower lacks {plural(behind, 'record')}" if behind > 0 else ""),
    )
