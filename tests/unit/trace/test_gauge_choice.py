"""Which samples a subscriber gets: a change comes at once, and a gauge that the subscriber does not
look at comes once a second.
"""

from kafka_edu.trace.event import Envelope, Event, Source
from kafka_edu.trace.events.purgatory import PurgatorySampled, PurgatoryState
from kafka_edu.trace.events.replication import PartitionOffsets, PartitionProgress
from kafka_edu.trace.events.timer import WheelSampled, WheelState
from kafka_edu.trace.gauge_choice import (
    UNCHANGED_TICKS,
    UNSEEN_TICKS,
    GaugeChoice,
    thing_of_event,
)


def wheel(level: int, hand: int) -> WheelSampled:
    return WheelSampled(
        state=WheelState(
            timer="Produce",
            level=level,
            tick_ms=1,
            wheel_size=20,
            current_time_ms=hand,
            tasks_by_slot=(0,) * 20,
            made_ms=0,
            made_for_delay_ms=0,
        )
    )


def moved(partition: int, leo: int) -> PartitionOffsets:
    progress = PartitionProgress(log_start=0, hw=0, leo=leo, remote_leos=(), min_isr=1)
    return PartitionOffsets(topic="web", partition=partition, progress=progress)


class Samples:
    """Gives samples to a GaugeChoice, ten ticks a second, and returns those that a subscriber
    gets.
    """

    def __init__(self, choice: GaugeChoice) -> None:
        self._choice = choice
        self._tick = 0

    def tick(self, *events: Event) -> list[Event]:
        self._tick += 1
        envelopes = [Envelope(Source.of_broker(1), 1, 0, 0, self._tick, event) for event in events]
        return [envelope.event for envelope in self._choice.choose(envelopes)]


def test_the_thing_of_a_sample_is_found_within_values() -> None:
    assert thing_of_event(wheel(2, 5)) == (WheelSampled, ("Produce", 2))
    assert thing_of_event(moved(3, 9)) == (PartitionOffsets, ("web", 3))
    state = PurgatoryState(
        purgatory="Fetch",
        watched=0,
        delayed=0,
        keys=0,
        completed_at_once=0,
        completed_by_event=0,
        completed_by_timeout=0,
        completed_forced=0,
    )
    assert thing_of_event(PurgatorySampled(state=state)) == (PurgatorySampled, ("Fetch",))


def test_what_changes_comes_at_once_and_what_does_not_twice_a_second() -> None:
    samples = Samples(GaugeChoice())
    still = [len(samples.tick(wheel(1, 0), wheel(2, n))) for n in range(2 * UNCHANGED_TICKS)]
    assert still == [2, 1, 1, 1, 1, 2, 1, 1, 1, 1]


def test_what_nobody_looks_at_comes_once_a_second_and_only_the_newest_of_each_thing() -> None:
    choice = GaugeChoice()
    choice.look_at(["WheelSampled"])
    samples = Samples(choice)
    got = [samples.tick(moved(0, 0), moved(1, 0), wheel(1, 0))]
    for tick in range(1, UNSEEN_TICKS):
        # a partition that has not moved is not sampled
        got.append(samples.tick(moved(0, tick)))
    assert got[0] == [moved(0, 0), moved(1, 0), wheel(1, 0)]
    assert got[1:] == [[]] * (UNSEEN_TICKS - 1)
    assert samples.tick() == [moved(0, UNSEEN_TICKS - 1)], "its last sample is not lost"


def test_who_looks_elsewhere_gets_what_is_there_at_once() -> None:
    choice = GaugeChoice()
    choice.look_at(["WheelSampled"])
    samples = Samples(choice)
    samples.tick(moved(0, 0))
    assert samples.tick(moved(0, 1)) == []
    choice.look_at(["PartitionOffsets"])
    assert samples.tick() == [moved(0, 1)]
    assert samples.tick(moved(0, 2)) == [moved(0, 2)]
    choice.look_at(None)
    assert samples.tick(wheel(1, 0), moved(0, 2)) == [wheel(1, 0), moved(0, 2)]
