"""An admin client that cannot reach any broker reports this as soon as each bootstrap server has
failed once.
"""

import asyncio
import socket

import pytest

from kafka_edu.clients.admin import AdminTimeoutError
from kafka_edu.clients.admin.first_contact import FailedServers, reached_admin
from kafka_edu.common.time import SystemTime
from kafka_edu.trace.event import CLIENT
from kafka_edu.trace.events.producer import ClientDisconnected
from kafka_edu.trace.tracer import Tracer


def failure(broker: int, reason: str) -> ClientDisconnected:
    return ClientDisconnected(client="c", broker_id=broker, local="", reason=reason, in_flight=0)


def test_all_servers_have_failed_when_the_last_one_has() -> None:
    async def story() -> None:
        trace = Tracer(CLIENT, SystemTime())
        servers = FailedServers(2)
        trace.add_sink(servers)
        trace(failure(-1, "refused"))
        trace(failure(-1, "refused again"))
        trace(failure(7, "a broker that is no bootstrap server"))
        assert not servers.all_failed.is_set()
        trace(failure(-2, "reset"))
        assert servers.all_failed.is_set()
        assert servers.last_reason == "reset"

    asyncio.run(story())


def test_a_client_is_not_opened_if_nobody_listens() -> None:
    async def enter(servers: str) -> None:
        async with reached_admin(servers, "mine") as admin:
            raise AssertionError(admin)

    with socket.socket() as first, socket.socket() as second:  # bound, and they do not listen
        for each in (first, second):
            each.bind(("127.0.0.1", 0))
        servers = ",".join(f"127.0.0.1:{each.getsockname()[1]}" for each in (first, second))
        with pytest.raises(AdminTimeoutError) as failed:
            asyncio.run(enter(servers))
    assert "Connection refused. Check that a Kafka broker listens at " + servers in str(
        failed.value
    )
