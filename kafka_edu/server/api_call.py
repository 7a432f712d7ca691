"""One request in progress: the argument of an API's handler, and the only way to answer.

A handler may answer at once, later (from a purgatory), or never (Produce with acks=0). An error
during the answer closes this client's connection. It must not reach the part that completed the
operation, because that may be working for another client's request.
"""

from collections.abc import Callable

from kafka_edu.common.errors import Errors
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.protocol.headers import encode_response
from kafka_edu.protocol.schema import Message

OnFailure = Callable[[Request, BaseException], None]


class ApiCall:
    """A request whose answer is pending. It is answered exactly once. A second answer is a bug and
    raises.
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
        """Encode the response and hand it to the connection's processor."""
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
        """Answer that the whole request failed. The response of its type carries the error in each
        place for one. If it has no such place, close the connection.
        """
        response = self._error_response(error, message)
        if response is None:
            self.close(f"{error.name}: {message or error.message}")
        else:
            self.respond(response)

    def close(self, reason: str) -> None:
        """Answer by closing the connection."""
        self._answer()
        self._channel.refuse(self.request, reason)

    def fail(self, error: Exception) -> None:
        """Report an error that the broker raised for this request while it worked on another one,
        for example in a purgatory. Then close the connection.
        """
        self._on_failure(self.request, error)
        self.answered = True
        self._channel.close_connection(
            self.request, f"the broker failed: {type(error).__name__}: {error}"
        )

    def waits(self) -> None:
        """Note that the handler is done and the request waits. From now on its time counts as
        remote, or as waiting in the purgatory (spec N2).
        """
        self.request.local_done_ns = self._time_ns()

    def let_next_start(self) -> None:
        """Let the connection's next produce start, although this one still waits."""
        self._channel.let_next_start(self.request)

    def _answer(self) -> None:
        if self.answered:
            raise RuntimeError("a request was answered twice")
        self.answered = True
