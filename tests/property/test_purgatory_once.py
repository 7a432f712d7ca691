"""Whatever happens, in whatever order: each operation completes exactly once (spec D1).

It completes by its event, its time-out or by force.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_edu.common.time import MockTime
from kafka_edu.purgatory.delayed_operation import CompletedBy, DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory


class World:
    """Keys have levels that rise. An operation completes when all its keys have reached the level
    it needs.
    """

    def __init__(self, purge_interval: int) -> None:
        self.time = MockTime(0)
        self.levels = [0, 0, 0]
        self.purgatory = DelayedOperationPurgatory[Needs](
            "model", self.time.hi_res_clock_ms, purge_interval=purge_interval
        )
        self.operations: list[Needs] = []
        self.cancelled: set[int] = set()

    def raise_level(self, key: int) -> None:
        self.levels[key] += 1
        self.purgatory.check_and_complete(key)


class Needs(DelayedOperation):
    __slots__ = ("answers", "at_least", "expired", "raises", "world")

    def __init__(
        self, world: World, delay_ms: int, at_least: dict[int, int], raises: int | None
    ) -> None:
        super().__init__(delay_ms)
        self.world = world
        self.at_least = at_least
        self.raises = raises
        self.answers = self.expired = 0

    @property
    def satisfied(self) -> bool:
        return all(self.world.levels[key] >= level for key, level in self.at_least.items())

    def try_complete(self) -> bool:
        return self.satisfied and self.force_complete()

    def on_complete(self) -> None:
        self.answers += 1
        if self.raises is not None:  # completing one causes others
            self.world.raise_level(self.raises)

    def on_expiration(self) -> None:
        self.expired += 1


KEY = st.integers(0, 2)
NEW = st.tuples(
    st.just("new"),
    st.integers(0, 500),
    st.dictionaries(KEY, st.integers(0, 6), min_size=1),
    st.none() | KEY,
)
STEP = st.one_of(
    NEW,
    st.tuples(st.just("raise"), KEY),
    st.tuples(st.just("pass"), st.integers(0, 300)),
    st.tuples(st.just("force"), st.integers(0, 100)),
    st.tuples(st.just("cancel"), KEY),
)


@settings(max_examples=150, deadline=None)
@given(steps=st.lists(STEP, max_size=60), purge_interval=st.sampled_from([0, 3, 1000]))
def test_exactly_once(steps: list[tuple], purge_interval: int) -> None:  # type: ignore[type-arg]
    world = World(purge_interval)
    purgatory = world.purgatory
    for step in steps:
        match step:
            case ("new", delay_ms, at_least, raises):
                operation = Needs(world, delay_ms, at_least, raises)
                world.operations.append(operation)
                done = purgatory.try_complete_else_watch(operation, tuple(at_least))
                assert done <= operation.completed
            case ("raise", key):
                world.raise_level(key)
            case ("pass", ms):
                world.time.advance(ms)
                purgatory.advance_clock(world.time.hi_res_clock_ms())
            case ("force", pick) if world.operations:
                operation = world.operations[pick % len(world.operations)]
                completed_before = operation.completed
                assert operation.force_complete() is not completed_before
            case ("cancel", key):
                world.cancelled.update(
                    operation.number for operation in purgatory.cancel_for_key(key)
                )
        now_ms = world.time.hi_res_clock_ms()
        waiting = [operation for operation in world.operations if not operation.completed]
        for operation in world.operations:
            assert operation.answers == operation.completed
            assert operation.expired <= operation.answers
        for operation in waiting:
            if operation.number not in world.cancelled:
                assert not operation.satisfied, "an event was missed"
        assert purgatory.num_delayed == sum(
            operation.number not in world.cancelled for operation in waiting
        )
        if step[0] == "pass":
            assert all(
                op.watched_ms + op.delay_ms > now_ms
                for op in waiting
                if op.number not in world.cancelled
            ), "a time-out was missed"
    assert sum(purgatory.completed.values()) == sum(
        operation.answers for operation in world.operations
    )
    assert purgatory.completed[CompletedBy.TIMEOUT] == sum(
        operation.expired for operation in world.operations
    )
