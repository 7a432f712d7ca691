"""The proxy as a server: a broker's network layer in front of MetadataProxy (spec B1, B3).

For each target, a task refreshes the copy again and again.

    client ⇒ SocketServer → Processor → RequestChannel → MetadataProxy → Processor ⇒ client
    TargetCopier ⇒ a broker of the target, every `refresh_ms`

Connections, limits, queues and time-outs are those of a broker with Kafka's defaults, for example
num.network.threads processors and a queue of queued.max.requests. The code that starts the proxy
passes these settings. One handler is enough, because no answer has to wait.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from typing import Final

from kafka_edu.clients.proxy.health import TargetState
from kafka_edu.clients.proxy.metadata_proxy import MetadataProxy, Refusal
from kafka_edu.clients.proxy.target import Address
from kafka_edu.clients.proxy.target_copier import TargetCopier
from kafka_edu.cluster.broker import EndPoint
from kafka_edu.common.tasks import report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Transport
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.network.socket_server import NetworkConfig, SocketServer
from kafka_edu.protocol.headers import encode_response
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.trace.events.proxy import ProxyAnswered, ProxyRefused, ProxyStarted, ProxyStopped
from kafka_edu.trace.tracer import Tracer

REFRESH_MS: Final = 5_000
TIMEOUT_MS: Final = 3_000
LISTENER_NAME: Final = "PLAINTEXT"


class ProxyServer:
    """Own the listener, the handler, and the tasks that refresh the copies of the cluster's
    metadata.

    If a part of the server raises an error, `failed` is set and `failure` holds the error. No part
    ends silently.
    """

    def __init__(
        self,
        host: str,
        port: int,
        proxy: MetadataProxy,
        transport: Transport,
        time: Time,
        trace: Tracer | None,
        network: NetworkConfig,
        *,
        refresh_ms: float = REFRESH_MS,
        timeout_ms: float = TIMEOUT_MS,
    ) -> None:
        """`port` is the port of the listener, or 0 for any free port.

        No requests go to targets that are played back from a file.
        """
        self.failed = asyncio.Event()
        self.failure: BaseException | None = None
        self._proxy = proxy
        self._time = time
        self._trace = trace
        self._refresh_ms = refresh_ms
        self._channel = RequestChannel(time, network.queued_max_requests)
        self._end_point = EndPoint(host, port, LISTENER_NAME, LISTENER_NAME)
        self._sockets = SocketServer(
            [self._end_point],
            transport,
            time,
            self._channel,
            trace,
            network,
            inter_broker_listener=None,
        )
        copied = [
            target for target in proxy.targets.values() if target.state is not TargetState.RECORDED
        ]
        self._copiers = [TargetCopier(target, transport, time, timeout_ms) for target in copied]
        self._tasks: list[asyncio.Task[None]] = []
        self._requests: Counter[int] = Counter()
        self._refused = 0
        if trace:
            trace.on_snapshot(proxy.snapshot)

    @property
    def address(self) -> str:
        """Return the address as host:port. The server must have started."""
        return str(Address(self._end_point.host, self._sockets.bound_port(LISTENER_NAME)))

    async def startup(self) -> None:
        """Open the port, send a first request to every target, then accept clients.

        Raises OSError if the port is taken. A target that does not answer does not stop the others.
        """
        await self._sockets.bind()
        await asyncio.gather(*(copier.copy() for copier in self._copiers))
        self._spawn("proxy-handler", self._handle())
        for copier in self._copiers:
            self._spawn(f"refresh-{copier.target.name}", self._refresh(copier))
        self._sockets.start_processing()
        if self._trace:
            self._trace(
                ProxyStarted(
                    listener=self.address,
                    targets=tuple(self._proxy.targets),
                    routes=tuple(map(str, self._proxy.routes.routes)),
                )
            )

    async def _refresh(self, copier: TargetCopier) -> None:
        while True:
            await self._time.sleep(self._refresh_ms)
            await copier.copy()

    async def _handle(self) -> None:
        while True:
            self._answer(await self._channel.receive_request())

    def _answer(self, request: Request) -> None:
        header = request.header
        answer = self._proxy.answer(
            header, request.client_address, request.frame, request.body_offset
        )
        if isinstance(answer, Refusal):
            self._refuse(request, answer.reason)
            return
        try:
            parts = encode_response(
                header.api_key, answer.version, header.correlation_id, answer.response
            )
        # The target sent a value that does not fit into this version of the response.
        except ProtocolError as error:
            self._refuse(request, str(error))
            return
        self._requests[header.api_key] += 1
        if self._trace:
            self._trace(
                ProxyAnswered(
                    connection_id=request.connection_id,
                    correlation_id=header.correlation_id,
                    client_id=header.client_id or "",
                    api_key=header.api_key,
                    api_version=header.api_version,
                    target=answer.target,
                    topics=answer.topics,
                    error=answer.error.name,
                )
            )
        self._channel.send_response(request, parts)

    def _refuse(self, request: Request, reason: str) -> None:
        self._refused += 1
        if self._trace:
            header = request.header
            self._trace(
                ProxyRefused(
                    connection_id=request.connection_id,
                    correlation_id=header.correlation_id,
                    client_id=header.client_id or "",
                    api_key=header.api_key,
                    api_version=header.api_version,
                    reason=reason,
                )
            )
        self._channel.close_connection(request, reason)

    def _spawn(self, name: str, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        report_failure(task, self._on_failure)
        self._tasks.append(task)

    def _on_failure(self, _: str, error: BaseException) -> None:
        self.failure = self.failure or error
        self.failed.set()

    async def shutdown(self, reason: str) -> None:
        """Close everything. Requests without an answer are dropped.

        Their clients try the next server in bootstrap.servers.
        """
        self._sockets.stop_accepting()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for copier in self._copiers:
            copier.close()
        bytes_in = sum(processor.bytes_in for processor in self._sockets.processors)
        bytes_out = sum(processor.bytes_out for processor in self._sockets.processors)
        self._sockets.shutdown()
        if self._trace:
            requests: Sequence[tuple[int, int]] = sorted(self._requests.items())
            self._trace(
                ProxyStopped(
                    reason=reason,
                    requests=tuple(requests),
                    refused=self._refused,
                    bytes_in=bytes_in,
                    bytes_out=bytes_out,
                )
            )
