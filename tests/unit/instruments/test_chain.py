"""Chains of causes as lines, when a process was killed and its own events are lost."""

from kafka_edu.instruments.chain import chain_of
from kafka_edu.instruments.event_name import find_event
from kafka_edu.trace.event import SUPERVISOR, Envelope, Level, Source
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessStarted
from kafka_edu.trace.reader import History
from tests.unit.instruments.simulated import Simulated


def test_the_chain_begins_at_the_kill_without_a_fact_of_the_killed_broker() -> None:
    world = Simulated(Level.STATE)
    victim = world.leader
    world.cluster.kill(victim)
    world.cluster.advance(20_000)
    world.cluster.close()
    left = [e for e in world.cluster.sink.events if e.source != Source.of_broker(victim)]
    [pid] = {e.event.pid for e in left if isinstance(e.event, ProcessEnded)}
    started = ProcessStarted(process="broker", child=Source.of_broker(victim), pid=pid)
    left.insert(0, Envelope(SUPERVISOR, 0, 0, 0, 0, started))  # a supervisor that is real says so
    found = find_event(left, ["BecameLeader", "web-0"])
    result = chain_of(History(left), found)
    names = [line.envelope.name for line in result.causes]
    assert names[:3] == ["ActionAsked", "ProcessEnded", "SessionExpired"]
    assert names[-1] == "BecameLeader"
    assert result.causes[-1].envelope is found
    assert all(not line.rails for line in result.causes if line.envelope.name in names[:3])
