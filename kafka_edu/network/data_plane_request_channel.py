"""The data plane's request queue in a broker with a control plane (KIP-291; book 001; spec C10)."""

import asyncio

from kafka_edu.common.time import Time
from kafka_edu.network.request_channel import Request, RequestChannel
from kafka_edu.trace.tracer import Tracer


class DataPlaneRequestChannel(RequestChannel):
    """A request channel that lets the loop turn between any two requests.

    In Apache Kafka the control plane has its own threads, and the kernel runs them whatever the
    data plane does. Here both planes share one loop. Without a pause, the handlers would first
    empty a full data queue. Meanwhile the loop would not even read the control plane's sockets. So
    the loop looks at its sockets between any two requests of the data plane.

    This costs two turns of the loop a request, about 20 µs. A broker without a control plane uses
    the plain RequestChannel and does not pay for it.
    """

    def __init__(self, time: Time, capacity: int, trace: Tracer | None = None) -> None:
        super().__init__(time, capacity, trace)
        self._turn = asyncio.Lock()

    async def receive_request(self) -> Request:
        """Return the next request to one handler at a time. That handler works on it before the
        next handler gets one.
        """
        async with self._turn:
            await asyncio.sleep(0)
            return await super().receive_request()
