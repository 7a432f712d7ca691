"""The pictures of chapter 14.

Real consumers run on a simulated broker, in virtual time. The records of `__consumer_offsets` are
those that a broker writes. The table of kills is computed from the order of a loop's steps; the
jobs of this chapter count the same on a live cluster.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeVar

import graphviz
from rich.table import Table

from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.coordinator_type import java_hash, partition_for
from kafka_edu.coordinator.group.group_records import (
    OffsetKey,
    offset_key,
    offset_value,
    read_key,
    read_offset_value,
)
from kafka_edu.coordinator.group.offset_and_metadata import OffsetAndMetadata as StoredOffset
from kafka_edu.instruments.drawings.figure import BLUE, GREEN, GREY, RED, WHITE, YELLOW
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import FIRST_PORT, SimCluster
from kafka_edu.sim.sim_loop import SimProcess

from ..drawing import GAP, grid, picture
from .worker import BATCH, POINTS, Loop, Point

T = TypeVar("T")
Cells = list[tuple[str, str]]
Rows = list[tuple[str, Cells]]

PARTITIONS: Final = 50
"""The default of offsets.topic.num.partitions."""
GROUPS: Final = ("readers", "hololive", "antique", "holiday", "test")
BROKER: Final = 1
RECORDS: Final = 10
POLLS: Final = 5
EVERY_MS: Final = 100


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "place": _place_figure(),
        "kept": _kept_figure(),
        "table": _table_figure(),
        "points": _points_figure(),
        "resets": _resets_figure(),
        "pull": _pull_figure(),
        "order": _order_figure(),
    }


# The partition of a group, and the records of its commits.


def partition_of_group() -> Picture:
    """Show to which partition of `__consumer_offsets` some groups belong."""
    shown = Table("group", "hash of its name", "partition", box=None)
    for group in GROUPS:
        shown.add_row(group, f"{java_hash(group):,}", str(partition_for(group, PARTITIONS)))
    return picture({"home": partition_for("readers", PARTITIONS)}, shown)


class StoredCommit(NamedTuple):
    """A record of `__consumer_offsets`, as it is read from its bytes."""

    key: str
    value: str
    """The offset; `null` in a tombstone."""
    kept: bool
    """Whether compaction keeps it, because it is the last record with its key."""


def stored_commits() -> list[StoredCommit]:
    """Write some commits, and read them. The last one is a tombstone, as for an expired offset."""
    written: list[tuple[bytes, bytes | None]] = []
    for group, partition, offset in (
        ("readers", 0, 5),
        ("readers", 1, 3),
        ("readers", 0, 10),
        ("audit", 0, 2),
        ("readers", 0, 8),
        ("audit", 0, None),
    ):
        value = None if offset is None else offset_value(StoredOffset(offset, -1, "", 0), (2, 8))
        written.append((offset_key(group, TopicPartition("web", partition)), value))
    last = {key: number for number, (key, _) in enumerate(written)}
    found: list[StoredCommit] = []
    for number, (key, value) in enumerate(written):
        read = read_key(key)
        assert isinstance(read, OffsetKey)
        group, tp = read
        offset_text = "null" if value is None else str(read_offset_value(value).offset)
        found.append(StoredCommit(f"{group}, {tp}", offset_text, last[key] == number))
    return found


def commit_records() -> Picture:
    """Show commits as records, and which of them compaction keeps."""
    commits = stored_commits()
    shown = Table("record", "key: group, partition", "value: offset", "after compaction", box=None)
    for number, one in enumerate(commits):
        shown.add_row(str(number), one.key, one.value, "kept" if one.kept else "removed")
    return picture({"commits": len(commits), "kept": sum(one.kept for one in commits)}, shown)


# A loop, and the point at which its process is killed.

WORDS: Final[Mapping[Point, str]] = {
    Point.POLLED: f"poll() has returned {BATCH} records",
    Point.COMMITTED: "the commit is stored",
    Point.HALF: f"{BATCH // 2} records are worked on",
    Point.WORKED: f"{BATCH} records are worked on",
}


class Kill(NamedTuple):
    """The result of a kill at one point of a round."""

    point: Point
    twice: int
    never: int


def killed_at(loop: Loop, point: Point) -> Kill:
    """Return the result of a kill at this point: the next member begins at the last commit."""
    worked = committed = 0
    for step in POINTS[loop]:
        if step is Point.COMMITTED:
            committed = BATCH
        elif step is not Point.POLLED:
            worked = BATCH // 2 if step is Point.HALF else BATCH
        if step is point:
            break
    return Kill(point, max(worked - committed, 0), max(committed - worked, 0))


def kills(loop: Loop) -> list[Kill]:
    """Return the result of a kill at each point, in the order of the loop."""
    return [killed_at(loop, point) for point in POINTS[loop]]


def _kill_picture(loop: Loop) -> Picture:
    shown = Table("killed when", "twice", "never", box=None)
    for one in kills(loop):
        shown.add_row(WORDS[one.point], str(one.twice), str(one.never))
    return picture({}, shown)


# Consumers on a simulated broker.

Body = Callable[["Bench"], Coroutine[object, object, T]]


class Bench:
    """A simulated cluster of one broker, and its clients."""

    def __init__(self) -> None:
        self._cluster = SimCluster(
            1,
            broker_ids=(BROKER,),
            properties={
                "offsets.topic.num.partitions": "1",
                "offsets.topic.replication.factor": "1",
            },
        )
        self._cluster.start_all()

    def topic(self, name: str, partitions: int) -> list[TopicPartition]:
        """Create a topic, and return its partitions."""
        client = SimClient(self._cluster)
        self._cluster.run_as(client.process, client.create_topic(name, partitions, 1))
        return [TopicPartition(name, number) for number in range(partitions)]

    def run(self, body: Body[T]) -> T:
        """Run a program with clients to its end, and return its result."""
        result = self._cluster.run_as(SimProcess("program"), body(self))
        self._cluster.close()
        return result

    def consumer(self, group: str = "", policy: str = "earliest") -> Consumer:
        settings: dict[str, object] = {
            "bootstrap.servers": f"127.0.0.1:{FIRST_PORT + BROKER}",
            "group.id": group,
            "auto.offset.reset": policy,
            "enable.auto.commit": False,
        }
        return Consumer(
            settings, transport=self._cluster.network.transport(), time=self._cluster.time
        )

    async def send(self, *records: tuple[TopicPartition, str]) -> None:
        """Send records one after the other, and wait for each acknowledgement."""
        settings = {"bootstrap.servers": f"127.0.0.1:{FIRST_PORT + BROKER}"}
        transport = self._cluster.network.transport()
        async with Producer(settings, transport=transport, time=self._cluster.time) as producer:
            for tp, value in records:
                await (await producer.send(tp.topic, value, partition=tp.partition))

    async def sleep(self, ms: float) -> None:
        await self._cluster.time.sleep(ms)


class Reset(NamedTuple):
    """Where a consumer begins, with one policy and one committed offset."""

    policy: str
    committed: str
    begins: str
    """An offset, or the name of the error that poll() raises."""


@cache
def resets() -> Sequence[Reset]:
    """Let consumers begin with three policies and three committed offsets. The log has 10 records.

    A consumer with `assign` reads the offset of its group, but is not a member of it.
    """
    bench = Bench()
    [tp] = bench.topic("web", 1)

    async def body(bench: Bench) -> list[Reset]:
        await bench.send(*((tp, str(number)) for number in range(RECORDS)))
        found: list[Reset] = []
        for committed in (None, 5, 20):
            group = f"committed-{committed}"
            if committed is not None:
                async with bench.consumer(group) as first:
                    first.assign([tp])
                    await first.commit({tp: OffsetAndMetadata(committed)})
            for policy in ("earliest", "latest", "none"):
                async with bench.consumer(group, policy) as consumer:
                    consumer.assign([tp])
                    begins = await _beginning(consumer, tp)
                words = "nothing" if committed is None else str(committed)
                found.append(Reset(policy, words, begins))
        return found

    return bench.run(body)


async def _beginning(consumer: Consumer, tp: TopicPartition) -> str:
    """Return where the consumer begins after it has polled, or the error that poll() raises."""
    try:
        records = await consumer.poll(1_000)
    except ClientException as error:
        return type(error).__name__
    return str(records[0].offset if records else await consumer.position(tp))


def reset_policies() -> Picture:
    """Show where consumers begin."""
    shown = Table("committed", "earliest", "latest", "none", box=None)
    for committed, begins in _reset_rows().items():
        shown.add_row(committed, *begins)
    found = {(one.policy, one.committed): one.begins for one in resets()}
    names = {
        "latest_new": found["latest", "nothing"],
        "earliest_valid": found["earliest", "5"],
        "latest_beyond": found["latest", "20"],
        "earliest_beyond": found["earliest", "20"],
    }
    return picture(names, shown)


def _reset_rows() -> dict[str, list[str]]:
    """Return committed offset → where each policy begins, in the order of `resets`."""
    rows: dict[str, list[str]] = {}
    for one in resets():
        rows.setdefault(one.committed, []).append(one.begins)
    return rows


class Pace(NamedTuple):
    """The positions of two consumers at one moment."""

    ms: int
    fast: int
    slow: int


@cache
def paces() -> Sequence[Pace]:
    """Let a fast and a slow consumer read the same partition, each at its own pace."""
    bench = Bench()
    [tp] = bench.topic("web", 1)

    async def body(bench: Bench) -> list[Pace]:
        await bench.send(*((tp, str(number)) for number in range(10 * POLLS)))
        found: list[Pace] = []
        async with bench.consumer() as fast, bench.consumer() as slow:
            for consumer in (fast, slow):
                consumer.assign([tp])
            for number in range(POLLS):
                await fast.poll(1_000, max_records=10)
                await slow.poll(1_000, max_records=2)
                found.append(
                    Pace(
                        number * EVERY_MS,
                        await fast.position(tp),
                        await slow.position(tp),
                    )
                )
                await bench.sleep(EVERY_MS)
            slow.seek_to_end()
            await slow.poll(0)
            fast.seek(tp, 0)
            found.append(
                Pace(
                    POLLS * EVERY_MS,
                    await fast.position(tp),
                    await slow.position(tp),
                )
            )
        return found

    return bench.run(body)


def pull() -> Picture:
    """Show two consumers that read at their own pace."""
    shown = Table("ms", "next of the fast one", "next of the slow one", box=None)
    for one in paces():
        shown.add_row(str(one.ms), str(one.fast), str(one.slow))
    *_, last, _ = paces()
    return picture({"fast": last.fast, "slow": last.slow}, shown)


class Order(NamedTuple):
    """The records of two partitions in the order in which a consumer got them."""

    words: str
    values: tuple[str, ...]


@cache
def orders() -> Sequence[Order]:
    """Let consumers read while the records are written, and afterwards."""
    bench = Bench()
    first, second = bench.topic("web", 2)
    written = [
        record
        for number in range(1, 4)
        for record in ((first, f"a{number}"), (second, f"b{number}"))
    ]

    async def values(consumer: Consumer, count: int, most: int) -> list[str]:
        found: list[str] = []
        while len(found) < count:
            records = await consumer.poll(1_000, max_records=most)
            found += [bytes(r.value).decode() for r in records if isinstance(r.value, bytes)]
        return found

    async def body(bench: Bench) -> list[Order]:
        during: list[str] = []
        async with bench.consumer() as consumer:
            consumer.assign([first, second])
            for record in written:
                await bench.send(record)
                during += await values(consumer, 1, 1)
        found = [
            Order("as they were written", tuple(value for _, value in written)),
            Order("read while they were written", tuple(during)),
        ]
        for words, partitions in (
            ("read afterwards", [first, second]),
            ("read afterwards, partition 1 first", [second, first]),
        ):
            async with bench.consumer() as consumer:
                consumer.assign(partitions)
                found.append(Order(words, tuple(await values(consumer, len(written), 100))))
        return found

    return bench.run(body)


def order() -> Picture:
    """Show in which order consumers get the same records."""
    shown = Table("the records", "order", box=None)
    for one in orders():
        shown.add_row(one.words, " ".join(one.values))
    after = orders()[2]
    return picture({"after": "-".join(after.values)}, shown)


# Figures of the page.


def _place_figure() -> graphviz.Digraph:
    """Draw the two kinds of offsets: of records, and of a group."""
    cells: Cells = [(str(n), GREEN if n < 5 else BLUE if n < 8 else WHITE) for n in range(RECORDS)]
    rows: Rows = [
        ("the log: offsets of records", cells),
        ("committed: 5", [("", WHITE)] * 5 + [("5", YELLOW)] + [("", WHITE)] * 4),
        ("position: 8", [("", WHITE)] * 8 + [("8", YELLOW)] + [("", WHITE)]),
    ]
    return grid(
        "place",
        "A record keeps its offset; a group's offsets move",
        [
            (GREEN, "below the commit"),
            (BLUE, "read, and not committed"),
            (YELLOW, "the next to read"),
        ],
        rows,
        30,
    )


def _kept_figure() -> graphviz.Digraph:
    """Draw where a group's committed offset is stored: in old versions and now (图4-6)."""
    rows: Rows = [
        ("", [("before 0.9", GREY), ("since 0.9", GREY)]),
        ("kept in", [("ZooKeeper", BLUE), ("__consumer_offsets", GREEN)]),
        (
            "as",
            [
                ("a znode of the partition", BLUE),
                ("a record with a key", GREEN),
            ],
        ),
        ("written by", [("the consumer itself", BLUE), ("the coordinator", GREEN)]),
        ("a commit costs", [("a write of a quorum", BLUE), ("an append to a log", GREEN)]),
        ("read after a rebalance by", [("the new owner", BLUE), ("the new owner", GREEN)]),
    ]
    return grid("kept", "Where a group's place is kept", [], rows, 26)


def _table_figure() -> graphviz.Digraph:
    """Draw the records of commits, and what compaction keeps."""
    rows: Rows = [("", [("key", GREY), ("value", GREY)])]
    for number, one in enumerate(stored_commits()):
        colour = GREEN if one.kept else WHITE
        rows.append((f"record {number}", [(one.key, colour), (one.value, colour)]))
    return grid(
        "table",
        "Commits are records of a compacted topic",
        [(GREEN, "kept by compaction"), (WHITE, "removed")],
        rows,
    )


def _points_figure() -> graphviz.Digraph:
    """Draw the result of a kill at each point of two loops."""
    rows: Rows = []
    for loop, words in ((Loop.COMMIT_FIRST, "at most once"), (Loop.WORK_FIRST, "at least once")):
        rows.append((words, [("killed when", GREY), ("twice", GREY), ("never", GREY)]))
        for one in kills(loop):
            rows.append(
                (
                    "",
                    [
                        (WORDS[one.point], WHITE),
                        (str(one.twice), YELLOW if one.twice else GREEN),
                        (str(one.never), RED if one.never else GREEN),
                    ],
                )
            )
    return grid("points", f"A batch of {BATCH} records, and kill -9 at each point", [], rows)


def _resets_figure() -> graphviz.Digraph:
    """Draw where a consumer begins."""
    rows: Rows = [("committed", [(policy, GREY) for policy in ("earliest", "latest", "none")])]
    for committed, begins in _reset_rows().items():
        cells: Cells = [(one, BLUE if one.isdecimal() else RED) for one in begins]
        rows.append((committed, cells))
    return grid(
        "resets",
        "Where a consumer begins, if the log has 0 to 9",
        [(BLUE, "the first offset that it asks for"), (RED, "poll() raises this")],
        rows,
    )


def _pull_figure() -> graphviz.Digraph:
    """Draw which side stores the reader's position, with push and with pull (图4-9)."""
    rows: Rows = [
        ("", [("push", GREY), ("pull: Kafka", GREY)]),
        ("who sets the pace", [("the broker", YELLOW), ("each consumer", GREEN)]),
        ("who keeps the place", [("the broker", YELLOW), ("the consumer", GREEN)]),
        ("a slow consumer", [("is flooded", RED), ("is late", GREEN)]),
        ("go back, jump ahead", [("the broker must help", RED), ("seek()", GREEN)]),
        ("nothing new costs", [("nothing", GREEN), ("a fetch that waits", GREEN)]),
    ]
    return grid("pull", "Push and pull", [], rows, 26)


def _order_figure() -> graphviz.Digraph:
    """Draw the order in which consumers got the records of two partitions (图4-8)."""
    rows: Rows = []
    for one in orders():
        cells: Cells = [(value, GREEN if value[0] == "a" else BLUE) for value in one.values]
        rows.append((one.words, [*cells, GAP]))
    return grid(
        "order",
        "Order holds within a partition",
        [(GREEN, "partition 0"), (BLUE, "partition 1")],
        rows,
        34,
    )


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "partition": partition_of_group,
    "records": commit_records,
    "commit-first": lambda: _kill_picture(Loop.COMMIT_FIRST),
    "work-first": lambda: _kill_picture(Loop.WORK_FIRST),
    "resets": reset_policies,
    "pull": pull,
    "order": order,
}
