"""The admin client's copy of the metadata: the brokers, and which of them is the controller.

(Kafka: AdminMetadataManager.java.) It contains no topics, because each call looks up the leaders
that it needs. So the information about a leader is never older than the call. The copy is updated
only while a call runs.
"""

from collections.abc import Sequence
from typing import Final

from kafka_edu.clients.metadata import NEVER, Metadata
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataResponse

NO_CONTROLLER: Final = -1


class AdminMetadata(Metadata):
    """The brokers and the controller. The client's event loop owns it."""

    def __init__(
        self, bootstrap: Sequence[tuple[str, int]], retry_backoff_ms: float, max_age_ms: float
    ) -> None:
        super().__init__(bootstrap, retry_backoff_ms, max_age_ms, NEVER)
        self.controller_id = NO_CONTROLLER
        self.wanted = False
        """Whether a call is running."""

    def next_update_ms(self, now: float) -> float:
        """Return the number of ms until the next update is due. NEVER while an update is running,
        or while no call is running.
        """
        if self._in_progress or not self.wanted:
            return NEVER
        due = 0.0 if self._needed else max(self._last_success_ms + self._max_age_ms - now, 0)
        return max(due, self._last_try_ms + self._retry_backoff_ms - now, 0)

    def request(self, now: float) -> MetadataRequest:
        """Return the request for the next update. From now on the update is running."""
        self._in_progress, self._needed, self._last_try_ms = True, False, now
        return MetadataRequest(topics=[], allow_auto_topic_creation=True)

    def update(self, response: MetadataResponse, now: float) -> None:
        """Replace the copy with a broker's answer. An answer without brokers is ignored."""
        super().update(response, now)
        if response.brokers:
            self.controller_id = response.controller_id

    def controller_moved(self) -> None:
        """Forget the controller, because the broker in this role has answered that it is not the
        controller.
        """
        self.controller_id = NO_CONTROLLER
        self.request_update()
