"""The jobs of chapter 15 that consume, transform and produce, and are killed after each step.

A job starts the program `killed_transform` again and again. Each process is killed after a
different step of the loop, while it works on different orders. The last process goes on to the end.
Then a read_committed reader counts the bills of each kill, and the job counts the lines in the mail
file.
"""

import asyncio
import signal
from functools import partial
from typing import Final

from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.supervisor.cluster import ClusterError
from kafka_edu.trace.tracer import Tracer

from ..chapter import JobPlace, Program
from ..demo_parts.counted import counted
from ..demo_parts.own_reader import COMMITTED, ends_of, read_from
from . import killed_transform
from .killed_transform import AT_ONCE, BILLS_TOPIC, ORDERS, ORDERS_TOPIC, number_of

ORDERS_SENT: Final = 120
"""More than twenty orders for each kill: each start works on ten, and has fetched ten more."""


class TransformJobs:
    """The transform jobs, on one cluster."""

    def __init__(self, place: JobPlace) -> None:
        self._place = place
        self._servers = place.bootstrap_servers

    def program(self, name: str) -> Program:
        """Return the program of the job with this name."""
        return partial(self._transform, name)

    async def _transform(self, name: str, trace: Tracer) -> None:
        start = (await ends_of(self._servers, [ORDERS_TOPIC]))[ORDERS_TOPIC]
        bills = await ends_of(self._servers, [BILLS_TOPIC])
        await self._send_orders(trace)
        group = f"{name}-{start}"
        await self._commit(group, start)
        mail = self._place.folder / f"{group}.mail"
        mail.parent.mkdir(parents=True, exist_ok=True)
        mail.unlink(missing_ok=True)
        steps = ORDERS[name].steps
        firsts = [await self._start(name, group, str(mail), step) for step in steps]
        await self._start(name, group, str(mail), "")
        billed = [number_of(bill) for bill in await read_from(self._servers, bills, COMMITTED)]
        emit = self._place.emit
        for step, first in zip(steps, firsts, strict=True):
            in_hand = range(first, first + AT_ONCE)
            emit(counted(f"{name}, killed after {step}", "bills", in_hand, billed))
        emit(counted(name, "bills", range(ORDERS_SENT), billed))
        mailed = [int(number) for number in mail.read_text("ascii").split()]
        emit(counted(name, "the mail", range(ORDERS_SENT), mailed))

    async def _send_orders(self, trace: Tracer) -> None:
        """Send the orders in one batch, so that each fetch has as many as a program wants."""
        settings = {"bootstrap.servers": self._servers, "client.id": "orders", "linger.ms": 1_000}
        async with Producer(settings, trace=trace) as producer:
            for number in range(ORDERS_SENT):
                order = b"order %d" % number
                await producer.send(ORDERS_TOPIC.topic, order, partition=ORDERS_TOPIC.partition)
            await producer.flush()

    async def _commit(self, group: str, offset: int) -> None:
        """Let the group begin at the first order of this job."""
        settings = {"bootstrap.servers": self._servers, "group.id": group}
        async with Consumer({**settings, "enable.auto.commit": False}) as consumer:
            consumer.assign([ORDERS_TOPIC])
            await consumer.commit({ORDERS_TOPIC: OffsetAndMetadata(offset)})

    async def _start(self, name: str, group: str, mail: str, die_after: str) -> int:
        """Run the program. Return the number of the first order in its batch when it died.

        Raises ClusterError if it ends in a different way.
        """
        program = await asyncio.create_subprocess_exec(
            *python_command(killed_transform.__name__, self._servers, name, group, mail, die_after),
            env=python_environment(),
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await program.communicate()
        wanted = -signal.SIGKILL if die_after else 0
        if program.returncode != wanted:
            raise ClusterError(f"{name} ended with {program.returncode}, not with {wanted}")
        return int(printed) if die_after else 0
