"""A transactional id with crashing coordinators, rival producers and failing appends (spec X2).

Two processes with one transactional id act at random. Appends fail or are answered late.
Coordinators die and are replaced. Then everything comes to rest, and the logs are read as a
read_committed consumer reads them:

    every transaction whose commit was answered with NONE is there whole, in all its partitions
    no transaction whose commit was not requested is there
    a transaction whose commit was requested but not answered is there whole or not at all
    epochs only rise; a producer that was refused as fenced stays refused
"""

import asyncio
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.coordinator.transaction.transaction_coordinator import ProducerIdAndEpoch
from kafka_edu.coordinator.transaction.transaction_state import NOTHING_OPEN
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch, iter_headers, read_records
from tests.unit.coordinator.transaction.world import DATA, STATE, World

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("init"), st.integers(0, 1)),
        st.tuples(st.just("write"), st.integers(0, 1), st.integers(0, 2)),
        st.tuples(st.just("end"), st.integers(0, 1), st.booleans()),
        st.tuples(st.just("crash")),
        st.tuples(st.just("re-elect")),
        st.tuples(st.just("fail"), st.sampled_from([STATE, *DATA])),
        st.tuples(st.just("mend")),
        st.tuples(st.just("hold")),
        st.tuples(st.just("release")),
        st.tuples(st.just("late")),
    ),
    max_size=30,
)


class Transaction(NamedTuple):
    number: int
    partitions: tuple[int, ...]
    """Where a record of it was acked."""
    wanted: str
    """open, commit or abort: the request."""
    answered: bool


class Process:
    """A producer process. It writes its transactions' numbers."""

    def __init__(self) -> None:
        self.producer: ProducerIdAndEpoch | None = None
        self.sequences: dict[int, int] = {}
        self.open: list[int] = []
        """Partitions that the open transaction has written."""
        self.number = -1
        self.fenced = False


class Run:
    def __init__(self) -> None:
        self.world = World()
        self.processes = [Process(), Process()]
        self.transactions: list[Transaction] = []
        self.next_number = 0
        self.epochs: list[tuple[int, int]] = []

    async def step(self, act: str, *arguments: object) -> None:
        world = self.world
        match act, *arguments:
            case "init", int(who):
                await self._init(self.processes[who])
            case "write", int(who), int(partition):
                self._write(self.processes[who], partition)
            case "end", int(who), bool(commit):
                self._end(self.processes[who], commit)
            case ("crash",):
                await world.markers.shutdown()
                world.replicas.held = None if world.replicas.held is None else []
                world.restart()
                await world.settle()
            case ("re-elect",):  # the same process: its appends are still to be answered
                world.epoch += 1
                world.coordinator.on_resignation(0, None)
                world.coordinator.on_election(0, world.epoch)
            case "fail", tp:
                world.replicas.errors[tp] = Errors.NOT_ENOUGH_REPLICAS
            case ("mend",):
                world.replicas.errors.clear()
            case ("hold",):
                world.replicas.hold() if world.replicas.held is None else None
            case ("release",):
                world.replicas.release()
            case ("late",):
                world.time.advance(70_000)
                world.coordinator.abort_timed_out_transactions()
        await world.settle()

    async def _init(self, process: Process) -> None:
        self._settle(process, answered=False)
        answers = []
        try:
            await self.world.coordinator.handle_init_producer_id("a", 60_000, None, answers.append)
        except KafkaException:
            return
        await self.world.settle()
        process.producer, process.fenced = None, False
        process.sequences = {}
        if answers and answers[0].error is Errors.NONE:
            process.producer = ProducerIdAndEpoch(answers[0].producer_id, answers[0].producer_epoch)
            assert not self.epochs or process.producer > self.epochs[-1], "epochs rise"
            self.epochs.append(tuple(process.producer))

    def _write(self, process: Process, partition: int) -> None:
        """Write like a client: first add the partition to the transaction, then send the record. If
        one of the two is refused, the process ends.
        """
        if process.producer is None or process.fenced:
            return
        world, tp = self.world, DATA[partition]
        answer = world.add(process.producer, tp)
        if answer is not Errors.NONE:
            process.fenced = answer is Errors.PRODUCER_FENCED
            return
        if not process.open:
            process.number, self.next_number = self.next_number, self.next_number + 1
        batch = build_batch(
            [Record(0, world.time.milliseconds(), b"k", str(process.number).encode())],
            producer_id=process.producer.producer_id,
            producer_epoch=process.producer.epoch,
            base_sequence=process.sequences.get(partition, 0),
            is_transactional=True,
        )
        log = world.replicas.logs[tp]
        try:
            log.append_as_leader(batch, 0, world.time.milliseconds())
        except KafkaException:
            process.fenced = True
            return
        log.update_high_watermark(log.log_end_offset)
        process.sequences[partition] = process.sequences.get(partition, 0) + 1
        process.open.append(partition)

    def _end(self, process: Process, commit: bool) -> None:
        if process.producer is None or process.fenced or not process.open:
            return
        answer = self.world.end(process.producer, commit)
        if answer in (Errors.CONCURRENT_TRANSACTIONS, Errors.COORDINATOR_LOAD_IN_PROGRESS):
            return  # this decided nothing: the client asks again later, or never
        process.fenced = answer is not Errors.NONE
        self._settle(
            process,
            answered=answer is Errors.NONE,
            wanted="commit" if commit else "abort",
            refused=answer is Errors.PRODUCER_FENCED,
        )

    def _settle(
        self, process: Process, *, answered: bool, wanted: str = "open", refused: bool = False
    ) -> None:
        if process.open:
            self.transactions.append(
                Transaction(
                    process.number, tuple(process.open), "open" if refused else wanted, answered
                )
            )
            process.open = []

    async def rest(self) -> None:
        """Let all failures end. A third process, which initialises, aborts any open transaction."""
        world = self.world
        for process in self.processes:
            self._settle(process, answered=False)
        world.replicas.errors.clear()
        world.replicas.release()
        await world.settle()
        await world.markers.shutdown()
        world.restart()
        await world.settle()
        for _ in range(5):
            if (await world.init()).error is Errors.NONE:
                break
        assert world.metadata().state in NOTHING_OPEN
        assert world.metadata().pending_state is None
        await world.markers.shutdown()

    def committed(self) -> dict[int, list[int]]:
        """Return transaction → the partitions where a read_committed consumer sees its records."""
        seen: dict[int, list[int]] = {}
        for partition, tp in enumerate(DATA):
            log = self.world.replicas.logs[tp]
            log.update_high_watermark(log.log_end_offset)
            assert log.last_stable_offset == log.log_end_offset, "nothing is left open"
            aborted = [entry for segment in log.segments for entry in segment.txn_index.entries()]
            for batch in self.world.batches(tp):
                header = next(iter_headers(batch))[1]
                hidden = any(
                    a.producer_id == header.producer_id
                    and a.first_offset <= header.base_offset < a.last_offset
                    for a in aborted
                )
                if not header.is_control and not hidden:
                    for record in read_records(batch):
                        seen.setdefault(int(record.value or b""), []).append(partition)
        return seen


@settings(max_examples=120, deadline=None)
@given(STEPS)
def test_what_was_promised_is_there_and_nothing_else(steps: list[tuple[object, ...]]) -> None:
    async def main() -> None:
        run = Run()
        await run.world.settle()
        await run.step("init", 0)
        for step in steps:
            await run.step(*step)
        await run.rest()
        seen = run.committed()
        for transaction in run.transactions:
            found, all_of_it = seen.pop(transaction.number, []), sorted(transaction.partitions)
            if transaction.wanted == "commit" and transaction.answered:
                assert sorted(found) == all_of_it, (transaction, found)
            elif transaction.wanted == "commit":
                assert sorted(found) in (all_of_it, []), (transaction, found)
            else:
                assert found == [], (transaction, found)
        assert seen == {}

    asyncio.run(main())
