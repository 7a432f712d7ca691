"""One request in progress. The handler of an API gets an ApiCall, and answers through it.

A handler may answer at once, later from a purgatory, or never (Produce with acks=0). If an error
occurs while the answer is made, the connection of this client is closed. The error is not passed on
to the code that completed the waiting operation, because that code may be working on another
client's request.
"""

from collections.abc import Callable

from kafka_edu.common.errors import Errors
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.protocol.headers import encode_response
from kafka_edu.protocol.schema import Message

OnFailure = Callable[[Request, BaseException], None]


class ApiCall:
    """A request that needs an answer. It can be answered once. A second answer is a bug and raises
    RuntimeError.
    """

    __slots__ = (
        "_channel",
        "_error_response",
        "_on_failure",
        "_time_ns",
        "answered",
        "request",
        "version",
    )

    def __init__(
        self,
        request: Request,
        channel: RequestChannel,
        error_response: Callable[[Errors, str], Message | None],
        on_failure: OnFailure,
        time_ns: Callable[[], int],
    ) -> None:
        self.request = request
        self.version = request.header.api_version
        self.answered = False
        self._channel = channel
        self._error_response = error_response
        self._on_failure = on_failure
        self._time_ns = time_ns

    @property
    def client_id(self) -> str:
        return self.request.header.client_id or ""

    @property
    def correlation_id(self) -> int:
        return self.request.header.correlation_id

    def respond(self, response: Message) -> None:
        """Encode the response and pass it to the network processor of the connection."""
        self._answer()
        request = self.request
        try:
            parts = encode_response(
                request.header.api_key, self.version, request.header.correlation_id, response
            )
        except Exception as error:
            self._on_failure(request, error)
            self._channel.close_connection(request, "its response could not be encoded")
            return
        self._channel.send_response(request, parts)

    def respond_nothing(self) -> None:
        """Finish without a response, because the client expects none. The connection's next request
        may start.
        """
        self._answer()
        self._channel.send_response(self.request, None)

    def respond_error(self, error: Errors, message: str = "") -> None:
        """Answer that the whole request failed. The request's `error_response` function builds the
        response. If it returns None, the connection is closed instead.
        """
        response = self._error_response(error, message)
        if response is None:
            self.close(f"{error.name}: {message or error.message}")
        else:
            self.respond(response)

    def close(self, reason: str) -> None:
        """Refuse the request: close the connection without a response."""
        self._answer()
        self._channel.refuse(self.request, reason)

    def fail(self, error: Exception) -> None:
        """Close the connection because of an error that has nothing to do with this request. For
        example, the broker raised it when it completed this request in a purgatory. The error is
        also reported.
        """
        self._on_failure(self.request, error)
        self.answered = True
        self._channel.close_connection(
            self.request, f"the broker failed: {type(error).__name__}: {error}"
        )

    def waits(self) -> None:
        """Record that the handler has finished and the request still waits. From now on the
        request's time counts as remote time: the time in the purgatory (spec N2).
        """
        self.request.local_done_ns = self._time_ns()

    def let_next_start(self) -> None:
        """Allow the connection's next Produce request to start, although this request still
        waits.
        """
        self._channel.let_next_start(self.request)

    def _answer(self) -> None:
        if self.answered:
            raise RuntimeError("a request was answered twice")
        self.answered = True
