"""The queue of the data plane, in a broker that has a control plane too (KIP-291; book 001; spec
C10).
"""

import asyncio

from kafka_edu.common.time import Time
from kafka_edu.network.request_channel import Request, RequestChannel
from kafka_edu.trace.tracer import Tracer


class DataPlaneRequestChannel(RequestChannel):
    """Gives out one request, and then lets the loop turn.

    In Apache Kafka the control plane has threads of its own, and the kernel lets them run whatever
    the data plane does. Here both share one loop. Handlers that find the queue full would empty it
    without a pause, and what comes by the control plane would not even be read meanwhile: so
    between any two requests of the data plane the loop looks at its sockets. Two turns a request,
    some 20 µs; a broker without a control plane has the plain RequestChannel, and pays nothing.
    """

    def __init__(self, time: Time, capacity: int, trace: Tracer | None = None) -> None:
        super().__init__(time, capacity, trace)
        self._turn = asyncio.Lock()

    async def receive_request(self) -> Request:
        """The next request, to one handler at a time. Who has it works on it before the next one is
        given out.
        """
        async with self._turn:
            await asyncio.sleep(0)
            return await super().receive_request()
