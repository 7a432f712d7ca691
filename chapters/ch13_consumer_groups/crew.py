"""The members of one group: our consumers, in this process or in processes of their own.

A member in this process polls in a task until it leaves. It can be slow: then it does not poll, but
its heartbeats go on. A member in a process of its own can be killed, or stopped with SIGSTOP.
"""

import asyncio
import contextlib
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Final, Self

from kafka_edu.clients.consumer.assignors import NO_GENERATION
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.trace.tracer import Tracer

from . import member_program
from .member_program import POLL_MS

#: The settings of all members. Each job adds its own. The session is longer than a busy machine may
#: pause, so that no member is lost by chance.
SETTINGS: Final[Mapping[str, object]] = {
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 30_000,
}


class MemberEndedError(Exception):
    """The process of a member has ended by itself, without a kill."""


class Member:
    """One member of the crew: a consumer in this process or in another process."""

    def __init__(self, name: str, changed: asyncio.Condition) -> None:
        """The member begins outside the group. `changed` is notified of each change."""
        self.name = name
        self.generation = NO_GENERATION
        self.partitions: frozenset[int] = frozenset()
        self.given_up = 0
        """How often it has given up a partition. A partition can count several times."""
        self.read = 0
        """How many records the member has received."""
        self._changed = changed

    async def note(self, generation: int, partitions: Iterable[int], records: int = 0) -> None:
        """Store the member's partitions, and add the number of records that it has got since."""
        async with self._changed:
            self.generation = generation
            self.partitions = frozenset(partitions)
            self.read += records
            self._changed.notify_all()


class LocalMember(Member):
    """A consumer of this process, and the task that polls it."""

    def __init__(self, name: str, consumer: Consumer, changed: asyncio.Condition) -> None:
        super().__init__(name, changed)
        self.consumer = consumer
        self.polls = asyncio.Event()
        """Is set unless the member is slow."""
        self.polls.set()
        self.leaves = False
        self.task: asyncio.Task[None] | None = None

    async def run(self, topic: str) -> None:
        """Poll until the member leaves."""

        def revoked(partitions: tuple[TopicPartition, ...]) -> None:
            self.given_up += len(partitions)

        async with self.consumer as consumer:
            consumer.subscribe([topic], on_revoked=revoked)
            while not self.leaves:
                records = await consumer.poll(POLL_MS)
                generation = consumer.group_metadata().generation_id
                partitions = [tp.partition for tp in consumer.assignment()]
                await self.note(generation, partitions, len(records))
                await self.polls.wait()


class ProcessMember(Member):
    """A consumer in a process of its own."""

    def __init__(self, name: str, process: Process, changed: asyncio.Condition) -> None:
        super().__init__(name, changed)
        self._process = process
        self._killed = False

    async def run(self) -> None:
        """Read the lines of the process until it ends.

        Raises MemberEndedError if it ends without `kill`.
        """
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            generation, _, partitions = line.decode().strip().partition(" ")
            await self.note(int(generation), map(int, filter(None, partitions.split(","))))
        code = await self._process.wait()
        if not self._killed:
            raise MemberEndedError(f"the member {self.name} has ended, with exit code {code}")

    def kill(self) -> None:
        """End the process with SIGKILL, even if it is paused."""
        self._killed = True
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def stop(self) -> None:
        """Pause the process with SIGSTOP."""
        self._process.send_signal(signal.SIGSTOP)


class Crew:
    """The members of one group that a job has started. Use it as a context manager."""

    def __init__(
        self, servers: str, group: str, topic: str, partitions: int, trace: Tracer
    ) -> None:
        """Create a crew without members. `partitions` is the number of partitions of the topic."""
        self._servers = servers
        self._group = group
        self._topic = topic
        self._trace = trace
        self.changed = asyncio.Condition()
        """Is notified when a member has polled."""
        self._tasks = asyncio.TaskGroup()
        self._started: list[LocalMember | ProcessMember] = []
        self.partitions = partitions
        self.members: list[Member] = []
        """The current members. A member that was lost, or has left, is not in the list."""

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for member in self._started:
            if isinstance(member, ProcessMember):
                member.kill()
            else:
                member.leaves = True
                member.polls.set()
        await self._tasks.__aexit__(kind, error, traceback)

    def _settings(self, name: str, more: Mapping[str, object]) -> dict[str, object]:
        own = {"bootstrap.servers": self._servers, "group.id": self._group, "client.id": name}
        return {**SETTINGS, **own, **more}

    def join(self, name: str, settings: Mapping[str, object]) -> LocalMember:
        """Start a member in this process."""
        consumer = Consumer(self._settings(name, settings), trace=self._trace)
        member = LocalMember(name, consumer, self.changed)
        member.task = self._tasks.create_task(member.run(self._topic))
        self._started.append(member)
        self.members.append(member)
        return member

    async def join_as_process(self, name: str, settings: Mapping[str, object]) -> ProcessMember:
        """Start a member in a process of its own."""
        words = [f"{key}={value}" for key, value in self._settings(name, settings).items()]
        process = await asyncio.create_subprocess_exec(
            *python_command(member_program.__name__, self._topic, *words),
            env=python_environment(),
            stdin=PIPE,
            stdout=PIPE,
        )
        member = ProcessMember(name, process, self.changed)
        self._tasks.create_task(member.run())
        self._started.append(member)
        self.members.append(member)
        return member

    def lose(self, member: Member) -> None:
        """Remove a member from the crew, because it is dead or paused."""
        self.members.remove(member)

    async def leave(self, member: LocalMember) -> None:
        """Let a member close its consumer, and wait until the consumer is closed."""
        self.lose(member)
        member.leaves = True
        assert member.task is not None
        await member.task

    async def stable(self) -> int:
        """Wait until all members are in one generation, and all partitions are divided equally.

        Return the generation.
        """
        await self.until(self._is_stable)
        return self.members[0].generation

    async def read(self, records: int) -> None:
        """Wait until all members together have received this number of records."""
        await self.until(lambda: sum(member.read for member in self.members) >= records)

    async def read_to(self, member: LocalMember, tp: TopicPartition, offset: int) -> None:
        """Wait until a member's position in a partition is this offset or a higher one."""
        while await member.consumer.position(tp) < offset:
            async with self.changed:
                await self.changed.wait()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds. The crew checks it each time a member has polled."""
        async with self.changed:
            await self.changed.wait_for(condition)

    def _is_stable(self) -> bool:
        sizes = [len(member.partitions) for member in self.members]
        everything = frozenset[int]().union(*(member.partitions for member in self.members))
        generations = {member.generation for member in self.members}
        return (
            len(generations) == 1
            and NO_GENERATION not in generations
            and sum(sizes) == self.partitions == len(everything)
            and max(sizes) - min(sizes) <= 1
        )
