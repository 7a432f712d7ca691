"""An event binds its fields, its time, and the process that emitted it."""

from kafka_edu.instruments.presenter.expectation import bound_by
from kafka_edu.instruments.presenter.script import Expectation
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.controller import ControllerElected


def test_time_and_sender_are_bound() -> None:
    elected = ControllerElected(epoch=7, epoch_zk_version=9)
    envelope = Envelope(Source.of_broker(2), 1, 0, 0, 45_678, elected)
    names = {"epoch": "epoch", "at": "@ms", "winner": "@broker"}
    waits = Expectation("somebody wins", "ControllerElected", bind=names)
    assert bound_by(waits, envelope) == {"epoch": "7", "at": "45", "winner": "2"}
