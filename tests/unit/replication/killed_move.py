"""A replica that moves to another log dir while the process dies or the power fails."""

import asyncio
import random

from kafka_edu.common.errors import Errors
from kafka_edu.log.log_file_names import MOVING_TO_FILE
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.unit.replication.moving import Broker, run

CHANGES = 150
"""More than a move makes from its order to the removal of the old folder."""


class KilledMove:
    """A replica moves while it gets a record in each turn of the loop. The process dies before the
    n-th change of the disk. `orders` are the dirs that are ordered, one after the other.

    With `power_fails` the machine loses its power at that moment. `flush_messages` is the topic's
    flush.messages: with 1 all records are flushed before they are acknowledged. With 0 only the
    records from before the move are flushed.
    """

    def __init__(
        self,
        change: int,
        orders: str,
        *,
        follower: bool,
        power_fails: bool = False,
        flush_messages: int = 0,
    ) -> None:
        self.disk = MemoryFileSystem()
        self.power_fails = power_fails
        self.settings = {"flush.messages": str(flush_messages)} if flush_messages else {}
        self.on_disk = 0
        """How many records of `acked` were flushed."""
        self.change = change
        self.orders = orders
        self.follower = follower
        self.acked: list[str] = []
        self.found: list[str] = []
        """The folders that the next start finds."""
        self.ended_in = ""
        run(self.before)
        self.crashed = self.disk.crashed
        if power_fails:
            self.disk.lose_power(random.Random(change))
            del self.acked[self.on_disk :]
        self.disk.restart()
        run(self.after)

    async def before(self) -> None:
        broker = Broker(self.disk, self.settings)
        await broker.start()
        self.acked.extend(broker.fill(6))
        broker.log.flush()
        self.on_disk = broker.log.recovery_point
        if self.follower:
            await broker.elect(leader=1)
        self.disk.crash_at_change(self.change)
        moving = asyncio.ensure_future(self._order(broker))
        for number in range(12):
            self._append(broker, f"meanwhile {number}")
            for _ in range(3):
                await asyncio.sleep(0)
            if self.follower and number == 4:
                end = broker.log.log_end_offset - 2
                del self.acked[-2:]
                self.on_disk = min(self.on_disk, end)
                broker.partition.truncate_to(end, broker.logs)
        last = self.orders[-2:]
        await broker.until(lambda: moving.done() and broker.log.log_dir == last)
        await broker.moved(last)
        await moving

    async def _order(self, broker: Broker) -> None:
        for log_dir in self.orders.split(" then "):
            await broker.order(log_dir)

    def _append(self, broker: Broker, value: str) -> None:
        if self.follower:
            offset = broker.log.log_end_offset
            batch = bytearray(build_batch([Record(0, 5, None, value.encode())]))
            batch[:8] = offset.to_bytes(8, "big")
            batch[12:16] = broker.partition.leader_epoch.to_bytes(4, "big")
            broker.partition.append_records_to_follower(offset, bytes(batch), 5)
            broker.partition.update_follower_offsets(offset + 1, 0)
        else:
            broker.produce(value)
        self.acked.append(value)
        self.on_disk = max(self.on_disk, broker.log.recovery_point)

    async def after(self) -> None:
        broker = Broker(self.disk, self.settings)
        self.found = broker.folders()
        await broker.start()
        await broker.until(lambda: broker.partition.future_log is None)
        self.ended_in = broker.log.log_dir
        await broker.moved(self.ended_in)
        values = broker.values()
        assert values[: len(self.acked)] == self.acked, (self.change, self.found)
        if not self.follower and not self.power_fails:
            assert len(values) <= len(self.acked) + 1, "at most the one that was being written"
        assert not self.disk.exists(f"{self.ended_in}/t-0/{MOVING_TO_FILE}")
        broker.produce("it goes on")
        assert await broker.order("/b" if self.ended_in != "/b" else "/c") is Errors.NONE
        await broker.until(lambda: broker.partition.future_log is None)
        assert broker.values() == [*values, "it goes on"]
        assert broker.bugs == []
