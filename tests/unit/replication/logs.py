"""Tests of logs that need an event loop."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import ParamSpec

from kafka_edu.common.turns import at_once
from kafka_edu.log.log_manager import LogManager
from kafka_edu.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from kafka_edu.replication.controller_orders import ControllerOrders

P = ParamSpec("P")


async def stop_replicas(
    orders: ControllerOrders, logs: LogManager, request: StopReplicaRequest, version: int
) -> StopReplicaResponse:
    """Carry out a StopReplica request and its deletions, as a broker does."""
    stopped = at_once(orders.stop_replicas(request, version))
    return orders.stop_replica_response(stopped, await logs.delete_logs(stopped.deleted))


def in_loop(test: Callable[P, Awaitable[None] | None]) -> Callable[P, None]:
    """Run a test inside an event loop: the log manager starts a task when it has something to
    remove from the disk.
    """

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def main() -> None:
            waiting = test(*args, **kwargs)
            if waiting is not None:
                await waiting

        asyncio.run(main())

    return run
