"""One request at work: what an API's handler is given, and its one way to answer.

A handler may answer at once, later (from a purgatory), or never (Produce with acks=0). Whatever
goes wrong while it answers costs this client's connection, and not the part that completed the
operation: that may be another client's request.
"""

from collections.abc import Callable

from kafka_edu.common.errors import Errors
from kafka_edu.network.request_channel import Request, RequestChannel
from kafka_edu.protocol.headers import encode_response
from kafka_edu.protocol.schema import Message

OnFailure = Callable[[Request, BaseException], None]


class ApiCall:
    """A request with its answer pending. Answered exactly once; a second answer is a bug and
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

    def respond(self, response: Message) -> None:
        """Encode and hand the response to the connection's processor."""
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
        """The client waits for no answer: its next request may come."""
        self._answer()
        self._channel.send_response(self.request, None)

    def respond_error(self, error: Errors, message: str = "") -> None:
        """The whole request failed: the response of its type that says so in every place it has for
        that; if it has none, close.
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
        """The broker raised `error` for this request while it worked on another one, for example in
        a purgatory. Tell, and close the connection.
        """
        self._on_failure(self.request, error)
        self.answered = True
        self._channel.close_connection(
            self.request, f"the broker failed: {type(error).__name__}: {error}"
        )

    def waits(self) -> None:
        """The handler has done its part; the rest of the time counts as remote, or as waiting in
        the purgatory (spec N2).
        """
        self.request.local_done_ns = self._time_ns()

    def let_next_start(self) -> None:
        """Let the connection's next produce start, although this one still waits."""
        self._channel.let_next_start(self.request)

    def _answer(self) -> None:
        if self.answered:
            raise RuntimeError("a request was answered twice")
        self.answered = True
