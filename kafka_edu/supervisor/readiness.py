"""Find out with Metadata requests whether brokers are ready.

A cluster is ready when the Metadata of every running broker lists all running brokers and a
controller. A broker that was started is ready when its own Metadata lists itself and a controller.

The controller is one of the running brokers, or a guest. A guest is a broker that another program
started, for example Apache Kafka, and that is registered in the same ZooKeeper. It may have the id
of a broker that the supervisor has stopped, but it has a different port.

Each broker gets the request at its own address, so that it answers only for itself. Our admin
client cannot do this, because it sends a request to any broker that it knows.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Collection, Mapping, MutableMapping
from functools import partial
from typing import Final, NamedTuple

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


class Answers(NamedTuple):
    """The answers of several brokers to a Metadata request, combined."""

    controller: int | None
    """The id of the controller that most of the brokers name. None if no broker names one."""
    ports: Mapping[int, int]
    """The id and the port of each broker that at least one answer lists."""


async def wait_until_listed(
    transport: SocketTransport,
    ports: Mapping[int, tuple[str, int]],
    listed: Collection[int],
    seen: MutableMapping[int, str] | None = None,
    may_be_controller: Callable[[int, int], bool] | None = None,
) -> int:
    """Wait until each broker of `ports` (id → host, port) lists all of `listed` and a controller.
    Return the controller's id from the last answer.

    `may_be_controller` returns whether a broker, given by its id and the port that Metadata lists,
    can be the controller now. Without it only the brokers in `listed` can. There is no time limit,
    so the caller must set one. For each broker, `seen` is set to a text: the brokers that its
    Metadata does not list yet.
    """
    lacks = {} if seen is None else seen
    may_be = may_be_controller or (lambda broker_id, _: broker_id in listed)
    controllers = await asyncio.gather(
        *(
            _broker_lists(transport, host, port, listed, may_be, partial(lacks.__setitem__, id_))
            for id_, (host, port) in ports.items()
        )
    )
    return controllers[-1] if controllers else -1


async def answers_of(transport: SocketTransport, ports: Collection[tuple[str, int]]) -> Answers:
    """Return the combined answers of the brokers at these addresses. Each broker has one second to
    answer.

    Brokers learn of a new controller one after another, so their answers may differ. The result has
    the controller's id that most of the answers contain.
    """
    given = await asyncio.gather(*(_metadata(transport, host, port) for host, port in ports))
    answers = [answer for answer in given if answer is not None]
    named = Counter(answer.controller_id for answer in answers if answer.controller_id >= 0)
    return Answers(
        named.most_common(1)[0][0] if named else None,
        {broker.node_id: broker.port for answer in answers for broker in answer.brokers},
    )


async def _metadata(transport: SocketTransport, host: str, port: int) -> MetadataResponse | None:
    client = NetworkClient(transport, _CLIENT_ID)
    try:
        async with asyncio.timeout(_LOOK_TIMEOUT_S):
            await client.connect(host, port, _ANSWER_TIMEOUT_MS)
            return await client.ask(
                MetadataRequest(topics=[]), _METADATA_VERSION, MetadataResponse, _ANSWER_TIMEOUT_MS
            )
    except (OSError, ProtocolError):  # TimeoutError is an OSError
        return None
    finally:
        client.close()


async def _broker_lists(
    transport: SocketTransport,
    host: str,
    port: int,
    listed: Collection[int],
    may_be_controller: Callable[[int, int], bool],
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
                known = {broker.node_id: broker.port for broker in answer.brokers}
                controller = answer.controller_id
                if (
                    wanted <= known.keys()
                    and controller in known
                    and may_be_controller(controller, known[controller])
                ):
                    lacks("")
                    return controller
                lacks(_missing(wanted - known.keys(), controller))
            await asyncio.sleep(_LOOK_EVERY_S)
    finally:
        client.close()


def _missing(unknown: set[int], controller_id: int) -> str:
    """Return a text about what is missing in a broker's Metadata."""
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
    """Return whether something listens at this address.

    While a broker starts, this function runs fifty times a second on the same cores, so it must be
    cheap. It needs one or two system calls, and on loopback they return at once. A connection
    through the event loop would need a thread.
    """
    with socket.socket() as probe:
        probe.settimeout(_PROBE_TIMEOUT_S)
        return probe.connect_ex((host, port)) == 0
