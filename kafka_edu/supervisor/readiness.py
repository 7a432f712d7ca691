"""A cluster is ready when the Metadata of every running broker lists all running brokers, and a
controller among them.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Collection, Mapping, MutableMapping
from functools import partial
from typing import Final

from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_edu.protocol.types import ProtocolError

_LOOK_EVERY_S: Final = 0.02
_LOOK_TIMEOUT_S: Final = 1.0
_PROBE_TIMEOUT_S: Final = 0.2
_ANSWER_TIMEOUT_MS: Final = 5_000
_METADATA_VERSION: Final = 5
_CLIENT_ID: Final = "supervisor"


async def wait_until_listed(
    transport: SocketTransport,
    ports: Mapping[int, tuple[str, int]],
    listed: Collection[int],
    seen: MutableMapping[int, str] | None = None,
) -> int:
    """Return when each broker of `ports` (id → host, port) lists all of `listed`.

    The result is the controller's id from the last answer. This waits without a limit; the caller
    sets one. `seen` is kept up to date with what each broker still lacks, in words.
    """
    lacks = {} if seen is None else seen
    controllers = await asyncio.gather(
        *(
            _broker_lists(transport, host, port, listed, partial(lacks.__setitem__, broker_id))
            for broker_id, (host, port) in ports.items()
        )
    )
    return controllers[-1] if controllers else -1


async def controller_by_metadata(
    transport: SocketTransport, ports: Collection[tuple[str, int]]
) -> int | None:
    """Return the controller's id from the Metadata of brokers at these addresses.

    None if no broker names one within a second. Brokers learn of a new controller one after
    another. If they differ, the id that most of them name is returned.
    """
    answers = await asyncio.gather(
        *(_named_controller(transport, host, port) for host, port in ports)
    )
    named = Counter(
        controller for controller in answers if controller is not None and controller >= 0
    )
    return named.most_common(1)[0][0] if named else None


async def _named_controller(transport: SocketTransport, host: str, port: int) -> int | None:
    client = NetworkClient(transport, _CLIENT_ID)
    try:
        async with asyncio.timeout(_LOOK_TIMEOUT_S):
            await client.connect(host, port, _ANSWER_TIMEOUT_MS)
            answer = await client.ask(
                MetadataRequest(topics=[]), _METADATA_VERSION, MetadataResponse, _ANSWER_TIMEOUT_MS
            )
    except (OSError, ProtocolError):  # TimeoutError is an OSError
        return None
    finally:
        client.close()
    return answer.controller_id


async def _broker_lists(
    transport: SocketTransport,
    host: str,
    port: int,
    listed: Collection[int],
    lacks: Callable[[str], None],
) -> int:
    wanted = set(listed)
    client = NetworkClient(transport, _CLIENT_ID)
    try:
        while not _is_open(host, port):
            lacks(f"nobody listens on its port {port} yet")
            await asyncio.sleep(_LOOK_EVERY_S)
        while True:
            try:
                if not client.connected:
                    await client.connect(host, port, _ANSWER_TIMEOUT_MS)
                answer = await client.ask(
                    MetadataRequest(topics=[]),
                    _METADATA_VERSION,
                    MetadataResponse,
                    _ANSWER_TIMEOUT_MS,
                )
            except (OSError, ProtocolError) as error:  # not up yet; TimeoutError is an OSError
                lacks(f"it does not answer Metadata on its port {port} ({type(error).__name__})")
                client.close()
            else:
                known = {broker.node_id for broker in answer.brokers}
                if wanted <= known and answer.controller_id in wanted:
                    lacks("")
                    return answer.controller_id
                lacks(_missing(wanted - known, answer.controller_id))
            await asyncio.sleep(_LOOK_EVERY_S)
    finally:
        client.close()


def _missing(unknown: set[int], controller_id: int) -> str:
    """Return what a broker's Metadata lacks, in words."""
    parts = []
    if unknown:
        parts.append(
            f"it does not know of broker{'s' if len(unknown) > 1 else ''}"
            f" {', '.join(map(str, sorted(unknown)))}"
        )
    if controller_id < 0:
        parts.append("it knows no controller")
    return (
        " and ".join(parts) or f"it names broker {controller_id}, which does not run, as controller"
    )


def _is_open(host: str, port: int) -> bool:
    """Return whether something listens there.

    This costs one or two system calls, which loopback answers at once. A connection by the loop
    would need a thread. While a broker starts, this runs fifty times a second on the same cores.
    """
    with socket.socket() as probe:
        probe.settimeout(_PROBE_TIMEOUT_S)
        return probe.connect_ex((host, port)) == 0
