"""The table of seams: the places where a learner's code can replace ours (spec E1).

A seam is a name of a class or function in one of our modules. One caller looks the name up each
time that it needs the class or function. Installing a learner's code puts another object under that
name, in this process only, and before the name is looked up for the first time. So one broker of
three can run the learner's code. The other object is not the learner's object but an *adapter*, a
module next to the shipped class. The adapter calls the learner's code, checks the answer, and does
with it what the shipped code would do. If the answer is invalid, the adapter uses the shipped code.

A learner's code only computes: it gets numbers and returns numbers. The caller keeps the method
that emits events, so a learner's code can neither forge an event nor omit one.

    # server.properties has this as edu.learner; several are separated by ;
    installed = install("02-1=/home/me/lab/02-1/timing_wheel.py")
    # kafka_edu.learner.learner_trace: from here on failures are events
    trace_learner(installed, tracer)

The learner's file is never imported here. It runs in a separate process
(`kafka_edu.learner.learner`). So it cannot reach the adapter, the counts of failures, or the events
by which it is judged. Its exceptions are reported as the learner's, with file and line.

A call blocks the broker's loop, so it may use less time than in the public tests (`LIVE_CALL`). If
a call fails, the shipped code answers. After three failures (`FAILURES_ALLOWED`) the learner's
process ends, and from then on only the shipped code is used.
"""

import importlib
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Final, NamedTuple

from kafka_edu.common.busy_machine import Allowance
from kafka_edu.learner.learner import Learner, LearnerFailure, LearnerObject, shown_call

LIVE_CALL: Final = Allowance(processor_s=0.2, idle_s=1.0, clock_s=1.0)
"""The limits of one call in a broker, whose loop waits for the answer.

Time in which the machine has no free core for the learner's process does not count as idle time.
"""
FAILURES_ALLOWED: Final = 3
"""After this number of failures of one file, only the shipped code is used."""


BROKER, ZOOKEEPER, PROXY = "broker", "zookeeper", "proxy"
PRODUCER, CONSUMER = "producer", "consumer"


class Seam(NamedTuple):
    """One seam: a row of the table."""

    exercise: str
    module: str
    name: str
    """The dotted name `module.name` of the shipped code that is replaced."""
    adapter: str
    """The adapter's `module:function`.

    The function takes a LearnerCode and returns the replacement.
    """
    wanted: str
    """The name of the class or function that the learner's file must define."""
    signature: str
    """The signature of the learner's function or methods, as text."""
    also_in: tuple[str, ...] = ()
    """Other modules that import the same name. They get the same replacement."""
    process: str = BROKER
    """The kind of process that has this seam: BROKER, ZOOKEEPER, PROXY, PRODUCER or CONSUMER."""
    includes: tuple[str, ...] = ()
    """The exercises that this seam replaces for topics of the labs. While this exercise's code
    runs, it does their work too, so their code is not called.
    """


SEAMS: Final[Mapping[str, Seam]] = {
    seam.exercise: seam
    for seam in (
        Seam(
            "02-1",
            "kafka_edu.timer.system_timer",
            "TimingWheel",
            "kafka_edu.learner.learner_timing_wheel:adapt",
            "TimingWheel",
            "TimingWheel(tick_ms, slots, start_ms, level=1).add(expiration_ms) -> (level, slot,"
            " left_over_ms) | None",
        ),
        *(
            Seam(
                exercise,
                "kafka_edu.purgatory.delayed_operation_purgatory",
                "SystemTimer",
                "kafka_edu.learner.learner_timer:adapt",
                "Timer",
                "Timer(tick_ms, slots, start_ms): add(task, deadline_ms) -> (level, slot) | None;"
                " cancel(task); advance_clock(time_ms) -> [(time_ms, task, (level, slot) | None)]",
            )
            for exercise in ("02-2", "02-3", "02-4")
        ),
        Seam(
            "03-2",
            "kafka_edu.replication.append",
            "DelayedProduce",
            "kafka_edu.learner.learner_delayed_produce:adapt",
            "DelayedProduce",
            "DelayedProduce([(partition, error, required_offset, leader_epoch)]): look(states) ->"
            " ([(partition, error)], [(partition, missing offsets)])",
        ),
        Seam(
            "03-3",
            "kafka_edu.replication.fetch",
            "DelayedFetch",
            "kafka_edu.learner.learner_delayed_fetch:adapt",
            "DelayedFetch",
            "DelayedFetch(min_bytes, [(partition, place, max_bytes, epoch)]): look(states) ->"
            " (case, partition) | ('G', bytes) | ('wait', missing bytes)",
        ),
        Seam(
            "04-1",
            "kafka_edu.controller.zk_partition_state_machine",
            "may_become",
            "kafka_edu.learner.learner_state_machine:adapt",
            "StateMachine",
            "StateMachine(machine): handle([name], wanted) -> ([(name, before)] that changed,"
            " [(name, before)] refused)",
            also_in=("kafka_edu.controller.zk_replica_state_machine",),
        ),
        Seam(
            "04-2",
            "kafka_edu.controller.active_controller",
            "ControllerBrokersRequestBatch",
            "kafka_edu.learner.learner_request_batch:adapt",
            "RequestBatch",
            "RequestBatch(live): elected(name, leader, epoch, replicas), stop(name, broker,"
            " delete), members_changed(); send() -> [(broker, kind, rows)]",
        ),
        Seam(
            "04-3",
            "kafka_edu.controller.active_controller",
            "PartitionReassignments",
            "kafka_edu.learner.learner_reassignment:adapt",
            "Reassignment",
            "Reassignment(replicas): order(target | None), sets() -> (replicas, adding, removing),"
            " next(leader, isr, live, stopped) -> (step, brokers)",
        ),
        Seam(
            "05-1",
            "kafka_edu.controller.kafka_controller",
            "candidate_of",
            "kafka_edu.learner.learner_candidate:adapt",
            "Candidate",
            "Candidate(broker): next(came) -> operation, such as ('look',) or ('run', epoch,"
            " version)",
        ),
        Seam(
            "05-2",
            "kafka_edu.zk.embedded.zookeeper_server",
            "SessionTracker",
            "kafka_edu.learner.learner_session_tracker:adapt",
            "SessionTracker",
            "SessionTracker(tick_ms, now_ms): add(session, timeout_ms, now_ms) -> bucket;"
            " touch(session, now_ms) -> bool; remove(session); poll(now_ms) -> [session]",
            process=ZOOKEEPER,
        ),
        Seam(
            "06-1",
            "kafka_edu.server.controlled_shutdown",
            "ShutdownSteps",
            "kafka_edu.learner.learner_shutdown_steps:adapt",
            "Shutdown",
            "Shutdown(max_retries, backoff_ms): next(came) -> operation, such as ('find',) or"
            " ('stop', True)",
        ),
        Seam(
            "06-2",
            "kafka_edu.controller.active_controller",
            "ShutdownRule",
            "kafka_edu.learner.learner_shutdown_rule:adapt",
            "ControlledShutdown",
            "ControlledShutdown(): refusal(asked_epoch, live_epoch) -> error; sort(broker,"
            " [(partition, replicas, leader, deleting)]) -> (to move, to stop); remaining(broker,"
            " [...]) -> [partition]",
        ),
        Seam(
            "06-3",
            "kafka_edu.log.log_loader",
            "RecoveryRule",
            "kafka_edu.learner.learner_recovery:adapt",
            "Recovery",
            "Recovery(): after_flush(point, up_to, end), after_truncation(point, end),"
            " after_deletion(point, log_start), at_start(point, log_start, end, clean) -> point;"
            " to_read(bases, point, clean) -> bases",
            also_in=("kafka_edu.log.log",),
        ),
        Seam(
            "07-1",
            "kafka_edu.controller.zk_partition_state_machine",
            "elect",
            "kafka_edu.learner.learner_leader_election:adapt",
            "LeaderElection",
            "LeaderElection(): elect(strategy, replicas, isr, live, going, unclean) -> (leader,"
            " isr) | None",
        ),
        Seam(
            "07-2",
            "kafka_edu.replication.partition",
            "IsrRule",
            "kafka_edu.learner.learner_isr:adapt",
            "Isr",
            "Isr(): leaving(isr, [(broker, caught_up_ms)], now_ms, max_lag_ms) -> [broker];"
            " may_join(leo, hw, epoch_start) -> bool",
        ),
        Seam(
            "07-3",
            "kafka_edu.replication.replica_fetcher",
            "offset_truncation_state",
            "kafka_edu.learner.learner_truncation:adapt",
            "Truncation",
            "Truncation(): cut(epochs, leo, hw, leader_epoch, leader_end) -> (offset, complete)",
        ),
        Seam(
            "08-1",
            "kafka_edu.clients.proxy.metadata_copy",
            "MetadataRewrite",
            "kafka_edu.learner.learner_metadata_rewrite:adapt",
            "Rewrite",
            "Rewrite(): topics(names | None, version, {name: (error, internal, partitions)},"
            " alive) -> [(error, name, internal, partitions)]",
            process=PROXY,
        ),
        Seam(
            "08-2",
            "kafka_edu.clients.proxy.routes",
            "Routes",
            "kafka_edu.learner.learner_routes:adapt",
            "Routes",
            "Routes([(client, topic | None, clusters)]): clusters_for(client_id, topic | None) ->"
            " clusters; choose(client_id, address, topic | None, serving) -> cluster | None",
            process=PROXY,
        ),
        Seam(
            "08-3",
            "kafka_edu.clients.proxy.target",
            "Health",
            "kafka_edu.learner.learner_health:adapt",
            "Health",
            "Health(down_after, up_after): saw(answered) -> 'Up' | 'Down'",
            process=PROXY,
        ),
        Seam(
            "08-4",
            "kafka_edu.clients.proxy.metadata_copy",
            "Coordinators",
            "kafka_edu.learner.learner_coordinators:adapt",
            "Coordinators",
            "Coordinators(): find(key, leaders, brokers) -> broker, or -1",
            process=PROXY,
        ),
        Seam(
            "08-5",
            "kafka_edu.clients.proxy.proxy_server",
            "encode_response",
            "kafka_edu.learner.learner_metadata_layout:adapt",
            "Layout",
            "Layout(): fields(part, version) -> [name of a field]",
            process=PROXY,
        ),
        Seam(
            "09-1",
            "kafka_edu.log.log",
            "LogSegments",
            "kafka_edu.learner.learner_look_up:adapt",
            "LookUp",
            "LookUp(offset, segments): next(came) -> operation, such as ('base', 3) or ('entry', 3,"
            " 17)",
        ),
        Seam(
            "09-2",
            "kafka_edu.log.log_loader",
            "Log",
            "kafka_edu.learner.learner_segment_rules:adapt",
            "SegmentRules",
            "SegmentRules(): roll(limits, segment, batch, now_ms) -> reason | None;"
            " take(limits, log, now_ms) -> [reason]",
        ),
        Seam(
            "09-5",
            "kafka_edu.server.broker_process",
            "run_in_a_process",
            "kafka_edu.learner.learner_compaction:adapt",
            "Compaction",
            "Compaction(first_dirty, most): note([(offset, key, has_value)]) -> number;"
            " keep([(offset, key, has_value)], end, young) -> [offset]",
        ),
        Seam(
            "10-1",
            "kafka_edu.replication.high_watermark",
            "HighWatermarkRule",
            "kafka_edu.learner.learner_high_watermark:adapt",
            "HighWatermark",
            "HighWatermark(): leader(hw, leo, isr, [(broker, leo, caught_up_ms)], now_ms,"
            " max_lag_ms) -> hw; follower(start, leo, leader_hw) -> hw",
        ),
        Seam(
            "10-2",
            "kafka_edu.replication.replica_selector",
            "RackAwareReplicaSelector",
            "kafka_edu.learner.learner_replica_selector:adapt",
            "ReplicaSelector",
            "ReplicaSelector(): select(client_rack, leader, leader_rack, [(broker, rack, leo,"
            " lag_ms)]) -> broker",
        ),
        Seam(
            "10-6",
            "kafka_edu.replication.replica_fetcher_manager",
            "ReplicaFetcher",
            "kafka_edu.learner.learner_fetcher:adapt",
            "Fetcher",
            "Fetcher(backoff_ms): follow(partition, epochs), leave(partition); plan(now_ms) ->"
            " {partition: operation}; answer(partition, epochs, leo, hw, leader_epoch, leader_end)"
            " -> leo; error(partition, error, now_ms), offsets(partition, leo, leader_start,"
            " leader_end) -> operation",
            includes=("07-3",),
        ),
        Seam(
            "12-1",
            "kafka_edu.clients.producer.producer_core",
            "RecordAccumulator",
            "kafka_edu.learner.learner_accumulator:adapt",
            "Accumulator",
            "Accumulator(batch_size, linger_ms, backoff_ms): ready(rows, now_ms, at_once) ->"
            " ([partition], next_ms | None); drain(broker, [(partition, bytes)], max_bytes) ->"
            " [partition]",
            process=PRODUCER,
        ),
        Seam(
            "12-2",
            "kafka_edu.clients.producer.partitioners",
            "PARTITIONERS",
            "kafka_edu.learner.learner_partitioner:adapt",
            "Partitioner",
            "Partitioner(): murmur2(key) -> signed hash; partition(topic, key | None, partitions,"
            " available) -> partition; new_batch(topic, partition, partitions, available)",
            also_in=("kafka_edu.clients.producer.producer",),
            process=PRODUCER,
        ),
        Seam(
            "12-3",
            "kafka_edu.clients.producer.producer_core",
            "Sender",
            "kafka_edu.learner.learner_sender:adapt",
            "InFlight",
            "InFlight(max_in_flight, idempotent, retries): may_send(broker, partition, batch) ->"
            " bool; sent(broker, [(partition, batch)]); answered(broker, [(partition, batch, error,"
            " retriable)]) -> ['done' | 'again' | 'failed']; expired(partition, batch)",
            process=PRODUCER,
        ),
        Seam(
            "12-4",
            "kafka_edu.clients.producer.producer_core",
            "RecordAccumulator",
            "kafka_edu.learner.learner_callbacks:adapt",
            "Callbacks",
            "Callbacks(): added(batch, place, record); divided(batch, [(part, records)]);"
            " ended(batch) -> [(place, record)]",
            process=PRODUCER,
        ),
        Seam(
            "13-1",
            "kafka_edu.clients.consumer.consumer_coordinator",
            "ASSIGNORS",
            "kafka_edu.learner.learner_range_assignor:adapt",
            "RangeAssignor",
            "RangeAssignor(): assign({topic: partitions}, [(member, instance | None, [topic])]) ->"
            " [(member, topic, first, count)]",
            process=CONSUMER,
        ),
        Seam(
            "13-2",
            "kafka_edu.clients.consumer.consumer_coordinator",
            "ASSIGNORS",
            "kafka_edu.learner.learner_sticky_assignor:adapt",
            "StickyAssignor",
            "StickyAssignor(): assign({topic: partitions}, [(member, [(topic, partition)],"
            " generation)]) -> {member: [(topic, partition)]}",
            process=CONSUMER,
        ),
        Seam(
            "13-3",
            "kafka_edu.coordinator.group.group_rebalancer",
            "join_barrier",
            "kafka_edu.learner.learner_join_barrier:adapt",
            "JoinBarrier",
            "JoinBarrier(empty, initial_delay_ms, now_ms): look(now_ms, [(member, instance | None,"
            " joined, rebalance_timeout_ms)], [promised]) -> ('wait', until_ms) | ('next',"
            " [removed])",
        ),
        Seam(
            "13-4",
            "kafka_edu.clients.consumer.consumer_core",
            "Membership",
            "kafka_edu.learner.learner_member:adapt",
            "Member",
            "Member(): happens(event, member_id, generation) -> state; may('heartbeat' | 'commit')"
            " -> bool; identity() -> (member_id, generation)",
            process=CONSUMER,
        ),
        Seam(
            "14-1",
            "kafka_edu.clients.consumer.record_progress",
            "RecordProgress",
            "kafka_edu.learner.learner_progress:adapt",
            "Commits",
            "Commits(interval_ms): assigned([partition]); polled(partition, [offset]);"
            " done(partition, offset); due(now_ms) -> {partition: offset}; answered(stored);"
            " revoked([partition]) -> {partition: offset}; lost([partition])",
            process=CONSUMER,
        ),
        Seam(
            "14-2",
            "kafka_edu.clients.consumer.consumer_core",
            "SubscriptionState",
            "kafka_edu.learner.learner_reset:adapt",
            "Reset",
            "Reset(policy): begin(partition, committed | None), asked(partition, place),"
            " out_of_range(partition, offset), truncated(partition, offset, end | None),"
            " found(partition, place, offset | None) -> ('go', offset) | ('look', place) |"
            " ('fail',) | None; sought(partition, offset), gone(partition)",
            process=CONSUMER,
        ),
        Seam(
            "15-1",
            "kafka_edu.log.producer_state_manager",
            "SequenceCheck",
            "kafka_edu.learner.learner_sequence_check:adapt",
            "SequenceCheck",
            "SequenceCheck(): check(epoch, first, count) -> 'write' | ('duplicate', offset) |"
            " error; written(epoch, first, count, offset); fence(epoch)",
        ),
        Seam(
            "15-2",
            "kafka_edu.log.producer_state_manager",
            "StableRule",
            "kafka_edu.learner.learner_stable_rule:adapt",
            "ReadCommitted",
            "ReadCommitted(): opened(producer, offset), ended(producer, offset);"
            " last_stable(high_watermark) -> offset; aborted([(producer, first, marker)], start,"
            " end) -> [(producer, first)]",
        ),
        Seam(
            "15-3",
            "kafka_edu.coordinator.transaction.transaction_coordinator",
            "decide",
            "kafka_edu.learner.learner_transaction_table:adapt",
            "TransactionTable",
            "TransactionTable(): next(state, event) -> state | error | None",
        ),
    )
}


class LearnerError(Exception):
    """The learner's code cannot be read, raised an exception, took too long, or gave an invalid
    answer.

    `file` and `line` are a place in the learner's file. Line 0 means unknown.
    """

    def __init__(self, exercise: str, message: str, file: str, line: int = 0) -> None:
        where = f"{file}:{line}" if line else file
        super().__init__(f"{where}: {message}")
        self.exercise = exercise
        self.message = message
        self.file = file
        self.line = line


class Called(NamedTuple):
    """One call of a learner's code that returned an answer."""

    call: str
    """The called method with its arguments, as text."""
    answer: object
    line: int
    """The line of the learner's file that returned the answer, or 0 if it is not known."""


class LearnerCode:
    """One learner's file, which runs in its own process.

    Every call of the learner's code goes through `make` and `ask`, from any thread.
    """

    def __init__(
        self,
        seam: Seam,
        path: Path,
        *,
        allowance: Allowance = LIVE_CALL,
        output: IO[bytes] | None = None,
        hash_seed: int | None = None,
    ) -> None:
        """Load the file.

        `allowance` is the limit of each call. What the code prints goes into the file `output`, or
        to standard error if there is no such file. `hash_seed` is the seed of Python's hashes of
        texts (see Learner).

        Raises LearnerError if the file cannot be run or does not define the required name.
        """
        self.seam = seam
        self.path = path
        self.calls = 0
        self.failures = 0
        self.on_failure: Callable[[LearnerError], None] | None = None
        """A function that is called for each failure, when it happens."""
        self.on_retired: Callable[[], None] | None = None
        """A function that is called once, after the last failure that is allowed."""
        self.on_called: Callable[[Called], None] | None = None
        """A function that is called after each call that returned an answer."""
        if not path.is_file():
            raise LearnerError(seam.exercise, "there is no such file", str(path))
        self._one_at_a_time = threading.Lock()
        self._learner = Learner(
            path,
            seam.wanted,
            allowance=allowance,
            prints=True,
            output=output,
            hash_seed=hash_seed,
        )
        try:
            self._learner.start()
        except LearnerFailure as failure:
            raise self.blame(failure.message, failure.line) from None

    @property
    def retired(self) -> bool:
        """Return whether this code failed too often and must not be called any more."""
        return self.failures >= FAILURES_ALLOWED

    def make(self, *arguments: object) -> LearnerObject:
        """Make an object of the learner's class. Raises LearnerError if that fails.

        After the last failure that is allowed, this method always fails, and starts no new process.
        """
        if self.retired:
            raise self.blame("is not called any more, because it failed too often")
        try:
            with self._one_at_a_time:
                self.calls += 1
                made = self._learner.make(*arguments)
        except LearnerFailure as failure:
            raise self.blame(failure.message, failure.line) from None
        if self.on_called is not None:
            self.on_called(Called(shown_call(self.seam.wanted, arguments), None, 0))
        return made

    def ask(self, learner: LearnerObject, method: str, *arguments: object) -> object:
        """Call a method of the learner's object. Raises LearnerError if that fails."""
        try:
            with self._one_at_a_time:
                self.calls += 1
                answer = learner.call(method, *arguments)
                line = self._learner.answered_at
        except LearnerFailure as failure:
            raise self.blame(failure.message, failure.line) from None
        if self.on_called is not None:
            self.on_called(Called(shown_call(method, arguments), answer, line))
        return answer

    def blame(self, message: str, line: int = 0) -> LearnerError:
        """Return a LearnerError with this message and the path of the learner's file."""
        return LearnerError(self.seam.exercise, message, str(self.path), line)

    def failed(self, error: LearnerError) -> None:
        """Count and report a failure. The adapter calls this, and then uses the shipped code.

        The last failure that is allowed ends the learner's process. Later failures are consequences
        of earlier answers, and are not reported.
        """
        if self.retired:
            return
        self.failures += 1
        if self.on_failure is not None:
            self.on_failure(error)
        if self.retired:
            self.close()
            if self.on_retired is not None:
                self.on_retired()

    def close(self) -> None:
        """End the learner's process."""
        self._learner.close()


def seams_of(process: str) -> Mapping[str, Seam]:
    """Return the seams of a kind of process, each under the number of its exercise."""
    return {name: seam for name, seam in SEAMS.items() if seam.process == process}


def parse(spec: str, process: str = BROKER) -> list[tuple[Seam, Path]]:
    """Parse `02-1=/path/file.py;03-1=/other.py`. Raises ValueError, which says what is wrong."""
    seams = seams_of(process)
    result = []
    for part in filter(None, (part.strip() for part in spec.split(";"))):
        exercise, equals, path = part.partition("=")
        if not equals or not path:
            raise ValueError(f"'{part}' is not EXERCISE=FILE")
        if exercise not in seams:
            raise ValueError(
                f"there is no seam for exercise '{exercise}' in a {process}; there are:"
                f" {', '.join(seams)}"
            )
        result.append((seams[exercise], Path(path).expanduser().absolute()))
    return result


def adapter_of(seam: Seam) -> Callable[[LearnerCode], object]:
    """Return the seam's adapter: a function that takes a learner's code and returns the object that
    replaces the shipped one.
    """
    module, _, function = seam.adapter.partition(":")
    adapt: Callable[[LearnerCode], object] = vars(importlib.import_module(module))[function]
    return adapt


def install(spec: str, process: str = BROKER) -> list[LearnerCode]:
    """Load the files of `spec` and install them at their seams, in this process.

    If it raises ValueError or LearnerError, no file is installed.
    """
    codes = [LearnerCode(seam, path) for seam, path in parse(spec, process)]
    for code in codes:
        replacement = adapter_of(code.seam)(code)
        for place in (code.seam.module, *code.seam.also_in):
            setattr(importlib.import_module(place), code.seam.name, replacement)
    return codes
