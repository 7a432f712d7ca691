"""Transactions with aiokafka, unmodified. The import needs the dependency group dev, so call
`external_programs.python_package` first.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import InvalidProducerEpoch, ProducerFenced

from tests.interop.transaction_case import PARTITIONS, STORY
from tests.waiting import PATIENCE_S


class AiokafkaTransactions:
    """Drives aiokafka, a client in pure Python."""

    def write(self, servers: str, topic: str, transactional_id: str) -> None:
        async def run() -> None:
            producer = AIOKafkaProducer(
                bootstrap_servers=servers, transactional_id=transactional_id
            )
            await producer.start()
            i = 0
            for values in STORY:
                await producer.begin_transaction()
                for value in values[values[0] == "-" :]:
                    await producer.send_and_wait(topic, value.encode(), partition=i % PARTITIONS)
                    i += 1
                await (
                    producer.abort_transaction()
                    if values[0] == "-"
                    else producer.commit_transaction()
                )
            await producer.stop()

        self._run(run())

    @staticmethod
    def _run(work: Coroutine[Any, Any, Any]) -> Any:
        async def limited() -> Any:
            async with asyncio.timeout(PATIENCE_S):
                return await work

        return asyncio.run(limited())

    def read(self, servers: str, topic: str, count: int) -> list[str]:
        async def run() -> list[str]:
            consumer = AIOKafkaConsumer(
                topic,
                bootstrap_servers=servers,
                isolation_level="read_committed",
                auto_offset_reset="earliest",
            )
            await consumer.start()
            values: list[str] = []
            while len(values) < count:
                for messages in (await consumer.getmany(timeout_ms=200)).values():
                    values += [message.value.decode() for message in messages]
            await consumer.stop()
            return values

        found: list[str] = self._run(run())
        return found

    def transform(
        self, servers: str, topic_in: str, topic_out: str, name: str, count: int, commit: bool
    ) -> None:
        async def run() -> None:
            producer = AIOKafkaProducer(bootstrap_servers=servers, transactional_id=name)
            consumer = AIOKafkaConsumer(
                topic_in,
                bootstrap_servers=servers,
                group_id=name,
                isolation_level="read_committed",
                auto_offset_reset="earliest",
                enable_auto_commit=False,
            )
            await producer.start()
            await consumer.start()
            await producer.begin_transaction()
            left, offsets = count, {}
            while left:
                for tp, messages in (await consumer.getmany(timeout_ms=200)).items():
                    for message in messages:
                        await producer.send(
                            topic_out, message.value.upper(), partition=tp.partition
                        )
                    offsets[tp] = messages[-1].offset + 1
                    left -= len(messages)
            await producer.flush()
            await producer.send_offsets_to_transaction(offsets, name)
            await (producer.commit_transaction() if commit else producer.abort_transaction())
            await consumer.stop()
            await producer.stop()

        self._run(run())

    def zombie(self, servers: str, topic: str, transactional_id: str) -> str:
        async def run() -> str:
            first = AIOKafkaProducer(bootstrap_servers=servers, transactional_id=transactional_id)
            await first.start()
            await first.begin_transaction()
            await first.send_and_wait(topic, b"zombie", partition=0)
            second = AIOKafkaProducer(bootstrap_servers=servers, transactional_id=transactional_id)
            await second.start()
            await second.begin_transaction()
            await second.send_and_wait(topic, b"living", partition=0)
            told = "committed"
            try:
                await first.commit_transaction()
            except (ProducerFenced, InvalidProducerEpoch):
                told = "fenced"
            await second.commit_transaction()
            await second.stop()
            await first.stop()
            return told

        told: str = self._run(run())
        return told
