"""One member of a group in a process of its own, so that it can be killed or stopped.

    python -m chapters.ch13_consumer_groups.member_program TOPIC KEY=VALUE …

The keys are settings of our consumer. After each change it prints its generation and its
partitions: `2 0,3`. It ends when standard input is closed.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Final

from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.load.guest_consumer import die_with_parent

POLL_MS: Final = 100


async def read(topic: str, settings: Mapping[str, str]) -> None:
    """Poll until standard input is closed, and then leave the group."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), ended.set)
    printed = ""
    async with Consumer(settings) as consumer:
        consumer.subscribe([topic])
        while not ended.is_set():
            await consumer.poll(POLL_MS)
            partitions = ",".join(str(tp.partition) for tp in consumer.assignment())
            line = f"{consumer.group_metadata().generation_id} {partitions}"
            if line != printed:
                print(line, flush=True)
                printed = line
    os.close(sys.stdin.fileno())


if __name__ == "__main__":
    die_with_parent()
    asyncio.run(read(sys.argv[1], dict(word.split("=", 1) for word in sys.argv[2:])))
