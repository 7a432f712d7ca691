"""Makes up incidents for exercise 16-8, as events like those of real brokers.

The events of an `Incident` can be written to a file that every tool of the course can read.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from random import Random
from typing import Final

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.trace.event import SUPERVISOR, Envelope, Event, Source
from kafka_edu.trace.events.group import (
    GroupAssigned,
    MemberFailed,
    MemberJoined,
    MemberLeft,
    RebalanceCompleted,
    RebalanceStarted,
)
from kafka_edu.trace.events.network import ResponseSent
from kafka_edu.trace.events.replication import BecameLeader, IsrExpanded, IsrShrunk
from kafka_edu.trace.events.supervisor import ActionAsked
from kafka_edu.trace.wire_format import encode, encode_header

_WALL_MS: Final = 1_600_000_000_000


class Incident:
    """A made-up incident: events of three brokers and the supervisor, in the order of time."""

    def __init__(self, began_us: int = 1_000_000) -> None:
        self.now_us = began_us
        self._numbers: dict[Source, int] = {}
        self._isrs: dict[tuple[str, int], tuple[int, ...]] = {}
        self._leaders: dict[tuple[str, int], int] = {}
        self._epochs: dict[tuple[str, int], int] = {}
        self._generations: dict[str, int] = {}
        self._members: dict[str, tuple[str, ...]] = {}
        self.envelopes: list[Envelope] = []

    def after(self, ms: float) -> "Incident":
        """Let `ms` milliseconds pass before the next event."""
        self.now_us += round(ms * 1000)
        return self

    def emit(self, source: Source, event: Event, cause: int = 0) -> int:
        """Add an event of the process `source`, and return the event's number."""
        number = self._numbers[source] = self._numbers.get(source, 0) + 1
        self.envelopes.append(
            Envelope(source, number, cause, _WALL_MS + self.now_us // 1000, self.now_us, event)
        )
        return number

    def request(
        self, broker: int, api: ApiKey, total_us: int, *, follower: bool = False
    ) -> "Incident":
        """Add a ResponseSent: a broker has answered a request after `total_us` µs."""
        self.emit(
            Source.of_broker(broker),
            ResponseSent(
                connection_id=f"c{broker}",
                correlation_id=len(self.envelopes),
                api_key=int(api),
                size_bytes=120,
                request_queue_us=20,
                local_us=30,
                remote_us=total_us - 100 if total_us > 100 else 0,
                response_queue_us=20,
                send_us=30,
                total_us=total_us,
                client_id="" if follower else "shop",
                follower=follower,
            ),
        )
        return self

    def requests(self, api: ApiKey, times_us: Iterable[int], *, brokers: int = 3) -> "Incident":
        """Add a ResponseSent for each of `times_us`. The brokers take turns."""
        for number, total_us in enumerate(times_us):
            self.request(number % brokers, api, total_us)
        return self

    def leads(self, broker: int, topic: str, number: int, isr: Sequence[int]) -> "Incident":
        """Add a BecameLeader: a broker leads the partition, with this ISR."""
        key = topic, number
        self._epochs[key] = self._epochs.get(key, -1) + 1
        self._leaders[key], self._isrs[key] = broker, tuple(isr)
        event = BecameLeader(
            topic=topic,
            partition=number,
            leader_epoch=self._epochs[key],
            controller_epoch=1,
            start_offset=0,
            high_watermark=0,
            isr=tuple(isr),
            replicas=(0, 1, 2),
            zk_version=self._epochs[key],
        )
        self.emit(Source.of_broker(broker), event)
        return self

    def isr(self, topic: str, number: int, after: Sequence[int]) -> "Incident":
        """Add an IsrShrunk or IsrExpanded: the leader changes the ISR to `after`."""
        key = topic, number
        before, self._isrs[key] = self._isrs[key], tuple(after)
        kind = IsrShrunk if len(after) < len(before) else IsrExpanded
        event = kind(
            topic=topic,
            partition=number,
            leader_epoch=self._epochs[key],
            before=before,
            after=tuple(after),
            zk_version=len(self.envelopes),
            reason="stuck" if kind is IsrShrunk else "caught up",
        )
        self.emit(Source.of_broker(self._leaders[key]), event)
        return self

    def act(self, action: str, target: Source, title: str) -> "Incident":
        """Add an ActionAsked: somebody has requested an act from the supervisor."""
        self.emit(SUPERVISOR, ActionAsked(action=action, target=target, title=title))
        return self

    def pause(self, broker: int) -> "Incident":
        """Add an ActionAsked that requests a pause of a broker."""
        return self.act("pause", Source.of_broker(broker), f"pause broker {broker} (SIGSTOP)")

    def kill(self, broker: int) -> "Incident":
        """Add an ActionAsked that requests a kill of a broker."""
        return self.act("kill", Source.of_broker(broker), f"kill -9 broker {broker}")

    def cut(self, one: int, other: int) -> "Incident":
        """Add an ActionAsked that requests a cut of the link between two brokers."""
        title = f"cut the link between brokers {one} and {other}"
        return self.act("cut-link", Source.of_broker(one), title)

    def members(
        self,
        coordinator: int,
        group: str,
        kind: type,
        member: str,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> "Incident":
        """Add an event in which a member joins, leaves or fails, and then the RebalanceStarted that
        it causes. `meanwhile` is called between the two events.
        """
        members = self._members.get(group, ())
        event: Event
        if kind is MemberJoined:
            members = (*members, member)
            event = MemberJoined(
                group=group,
                member=member,
                instance="",
                client_id=member.partition("-")[0],
                client_host="/127.0.0.1",
                session_timeout_ms=10_000,
                rebalance_timeout_ms=300_000,
                protocols=("range",),
                members=len(members),
                topics=("web",),
            )
        else:
            members = tuple(one for one in members if one != member)
            event = (
                MemberLeft(group=group, member=member, instance="", members=len(members))
                if kind is MemberLeft
                else MemberFailed(
                    group=group,
                    member=member,
                    instance="",
                    reason="no heartbeat for 10000 ms",
                    members=len(members),
                )
            )
        self._members[group] = members
        source = Source.of_broker(coordinator)
        cause = self.emit(source, event)
        meanwhile()
        return self.rebalance(coordinator, group, member, cause)

    def rebalance(
        self, coordinator: int, group: str, member: str = "", cause: int = 0
    ) -> "Incident":
        """Add a RebalanceStarted. If `cause` is 0, the event that caused it is unknown."""
        event = RebalanceStarted(
            group=group,
            generation=self._generations.get(group, 0),
            reason="a member changed",
            member=member,
        )
        self.emit(Source.of_broker(coordinator), event, cause)
        return self

    def joined(self, coordinator: int, group: str) -> "Incident":
        """Add a RebalanceCompleted: all members have joined, and a new generation begins."""
        generation = self._generations[group] = self._generations.get(group, 0) + 1
        members = self._members.get(group, ())
        event = RebalanceCompleted(
            group=group,
            generation=generation,
            protocol="range" if members else "",
            leader=members[0] if members else "",
            members=members,
        )
        self.emit(Source.of_broker(coordinator), event)
        return self

    def assigned(self, coordinator: int, group: str) -> "Incident":
        """Add a GroupAssigned: the members get their partitions."""
        members = self._members.get(group, ())
        event = GroupAssigned(
            group=group,
            generation=self._generations[group],
            leader=members[0],
            assignments=tuple((member, 23) for member in members),
        )
        self.emit(Source.of_broker(coordinator), event)
        return self

    def members_of(self, group: str) -> tuple[str, ...]:
        """Return the members that a group has now."""
        return self._members.get(group, ())

    def restarted(self, broker: int) -> "Incident":
        """Number the next events of a broker from 1 again, as a new process does."""
        self._numbers[Source.of_broker(broker)] = 0
        return self

    def by_file(self) -> list[Envelope]:
        """Return the events as a folder of recordings has them: process after process."""
        return sorted(self.envelopes, key=lambda one: (one.source != SUPERVISOR, one.source))

    def text(self) -> str:
        """Return the recording as the text of a file."""
        lines = [encode_header(SUPERVISOR, "lab-16-8"), *map(encode, self.by_file())]
        return b"".join(lines).decode()


GROUP: Final = "readers"
APIS: Final = (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA, ApiKey.HEARTBEAT)


def made_incident(seed: int, acts: int = 5) -> Incident:
    """Return a random incident with `acts` acts and the events that follow them."""
    random = Random(f"incident/{seed}")
    made = Incident(random.randrange(10**9, 10**10))
    partitions = [("web", 0), ("web", 1), ("pay", 0)]
    leaders = dict(zip(partitions, random.sample(range(3), 3), strict=True))
    for key, leader in leaders.items():
        made.leads(leader, *key, [leader, *[one for one in range(3) if one != leader]]).after(2)
    coordinator = random.randrange(3)
    count = 0
    for _ in range(random.randint(1, 2)):
        count += 1
        made.members(coordinator, GROUP, MemberJoined, f"reader{count}-x")
    made.after(random.randint(3, 90)).joined(coordinator, GROUP)
    made.after(random.randint(2, 40)).assigned(coordinator, GROUP)
    for _ in range(acts):
        _calm(random, made)
        made.after(random.randint(200, 900))
        match random.choice(("pause", "cut", "kill", "join", "leave")):
            case "pause":
                victim = random.randrange(3)
                made.pause(victim)
                _lag(random, made, leaders, victim, range(3))
            case "cut":
                one, other = random.sample(range(3), 2)
                made.cut(one, other)
                _lag(random, made, leaders, one, [other])
            case "kill":
                victim = random.randrange(3)
                made.kill(victim)
                _elect(random, made, leaders, victim)
            case "join":
                count += 1
                made.members(coordinator, GROUP, MemberJoined, f"reader{count}-x")
                _gather(random, made, coordinator, count)
            case _:
                leaving = f"reader{random.randint(1, count)}-x"
                kind = random.choice((MemberLeft, MemberFailed))
                made.members(coordinator, GROUP, kind, leaving)
                _gather(random, made, coordinator, count)
    return made


def _calm(random: Random, made: Incident) -> None:
    """Answer some requests. Fetches of followers take long, because they find no records."""
    for _ in range(random.randint(8, 25)):
        made.after(random.randint(1, 30))
        made.request(
            random.randrange(3), random.choice(APIS), int(random.lognormvariate(7, 1.2)) + 80
        )
        if random.random() < 0.5:
            made.request(random.randrange(3), ApiKey.FETCH, 500_000 + random.randrange(900),
                         follower=True)  # fmt: skip


def _lag(
    random: Random,
    made: Incident,
    leaders: Mapping[tuple[str, int], int],
    victim: int,
    where: Container[int],
) -> None:
    """Let the leaders in `where` remove the broker `victim` from their ISRs. Later let them take it
    back, in a random order.
    """
    touched = [key for key, leader in leaders.items() if leader != victim and leader in where]
    for key in touched:
        made.after(random.randint(5, 400))
        isr = [leaders[key], *[one for one in range(3) if one not in (leaders[key], victim)]]
        made.isr(*key, isr)
    made.after(random.randint(300, 3_000))
    for key in random.sample(touched, len(touched)):
        made.after(random.randint(5, 200))
        made.isr(*key, [leaders[key], *[one for one in range(3) if one != leaders[key]]])


def _elect(
    random: Random, made: Incident, leaders: dict[tuple[str, int], int], victim: int
) -> None:
    """Let the broker `victim` die. Its partitions get other leaders, and it comes back later."""
    for key, leader in leaders.items():
        made.after(random.randint(5, 60))
        others = [one for one in range(3) if one != victim]
        if leader == victim:
            leaders[key] = random.choice(others)
            made.leads(leaders[key], *key, [leaders[key], *set(others) - {leaders[key]}])
        elif random.random() < 0.5:
            made.isr(*key, [leader, *set(others) - {leader}])
        else:  # the controller was faster than the leader
            made.leads(leader, *key, [leader, *set(others) - {leader}])
    made.after(random.randint(500, 4_000))
    for key in random.sample(list(leaders), len(leaders)):
        made.after(random.randint(5, 300))
        made.isr(*key, [leaders[key], *[one for one in range(3) if one != leaders[key]]])


def _gather(random: Random, made: Incident, coordinator: int, count: int) -> None:
    """End the rebalance. Sometimes one more member joins first, so that it begins again."""
    made.after(random.randint(30, 2_500)).joined(coordinator, GROUP)
    if not made.members_of(GROUP):
        return
    if random.random() < 0.4:
        made.after(random.randint(5, 60))
        made.members(coordinator, GROUP, MemberJoined, f"late{count}-x")
        made.after(random.randint(30, 900)).joined(coordinator, GROUP)
    made.after(random.randint(2, 60)).assigned(coordinator, GROUP)
