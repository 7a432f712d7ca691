"""A program that dies within a transaction.

    python -m chapters.ch15_exactly_once.open_transaction SERVERS ID TIMEOUT_MS

It sends one record in a transaction, waits until the leader has it, and sends itself SIGKILL.
"""

import asyncio
import os
import signal
import sys

from kafka_edu.clients.producer.producer import Producer

from .idempotent_jobs import PAYMENTS


async def die(servers: str, transactional_id: str, timeout_ms: str) -> None:
    """Begin a transaction, and never end it."""
    settings = {
        "bootstrap.servers": servers,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": timeout_ms,
    }
    async with Producer(settings) as producer:
        await producer.init_transactions()
        producer.begin_transaction()
        await (await producer.send(PAYMENTS.topic, b"never", partition=PAYMENTS.partition))
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(die(*sys.argv[1:]))
