"""A subscriber in the same process gets its lines in memory. A subscriber over a socket gets the
same lines.
"""

import asyncio

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.trace.event import SUPERVISOR, Envelope, Level
from kafka_edu.trace.events.supervisor import ProcessResumed
from kafka_edu.trace.memory_pipe import MemoryPipes
from kafka_edu.trace.socket_sink import EventServer
from kafka_edu.trace.trace_client import LevelSwitch, Subscription, subscribe
from kafka_edu.trace.tracer import Tracer

RESUMED = ProcessResumed(process="broker-1", child=SUPERVISOR, pid=0)


async def served() -> tuple[Tracer, EventServer, MemoryPipes]:
    pipes, trace = MemoryPipes(), Tracer(SUPERVISOR, MockTime(0))
    server = EventServer(trace, pipes, MockTime(0), "secret", ring_minutes=0)
    pipes.token = server.token
    await server.listen()
    return trace, server, pipes


def test_a_subscriber_gets_what_is_emitted_and_the_end() -> None:
    async def run() -> list[Envelope]:
        trace, server, pipes = await served()
        events = subscribe(pipes, Level.STATE, gauges=False)
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        assert server.watched
        seen = [await first]  # the snapshot begins
        trace(RESUMED)
        server.flush()
        while seen[-1].event != RESUMED:
            seen.append(await anext(events))
        assert server.unsent == 0
        await events.aclose()  # type: ignore[attr-defined]  # it is an async generator
        assert not server.watched, "the server knows that the subscriber has gone"
        return seen

    assert asyncio.run(run())[-1].event == RESUMED


def test_what_is_not_read_counts_as_unsent() -> None:
    async def run() -> None:
        trace, server, pipes = await served()
        subscription = await Subscription.open(pipes, LevelSwitch(Level.STATE), False, None)
        trace(RESUMED)
        server.flush()
        assert server.unsent > 100
        lines, all_read = await subscription.lines()
        assert lines
        assert all_read
        assert server.unsent == 0
        subscription.close()
        assert await subscription.lines() == ([], True), "the end"

    asyncio.run(run())


def test_a_wrong_token_and_a_closed_server_are_refused() -> None:
    async def run() -> None:
        _, server, pipes = await served()
        pipes.token = "another"
        subscription = await Subscription.open(pipes, LevelSwitch(Level.STATE), False, None)
        lines, _ = await subscription.lines()
        assert b"wrong token" in lines[0]
        server.close()
        with pytest.raises(ConnectionRefusedError):
            await pipes.open()
        with pytest.raises(ConnectionRefusedError):
            await pipes.connect("", 0, lambda wire: pytest.fail("connected"), 1.0)

    asyncio.run(run())
