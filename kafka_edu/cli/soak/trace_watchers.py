"""Subscribe to a cluster's trace like three dashboards, in a separate process.

`python -m kafka_edu.cli.soak.trace_watchers CLUSTER-FOLDER`. The first two subscribe at level
state, as the dashboard does. The third changes between state and hops every few seconds, like a
user who opens and leaves the Wheels screen. Events that report a problem are printed as lines of
JSON for the soak.
"""

import asyncio
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Level
from kafka_edu.trace.trace_client import EventsAddress, subscribe
from kafka_edu.trace.wire_format import TraceFormatError

TROUBLE: Final = (
    "LoopStalled",
    "RequestStuck",
    "RequestFailed",
    "ConnectionFailed",
    "BackgroundTaskFailed",
    "SessionLost",
)
"""Names of the events that report a problem.

The first subscriber prints them, and the soak counts them.
"""
LEVEL_LASTS_S: Final = (2.0, 12.0)
RETRY_S: Final = 0.5
SUMMARY_EVERY_S: Final = 2.0


class Watchers:
    """The three trace subscribers of one cluster."""

    def __init__(self, folder: ClusterFolder, brokers: list[int], chance: random.Random) -> None:
        self._folder = folder
        self._brokers = brokers
        self._chance = chance
        self.counts: Counter[str] = Counter()

    async def run(self) -> None:
        tasks = [self._dashboard(broker, number) for broker in self._brokers for number in range(2)]
        await asyncio.gather(*tasks, *map(self._wheels, self._brokers), self._summaries())

    async def _dashboard(self, broker: int, number: int) -> None:
        while True:
            await self._subscribe(broker, Level.STATE, tells=number == 0)
            await asyncio.sleep(RETRY_S)

    async def _wheels(self, broker: int) -> None:
        level = Level.HOPS
        while True:
            try:
                async with asyncio.timeout(self._chance.uniform(*LEVEL_LASTS_S)):
                    await self._subscribe(broker, level, tells=False)
                    await asyncio.sleep(RETRY_S)
            except TimeoutError:
                self.counts["level changes"] += 1
                level = Level.STATE if level is Level.HOPS else Level.HOPS

    async def _subscribe(self, broker: int, level: Level, tells: bool) -> None:
        """Read the events of one broker until it ends.

        If `tells` is true, print events about problems.
        """
        try:
            address = EventsAddress.read(str(self._folder.broker_events(broker)))
            async for envelope in subscribe(address, level, gauges=True):
                self.counts["events"] += 1
                name = envelope.name
                if name == "Gap":
                    self.counts["gaps"] += 1
                if tells and name in TROUBLE:
                    fields = envelope.event._asdict() if hasattr(envelope.event, "_asdict") else {}
                    _print(
                        {
                            "event": name,
                            "broker": envelope.broker,
                            "wall_ms": envelope.wall_ms,
                            **fields,
                        }
                    )
        except (OSError, TraceFormatError, ValueError):
            return  # it is down, or just starting

    async def _summaries(self) -> None:
        while True:
            await asyncio.sleep(SUMMARY_EVERY_S)
            _print({"counts": dict(self.counts)})


def _print(line: dict[str, object]) -> None:
    print(json.dumps(line, default=str), flush=True)


def main() -> None:
    folder, *brokers = sys.argv[1:]
    watchers = Watchers(
        ClusterFolder(Path(folder)), [int(broker) for broker in brokers], random.Random(1)
    )
    try:
        asyncio.run(watchers.run())
    except (KeyboardInterrupt, BrokenPipeError):
        sys.stderr.close()


if __name__ == "__main__":
    main()
