"""A producer on librdkafka that sends at a steady rate, in its own thread.

The load, the soak and the demos each define how one record is sent, and count the answers. All
three use this class for the rate, the thread and the shutdown.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import Producer

from kafka_edu.clients.pace import Pace

_STEP_S: Final = 0.005


class PacedProducer:
    """Call `send` with the numbers 0, 1, 2 and so on, at a steady rate.

    `send` returns False if librdkafka could not take the record, because its queue is full. This
    happens while no leader accepts records. A few ms later, `send` is called again with the same
    number.
    """

    def __init__(
        self,
        client: Producer,
        records_a_second: float,
        send: Callable[[int], bool],
        name: str,
        most_behind_s: float | None = None,
    ) -> None:
        """`most_behind_s` has the same meaning as in Pace."""
        self.sent = 0
        self._client = client
        self._pace = Pace(records_a_second, most_behind_s)
        self._send = send
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.turn(time.monotonic())
            self._client.poll(_STEP_S)

    def turn(self, now: float) -> None:
        """Send the records that are due at `now` (seconds of the monotonic clock)."""
        for _ in range(self._pace.due(self.sent, now)):
            if not self._send(self.sent):
                return
            self.sent += 1

    def finish(self, timeout_s: float) -> int:
        """Stop sending, and wait for the answers.

        Return the number of records without an answer.
        """
        self._end()
        left: int = self._client.flush(timeout_s)
        return left

    def abandon(self) -> None:
        """Stop sending at once. Drop the records that have no answer."""
        self._end()
        self.drop()

    def drop(self) -> None:
        """Drop the records that have no answer. Each of them is reported as an error."""
        self._client.purge()
        self._client.poll(0)

    def _end(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
