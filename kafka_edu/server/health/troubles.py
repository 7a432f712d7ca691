"""Keep the problems of a broker, so that clients that connect later can still see them.

Events reach only the clients that are connected at that moment. But when a start times out, the
supervisor looks for the cause later. It then reads the snapshot of each broker, which contains the
problems. Equal problems share one entry with a count. For example, a thousand refusals of the same
request are one entry.
"""

from collections.abc import Iterable
from typing import Final

from kafka_edu.common.time import Time
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.server.health.repairs import repair_text
from kafka_edu.trace.event import Envelope, Event, Level
from kafka_edu.trace.events.controller import ControllerRequestFailed
from kafka_edu.trace.events.log import LogDirFailed
from kafka_edu.trace.events.network import ConnectionRefused
from kafka_edu.trace.events.replication import FetcherFailed, FollowerStuck, StaleControllerRefused
from kafka_edu.trace.events.server import (
    BackgroundTaskFailed,
    RequestFailed,
    RequestRefused,
    SessionLost,
    TroubleSnapshot,
)
from kafka_edu.trace.events.trace import EventConnectionFailed, SampleFailed, SinkFailed

MAX_KINDS: Final = 32
"""The maximum number of different problems. If there are more, the oldest is dropped."""


class Troubles:
    """Receives the broker's events, and keeps those that report a problem."""

    level = Level.STATE

    def __init__(self, time: Time) -> None:
        self._time = time
        self._found: dict[str, tuple[str, int, int]] = {}
        """The text of a problem → (name of the event, number of events, monotonic ms of the last
        event).
        """

    def accept(self, envelope: Envelope) -> None:
        text = trouble_text(envelope.event)
        if not text:
            return
        _, count, _ = self._found.pop(text, ("", 0, 0))
        self._found[text] = envelope.name, count + 1, self._time.hi_res_clock_ms()
        if len(self._found) > MAX_KINDS:
            del self._found[next(iter(self._found))]

    def snapshot(self) -> Iterable[Event]:
        """Yield an event for each problem, the newest first."""
        now_ms = self._time.hi_res_clock_ms()
        for text, (name, count, last_ms) in reversed(self._found.items()):
            yield TroubleSnapshot(event=name, text=text, times=count, last_ms_ago=now_ms - last_ms)


def trouble_text(event: Event) -> str:
    """Return the text of the problem that an event reports. Equal problems have the same text.
    Return "" if the event reports no problem.
    """
    match event:
        case ControllerRequestFailed(broker_id=broker_id, api_key=api_key, reason=reason):
            return f"as the controller, its {_api(api_key)} to broker {broker_id} failed: {reason}"
        case RequestRefused(api_key=api_key, api_version=version, reason=reason):
            return f"it refused {_api(api_key)} in version {version}: {reason}"
        case RequestFailed(api_key=api_key, error=error):
            return f"{_api(api_key)} failed: {error}"
        case FetcherFailed(leader=leader, reason=reason):
            return f"it could not fetch from broker {leader}: {reason}"
        case FollowerStuck():
            return f"it cannot follow: {repair_text(event)}"
        case StaleControllerRefused(request=request, controller=controller):
            return (
                f"it refused {request} of broker {controller}, which is not the controller any more"
            )
        case BackgroundTaskFailed(name, error):
            return f"its task {name} failed: {error}"
        case LogDirFailed(log_dir=log_dir, reason=reason):
            return f"its log dir {log_dir} failed: {reason}"
        case ConnectionRefused(listener=listener, reason=reason):
            return f"its listener {listener} refused a connection: {reason}"
        case SinkFailed(sink=sink, reason=reason):
            return f"{sink} failed: {reason}"
        case SampleFailed(sample=sample, reason=reason):
            return f"{sample} could not be sampled: {reason}"
        case EventConnectionFailed(doing=doing, error=error):
            return f"it failed at {doing}: {error}"
        case SessionLost():
            return "its session with ZooKeeper expired"
        case _:
            return ""


def _api(number: int) -> str:
    try:
        return ApiKey(number).name
    except ValueError:
        return f"API key {number}"
