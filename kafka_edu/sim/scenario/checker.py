"""The rules that must hold at the end of a run. They compare the clients' notes with the brokers'
logs.

The rules are general: no rule knows which faults happened in the run, or which bug was put into the
broker's classes for a test (`planted_faults`).
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.scenario.history import History, Outcome
from kafka_edu.sim.scenario.language import Scenario, process_names
from kafka_edu.sim.scenario.stored import StoredLog, StoredRecord, partitions_of
from kafka_edu.sim.scenario.watch import Watch
from kafka_edu.sim.sim_cluster import SimCluster

_SHOWN: Final = 5
DELETE_RETENTION_MS: Final = 86_400_000
"""delete.retention.ms of a topic that does not set it."""


class Violation(NamedTuple):
    """A rule that does not hold, with what was found."""

    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


class Evidence(NamedTuple):
    """All that the rules look at."""

    scenario: Scenario
    cluster: SimCluster
    history: History
    watch: Watch
    logs: Mapping[TopicPartition, list[StoredLog]]
    left_out: frozenset[int]
    """The numbers of the transactions that are not checked, because Kafka has the same faults
    (`late_ends`, `forgotten_beginnings`).
    """

    def leader_logs(self) -> Iterator[StoredLog]:
        """Yield the log of each partition's leader. If several brokers believe that they lead, take
        the broker with the highest leader epoch.
        """
        for replicas in self.logs.values():
            leaders = [replica for replica in replicas if replica.is_leader]
            if leaders:
                yield max(leaders, key=lambda replica: replica.leader_epoch)


def _some(found: list[str]) -> str:
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more


def _idempotent(seen: Evidence) -> set[str]:
    return {
        name
        for client in seen.scenario.clients
        if (client.kind == "producer" and client.idempotent) or client.kind == "transactions"
        for name in process_names(client)
    }


def _compacted(seen: Evidence) -> set[str]:
    return {topic.name for topic in seen.scenario.topics if topic.is_compacted}


def _decided(seen: Evidence, name: str) -> bool:
    """Return whether a record must be in the log for good: it is not part of a transaction that was
    aborted or is in doubt.
    """
    transaction = seen.history.sent[name].transaction
    return transaction < 0 or seen.history.transactions[transaction] is Outcome.COMMITTED


def acked_records_are_there(seen: Evidence) -> Iterator[str]:
    """Each record that was acknowledged with acks=all is in the leader's log, at its offset."""
    with_all = {
        name
        for client in seen.scenario.clients
        if client.acks == "all"
        for name in process_names(client)
    }
    compacted = _compacted(seen)
    for log in seen.leader_logs():
        if log.tp.topic in compacted:
            continue
        places: dict[str, set[int]] = {}
        for stored in log.records:
            places.setdefault(stored.name, set()).add(stored.offset)
        lost = [
            f"{name} (offset {acked.offset}, acked at {acked.at_ms / 1_000:.2f} s)"
            for name, acked in seen.history.acked.items()
            if (sent := seen.history.sent[name]).tp == log.tp
            and sent.producer in with_all
            and acked.offset not in (places.get(name, set()) | ({-1} if name in places else set()))
        ]
        if lost:
            yield f"{len(lost)} acked records of {log.tp} are lost: {_some(lost)}"


def nothing_is_invented(seen: Evidence) -> Iterator[str]:
    """Each record of a log was sent by a client, to this partition."""
    for replicas in seen.logs.values():
        for log in replicas:
            strange = [
                f"{stored.offset}: {stored.name!r}"
                for stored in log.records
                if stored.name not in seen.history.sent
                or seen.history.sent[stored.name].tp != log.tp
            ]
            if strange:
                yield f"{log.tp} on broker {log.broker} has records nobody sent: {_some(strange)}"


def order_of_each_producer(seen: Evidence) -> Iterator[str]:
    """In each partition, the records of one idempotent producer are in the order in which they were
    sent.

    After a new epoch, a batch that a broker has forgotten may be stored a second time, because a
    snapshot of the log's producers has only the last batch of each producer, as in Kafka. So the
    rule looks at two orders: of the records of each epoch, and of the first copies of all records.
    """
    idempotent = _idempotent(seen)
    for log in seen.leader_logs():
        by_session: dict[tuple[str, int], list[StoredRecord]] = {}
        for stored in log.records:
            sent = seen.history.sent.get(stored.name)
            if sent is not None and sent.producer in idempotent:
                by_session.setdefault((sent.producer, sent.session), []).append(stored)
        for (producer, _), records in by_session.items():
            by_epoch: dict[tuple[int, int], list[str]] = {}
            for stored in records:
                epoch = stored.producer_id, stored.producer_epoch
                by_epoch.setdefault(epoch, []).append(stored.name)
            first_stored = list(dict.fromkeys(stored.name for stored in records))
            late = [
                f"{after} behind {before}"
                for names in (*by_epoch.values(), first_stored)
                for before, after in pairwise(names)
                if seen.history.sent[after].number < seen.history.sent[before].number
            ]
            if late:
                some = _some(list(dict.fromkeys(late)))
                yield f"{log.tp}: records of {producer} are out of order: {some}"


def no_duplicates(seen: Evidence) -> Iterator[str]:
    """No record of an idempotent producer is stored twice. It is no violation if the producer got a
    new id or epoch after a broker forgot its batches.
    """
    idempotent = _idempotent(seen)
    for log in seen.leader_logs():
        ids: dict[str, list[tuple[int, int]]] = {}
        for stored in log.records:
            sent = seen.history.sent.get(stored.name)
            if sent is not None and sent.producer in idempotent:
                ids.setdefault(stored.name, []).append((stored.producer_id, stored.producer_epoch))
        twice = [name for name, found in ids.items() if len(set(found)) < len(found)]
        if twice:
            yield f"{log.tp}: stored twice: {_some(twice)}"


def late_ends(
    scenario: Scenario, history: History, watch: Watch, late_ms: Mapping[str, Sequence[int]]
) -> frozenset[int]:
    """Return the numbers of the transactions that a late request has ended. A request is late if it
    arrives on a connection that its producer has given up before (`MemoryNetwork.late_ms`).

    Such a transaction is found by four moments in this order: the transaction begins; late data of
    its producer arrives; the coordinator decides to commit or abort the transaction; the producer
    asks for the end of the transaction, or it never asks.

    All transactions of a producer have the same epoch. So a late EndTxn ends the transaction that
    is open at that moment. This happens with Kafka too, before Kafka 4.0 gives each transaction a
    new epoch (KIP-890). O(transactions times late arrivals).
    """
    owner = _transactional_ids(scenario)
    late = set()
    for number, (_, records) in enumerate(history.transaction_records()):
        if not records or records[0].producer not in late_ms:
            continue
        producer = records[0].producer
        began_ms, asked_ms = (
            history.transaction_began_ms[number],
            history.transaction_asked_ms[number],
        )
        if any(
            began_ms <= arrived_ms - watch.begun_ms <= decided_ms < asked_ms
            for arrived_ms in late_ms[producer]
            for decided_ms in watch.decided_ms.get(owner[producer], ())
        ):
            late.add(number)
    return frozenset(late)


def forgotten_beginnings(scenario: Scenario, history: History, watch: Watch) -> frozenset[int]:
    """Return the numbers of the transactions whose coordinator may have forgotten that they write
    to a partition, after the producer was told that this is stored.

    Such a transaction is found by three moments in this order: the transaction begins; a broker
    reads the transactional id's partition of `__transaction_state`; this broker's log of the
    partition is cut off at its end. All three come before the producer's next transaction begins.
    Also, a partition of the transaction was not yet stored on all replicas in sync when the broker
    read its log.

    A coordinator reads its log up to the end, also states that are not committed yet. If its log
    has the transaction's partitions, it answers AddPartitionsToTxn at once. Then the producer
    writes data. If another replica is elected that does not have these states, the new coordinator
    does not know of the partition: no marker is written there, and the transaction stays open. The
    code of Kafka 2.0 does the same. KIP-890 changes it: the leader asks the coordinator before it
    appends. O(transactions times cuts).
    """
    owner = _transactional_ids(scenario)
    next_began_ms: dict[str, float] = {}
    found = set()
    for number, (_, records) in reversed(list(enumerate(history.transaction_records()))):
        if not records:
            continue
        producer, began_ms = records[0].producer, history.transaction_began_ms[number]
        end_ms = next_began_ms.get(producer, math.inf)
        next_began_ms[producer] = began_ms
        transactional_id = owner.get(producer, "")
        stored = watch.stored_ms.get(transactional_id, ())
        for loaded_ms in _loaded_and_cut(watch, transactional_id, began_ms, end_ms):
            known = frozenset[str]().union(
                *(partitions for at_ms, partitions in stored if began_ms <= at_ms <= loaded_ms)
            )
            if not {str(record.tp) for record in records} <= known:
                found.add(number)
    return frozenset(found)


def _loaded_and_cut(
    watch: Watch, transactional_id: str, began_ms: float, end_ms: float
) -> Iterator[int]:
    """Yield when a broker has read the states of a transactional id, for each time that this
    broker's log of them was then cut off at its end, all of it between `began_ms` and `end_ms`.
    """
    partition = watch.state_partitions.get(transactional_id)
    for (of, broker), all_cut_ms in watch.cut_ms.items():
        if of != partition:
            continue
        for loaded_ms in watch.loaded_ms.get((of, broker), ()):
            if began_ms <= loaded_ms and any(loaded_ms <= ms < end_ms for ms in all_cut_ms):
                yield loaded_ms


def _transactional_ids(scenario: Scenario) -> dict[str, str]:
    """Return the transactional id of each producer of transactions, by the producer's name."""
    return {
        name: client.name
        for client in scenario.clients
        if client.kind == "transactions"
        for name in process_names(client)
    }


def transactions_are_whole(seen: Evidence) -> Iterator[str]:
    """A read_committed reader sees all records of a committed transaction, and no record of an
    aborted transaction. If the producer does not know the result of a transaction, the reader sees
    all of its records or none. No transaction stays open.

    The transactions are left out that Kafka breaks in the same way (`Evidence.left_out`).
    """
    left_out = {
        name for name, sent in seen.history.sent.items() if sent.transaction in seen.left_out
    }
    shown: Counter[str] = Counter()
    for log in seen.leader_logs():
        visible, open_ = log.visible()
        shown.update(stored.name for stored in visible)
        still_open = [stored.name for stored in open_ if stored.name not in left_out]
        if still_open:
            yield f"{log.tp}: a transaction is still open at the end: {_some(still_open)}"
    read = {record.name for record in seen.history.reads}
    for number, (outcome, records) in enumerate(seen.history.transaction_records()):
        if number in seen.left_out:
            continue
        names = [record.name for record in records]
        there = [name for name in names if shown[name]]
        failed = [name for name in names if name in seen.history.failed]
        wanted = [name for name in names if name not in failed]
        if outcome is Outcome.COMMITTED and len(there) != len(names):
            missing = [name for name in names if not shown[name]]
            yield f"transaction {number} is committed, and misses {_some(missing)}"
        if outcome is Outcome.ABORTED and there:
            yield f"transaction {number} is aborted, and shows {_some(there)}"
        if outcome is Outcome.UNKNOWN and there and set(wanted) - set(there):
            yield f"transaction {number} shows {_some(there)} and not {_some(wanted)}"
        seen_early = [name for name in names if name in read and not shown[name]]
        if seen_early:
            yield f"read_committed gave records of an aborted transaction: {_some(seen_early)}"


def high_watermarks_go_on(seen: Evidence) -> Iterator[str]:
    """The high watermark of a leader never falls within one leader epoch."""
    yield from seen.watch.went_back


def nothing_below_a_high_watermark_is_lost(seen: Evidence) -> Iterator[str]:
    """No leader has ever had a high watermark above the log's end at the end of the run. Each
    record that a consumer has read is still in the log, at the same offset.
    """
    compacted = _compacted(seen)
    for log in seen.leader_logs():
        promise = seen.watch.promises.get(log.tp)
        if promise is not None and promise.high_watermark > log.end:
            yield (
                f"{log.tp} had the high watermark {promise.high_watermark} on broker"
                f" {promise.broker} at {promise.at_ms / 1_000:.1f} s, and ends at {log.end} now"
            )
        if log.tp.topic in compacted:
            continue
        names = {stored.offset: stored.name for stored in log.records}
        changed = [
            f"{read.reader} read {read.name} at {read.offset}, where {names.get(read.offset)} is"
            for read in seen.history.reads
            if read.tp == log.tp and names.get(read.offset) != read.name
        ]
        if changed:
            yield f"{log.tp}: {_some(changed)}"


def readers_get_each_record_once(seen: Evidence) -> Iterator[str]:
    """A consumer without a group gets the records of a partition in order, and no record twice."""
    readers = {client.name for client in seen.scenario.clients if client.kind == "consumer"}
    last: dict[tuple[str, TopicPartition], int] = {}
    for read in seen.history.reads:
        if read.reader in readers:
            before = last.get((read.reader, read.tp), -1)
            if read.offset <= before:
                yield f"{read.reader} read {read.tp} {read.offset} after {before}"
            last[read.reader, read.tp] = read.offset


def commits_go_on(seen: Evidence) -> Iterator[str]:
    """The committed offset of a group never falls: if a commit begins after a different commit was
    acknowledged, its offset is not lower. Members never seek, so there is no reason for a lower
    offset.
    """
    highest: dict[tuple[str, TopicPartition], list[tuple[int, int, str]]] = {}
    for commit in seen.history.commits:
        key = commit.group, commit.tp
        for acked_ms, offset, member in highest.get(key, []):
            if acked_ms < commit.began_ms and offset > commit.offset:
                yield (
                    f"{commit.group} {commit.tp}: {member} committed {offset}, and"
                    f" {commit.member} later {commit.offset}"
                )
                break
        highest.setdefault(key, []).append((commit.acked_ms, commit.offset, commit.member))


def commits_are_not_forgotten(seen: Evidence) -> Iterator[str]:
    """A member that requests the committed offset gets at least the highest offset that this member
    has committed.
    """
    for known in seen.history.known:
        committed = max(
            (
                commit.offset
                for commit in seen.history.commits
                if (commit.group, commit.member, commit.tp) == (known.group, known.member, known.tp)
                and commit.acked_ms < known.asked_ms
            ),
            default=0,
        )
        if known.offset < committed:
            yield (
                f"{known.member} had committed {committed} of {known.tp}, and at"
                f" {known.asked_ms / 1_000:.2f} s {known.offset} was committed"
            )


def members_begin_at_the_committed_offset(seen: Evidence) -> Iterator[str]:
    """A member that gets a partition begins at the committed offset or above it. It does not read
    records again that were committed before it got the partition.
    """
    for assigned in seen.history.assigned:
        committed = max(
            (
                commit.offset
                for commit in seen.history.commits
                if commit.group == assigned.group
                and commit.tp == assigned.tp
                and commit.acked_ms < assigned.at_ms
            ),
            default=0,
        )
        first = next(
            (
                read.offset
                for read in seen.history.reads
                if read.reader == assigned.member
                and read.tp == assigned.tp
                and read.at_ms >= assigned.at_ms
            ),
            committed,
        )
        if first < committed:
            yield (
                f"{assigned.member} got {assigned.tp} at {assigned.at_ms / 1_000:.2f} s and read"
                f" {first}, where {committed} was committed"
            )


def groups_read_everything_once_or_more(seen: Evidence) -> Iterator[str]:
    """Each record that read_committed shows was read by at least one member of each group of its
    topic. Compacted topics are left out.
    """
    for client in seen.scenario.clients:
        if client.kind != "group":
            continue
        read: dict[TopicPartition, set[int]] = {}
        members = set(process_names(client))
        for record in seen.history.reads:
            if record.reader in members:
                read.setdefault(record.tp, set()).add(record.offset)
        for log in seen.leader_logs():
            if log.tp.topic != client.topic or log.tp.topic in _compacted(seen):
                continue
            visible, _ = log.visible()
            missed = [
                f"{stored.offset}: {stored.name}"
                for stored in visible
                if stored.offset not in read.get(log.tp, set())
            ]
            if missed:
                yield f"{client.name} has not read {log.tp} {_some(missed)}"


def one_leader_and_one_controller(seen: Evidence) -> Iterator[str]:
    """Each leader epoch has at most one leader, and each controller epoch at most one
    controller.
    """
    for (tp, epoch), brokers in seen.watch.leaders.items():
        if len(brokers) > 1:
            yield f"{tp} had the leaders {sorted(brokers)} in leader epoch {epoch}"
    for epoch, brokers in seen.watch.controllers.items():
        if len(brokers) > 1:
            yield f"brokers {sorted(brokers)} were controller in epoch {epoch}"


def replicas_agree(seen: Evidence) -> Iterator[str]:
    """All replicas of a partition have the same records below the high watermark of the leader. The
    brokers' cleaners run at different times. So for compacted topics only offsets that both
    compared replicas still have are compared.
    """
    compacted = _compacted(seen)
    for log in seen.leader_logs():
        ours = {stored.offset: stored.name for stored in log.records}
        for other in seen.logs[log.tp]:
            theirs = {stored.offset: stored.name for stored in other.records}
            differ = [
                f"{offset}: {ours.get(offset)} and {theirs.get(offset)}"
                for offset in sorted(ours.keys() | theirs.keys())
                if max(log.start, other.start) <= offset < min(log.high_watermark, other.end)
                and ours.get(offset) != theirs.get(offset)
                and (log.tp.topic not in compacted or (offset in ours and offset in theirs))
            ]
            if differ:
                yield (
                    f"{log.tp}: brokers {log.broker} and {other.broker} differ below the high"
                    f" watermark {log.high_watermark}: {_some(differ)}"
                )


def everybody_agrees(seen: Evidence) -> Iterator[str]:
    """When there have been no faults for a while, ZooKeeper and the brokers agree about the leader,
    the leader epoch and the ISR of each partition. Every replica is in sync again.
    """
    nodes = seen.cluster.zookeeper.server.tree.nodes
    for broker in seen.cluster.brokers:
        # A scenario without topics has brokers without partitions.
        is_up = (
            partitions_of(seen.cluster, broker)
            if seen.scenario.topics
            else (seen.cluster.brokers[broker].server is not None)
        )
        if not is_up:
            yield f"broker {broker} is not up at the end"
    for tp, replicas in seen.logs.items():
        node = nodes.get(f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state")
        if node is None or not node.data:
            yield f"ZooKeeper knows no leader of {tp}"
            continue
        state = json.loads(node.data)
        leaders = {replica.broker for replica in replicas if replica.is_leader}
        if leaders != {state["leader"]}:
            yield f"{tp}: ZooKeeper says leader {state['leader']}, and brokers {sorted(leaders)}"
        epochs = {replica.leader_epoch for replica in replicas}
        if epochs != {state["leader_epoch"]}:
            yield f"{tp}: ZooKeeper has leader epoch {state['leader_epoch']}, brokers {epochs}"
        in_sync = {tuple(sorted(one.isr)) for one in replicas if one.is_leader}
        if in_sync and in_sync != {tuple(sorted(state["isr"]))}:
            yield f"{tp}: ZooKeeper has the ISR {state['isr']}, the leader {in_sync}"
        if len(state["isr"]) < len(replicas):
            yield f"{tp}: only {state['isr']} are in sync long after the last fault"


def last_values_stay(seen: Evidence) -> Iterator[str]:
    """A compacted log still has the last acknowledged value of each key, or a later value. If the
    last record of a key is a tombstone, the tombstone may be gone too. But no older value of the
    key may be in the log again.
    """
    compacted = _compacted(seen)
    for log in seen.leader_logs():
        if log.tp.topic not in compacted:
            continue
        newest = {stored.key: stored.offset for stored in log.records}
        last: dict[str, tuple[int, str]] = {}
        for name, acked in seen.history.acked.items():
            sent = seen.history.sent[name]
            if sent.tp == log.tp and _decided(seen, name):
                last[sent.key] = max(last.get(sent.key, (-1, "")), (acked.offset, name))
        for key, (offset, name) in last.items():
            found = newest.get(key, -1)
            deleted = seen.history.sent[name].is_tombstone
            if deleted and (found < 0 or _may_miss_tombstones(seen, log)):
                continue
            if found < offset:
                what = "was deleted by" if deleted else "had the last value"
                yield f"{log.tp}: {key} {what} {name} at {offset}, and has {found} now"


def _may_miss_tombstones(seen: Evidence, log: StoredLog) -> bool:
    """Return whether the leader was once out of sync for longer than delete.retention.ms. In this
    time the other replicas may have removed a tombstone that this leader has never read. An old
    value of the key may then be in the log again, as in Kafka.
    """
    configs = next(dict(one.configs) for one in seen.scenario.topics if one.name == log.tp.topic)
    retention_ms = int(configs.get("delete.retention.ms", DELETE_RETENTION_MS))
    return seen.watch.longest_absence_ms(log.tp, log.broker) >= retention_ms


RULES: Final[Mapping[str, Callable[[Evidence], Iterator[str]]]] = {
    "acked records are there": acked_records_are_there,
    "nothing is invented": nothing_is_invented,
    "order of each producer": order_of_each_producer,
    "no duplicates": no_duplicates,
    "transactions are whole": transactions_are_whole,
    "high watermarks go on": high_watermarks_go_on,
    "nothing below a high watermark is lost": nothing_below_a_high_watermark_is_lost,
    "readers get each record once": readers_get_each_record_once,
    "commits go on": commits_go_on,
    "commits are not forgotten": commits_are_not_forgotten,
    "members begin at the committed offset": members_begin_at_the_committed_offset,
    "groups read everything": groups_read_everything_once_or_more,
    "one leader and one controller": one_leader_and_one_controller,
    "replicas agree": replicas_agree,
    "everybody agrees": everybody_agrees,
    "last values stay": last_values_stay,
}


def check(seen: Evidence) -> list[Violation]:
    """Return what is wrong. Empty if every rule holds."""
    return [Violation(name, text) for name, rule in RULES.items() for text in rule(seen)]
