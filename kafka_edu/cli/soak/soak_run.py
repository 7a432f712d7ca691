"""Run one part of a soak: start a cluster and clients, kill and pause brokers, store the results.

On one machine, requests once got no answer. The soak has the same set-up as that machine: three
brokers, 56 partitions, a producer with acks=all, a consumer of a group, many requests in flight,
and a busy disk. Three subscribers read the trace, and one of them changes its level. Brokers are
killed and paused for longer than their session.
"""

import contextlib
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.cli.demo_topic import BROKERS, create_topic, wait_until_in_sync
from kafka_edu.cli.soak.clients import SoakConsumer, SoakProducer
from kafka_edu.cli.soak.memory import MemorySampler, thinned, trend
from kafka_edu.cli.soak.prober import Prober, now_ms
from kafka_edu.cli.soak.side_process import SideProcess
from kafka_edu.cli.soak.state import TROUBLES_KEPT, Part
from kafka_edu.clients.admin.topic_calls import NewTopic
from kafka_edu.clients.answer_deadlines import Pauses
from kafka_edu.clients.blocking import Admin
from kafka_edu.common.busy_machine import Hogs
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster

TOPIC: Final = "soak"
PARTITIONS: Final = 4
PROBE_TOPIC: Final = "probe"
PROBE_PARTITIONS: Final = 2
OFFSETS_PARTITIONS: Final = 50
"""Partitions of `__consumer_offsets`.

Together with the partitions of the other topics, the cluster has 56 partitions.
"""
GROUP: Final = "soak"
AWAY_S: Final = 8.0
"""Seconds for which a broker is dead or paused. A session lasts 6 s, so it expires in this time."""
CHURN_TOPICS: Final = 20
_CHURN_MS: Final = 30_000
DISK_WRITER_BYTES: Final = 256 << 20
STALLS_KEPT: Final = 10
_DRAIN_S: Final = 90.0
_PROBES_END_S: Final = 30.0
_HURRIED_S: Final = 10.0
"""Time limit after Ctrl-C in seconds.

It replaces the two limits above. The probes get a quarter of it.
"""
_LOOK_EVERY_S: Final = 0.5


class Plan(NamedTuple):
    """The settings of one part of the soak."""

    records_a_second: int
    act_every_s: float
    disk_writers: int
    cpu_hogs: int
    seed: int
    grace_s: float
    """An answer is still accepted this many seconds after a probe's time-out."""
    props: Mapping[str, str]
    """Settings of every broker, in addition to those that the soak always sets."""


class SoakPart:
    """Run one part of the soak, and keep its results in `part` up to date.

    `part` can be saved at any time, so a soak that is killed loses only a few seconds.
    """

    def __init__(self, cluster: Cluster, plan: Plan, folder: Path, number: int) -> None:
        self.part = Part(time.strftime("%Y-%m-%d %H:%M:%S"))
        self._cluster = cluster
        self._plan = plan
        self._folder = folder
        self._pauses = Pauses()
        self._pids: dict[int, int] = {broker: cluster.pid(broker) for broker in cluster.broker_ids}
        self._memory = MemorySampler(self._pids)
        self._producer = SoakProducer(cluster.bootstrap_servers, TOPIC, plan.records_a_second)
        self._consumer = SoakConsumer(cluster.bootstrap_servers, TOPIC, GROUP)
        probed = [TopicPartition(PROBE_TOPIC, partition) for partition in range(PROBE_PARTITIONS)]
        self._prober = Prober(
            {broker: cluster.port(broker) for broker in cluster.broker_ids},
            probed,
            self._pauses,
            plan.seed + number,
            plan.grace_s * 1000,
        )
        self._side: list[SideProcess] = []
        self._hogs = Hogs(0)
        self._began = 0.0
        self._finishing = False
        self._paused: int | None = None
        self._churned = 0
        self._victims = itertools.cycle(
            cluster.broker_ids[:-1]
        )  # the last broker is never killed: its memory is watched
        self._to_pause = itertools.cycle(cluster.broker_ids)

    @property
    def now(self) -> str:
        """Return the current counts as one line of text."""
        part = self.part
        return (
            f"acked {part.records_acked:,} · read {part.records_read:,} · answered"
            f" {part.requests_answered:,} · stuck"
            f" {part.requests_stuck + part.broker_stuck + len(part.client_timeouts)} · longest wait"
            f" {max(part.longest_wait_ms.values(), default=0) / 1000:.1f} s · stalls"
            f" {part.loop_stalls}"
        )

    def run(self, seconds: float, tick: Callable[[str], None]) -> None:
        """Run the part for `seconds`, and call `tick(doing)` every half second.

        After Ctrl-C the part ends within a short time, and KeyboardInterrupt is raised again.
        """
        create_topic(self._cluster.bootstrap_servers, TOPIC, PARTITIONS)
        create_topic(self._cluster.bootstrap_servers, PROBE_TOPIC, PROBE_PARTITIONS)
        self._start()
        hurried = True
        try:
            self._work(seconds, tick)
            hurried = False
        except ClusterError as error:
            self.part.failed = str(error)
        finally:
            self._finish(hurried, tick)

    def _start(self) -> None:
        folder, brokers = (
            str(self._cluster.folder.path),
            [str(broker) for broker in self._cluster.broker_ids],
        )
        self._side.append(
            SideProcess("kafka_edu.cli.soak.trace_watchers", [folder, *brokers], self._on_trace)
        )
        for number in range(self._plan.disk_writers):
            arguments = [str(self._folder / f"noise-{number}"), str(DISK_WRITER_BYTES)]
            self._side.append(SideProcess("kafka_edu.cli.soak.noise", arguments, self._on_disk))
        self._hogs.add(self._plan.cpu_hogs)
        self._memory.start()
        self._consumer.start()
        self._producer.start()
        self._prober.start()
        self._began = time.monotonic()

    def _work(self, seconds: float, tick: Callable[[str], None]) -> None:
        end = self._began + seconds
        acts = itertools.cycle(
            (self._kill_and_restart, self._pause_past_the_session, self._churn_topics)
        )
        next_act = self._began + self._plan.act_every_s
        while (now := time.monotonic()) < end:
            self._note()
            tick("clients at work")
            if now >= next_act and end - now > 2 * AWAY_S:
                next(acts)(tick)
                next_act = time.monotonic() + self._plan.act_every_s
            time.sleep(_LOOK_EVERY_S)

    def _finish(self, hurried: bool, tick: Callable[[str], None]) -> None:
        """Stop the clients and helper processes, and compare the acked with the read records.

        `hurried` is true after Ctrl-C. If it is true, shorter time limits are used.
        """
        part, patience_s = self.part, _HURRIED_S if hurried else _DRAIN_S
        self._finishing = True
        part.seconds = round(time.monotonic() - self._began, 1)
        if self._paused is not None:
            self._resume(self._paused)
        tick("waiting for the last answers")
        self._prober.stop(_HURRIED_S / 4 if hurried else _PROBES_END_S)
        part.records_unanswered = self._producer.finish(patience_s)
        tick("reading to the end")
        missing = self._consumer.drain(self._producer.acked, patience_s)
        if not hurried or not missing:
            part.records_not_read_by_group = len(missing)
            if missing:
                everything = self._consumer.read_everything(PARTITIONS, _DRAIN_S)
                part.records_lost = sum(number not in everything for number in missing)
            part.complete = True
        self._memory.stop()
        self._hogs.close()
        for process in self._side:
            process.stop()
        self._note()

    def _note(self) -> None:
        """Copy the current counts of all clients into `part`."""
        part, answers = self.part, self._prober.answers
        if not self._finishing:
            part.seconds = round(time.monotonic() - self._began, 1)
        part.records_sent, part.records_acked = self._producer.sent, self._producer.acked.count
        part.records_refused = dict(self._producer.refused)
        part.records_read, part.records_read_again = (
            self._consumer.read.count,
            self._consumer.read_again,
        )
        part.client_timeouts = [*self._producer.log.lines, *self._consumer.log.lines]
        part.requests_sent, part.requests_answered, part.requests_closed = (
            answers.sent,
            answers.answered,
            answers.closed,
        )
        part.requests_by_kind = dict(answers.by_kind)
        part.requests_stuck, part.requests_stuck_but_answered_later = (
            len(answers.overdue),
            answers.late,
        )
        part.stuck = [str(overdue) for overdue in answers.overdue[:TROUBLES_KEPT]]
        part.longest_wait_ms = {
            kind: round(waited_ms, 1) for kind, waited_ms in list(answers.longest_ms.items())
        }
        trends = [
            (found, life) for life in self._memory.lives() if (found := trend(life)) is not None
        ]
        part.trends = [found._asdict() for found, _ in trends]
        part.samples = [[list(sample) for sample in thinned(life.samples)] for _, life in trends]

    def _on_trace(self, line: dict[str, object]) -> None:
        part = self.part
        match line:
            case {"counts": dict(counts)}:
                part.trace_counts = counts
            case {
                "event": "LoopStalled",
                "broker": int(broker),
                "wall_ms": int(wall_ms),
                "stalled_ms": int(stalled_ms),
            }:
                woken_ms = now_ms() - (time.time() * 1000 - wall_ms)
                if self._pauses.within(broker, woken_ms - stalled_ms, woken_ms) > 0:
                    return  # this stall is a pause that the soak has made
                part.loop_stalls += 1
                longest = [*part.longest_stalls, line]
                longest.sort(key=lambda stall: -int(str(stall.get("stalled_ms", 0))))
                part.longest_stalls = longest[:STALLS_KEPT]
            case {"event": "RequestStuck"}:
                part.broker_stuck += 1
                part.broker_stuck_events = [*part.broker_stuck_events, line][:TROUBLES_KEPT]
            case {"event": str(name)}:
                part.troubles = {**part.troubles, name: part.troubles.get(name, 0) + 1}
                if name != "SessionLost":  # the pauses make sessions expire on purpose
                    part.trouble_events = [*part.trouble_events, line][:TROUBLES_KEPT]

    def _on_disk(self, line: dict[str, object]) -> None:
        match line:
            case {"longest_fsync_ms": int(longest_ms), "written_mb": int(written_mb)}:
                self.part.longest_fsync_ms = max(self.part.longest_fsync_ms, longest_ms)
                self.part.disk_written_mb = max(self.part.disk_written_mb, written_mb)

    def _tell(self, text: str) -> None:
        self.part.story.append(f"{now_ms():9.0f} ms  {text}")

    def _acted(self, act: str, times: int = 1) -> None:
        self.part.acts[act] = self.part.acts.get(act, 0) + times

    def _stay(self, seconds: float, doing: str, tick: Callable[[str], None]) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._note()
            tick(doing)
            time.sleep(_LOOK_EVERY_S)

    def _kill_and_restart(self, tick: Callable[[str], None]) -> None:
        victim = next(self._victims)
        self._acted("kill -9 and restart")
        self._pids.pop(victim, None)
        self._tell(f"kill -9 of broker {victim}")
        # From SIGKILL on, a broker answers no request. On a busy machine the kernel may close its
        # connections up to a second later. A starting broker does not answer at first either,
        # although its port accepts connections, as in Kafka. Requests in this time do not count as
        # stuck.
        self._pauses.paused(victim, now_ms())
        self._cluster.kill(victim)
        self._stay(AWAY_S, f"broker {victim} was killed", tick)
        self._tell(f"start of broker {victim}")
        self._cluster.start(victim)
        self._pauses.resumed(victim, now_ms())
        self._tell(f"broker {victim} is ready")
        self._pids[victim] = self._cluster.pid(victim)
        self._wait_in_sync(tick)

    def _pause_past_the_session(self, tick: Callable[[str], None]) -> None:
        broker = next(self._to_pause)
        self._acted("pause and resume")
        self._tell(f"pause of broker {broker}")
        self._pauses.paused(broker, now_ms())
        self._cluster.pause(broker)
        self._paused = broker
        self._stay(AWAY_S, f"broker {broker} is paused", tick)
        self._resume(broker)
        self._wait_in_sync(tick)

    def _resume(self, broker: int) -> None:
        self._paused = None
        self._cluster.resume(broker)
        self._pauses.resumed(broker, now_ms())
        self._tell(f"broker {broker} goes on")

    def _churn_topics(self, tick: Callable[[str], None]) -> None:
        """Create topics and delete them again, as the test suite of a client does."""
        self._acted("topics created and deleted", CHURN_TOPICS)
        names = [f"churn-{self._churned + number}" for number in range(CHURN_TOPICS)]
        self._churned += CHURN_TOPICS
        self._tell(f"{CHURN_TOPICS} topics are created and deleted")
        tick("creating and deleting topics")
        wanted = [NewTopic(name, 2, BROKERS) for name in names]
        # Errors and time-outs are ignored, because the purpose is only to give work to the brokers.
        with Admin({"bootstrap.servers": self._cluster.bootstrap_servers}) as admin:
            admin.create_topics(wanted, timeout_ms=_CHURN_MS)
            self._stay(1.0, "creating and deleting topics", tick)
            admin.delete_topics(names, timeout_ms=_CHURN_MS)

    def _wait_in_sync(self, tick: Callable[[str], None]) -> None:
        self._note()
        tick("waiting for the replicas")
        try:
            wait_until_in_sync(self._cluster.bootstrap_servers, TOPIC, PARTITIONS)
        except ClusterError:
            self.part.not_in_sync_in_time += 1


@contextlib.contextmanager
def soak_part(plan: Plan, number: int) -> Iterator[SoakPart]:
    """Run a cluster in a temporary folder during the block. Yield the SoakPart that tests it."""
    props = {
        "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
        "offsets.topic.replication.factor": str(BROKERS),
        **plan.props,
    }
    with tempfile.TemporaryDirectory(prefix="kafka-edu-soak-", ignore_cleanup_errors=True) as home:
        folder = Path(home)
        with running_cluster("soak", brokers=BROKERS, props=props, home=folder) as cluster:
            yield SoakPart(cluster, plan, folder, number)
