"""Play scenarios that are written as transcripts. Each transcript is a test, and also a text in a
chapter (model: the tests of etcd/raft).

A line with commands begins with `> `. Several commands in a line are separated by ` ; `. The lines
below the commands show their effects:

    > cluster brokers=3 topic=t partitions=1 rf=3
    t-0 leader=1 epoch=0 isr=1,2,3 hw=0 leo=1:0,2:0,3:0
    > produce acks=all value=a
    a: acked offset=0

`run` plays the commands and returns the transcript with the real effects. A test compares it with
the file. `python -m kafka_edu.sim.transcript FILE --rewrite` writes the real effects into the file,
so that a reviewer can read the difference. Lines that begin with `#` are not changed.

Commands: cluster brokers= topic= partitions= rf= seed= KEY=VALUE… | produce acks= value= [timeout=]
consume | show | advance 15s | kill N | pause N | resume N | start N | stop N | cut A B | fix A B.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.words import plural
from kafka_edu.sim.sim_client import Answer, SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.times import parse_ms
from kafka_edu.trace.event import Envelope, Event
from kafka_edu.trace.events.controller import (
    ControlledShutdownProcessed,
    ControllerElected,
    LeaderElected,
    ReplicaRemovedFromIsr,
)
from kafka_edu.trace.events.learner import LearnerFailed, LearnerPrinted, LearnerRetired
from kafka_edu.trace.events.log import LogLoaded, LogRecovered
from kafka_edu.trace.events.purgatory import WaitingOperationSnapshot
from kafka_edu.trace.events.replication import (
    IsrExpanded,
    IsrShrunk,
    LogTruncatedByEpoch,
    PartitionSnapshot,
)
from kafka_edu.trace.events.server import ControlledShutdownAttempted, ServerStopped

SETTLE_MS: Final = 200


class TranscriptError(Exception):
    """A line is not a command, or its command is not possible. The message contains the line."""


def ids(brokers: tuple[int, ...]) -> str:
    return ",".join(map(str, brokers)) or "none"


def narrate(envelope: Envelope) -> str | None:
    """Return one event as a line of a transcript. Return None for an event that transcripts leave
    out.
    """
    event: Event = envelope.event
    match event:
        case IsrShrunk():
            return (
                f"isr of {event.topic}-{event.partition} shrunk {ids(event.before)} ->"
                f" {ids(event.after)}: {event.reason}"
            )
        case IsrExpanded():
            return (
                f"isr of {event.topic}-{event.partition} expanded {ids(event.before)} ->"
                f" {ids(event.after)}: {event.reason}"
            )
        case LeaderElected():
            return (
                f"leader of {event.topic}-{event.partition} {event.old_leader} ->"
                f" {event.new_leader}, epoch {event.leader_epoch}, by {event.strategy}: replicas"
                f" {ids(event.replicas)} live {ids(event.live)} isr {ids(event.isr_before)} ->"
                f" {ids(event.isr)}"
            )
        case ReplicaRemovedFromIsr():
            return (
                f"controller takes {event.replica} out of the isr of"
                f" {event.topic}-{event.partition}: {ids(event.isr_before)} -> {ids(event.isr)}"
            )
        case LogTruncatedByEpoch() if event.before != event.after:
            return (
                f"broker {envelope.broker} truncates {event.topic}-{event.partition} {event.before}"
                f" -> {event.after}: on leader {event.leader} epoch {event.epoch} ends at"
                f" {event.leader_end_offset} (its high watermark was {event.high_watermark})"
            )
        case ControlledShutdownProcessed():
            moved, stopped = plural(event.led, "leader"), plural(event.followed, "follower")
            return (
                f"controller moved {moved} of broker {event.broker_id} and stopped {stopped};"
                f" {event.remaining} remaining"
            )
        case ControlledShutdownAttempted():
            what = (
                f"attempt {event.attempt} at controller {event.controller_id}: {event.error},"
                f" {event.partitions_remaining} remaining"
            )
            return f"broker {envelope.broker} asks to go, {what}"
        case ServerStopped():
            return (
                f"broker {envelope.broker} has stopped, {'clean' if event.clean else 'not clean'}"
            )
        case LogRecovered():
            return (
                f"broker {envelope.broker} reads {event.topic}-{event.partition} again:"
                f" {plural(event.segments, 'segment')} from offset {event.recovery_point}"
            )
        case LogLoaded() if event.clean:
            return (
                f"broker {envelope.broker} has {event.topic}-{event.partition} up to"
                f" {event.log_end_offset}, and reads no segment"
            )
        case ControllerElected():
            return f"controller is broker {envelope.broker}, epoch {event.epoch}"
        case LearnerPrinted():
            return f"broker {envelope.broker}, {event.exercise} prints: {event.text}"
        case LearnerFailed():
            where = f"{event.file}:{event.line}" if event.line else event.file
            return (
                f"broker {envelope.broker}, {event.exercise} failed: {event.message} ({where}); our"
                " code did this step"
            )
        case LearnerRetired():
            return (
                f"broker {envelope.broker}, {event.exercise} failed {event.failures} times: from"
                " now on our code serves"
            )
    return None


class Scenario:
    """Runs the commands of one transcript and collects their effects."""

    def __init__(self) -> None:
        self.cluster: SimCluster | None = None
        self._client: SimClient | None = None
        self._tp = TopicPartition("t", 0)
        self._open: list[Answer] = []
        self._lines: list[str] = []
        self._commands: dict[str, Callable[[list[str], Mapping[str, str]], None]] = {
            "cluster": self._do_cluster,
            "produce": self._do_produce,
            "consume": self._do_consume,
            "show": lambda _, __: self._show(),
            "advance": lambda words, _: self._sim.advance(parse_ms(words[0])),
            "kill": lambda words, _: self._sim.kill(int(words[0])),
            "pause": lambda words, _: self._sim.pause(int(words[0])),
            "resume": lambda words, _: self._sim.resume(int(words[0])),
            "start": lambda words, _: self._sim.start(int(words[0])),
            "stop": lambda words, _: self._sim.stop(int(words[0])),
            "cut": self._do_cut,
            "mend": lambda words, _: self._sim.mend(int(words[0]), int(words[1])),
        }

    @property
    def _sim(self) -> SimCluster:
        if self.cluster is None:
            raise ValueError("the first command must be: cluster")
        return self.cluster

    def run(self, line: str) -> list[str]:
        """Run the commands of one line, in order. Return their effects until the cluster is stable
        again.
        """
        self._lines = []
        for command in line.split(" ; "):
            name, *words = command.split()
            options = dict(word.partition("=")[::2] for word in words if "=" in word)
            act = self._commands.get(name)
            if act is None:
                raise ValueError(f"no such command: {name}; there are {', '.join(self._commands)}")
            act([word for word in words if "=" not in word], options)
        if self.cluster is not None:
            self.cluster.advance(SETTLE_MS)
        self._tell_answers()
        return self._lines

    def _tell(self, envelope: Envelope) -> None:
        line = narrate(envelope)
        if line is not None:
            self._lines.append(line)

    def _do_cluster(self, _: list[str], options: Mapping[str, str]) -> None:
        brokers = int(options.get("brokers", "3"))
        own = {"brokers", "topic", "partitions", "rf", "seed"}
        properties = {key: value for key, value in options.items() if key not in own}
        self.cluster = SimCluster(
            int(options.get("seed", "1")), tuple(range(1, brokers + 1)), properties
        )
        self.cluster.start_all()
        self._client = SimClient(self.cluster)
        self._tp = TopicPartition(options.get("topic", "t"), 0)
        created = self.cluster.run_as(
            self._client.process,
            self._client.create_topic(
                self._tp.topic,
                int(options.get("partitions", "1")),
                int(options.get("rf", str(brokers))),
            ),
        )
        if created is not Errors.NONE:
            raise ValueError(f"topic {self._tp.topic} could not be created: {created.name}")
        self.cluster.advance(1000)
        self._show()
        self.cluster.sink.listeners.append(self._tell)

    def _script_client(self) -> SimClient:
        if self._client is None:
            raise ValueError("the first command must be: cluster")
        return self._client

    def _do_cut(self, words: list[str], _: Mapping[str, str]) -> None:
        self._sim.cut(int(words[0]), int(words[1]))

    def _do_produce(self, _: list[str], options: Mapping[str, str]) -> None:
        acks = {"all": -1, "-1": -1, "1": 1}[options.get("acks", "all")]
        timeout_ms = parse_ms(options.get("timeout", "30s"))
        self._open.append(
            self._script_client().produce(self._tp, options["value"], acks, timeout_ms)
        )
        self._sim.advance(SETTLE_MS)

    def _do_consume(self, _: list[str], __: Mapping[str, str]) -> None:
        client = self._script_client()
        found = self._sim.run_as(client.process, client.consume(self._tp))
        self._lines.append("consumed " + " ".join(f"{offset}:{value}" for offset, value in found))

    def _show(self) -> None:
        """Show the partition's state from the view of its leader, and the log end offset of each
        replica. A replica on a broker that is down has no offset.
        """
        snapshots: dict[int, PartitionSnapshot] = {}
        for broker in self._sim.brokers.values():
            if broker.tracer is not None and broker.server is not None:
                for envelope in broker.tracer.snapshot():
                    event = envelope.event
                    if (
                        isinstance(event, PartitionSnapshot)
                        and (event.topic, event.partition) == self._tp
                    ):
                        snapshots[broker.id] = event
        leader = max(
            (seen for broker, seen in snapshots.items() if seen.leader == broker),
            key=lambda seen: seen.leader_epoch,
            default=None,
        )
        if leader is None:
            self._lines.append(f"{self._tp} has no leader")
            return
        ends = ",".join(
            f"{broker}:{snapshots[broker].progress.leo if broker in snapshots else '-'}"
            for broker in self._sim.brokers
        )
        self._lines.append(
            f"{self._tp} leader={leader.leader} epoch={leader.leader_epoch} isr={ids(leader.isr)}"
            f" hw={leader.progress.hw} leo={ends}"
        )

    def _tell_answers(self) -> None:
        still: list[Answer] = []
        for answer in self._open:
            if answer.failed:
                self._lines.append(f"{answer.value}: no answer ({answer.failed})")
            elif answer.acked is None:
                self._lines.append(f"{answer.value}: {self._why_waiting()}")
                still.append(answer)
            elif answer.acked.error is Errors.NONE:
                self._lines.append(f"{answer.value}: acked offset={answer.acked.offset}")
            else:
                self._lines.append(f"{answer.value}: {answer.acked.error.name}")
        self._open = still

    def _why_waiting(self) -> str:
        """Return what the oldest operation in the leader's produce purgatory waits for
        (spec D3).
        """
        for broker in self._sim.brokers.values():
            if broker.tracer is None or broker.server is None:
                continue
            for envelope in broker.tracer.snapshot():
                if not isinstance(envelope.event, WaitingOperationSnapshot):
                    continue
                waiting = envelope.event.waiting
                if waiting.purgatory.startswith("Produce"):
                    reasons = "; ".join(
                        f"{need.subject} needs {need.needs} >= {need.at_least}, has {need.have}"
                        f" ({', '.join(f'{who}: {has}' for who, has in need.holders)})"
                        for need in waiting.why
                    )
                    return f"waiting in {waiting.purgatory}: {reasons}"
        return "waiting for an answer"


def run(text: str) -> str:
    """Play the commands of a transcript. Return the transcript with the real effects. Raises
    TranscriptError.
    """
    scenario = Scenario()
    out: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not line.strip():
            out.append(line)
        elif line.startswith("> "):
            out.append(line)
            command, _, _ = line[2:].partition("  #")
            try:
                out += scenario.run(command.strip())
            except (ValueError, KeyError, IndexError, ConnectionError) as error:
                raise TranscriptError(f"line {number}: {line}: {error}") from error
    return "\n".join(out) + "\n"


def commands(text: str) -> Iterator[str]:
    """Yield only the lines with commands, so that the same scenario can be played elsewhere."""
    return (
        line[2:].partition("  #")[0].strip() for line in text.splitlines() if line.startswith("> ")
    )


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m kafka_edu.sim.transcript", description="run scenarios in virtual time"
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument(
        "--rewrite", action="store_true", help="write what really happens into the files"
    )
    args = parser.parse_args(argv)
    differ = 0
    for path in args.files:
        text = path.read_text(encoding="utf-8")
        found = run(text)
        if args.rewrite:
            path.write_text(found, encoding="utf-8")
        print(found, end="")
        differ += found != text
    return 0 if args.rewrite or not differ else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
