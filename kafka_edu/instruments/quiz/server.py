"""The web server of a quiz (aiohttp), on the teacher's machine. It serves these requests:

    GET  /         the page, complete: the browser loads no other files
    GET  /state    what this team's page shows, as JSON
    POST /join     {"name", "code"} → {"token"}
    POST /answer   {"token", "value"}

Names and answers stay in memory. They are lost when the process ends.
"""

import hmac
import json
import secrets
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Final

from aiohttp import web

from kafka_edu.instruments.quiz.game import Game, QuizError

LARGEST_BODY: Final = 1_000
MOST_A_SECOND: Final = 200
"""Requests that one IP address may send in a second. A whole class may share one address."""
MOST_WRONG_CODES: Final = 20
"""Wrong codes that one IP address may send in a minute."""
WINDOW_S: Final = 1.0
WRONG_WINDOW_S: Final = 60.0
CODE_DIGITS: Final = 4
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline';"
    " script-src 'unsafe-inline'; connect-src 'self'",
    "X-Content-Type-Options": "nosniff",
}


class Limit:
    """Limits how often each IP address may do something in a period of time."""

    def __init__(self, most: int, window_s: float, clock: Callable[[], float]) -> None:
        self._most, self._window_s, self._clock = most, window_s, clock
        self._times: dict[str, deque[float]] = defaultdict(deque)

    def is_over(self, address: str) -> bool:
        """Return whether the address has reached the limit in the last `window_s` seconds."""
        times, now = self._times[address], self._clock()
        while times and times[0] < now - self._window_s:
            times.popleft()
        return len(times) >= self._most

    def note(self, address: str) -> None:
        """Count one more request of this address."""
        self._times[address].append(self._clock())


class QuizServer:
    """Serves the page of one game. The presenter's event loop owns it."""

    def __init__(self, game: Game, clock: Callable[[], float] = time.monotonic) -> None:
        self.game = game
        self.code = "".join(secrets.choice("0123456789") for _ in range(CODE_DIGITS))
        """The code that a team needs to join. Only people who see the screen know it."""
        self._page = (files(__package__) / "page.html").read_text(encoding="utf-8")
        self._requests = Limit(MOST_A_SECOND, WINDOW_S, clock)
        self._wrong_codes = Limit(MOST_WRONG_CODES, WRONG_WINDOW_S, clock)
        self.app = web.Application(client_max_size=LARGEST_BODY, middlewares=[self._guard])
        self.app.router.add_get("/", self._show)
        self.app.router.add_get("/state", self._state)
        self.app.router.add_post("/join", self._join)
        self.app.router.add_post("/answer", self._answer)

    @asynccontextmanager
    async def serving(self, host: str, port: int) -> AsyncIterator[int]:
        """Serve the page until the block ends. Yield the port. Raises OSError."""
        runner = web.AppRunner(
            self.app, access_log=None, handle_signals=False, shutdown_timeout=1.0
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, host, port)
            await site.start()
            yield runner.addresses[0][1]
        finally:
            await runner.cleanup()

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], object]
    ) -> web.StreamResponse:
        """Refuse an address that sends too many requests, and return every error as JSON."""
        address = request.remote or ""
        self._requests.note(address)
        if self._requests.is_over(address):
            return _problem(429, "too many requests: wait a moment")
        try:
            answered: web.StreamResponse = await handler(request)  # type: ignore[misc]
        except QuizError as error:
            answered = _problem(400, str(error))
        except web.HTTPException as error:
            answered = _problem(error.status, error.reason)
        answered.headers.update(_HEADERS)
        return answered

    async def _show(self, _: web.Request) -> web.Response:
        return web.Response(text=self._page, content_type="text/html")

    async def _state(self, request: web.Request) -> web.Response:
        return web.json_response(self.game.state_of(request.query.get("token", "")))

    async def _join(self, request: web.Request) -> web.Response:
        fields, address = await _fields(request), request.remote or ""
        if self._wrong_codes.is_over(address):
            raise QuizError("too many wrong codes: look at the screen, and wait a minute")
        if not hmac.compare_digest(str(fields.get("code", "")).encode(), self.code.encode()):
            self._wrong_codes.note(address)
            raise QuizError("that is not the code on the screen")
        return web.json_response({"token": self.game.join(str(fields.get("name", "")))})

    async def _answer(self, request: web.Request) -> web.Response:
        fields = await _fields(request)
        value = fields.get("value")
        if not isinstance(value, int) or isinstance(value, bool):
            raise QuizError("the answer is a whole number")
        self.game.answer(str(fields.get("token", "")), value)
        return web.json_response({})


async def _fields(request: web.Request) -> dict[str, object]:
    """Return the fields of a request's JSON body. Raises QuizError if it is no JSON object."""
    try:
        found = json.loads(await request.text())
    except (ValueError, UnicodeDecodeError) as error:
        raise QuizError("the request is not JSON") from error
    if not isinstance(found, dict):
        raise QuizError("the request is not a JSON object")
    return found


def _problem(status: int, why: str) -> web.Response:
    return web.json_response({"error": why}, status=status)
