"""The admin client's connections to the brokers of a cluster, one for each broker that it asks.

Each request is sent in the newest version that both sides know. Normally it is sent only once. If
the answer says that the controller has moved, the request is sent again until the time limit is
over. `kafka_edu.clients.admin.admin` is the newer client, to which the users of this one move.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from kafka_edu.clients.admin import AdminTimeoutError, parse_addresses
from kafka_edu.clients.admin.node import Node
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message

R = TypeVar("R", bound=Message)

CONNECT_TIMEOUT_MS: Final = 10_000
REQUEST_TIMEOUT_MS: Final = 30_000
RETRY_PAUSE_S: Final = 0.1
ANY_VERSION: Final = 0x7FFF


class _Connection(NamedTuple):
    client: NetworkClient
    versions: Mapping[int, tuple[int, int]]
    """API key → the oldest and the newest version that the broker serves."""


class Brokers:
    """The brokers of one cluster, and the connections to them.

    Every method raises OSError (also TimeoutError) if a broker cannot be reached, AdminTimeoutError
    if no broker can be reached, and KafkaException if a broker refuses the request.
    """

    def __init__(
        self,
        bootstrap: list[tuple[str, int]],
        client_id: str,
        on_unreachable: Callable[[str], None],
    ) -> None:
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._on_unreachable = on_unreachable
        self._transport = SocketTransport()
        self._connections: dict[tuple[str, int], _Connection] = {}
        self.nodes: dict[int, Node] = {}
        self.controller_id = -1

    async def refresh(self) -> None:
        """Read the list of brokers and the controller from the cluster's metadata."""
        self._take(await self.ask_any(MetadataRequest(topics=[]), MetadataResponse))

    def _take(self, metadata: MetadataResponse) -> None:
        self.nodes = {
            broker.node_id: Node(broker.node_id, broker.host, broker.port, broker.rack)
            for broker in metadata.brokers
        }
        self.controller_id = metadata.controller_id

    async def metadata(self, topics: list[str] | None) -> MetadataResponse:
        """Return the metadata of `topics`, or of all topics if it is None. No topic is created."""
        wanted = None if topics is None else [MetadataRequestTopic(name=topic) for topic in topics]
        answer = await self.ask_any(
            MetadataRequest(topics=wanted, allow_auto_topic_creation=False), MetadataResponse
        )
        self._take(answer)
        return answer

    async def ask_any(self, request: Message, response_type: type[R]) -> R:
        """Send the request to the first bootstrap server that answers, and return the response."""
        for number, (host, port) in enumerate(self._bootstrap, 1):
            try:
                return await self._ask(host, port, request, response_type)
            except OSError:
                self._on_unreachable(
                    f"[AdminClient clientId={self._client_id}] Connection to node -{number} could"
                    " not be established. Broker may not be available."
                )
        raise AdminTimeoutError("Timed out waiting for a node assignment.")

    async def ask(
        self, node: Node, request: Message, response_type: type[R], *, newest: int = ANY_VERSION
    ) -> R:
        """Send the request to one broker, and return the response.

        `newest` is the newest version that may be used, because `request` lacks the fields of newer
        ones.
        """
        return await self._ask(node.host, node.port, request, response_type, newest)

    async def ask_controller(
        self,
        request: Message,
        response_type: type[R],
        error_of: Callable[[R], Errors],
        *,
        newest: int = ANY_VERSION,
    ) -> R:
        """Send the request to the controller, and return the response.

        `error_of` returns the error of a response. If it is NOT_CONTROLLER, the new controller is
        asked.
        """

        loop = asyncio.get_running_loop()
        end = loop.time() + REQUEST_TIMEOUT_MS / 1000
        while True:
            if self.controller_id not in self.nodes:
                await self.refresh()
            if self.controller_id in self.nodes:
                answer = await self.ask(
                    self.nodes[self.controller_id], request, response_type, newest=newest
                )
                if error_of(answer) is not Errors.NOT_CONTROLLER:
                    return answer
                self.controller_id = -1
            if loop.time() >= end:
                raise KafkaException(Errors.NOT_CONTROLLER)
            await asyncio.sleep(RETRY_PAUSE_S)

    async def _ask(
        self,
        host: str,
        port: int,
        request: Message,
        response_type: type[R],
        newest: int = ANY_VERSION,
    ) -> R:
        connection = await self._connected(host, port)
        if request.KEY is None:
            raise ValueError(f"{type(request).__name__} is no request")
        pair = REGISTRY[request.KEY]
        least, most = connection.versions.get(request.KEY, (0, -1))
        version = min(most, pair.max_version, newest)
        if version < max(least, pair.min_version):
            raise KafkaException(
                Errors.UNSUPPORTED_VERSION, f"The broker does not support {request.KEY.name}"
            )
        return await connection.client.ask(request, version, response_type, REQUEST_TIMEOUT_MS)

    async def _connected(self, host: str, port: int) -> _Connection:
        known = self._connections.get((host, port))
        if known is not None and known.client.connected:
            return known
        client = NetworkClient(self._transport, self._client_id)
        await client.connect(host, port, CONNECT_TIMEOUT_MS)
        answer = await client.ask(ApiVersionsRequest(), 0, ApiVersionsResponse, REQUEST_TIMEOUT_MS)
        connection = _Connection(
            client, {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        )
        self._connections[host, port] = connection
        return connection

    def close(self) -> None:
        for connection in self._connections.values():
            connection.client.close()


@contextlib.asynccontextmanager
async def connect_brokers(
    servers: str,
    client_id: str = "adminclient-1",
    on_unreachable: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Brokers]:
    """Connect to the brokers of `servers` during the block. Yield a Brokers object.

    `on_unreachable` is called with Kafka's warning for each bootstrap server that does not answer.
    """
    brokers = Brokers(parse_addresses(servers), client_id, on_unreachable)
    try:
        await brokers.refresh()
        yield brokers
    finally:
        brokers.close()


def raise_for(error_code: int, message: str | None = None) -> None:
    """Raise KafkaException for this error code. Do nothing if the code is 0."""
    if error_code:
        raise KafkaException(Errors.of(error_code), message or "")
