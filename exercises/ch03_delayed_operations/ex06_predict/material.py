"""The two runs of exercise 03-6: a fetch and a produce wait in the broker's own purgatories."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final, NamedTuple

from kafka_edu.common.transport import part_bytes
from kafka_edu.record.record_batch import iter_headers
from kafka_edu.sim.stepped_cluster import SteppedCluster, batch
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.purgatory import OperationCompleted, OperationWatched

QUESTIONS: Final = """\
# 03-6: your run

## A fetch that waits

The topic `a` has one replica, so what is written is below the HW at once. Its
log has one batch of {first_bytes} bytes with one record. A consumer has read nothing yet.
It fetches from offset 0, with `fetch.min.bytes` {min_bytes} and `fetch.max.wait.ms`
{max_wait_ms}.

| when | what happens |
| --- | --- |
| 0 ms | the consumer's fetch arrives |
{fetch_rows}

1. `fetch_ends_by`: what ends the wait, "bytes" or "time-out"?
2. `fetch_ends_ms`: when is the consumer answered?
3. `fetch_records`: how many records does it get then?

## A produce that waits

The topic `b` has its leader on broker 0 and followers on the brokers 1 and 2.
All three have the offsets 0 to {last_offset} and are in the ISR, and the HW is {hw}. A
producer with acks=all sends one batch of {records} records. It waits {timeout_ms} ms at
most. In this run a follower's fetch is answered at once.

| when | what happens |
| --- | --- |
| 0 ms | the produce arrives |
{produce_rows}

4. `produce_ends_by`: what ends the wait, "broker 1", "broker 2" (whose fetch
   it was) or "time-out"?
5. `produce_ends_ms`: when is the producer answered?
6. `hw_at_answer`: what is the leader's HW at that moment?
7. `hw_at_end`: and what is it at the end of the table?
"""
END_MS: Final = 3_000
FIRST: Final = "x" * 12

Act = tuple[int, str, Callable[[], None]]
"""The time in ms, a description, and the call that does the action."""


class Plan(NamedTuple):
    """The numbers of both runs. Times are ms after the arrival of the waiting request."""

    min_bytes: int
    max_wait_ms: int
    produces: tuple[tuple[int, int], ...]
    """The time of each produce in ms, and the number of characters of its record."""
    hw: int
    records: int
    timeout_ms: int
    fetches: tuple[tuple[int, int], ...]
    """The time of each fetch in ms, and the number of the fetching follower."""


def batch_bytes(characters: int) -> int:
    """Return how many bytes a batch has that contains one record with a value of this length."""
    return len(batch("x" * characters))


def plan(seed: int) -> Plan:
    """Return the numbers that the seed determines.

    Each time-out is at least 20 ms away from other events that could end the wait.
    """
    random = Random(f"waits/{seed}")
    max_wait_ms = random.randrange(400, 900, 40) + 27
    times = sorted(random.sample(range(40, max_wait_ms + 200, 40), 5))
    produces = tuple((time_ms + 7, random.randint(10, 60)) for time_ms in times)
    in_time = [characters for time_ms, characters in produces if time_ms < max_wait_ms]
    sums = [batch_bytes(len(FIRST))]
    for characters in in_time:
        sums.append(sums[-1] + batch_bytes(characters))
    if len(sums) > 2 and random.random() < 0.55:
        reached = random.randint(2, len(sums) - 1)
        min_bytes = random.choice((sums[reached], sums[reached - 1] + 1))
    else:
        min_bytes = sums[-1] + random.randint(1, 60)
    fetches = []
    for follower in (1, 2):
        time_ms = random.randint(20, 150)
        for _ in range(4):
            fetches.append((time_ms - time_ms % 40 + follower * 17, follower))
            time_ms += random.randint(90, 260)
    fetches.sort()
    seconds = [[time_ms for time_ms, one in fetches if one == who][1] for who in (1, 2)]
    ready_ms = max(seconds)
    timeout_ms = ready_ms + (
        random.randint(60, 400) if random.random() < 0.6 else -random.randint(25, ready_ms // 3)
    )
    return Plan(
        min_bytes,
        max_wait_ms,
        produces,
        random.randint(4, 40),
        random.randint(2, 5),
        timeout_ms,
        tuple(fetches),
    )


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    made = plan(seed)
    fetch_rows = [
        f"| {time_ms} ms | a producer writes a batch of {batch_bytes(characters)} bytes, one"
        " record |"
        for time_ms, characters in made.produces
    ]
    produce_rows = [
        f"| {time_ms} ms | a fetch of broker {one} arrives |" for time_ms, one in made.fetches
    ]
    text = QUESTIONS.format(
        first_bytes=batch_bytes(len(FIRST)),
        min_bytes=made.min_bytes,
        max_wait_ms=made.max_wait_ms,
        fetch_rows="\n".join(fetch_rows),
        last_offset=made.hw - 1,
        hw=made.hw,
        records=made.records,
        timeout_ms=made.timeout_ms,
        produce_rows="\n".join(produce_rows),
    )
    return {"questions.md": text}


class Seen(NamedTuple):
    """A line of a run: the time, and what happened."""

    time_ms: int
    text: str


class Timeline:
    """The events of one purgatory and the actions of the run, in order of time."""

    level = Level.ALL

    def __init__(self, cluster: SteppedCluster, purgatory: str) -> None:
        self._cluster = cluster
        self._purgatory = purgatory
        self._began_ms = cluster.time.hi_res_clock_ms()
        self.lines: list[Seen] = []
        self.ends: list[tuple[int, OperationCompleted]] = []
        """The time in ms at which a waiting operation was completed, and its event."""
        cluster.leader.trace.add_sink(self)

    @property
    def now_ms(self) -> int:
        return self._cluster.time.hi_res_clock_ms() - self._began_ms

    def accept(self, envelope: Envelope) -> None:
        """Store an event if this purgatory emitted it."""
        match envelope.event:
            case OperationWatched(purgatory=self._purgatory):
                self.note("OperationWatched")
            case OperationCompleted(purgatory=self._purgatory) as event if event.by != "at once":
                cause = event.cause or event.by
                self.note(f"OperationCompleted: {cause}, after {event.waited_ms} ms")
                self.ends.append((self.now_ms, event))

    def note(self, text: str) -> None:
        """Add a line with the current time."""
        self.lines.append(Seen(self.now_ms, text))

    def play(self, acts: list[Act]) -> None:
        """Do each action at its time, and let the simulated time pass between them."""
        for when_ms, text, act in sorted(acts, key=lambda one: one[0]):
            while self.now_ms < when_ms:
                self._cluster.step(1)
            self.note(text)
            act()
        while self.now_ms < END_MS:
            self._cluster.step(1)

    def shown(self) -> tuple[str, ...]:
        """Return the lines of the run as text."""
        return tuple(f"{line.time_ms:>6,} ms  {line.text}" for line in self.lines)


class FetchRun:
    """The run in which a consumer's fetch waits."""

    def __init__(self, made: Plan) -> None:
        cluster = SteppedCluster(1)
        cluster.elect(0, (0,))
        cluster.produce(FIRST, acks=1)
        self.timeline = Timeline(cluster, "Fetch")
        answer = cluster.consume(0, max_wait_ms=made.max_wait_ms, min_bytes=made.min_bytes)
        size = batch_bytes(len(FIRST))

        def produce(characters: int) -> None:
            cluster.produce("x" * characters, acks=1)

        acts: list[Act] = []
        for when_ms, characters in made.produces:
            size += batch_bytes(characters)
            text = f"a batch of {batch_bytes(characters)} bytes: {size} by now"
            acts.append((when_ms, text, partial(produce, characters)))
        self.timeline.play(acts)
        [(self.ended_ms, self.end)] = self.timeline.ends
        [read] = answer
        self.records = sum(1 for _ in iter_headers(part_bytes(read.records)))
        """The number of records that the consumer got. Each batch has one record."""


class ProduceRun:
    """The run in which a produce with acks=all waits."""

    def __init__(self, made: Plan) -> None:
        cluster = SteppedCluster(3)
        cluster.elect(0, (0, 1, 2))
        for number in range(made.hw):
            cluster.produce(str(number), acks=1)
        for _ in range(3):
            cluster.fetch(1, 2)
        assert cluster.leader.hw == made.hw
        self.timeline = Timeline(cluster, "Produce")
        answer = cluster.produce(
            *[f"new {number}" for number in range(made.records)], timeout_ms=made.timeout_ms
        )
        self.hw_at_answer = -1

        def fetch(follower: int) -> None:
            waits = answer.error() is None
            cluster.fetch(follower)
            leo = cluster.brokers[follower].leo
            self.timeline.note(f"  HW {cluster.leader.hw}, and its own LEO {leo}")
            if waits and answer.error() is not None:
                self.hw_at_answer = cluster.leader.hw

        self.timeline.play(
            [
                (when_ms, f"a fetch of broker {one}", partial(fetch, one))
                for when_ms, one in made.fetches
            ]
        )
        [(self.ended_ms, self.end)] = self.timeline.ends
        if self.hw_at_answer < 0:
            self.hw_at_answer = made.hw
        self.hw_at_end = cluster.leader.hw


def right_answers(seed: int) -> dict[str, object]:
    """Return the right answers, which are taken from the events of both runs."""
    fetch, produce = FetchRun(plan(seed)), ProduceRun(plan(seed))
    return answers_of(fetch, produce)


def answers_of(fetch: FetchRun, produce: ProduceRun) -> dict[str, object]:
    """Return the answers that these two runs give."""
    by = produce.end.cause.partition(": ")[2].removesuffix(" fetched")
    return {
        "fetch_ends_by": "time-out" if fetch.end.by == "time-out" else "bytes",
        "fetch_ends_ms": fetch.ended_ms,
        "fetch_records": fetch.records,
        "produce_ends_by": "time-out" if produce.end.by == "time-out" else by,
        "produce_ends_ms": produce.ended_ms,
        "hw_at_answer": produce.hw_at_answer,
        "hw_at_end": produce.hw_at_end,
    }
