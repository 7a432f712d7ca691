"""The group coordinator without broker, network and tasks.

The coordinator, its purgatories and its timing wheel are real; the log is a list, and the test
moves the clock. The test names the members; `World.members` translates the names to the ids that
the coordinator gave.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Generic, TypeVar

from kafka_edu.common.errors import Errors
from kafka_edu.common.files import Buffer
from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.delayed_heartbeat import DelayedHeartbeat
from kafka_edu.coordinator.group.group_config import GroupConfig, OffsetConfig
from kafka_edu.coordinator.group.group_coordinator import Client, GroupCoordinator, Member
from kafka_edu.coordinator.group.group_loader import GroupLoader, LoadedGroup
from kafka_edu.coordinator.group.group_metadata import GroupMetadata
from kafka_edu.coordinator.group.group_metadata_manager import CommitErrors, GroupMetadataManager
from kafka_edu.coordinator.group.group_rebalancer import GroupRebalancer
from kafka_edu.coordinator.group.member_metadata import JoinGroupResult, SyncGroupResult
from kafka_edu.coordinator.group.offset_and_metadata import OffsetAndMetadata
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from kafka_edu.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_edu.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafka_edu.purgatory.delayed_operation import DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import parse_header, read_records
from kafka_edu.replication.delayed_produce import ProducePartitionStatus, ProduceResults
from kafka_edu.trace.event import Event, Source
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.defaults import GROUP_DEFAULTS, OFFSET_DEFAULTS

T = TypeVar("T")

GROUP = "g"
CLIENT = Client("client", "/127.0.0.1")


def subscription(*topics: str) -> bytes:
    return b"\0\0" + ConsumerProtocolSubscription(topics=list(topics)).encode(0)


class Answer(Generic[T]):
    """The response to one request, given exactly once, now or later."""

    def __init__(self) -> None:
        self._given: list[T] = []

    def take(self, result: T) -> None:
        assert not self._given, "answered twice"
        self._given.append(result)

    @property
    def waits(self) -> bool:
        return not self._given

    @property
    def now(self) -> T:
        assert self._given, "it waits still"
        return self._given[0]


class ListLog:
    """Stands in for the broker's log: keeps batches, and answers at once or when `release` is
    called.
    """

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.acks: list[int] = []
        self.error = Errors.NONE
        self.hold = False
        self._held: list[Callable[[], None]] = []

    def append_records(
        self,
        timeout_ms: int,
        required_acks: int,
        entries: dict[TopicPartition, Buffer],
        respond: Callable[[ProduceResults], None],
        *,
        origin: AppendOrigin,
    ) -> None:
        assert origin is AppendOrigin.COORDINATOR
        ((tp, batch),) = entries.items()
        offset = sum(parse_header(each).records_count for each in self.batches)
        error = self.error
        if error is Errors.NONE:
            self.batches.append(bytes(batch))
            self.acks.append(required_acks)
            status = ProducePartitionStatus(Errors.NONE, offset + 1, offset, -1, 0)
        else:
            status = ProducePartitionStatus.failed(error)
        if self.hold:
            self._held.append(lambda: respond({tp: status}))
        else:
            respond({tp: status})

    def release(self) -> None:
        """Answer the appends that were held back, as if the ISR had them now."""
        held, self._held = self._held, []
        for answer in held:
            answer()

    def records(self) -> list[Record]:
        return [record for batch in self.batches for record in read_records(batch)]

    def load(self) -> dict[str, LoadedGroup]:
        """Return the records that the next coordinator would read."""
        loader = GroupLoader()
        offset = 0
        for batch in self.batches:
            header = parse_header(batch)._replace(base_offset=offset)
            loader.apply(header, memoryview(batch))
            offset += header.records_count
        return {group.group_id: group for group in loader.groups()}


class World:
    """One coordinator that owns every group."""

    def __init__(
        self, group: GroupConfig | None = None, offsets: OffsetConfig | None = None, seed: int = 1
    ) -> None:
        self.time = MockTime()
        self.trace = Tracer(Source.of_broker(1), self.time)
        self.ring = RingSink(10_000)
        self.trace.add_sink(self.ring)
        self.log = ListLog()
        self.heartbeats = DelayedOperationPurgatory[DelayedHeartbeat](
            "Heartbeat", self.time.hi_res_clock_ms, self.trace
        )
        self.rebalances = DelayedOperationPurgatory[DelayedOperation](
            "Rebalance", self.time.hi_res_clock_ms, self.trace
        )
        config = group or GROUP_DEFAULTS._replace(group_initial_rebalance_delay_ms=0)
        self.manager = GroupMetadataManager(
            offsets or OFFSET_DEFAULTS, self.log, self.time, lambda: 1, self.trace
        )
        rebalancer = GroupRebalancer(
            config, self.manager, self.heartbeats, self.rebalances, self.time, self.trace
        )
        self.coordinator = GroupCoordinator(config, self.manager, rebalancer, Random(seed))
        self.manager.loaded(0, [])
        self.members: dict[str, str] = {}

    @property
    def group(self) -> GroupMetadata:
        found = self.manager.get_group(GROUP)
        assert found is not None
        return found

    def advance(self, ms: int) -> None:
        """Let time pass; everything that is due happens when it is due."""
        end = self.time.hi_res_clock_ms() + ms
        while True:
            due = [
                at
                for p in (self.heartbeats, self.rebalances)
                if (at := p.next_expiration_ms()) is not None and at <= end
            ]
            now = min(due, default=end)
            self.time.advance(max(now - self.time.hi_res_clock_ms(), 0))
            self.heartbeats.advance_clock(self.time.hi_res_clock_ms())
            self.rebalances.advance_clock(self.time.hi_res_clock_ms())
            if not due:
                return

    def events(self, *kinds: type[Event]) -> list[Event]:
        return [
            envelope.event for envelope in self.ring.events if isinstance(envelope.event, kinds)
        ]

    def join(
        self,
        name: str,
        *,
        protocols: Mapping[str, bytes] | None = None,
        instance: str | None = None,
        session_ms: int = 10_000,
        rebalance_ms: int = 60_000,
        require_id: bool = False,
        kind: str = "consumer",
        new: bool = False,
    ) -> Answer[JoinGroupResult]:
        """Send JoinGroup of the member that the test calls `name`.

        With `new`, the member has no id, or has lost it.
        """
        offered = {"range": subscription("t")} if protocols is None else protocols
        answer = Answer[JoinGroupResult]()

        def respond(result: JoinGroupResult) -> None:
            if result.member_id and (new or name not in self.members):
                self.members[name] = result.member_id
            answer.take(result)

        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id="" if new else self.members.get(name, ""),
            group_instance_id=instance,
            protocol_type=kind,
            protocols=[
                JoinGroupRequestProtocol(name=each, metadata=metadata)
                for each, metadata in offered.items()
            ],
        )
        self.coordinator.handle_join_group(
            request, CLIENT, require_known_member_id=require_id, respond=respond
        )
        return answer

    def sync(
        self,
        name: str,
        assignments: Mapping[str, bytes] | None = None,
        *,
        generation: int | None = None,
        instance: str | None = None,
    ) -> Answer[SyncGroupResult]:
        """Send SyncGroup; `assignments` is by the names of members."""
        answer = Answer[SyncGroupResult]()
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.group.generation_id if generation is None else generation,
            member_id=self.members.get(name, name),
            group_instance_id=instance,
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=self.members.get(member, member), assignment=data
                )
                for member, data in (assignments or {}).items()
            ],
        )
        self.coordinator.handle_sync_group(request, answer.take)
        return answer

    def heartbeat(
        self, name: str, *, generation: int | None = None, instance: str | None = None
    ) -> Errors:
        wanted = self.group.generation_id if generation is None else generation
        return self.coordinator.handle_heartbeat(
            GROUP, Member(self.members.get(name, name), instance, wanted)
        )

    def leave(self, name: str, instance: str | None = None) -> Errors:
        error, errors = self.coordinator.handle_leave_group(
            GROUP, [Member(self.members.get(name, name), instance)]
        )
        return errors[0] if error is Errors.NONE else error

    def commit(
        self,
        offsets: Mapping[TopicPartition, int],
        name: str = "",
        *,
        generation: int = -1,
        metadata: str = "",
    ) -> Answer[CommitErrors]:
        answer = Answer[CommitErrors]()
        member = Member(self.members.get(name, name), None, generation)
        now_ms = self.time.milliseconds()
        values = {
            tp: OffsetAndMetadata(offset, -1, metadata, now_ms) for tp, offset in offsets.items()
        }
        self.coordinator.handle_commit_offsets(GROUP, member, values, answer.take)
        return answer

    def committed(self, *, require_stable: bool = False) -> dict[TopicPartition, int | Errors]:
        """Return what a client reads back: the offset, or the error."""
        error, found = self.coordinator.handle_fetch_offsets(
            GROUP, None, require_stable=require_stable
        )
        assert error is Errors.NONE
        return {
            tp: refused or (-1 if value is None else value.offset)
            for tp, (refused, value) in found.items()
        }

    def stable(self, *names: str) -> None:
        """Make a group of these members; the first leads, and each is assigned its own name."""
        first, *others = names
        self.join(first)
        self.sync(first, {first: first.encode()})
        for i, name in enumerate(others):
            self.join(name)
            for known in names[: i + 1]:
                self.join(known)
            self.sync(first, {each: each.encode() for each in names[: i + 2]})
            for known in names[1 : i + 2]:
                self.sync(known)
        assert self.group.state == "Stable"
