"""The pictures of chapter 15, made by the broker's and the client's own classes.

The log is a real `Log` on a disk in memory. Its batches and markers have the bytes that producers
and coordinators write, but they are made by hand. A reader's records come from the class with which
our consumer skips aborted ones. The table of states is the coordinator's.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.clients.consumer.fetched_records import FetchedRecords
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.coordinator.transaction.transaction_state import (
    VALID_PREVIOUS_STATES,
    TransactionState,
)
from kafka_edu.instruments.drawings.figure import (
    BLUE,
    GREEN,
    GREY,
    RED,
    WHITE,
    YELLOW,
    new_figure,
)
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.log.producer_state_entry import BATCHES_TO_RETAIN
from kafka_edu.protocol.messages.fetch import AbortedTransaction
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    build_batch,
)
from kafka_edu.sim.memory_file_system import MemoryFileSystem

from ..drawing import GAP, grid, picture
from .killed_transform import AT_ONCE, BILLS, COMMIT, HALF, OFFSETS, ORDERS, Order

START_MS: Final = 1_600_000_000_000
TP: Final = TopicPartition("ch15", 0)
FOLDER: Final = f"/d/{TP}"
HOUR_MS: Final = 3_600_000
PRODUCER: Final = 7
"""The producer id in the picture of sequence numbers."""
SENT: Final = 7
"""How many batches the producer has sent before it repeats some."""
A: Final = 1
B: Final = 2
"""The producer ids in the picture of isolation levels."""
Cells = list[tuple[str, str]]
Rows = list[tuple[str, Cells]]


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "promises": _promises_figure(),
        "sequences": _sequences_figure(),
        "requests": _requests_figure(),
        "states": _states_figure(),
        "isolation": _isolation_figure(),
        "zombie": _zombie_figure(),
        "transform": _transform_figure(),
    }


def loaded(disk: MemoryFileSystem, *, clean: bool = False) -> Log:
    """Load the log from the disk. If it was not stopped cleanly, all of it is read again."""
    return load_log(
        TP,
        "/d",
        FOLDER,
        disk,
        LogConfig.parse({}),
        recovery_point=0,
        clean_shutdown=clean,
        now_ms=START_MS,
        max_producer_id_expiration_ms=HOUR_MS,
    )[0]


def batch(
    value: str,
    producer: int = NO_PRODUCER_ID,
    epoch: int = NO_PRODUCER_EPOCH,
    sequence: int = NO_SEQUENCE,
    *,
    transactional: bool = False,
) -> bytes:
    """Return a batch with one record. Without a producer id: an ordinary producer's batch."""
    return build_batch(
        [Record(0, START_MS, None, value.encode())],
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )


# What the leader does with a sequence number.


class Answer(NamedTuple):
    """One batch, and the leader's answer."""

    words: str
    producer: int
    epoch: int
    sequence: int
    answer: str
    """`appended at 7`, `duplicate of 6`, or the name of an error."""


def answered(log: Log, words: str, producer: int, epoch: int, sequence: int) -> Answer:
    """Send a batch to the leader of the log."""
    try:
        info = log.append_as_leader(batch("x", producer, epoch, sequence), 0, START_MS)
    except KafkaException as error:
        return Answer(words, producer, epoch, sequence, error.error.name)
    what = "duplicate of" if info.duplicate else "appended at"
    return Answer(words, producer, epoch, sequence, f"{what} {info.first_offset}")


@cache
def sequence_answers() -> list[Answer]:
    """Send seven batches, and then some that are not the next one."""
    log = loaded(MemoryFileSystem())
    for sequence in range(SENT):
        answered(log, "", PRODUCER, 0, sequence)
    oldest = SENT - BATCHES_TO_RETAIN
    return [
        answered(log, words, producer, epoch, sequence)
        for words, producer, epoch, sequence in (
            ("the last one again", PRODUCER, 0, SENT - 1),
            ("the fifth last again", PRODUCER, 0, oldest),
            ("the sixth last again", PRODUCER, 0, oldest - 1),
            ("one is left out", PRODUCER, 0, SENT + 1),
            ("the next one", PRODUCER, 0, SENT),
            ("a new epoch begins", PRODUCER, 1, 0),
            ("the old epoch goes on", PRODUCER, 0, SENT + 1),
            ("an unknown producer id", PRODUCER + 1, 0, 42),
        )
    ]


def sequences() -> Picture:
    """Show the leader's answers to batches that are not simply the next one."""
    shown = Table("", "epoch", "number", "the leader's answer", box=None)
    for one in sequence_answers():
        shown.add_row(one.words, str(one.epoch), str(one.sequence), one.answer)
    answers = {one.words: one.answer for one in sequence_answers()}
    return picture(
        {
            "remembered": BATCHES_TO_RETAIN,
            "gap": answers["one is left out"],
            "too_old": answers["the sixth last again"],
            "old_epoch": answers["the old epoch goes on"],
        },
        shown,
        Text(f"Producer {PRODUCER} has sent the sequence numbers 0 to {SENT - 1}, one in a batch."),
    )


class Remembered(NamedTuple):
    """How many batches of one producer a log knows: before its broker ends, after a stop, after a
    kill.
    """

    before: int
    stopped: int
    killed: int


@cache
def remembered() -> Remembered:
    """Write seven batches, and load the log again after a stop and after a kill."""

    def known(log: Log) -> int:
        return len(log.producer_state_manager.producers[PRODUCER].batches)

    def written(disk: MemoryFileSystem) -> Log:
        log = loaded(disk)
        for sequence in range(SENT):
            answered(log, "", PRODUCER, 0, sequence)
        return log

    of_killed, of_stopped = MemoryFileSystem(), MemoryFileSystem()
    written(of_killed)
    log = written(of_stopped)
    before = known(log)
    log.close()
    return Remembered(before, known(loaded(of_stopped, clean=True)), known(loaded(of_killed)))


def memory() -> Picture:
    """Show how many batches a leader knows after it has started again."""
    one = remembered()
    shown = Table("the leader", "knows of the producer's batches", box=None)
    shown.add_row("before", str(one.before))
    shown.add_row("was stopped, and starts from its snapshot", str(one.stopped))
    shown.add_row("was killed with -9, and reads its log again", str(one.killed))
    return picture(
        {"before": one.before, "after_stop": one.stopped, "after_kill": one.killed}, shown
    )


# What each isolation level reads.


class Reading(NamedTuple):
    """The log after one step."""

    words: str
    stored: str
    """The name of what this step has added to the log."""
    leo: int
    lso: int
    uncommitted: tuple[str, ...]
    committed: tuple[str, ...]


def read(log: Log, *, committed: bool) -> tuple[str, ...]:
    """Return the values that a consumer gets from the start of the log."""
    limit = log.last_stable_offset if committed else log.high_watermark
    data = log.read(0, 1 << 20, max_offset=limit)
    records = part_bytes(data.records)
    if not records:
        return ()
    aborted = [
        AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
        for each in (log.aborted_transactions(0, data) if committed else ())
    ]
    fetched = FetchedRecords(
        TP, 0, memoryview(records), aborted, read_committed=committed, check_crcs=True
    )
    taken = fetched.take(1_000, None, None)
    return tuple(one.value.decode() for one in taken if isinstance(one.value, bytes))


@cache
def readings() -> list[Reading]:
    """Let two transactions and two ordinary records meet in one log."""
    log = loaded(MemoryFileSystem())
    sequence = {A: 0, B: 0}

    def write(value: str, producer: int) -> bytes:
        sequence[producer] += 1
        return batch(value, producer, 0, sequence[producer] - 1, transactional=True)

    def mark(producer: int, end: ControlRecordType) -> bytes:
        return build_end_transaction_marker(EndTransactionMarker(end, 0), producer, 0, START_MS)

    client, coordinator = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR
    found = []
    for words, stored, data, origin in (
        ("somebody writes x", "x", batch("x"), client),
        ("A writes a1", "a1", write("a1", A), client),
        ("B writes b1", "b1", write("b1", B), client),
        ("A writes a2", "a2", write("a2", A), client),
        ("A: commit marker", "A commit", mark(A, ControlRecordType.COMMIT), coordinator),
        ("somebody writes y", "y", batch("y"), client),
        ("B: abort marker", "B abort", mark(B, ControlRecordType.ABORT), coordinator),
    ):
        log.append_as_leader(data, 0, START_MS, origin=origin)
        log.update_high_watermark(log.log_end_offset)
        found.append(
            Reading(
                words,
                stored,
                log.log_end_offset,
                log.last_stable_offset,
                read(log, committed=False),
                read(log, committed=True),
            )
        )
    return found


def isolation() -> Picture:
    """Show LSO and both readers after each step."""
    shown = Table("", "LEO", "LSO", "read_uncommitted", "read_committed", box=None)
    for one in readings():
        values = (" ".join(one.uncommitted), " ".join(one.committed) or "-")
        shown.add_row(one.words, str(one.leo), str(one.lso), *values)
    by_words = {one.words: one for one in readings()}
    committed, last = by_words["A: commit marker"], readings()[-1]
    return picture(
        {
            "lso_open": by_words["A writes a2"].lso,
            "lso_commit": committed.lso,
            "read_commit": len(committed.committed),
            "lso_end": last.lso,
            "uncommitted_end": len(last.uncommitted),
            "committed_end": len(last.committed),
        },
        shown,
    )


# The states of a transaction.


def states() -> Picture:
    """Show the coordinator's table of states."""
    shown = Table("a transaction may become", "from", box=None)
    for after, befores in VALID_PREVIOUS_STATES.items():
        shown.add_row(after.value, ", ".join(sorted(before.value for before in befores)))
    return picture(
        {
            "states": len(VALID_PREVIOUS_STATES),
            "allowed": sum(map(len, VALID_PREVIOUS_STATES.values())),
        },
        shown,
    )


# Consume, transform, produce.


class Fate(NamedTuple):
    """The fate of ten orders if their program dies after one step of its loop."""

    missing: int
    again: int
    mailed_again: int


def fate(order: Order, step: str) -> Fate:
    """Compute the fate of the orders by two rules. An order is processed again if its offset is not
    committed. A bill in a transaction counts only if the transaction is committed.
    """
    done = order.steps[: order.steps.index(step) + 1]
    written = AT_ONCE if BILLS in done else AT_ONCE // 2 if HALF in done else 0
    ended = (COMMIT if order.transactional else OFFSETS) in done
    if ended:
        return Fate(AT_ONCE - written, 0, 0)
    return Fate(0, 0 if order.transactional else written, written)


# The figures.


def _promises_figure() -> graphviz.Digraph:
    """Draw the three promises: what a producer does without an answer, and what follows."""
    rows: Rows = [
        ("", [("no answer?", GREY), ("it was written", GREY), ("it was not", GREY)]),
        ("at most once", [("never again", WHITE), ("1", GREEN), ("0: lost", RED)]),
        ("at least once", [("send again", WHITE), ("2: twice", RED), ("1", GREEN)]),
        ("exactly once", [("again, numbered", WHITE), ("1", GREEN), ("1", GREEN)]),
    ]
    return grid("promises", "A record without an answer: how often is it in the log?", [], rows)


def _sequences_figure() -> graphviz.Digraph:
    """Draw the leader's answers."""
    colours = {"appended": GREEN, "duplicate": YELLOW}
    rows: Rows = [("", [("epoch", GREY), ("seq.", GREY), ("the leader's answer", GREY)])]
    for one in sequence_answers():
        colour = colours.get(one.answer.partition(" ")[0], RED)
        answer = one.answer.replace("OUT_OF_ORDER_SEQUENCE_NUMBER", "OUT_OF_ORDER")
        cells = [(str(one.epoch), WHITE), (str(one.sequence), WHITE), (answer, colour)]
        rows.append((one.words, cells))
    return grid("sequences", f"After the sequence numbers 0 to {SENT - 1}", [], rows, 18)


def _requests_figure() -> graphviz.Digraph:
    """Draw the requests of one transaction, and the brokers that get them."""
    rows: Rows = [
        ("the program calls", [("request", GREY), ("to", GREY)]),
        ("init_transactions", [("InitProducerId", BLUE), ("coordinator", YELLOW)]),
        ("begin_transaction", [("none", WHITE), GAP]),
        ("send", [("AddPartitionsToTxn", BLUE), ("coordinator", YELLOW)]),
        ("", [("Produce", BLUE), ("each leader", GREEN)]),
        ("send_offsets", [("AddOffsetsToTxn", BLUE), ("coordinator", YELLOW)]),
        ("", [("TxnOffsetCommit", BLUE), ("the group's", GREEN)]),
        ("commit or abort", [("EndTxn", BLUE), ("coordinator", YELLOW)]),
        ("(the coordinator)", [("WriteTxnMarkers", RED), ("each leader", GREEN)]),
    ]
    return grid("requests", "The requests of one transaction", [], rows)


def _states_figure() -> graphviz.Digraph:
    """Draw the coordinator's table. Dead is left out: the id expires, and nothing follows."""
    legend = [(WHITE, "nothing is open"), (YELLOW, "open"), (RED, "decided")]
    figure = new_figure("states", "The states of a transaction", legend)
    colours = {
        TransactionState.ONGOING: YELLOW,
        TransactionState.PREPARE_EPOCH_FENCE: YELLOW,
        TransactionState.PREPARE_COMMIT: RED,
        TransactionState.PREPARE_ABORT: RED,
    }
    for after, befores in VALID_PREVIOUS_STATES.items():
        if after is TransactionState.DEAD:
            continue
        colour = colours.get(after, WHITE)
        figure.node(after.value, fillcolor=colour, style="filled", shape="box")
        for before in sorted(befores, key=lambda each: each.value):
            figure.edge(before.value, after.value)
    return figure


def _isolation_figure() -> graphviz.Digraph:
    """Draw the log after each step, up to the LSO and after it."""
    log = [one.stored for one in readings()]
    rows: Rows = []
    for one in readings():
        cells = [(log[offset], GREEN if offset < one.lso else YELLOW) for offset in range(one.leo)]
        rows.append((f"LSO {one.lso}", cells))
    return grid(
        "isolation",
        "Two transactions in one log, step by step",
        [(GREEN, "below the LSO"), (YELLOW, "not yet for read_committed")],
        rows,
        8,
    )


def _zombie_figure() -> graphviz.Digraph:
    """Draw how a new producer fences an old one."""
    rows: Rows = [
        ("", [("old producer", GREY), ("new producer", GREY), ("coordinator", GREY)]),
        ("1", [("epoch 0, writes", YELLOW), GAP, ("Ongoing", YELLOW)]),
        ("2", [("stands still", WHITE), ("init_transactions", BLUE), ("aborts it", RED)]),
        ("3", [GAP, ("epoch 2, commits", GREEN), ("CompleteCommit", GREEN)]),
        ("4", [("commits: refused", RED), GAP, ("epoch 0 is over", RED)]),
    ]
    return grid("zombie", "Two producers with one transactional id", [], rows, 4)


def _transform_figure() -> graphviz.Digraph:
    """Draw the fate of ten orders, for each order of the steps and each kill."""
    steps = (*ORDERS["records-first"].steps, COMMIT)
    short = {HALF: "half", BILLS: "all"}
    rows: Rows = [("killed after", [(short.get(step, step), GREY) for step in steps])]
    for name, order in ORDERS.items():
        cells: Cells = []
        for step in steps:
            if step not in order.steps:
                cells.append(GAP)
                continue
            one = fate(order, step)
            bad = f"{one.missing} lost" if one.missing else f"{one.again} twice"
            is_good = not one.missing and not one.again
            cells.append(("good", GREEN) if is_good else (bad, RED))
        rows.append((name, cells))
    return grid("transform", "The bills of ten orders, if the program dies", [], rows, 14)


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "sequences": sequences,
    "memory": memory,
    "isolation": isolation,
    "states": states,
}
