"""The table from API key to handler (Kafka: KafkaApis.scala, where it is a `match` of 65 cases in
3,400 lines).

Each `apis/<family>` registers its handlers here, typed by the request that they accept. This module
decodes the request's body, and checks that the broker supports the API key and the version. Errors
are answered as follows:

    unknown key, unserved version, unreadable body
        The connection is closed, as in Kafka, because the client would not understand an answer.
    version above the API level, from another broker
        Served as far as inter.broker.protocol.version allows (inter_broker_versions).
    ApiVersions in an unserved version
        A v0 body with UNSUPPORTED_VERSION that lists the served versions (KIP-511).
    KafkaException from a handler
        The response of that request type, with the exception's error code.
    any other exception from a handler
        The same with UNKNOWN_SERVER_ERROR. The cause goes to the log and into RequestFailed.

A request comes from KafkaRequestHandler and goes on to its handler in apis/<family>.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeVar

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import Time
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_table import VersionTable
from kafka_edu.protocol.fields import Versions
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.config.inter_broker_versions import is_from_broker
from kafka_edu.server.request_timeouts import timeout_ms_of
from kafka_edu.trace.events.server import RequestFailed, RequestRefused
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

R = TypeVar("R", bound=Message)
Answered = Awaitable[None] | None
Handler = Callable[[ApiCall, R], Answered]
"""A function that answers one request, now or later. If it is a coroutine, the task of the request
handler is occupied until the coroutine returns.
"""
ErrorResponse = Callable[[R, int, Errors, str], Message | None]
"""A function that builds a response from the request, its version, an error and a message. If it
returns None, the connection is closed.
"""


class _Entry(NamedTuple):
    """One API in the table, without its message types. `start` decodes a request. It returns the
    body, a function that runs the handler, and a function that builds an error response. The
    request must have one of `versions`.
    """

    key: ApiKey
    versions: Versions
    start: Callable[
        [Request],
        tuple[Message, Callable[[ApiCall], Answered], Callable[[Errors, str], Message | None]],
    ]


class KafkaApis:
    """The table of APIs. Every request of the broker passes through `handle`. Only the broker's
    event loop may use it.
    """

    def __init__(
        self,
        channel: RequestChannel,
        versions: VersionTable,
        time: Time,
        trace: Tracer | None,
        inter_broker: Mapping[ApiKey, int] | None = None,
    ) -> None:
        """`inter_broker` holds the highest version of each API that other brokers send. It may be
        higher than the highest version in `versions`.
        """
        self.versions = versions
        """The versions of each API that clients can use. ApiVersions returns them."""
        self._inter_broker: Mapping[ApiKey, int] = inter_broker or {}
        self.requests: dict[int, int] = {}
        """API key → the number of its requests so far."""
        self._channel = channel
        self._time = time
        self._trace = trace
        self._table: dict[int, _Entry] = {}

    def serve(
        self,
        key: ApiKey,
        request_type: type[R],
        handler: Handler[R],
        error_response: ErrorResponse[R],
    ) -> None:
        """Register the handler of an API in the table."""

        def start(
            request: Request,
        ) -> tuple[Message, Callable[[ApiCall], Answered], Callable[[Errors, str], Message | None]]:
            version = request.header.api_version
            body = request_type.decode(request.frame, version, request.body_offset)
            return (
                body,
                lambda call: handler(call, body),
                lambda error, message: error_response(body, version, error, message),
            )

        if key in self._table:
            raise ValueError(f"{key.name} has a handler already")
        self._table[key] = _Entry(key, request_type.VALID, start)

    def timeout_ms(self, request: Request) -> int | None:
        """Return the time-out in ms that a request contains, or None. This decodes the request
        again. Only the watchdog calls it, for requests that are older than one second. Such a
        request may still be in the queue. So its version may be unknown.
        """
        entry = self._table.get(request.header.api_key)
        if entry is None or not entry.versions.has(request.header.api_version):
            return None
        try:
            return timeout_ms_of(entry.start(request)[0])
        except ProtocolError:
            return None

    def handle(self, request: Request) -> Answered:
        """Handle one request. Never raises. If the handler is a coroutine, return an awaitable for
        it.
        """
        header = request.header
        entry = self._table.get(header.api_key)
        if entry is None:
            self._refuse(request, "this broker does not serve the API key")
            return None
        key, version = entry.key, header.api_version
        supported = self.versions.get(key)
        for_clients = supported is not None and supported[0] <= version <= supported[1]
        if not for_clients and not 0 <= version <= self._inter_broker.get(key, -1):
            self._refuse_version(request, key)
            return None
        self.requests[header.api_key] = self.requests.get(header.api_key, 0) + 1
        try:
            body, run, error_response = entry.start(request)
        except ProtocolError as error:
            self._refuse(request, f"unreadable body: {error}")
            return None
        if not for_clients and not is_from_broker(key, version, body):
            self._refuse_version(request, key)
            return None
        call = ApiCall(request, self._channel, error_response, self.report, self._time.nanoseconds)
        try:
            waiting = run(call)
        except Exception as error:
            self._on_error(call, error)
            return None
        return None if waiting is None else self._finish(call, waiting)

    async def _finish(self, call: ApiCall, waiting: Awaitable[None]) -> None:
        try:
            await waiting
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():  # the handler itself must end
                raise
            self._on_error(
                call,
                RuntimeError(f"the operation that the handler waited for was cancelled: {error}"),
            )
        except Exception as error:
            self._on_error(call, error)

    def _on_error(self, call: ApiCall, error: Exception) -> None:
        known = isinstance(error, KafkaException)
        if not known:
            self.report(call.request, error)
        if call.answered:
            if (
                call.request.response_ns == 0
            ):  # the response failed before it reached the processor: the channel would stay muted
                self._channel.close_connection(
                    call.request, "its response was lost by a failure of the broker"
                )
            return
        try:
            if isinstance(error, KafkaException):
                call.respond_error(error.error, error.message)
            else:
                call.respond_error(Errors.UNKNOWN_SERVER_ERROR)
        except Exception as second:
            self.report(call.request, second)
            self._channel.close_connection(call.request, "its error response could not be made")

    def _answer_unsupported_api_versions(self, request: Request) -> None:
        """Answer an ApiVersions request of an unknown version in version 0, which every client can
        read. The client then tries again.
        """
        entry = self._table[ApiKey.API_VERSIONS]
        header = request.header._replace(api_version=0)
        request.header = header
        request.body_offset = len(
            request.frame
        )  # v0 has no body, so the body of the unknown version is ignored
        _, _, error_response = entry.start(request)
        call = ApiCall(request, self._channel, error_response, self.report, self._time.nanoseconds)
        call.respond_error(Errors.UNSUPPORTED_VERSION)

    def _refuse_version(self, request: Request, key: ApiKey) -> None:
        """Refuse a request of an unsupported version. Only ApiVersions gets a response. For any
        other API the connection is closed, as in Kafka.
        """
        if key is ApiKey.API_VERSIONS:
            self.requests[key] = self.requests.get(key, 0) + 1
            self._answer_unsupported_api_versions(request)
        elif (supported := self.versions.get(key)) is None:
            self._refuse(
                request, f"{key.name} is not part of this broker's API level (UNSUPPORTED_VERSION)"
            )
        else:
            low, high = supported
            self._refuse(
                request,
                f"version {request.header.api_version} is not served, only {low} to {high}"
                " (UNSUPPORTED_VERSION)",
            )

    def _refuse(self, request: Request, reason: str) -> None:
        if self._trace:
            self._trace(
                RequestRefused(
                    connection_id=request.connection_id,
                    api_key=request.header.api_key,
                    api_version=request.header.api_version,
                    reason=reason,
                )
            )
        self._channel.refuse(request, reason)

    def report(self, request: Request, error: BaseException) -> None:
        """Log an unexpected exception of a request, and emit an event for it."""
        header = request.header
        log.error(
            "API key %d version %d from %s (%s) failed",
            header.api_key,
            header.api_version,
            request.connection_id,
            header.client_id,
            exc_info=error,
        )
        if self._trace:
            what = f"{type(error).__name__}: {error}"
            self._trace(
                RequestFailed(
                    connection_id=request.connection_id,
                    correlation_id=header.correlation_id,
                    api_key=header.api_key,
                    api_version=header.api_version,
                    error=what,
                )
            )
