"""Ask a target's brokers for the cluster's metadata (spec B1, B3). This module does the I/O for
Target.

The connection stays open. The broker that answered gets the next request too. The other brokers get
a request only if this broker does not answer. Previous hop: ProxyServer's refresh. Next hop: the
target's brokers, whose answer goes to Target.

This module sends single requests and does not use our clients, because it copies a whole answer in
one version.
"""

from typing import Final

from kafka_edu.clients.proxy.metadata_copy import READ_VERSION, MetadataCopy
from kafka_edu.clients.proxy.target import Address, Target
from kafka_edu.common.errors import Errors
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Transport
from kafka_edu.common.words import cause_of
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_edu.protocol.types import ProtocolError

CLIENT_ID: Final = "kafka-edu-proxy"
_KEYS: Final = frozenset(map(int, ApiKey))


class TargetCopier:
    """Copy the metadata of one target.

    Only the proxy's event loop uses this object, and only one task at a time.
    """

    def __init__(self, target: Target, transport: Transport, time: Time, timeout_ms: float) -> None:
        """`timeout_ms` limits the time to connect to a broker, and to wait for each answer."""
        self.target = target
        self._time = time
        self._timeout_ms = timeout_ms
        self._client = NetworkClient(transport, CLIENT_ID)
        self._connected_to: Address | None = None
        self._apis: dict[ApiKey, tuple[int, int]] = {}

    async def copy(self) -> None:
        """Ask the brokers one by one until one of them answers, and give the result to the target.

        This takes at most 3 × `timeout_ms` for each broker.
        """
        began_ms = self._time.hi_res_clock_ms()
        problems: list[str] = []
        for address in self.target.to_ask():
            try:
                copy = await self._copy_from(address)
            except TimeoutError:
                self._close()
                problems.append(f"{address}: no answer within {self._timeout_ms:g} ms")
            except (OSError, ProtocolError) as error:
                self._close()
                problems.append(
                    f"{address}: {cause_of(error) if isinstance(error, OSError) else error}"
                )
            else:
                self.target.copied(copy, self._time.hi_res_clock_ms() - began_ms)
                return
        self.target.failed("; ".join(problems))

    async def _copy_from(self, address: Address) -> MetadataCopy:
        if self._connected_to != address or not self._client.connected:
            self._close()
            await self._client.connect(address.host, address.port, self._timeout_ms)
            self._apis = await self._ask_versions()
            self._connected_to = address
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        highest = min(self._apis[ApiKey.METADATA][1], MetadataResponse.VALID.highest)
        version = min(highest, READ_VERSION)
        if version < 4:
            # True is the default of this field. Older versions of the request do not have the
            # field.
            request.allow_auto_topic_creation = True
        if version >= 8:
            request.include_cluster_authorized_operations = (
                request.include_topic_authorized_operations
            ) = True
        response = await self._client.ask(request, version, MetadataResponse, self._timeout_ms)
        if not response.brokers:
            raise ProtocolError("it names no brokers")
        return MetadataCopy(response, self._apis, highest, str(address), self._time.milliseconds())

    async def _ask_versions(self) -> dict[ApiKey, tuple[int, int]]:
        """Return API key → lowest and highest version that the broker serves.

        API keys that kafka-edu does not know are left out. The result contains Metadata with a
        version that kafka-edu knows.
        """
        answer = await self._client.ask(
            ApiVersionsRequest(), 0, ApiVersionsResponse, self._timeout_ms
        )
        if answer.error_code:
            raise ProtocolError(f"it answers ApiVersions with {Errors.of(answer.error_code).name}")
        apis = {
            ApiKey(api.api_key): (api.min_version, api.max_version)
            for api in answer.api_keys
            if api.api_key in _KEYS
        }
        lowest, highest = apis.get(ApiKey.METADATA, (0, -1))
        if min(highest, MetadataResponse.VALID.highest) < lowest:
            raise ProtocolError(
                f"it serves no version of Metadata that we know ({MetadataResponse.VALID})"
            )
        return apis

    def _close(self) -> None:
        self._connected_to = None
        self._client.close()

    def close(self) -> None:
        """Close the connection. A call of `copy` in progress fails."""
        self._close()
