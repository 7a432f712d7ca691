"""A thinned recording has all facts, and few samples."""

from kafka_edu.instruments.recording import thinned
from kafka_edu.trace.event import Envelope, Event, Source, SourceKind
from kafka_edu.trace.events.controller import BrokerFailed
from kafka_edu.trace.events.network import FileBytesSampled
from kafka_edu.trace.events.supervisor import ProcessMemory

ONE, OTHER = Source(SourceKind.BROKER, 1), Source(SourceKind.BROKER, 2)
FACT = BrokerFailed(broker_id=1, shutting_down=False)
SAMPLE = FileBytesSampled(**dict.fromkeys(FileBytesSampled._fields, 1))


def at(source: Source, mono_us: int, event: Event) -> Envelope:
    return Envelope(source, 1, 0, 0, mono_us, event)


def test_facts_stay_and_each_process_keeps_one_set_of_samples_a_period() -> None:
    keep = thinned(500)
    given = [
        (ONE, 1000, SAMPLE, True),
        (ONE, 1000, SAMPLE, True),  # of the same set
        (OTHER, 1100, SAMPLE, True),
        (ONE, 1100, FACT, True),
        (ONE, 1400, SAMPLE, False),
        (ONE, 1500, SAMPLE, True),
    ]
    assert [keep(at(*each[:3])) for each in given] == [each[3] for each in given]


def test_a_thing_that_is_sampled_once_a_second_is_kept_whatever_the_sets_of_others() -> None:
    keep = thinned(500)
    seldom = ProcessMemory(process="broker-1", child=ONE, rss_anon=1)
    kept = []
    for tick in range(1, 41):
        keep(at(ONE, tick * 100, SAMPLE))
        if tick % 10 == 3:
            kept.append(keep(at(ONE, tick * 100 + 1, seldom)))
    assert kept[1:] == [True, True, True]
