"""Emit the events of a client from a program without an event loop."""

import threading
from pathlib import Path

import pytest

from kafka_edu.cli.client_trace import client_trace
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import SourceKind
from kafka_edu.trace.events.client import ClientListed
from kafka_edu.trace.tracer import Tracer

EVENT = ClientListed(client="c", records=1, values="a")


def test_a_program_gets_the_tracer_and_runs_beside_its_caller(tmp_path: Path) -> None:
    async def program(trace: Tracer) -> tuple[SourceKind, int, int]:
        return trace.source.kind, trace(EVENT), threading.get_ident()

    with client_trace(ClusterFolder.of("demo", tmp_path)) as client:
        kind, number, thread = client.run(program)
    assert kind is SourceKind.CLIENT
    assert number > 0
    assert thread != threading.get_ident()


def test_the_error_of_a_program_is_raised_where_it_was_started(tmp_path: Path) -> None:
    async def program(trace: Tracer) -> None:
        raise ValueError("no such topic")

    with (
        client_trace(ClusterFolder.of("demo", tmp_path)) as client,
        pytest.raises(ValueError, match="no such topic"),
    ):
        client.run(program)
