"""A producer on librdkafka that sends at a steady rate, in a thread of its own.

The load, the soak and the demos each say how one record is sent and count the answers. Pace, thread
and end are the same for all of them.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import Producer

_STEP_S: Final = 0.005


class PacedProducer:
    """Calls `send` with the numbers 0, 1, 2 … at a steady rate.

    `send` returns False if it could not hand its record over, because librdkafka's queue is full
    while no leader accepts records. The same number is then tried again a few ms later.
    """

    def __init__(
        self,
        client: Producer,
        records_a_second: float,
        send: Callable[[int], bool],
        name: str,
        most_behind_s: float | None = None,
    ) -> None:
        """With `most_behind_s`, records that are later than this are given up: it does not make
        up for a time in which it could not send.
        """
        self.sent = 0
        self._client = client
        self._rate = records_a_second
        self._send = send
        self._most_behind_s = most_behind_s
        self._began: float | None = None
        self._given_up_s = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.turn(time.monotonic())
            self._client.poll(_STEP_S)

    def turn(self, now: float) -> None:
        """Send what is due at this time of the monotonic clock, in seconds."""
        if self._began is None:
            self._began = now
        due = (now - self._began - self._given_up_s) * self._rate - self.sent
        if self._most_behind_s is not None and due > self._most_behind_s * self._rate:
            self._given_up_s += due / self._rate
            return
        for _ in range(int(due)):
            if not self._send(self.sent):
                return
            self.sent += 1

    def finish(self, timeout_s: float) -> int:
        """Stop sending, and wait for the answers. Return how many records have none."""
        self._end()
        left: int = self._client.flush(timeout_s)
        return left

    def abandon(self) -> None:
        """Stop at once, and drop the records that have no answer."""
        self._end()
        self.drop()

    def drop(self) -> None:
        """Drop the records that have no answer: each is reported as an error."""
        self._client.purge()
        self._client.poll(0)

    def _end(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
