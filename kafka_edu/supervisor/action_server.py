"""The supervisor's side of the action socket. The client's side,
kafka_edu.supervisor.action_client, describes the format of the lines.
"""

import asyncio
import contextlib
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

log = logging.getLogger(__name__)

Request = Mapping[str, object]
Answer = dict[str, object]

MAX_LINE_BYTES: Final = 64 * 1024
MAX_CONNECTIONS: Final = 64


class ActionRefused(Exception):
    """An action cannot be carried out. The text is sent to the client as the error."""


class ActionServer:
    """Listens on loopback and serves every client that sends the right token.

    The requests of one connection are carried out one after the other.
    """

    def __init__(self, token: str, act: Callable[[str, Request], Awaitable[Answer]]) -> None:
        """`act(action, request)` carries out an action and returns the answer. It raises
        ActionRefused if the action cannot be carried out.
        """
        self.token = token
        self._act = act
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def listen(self) -> int:
        """Start listening on a free port. Return the port."""
        self._server = await asyncio.start_server(
            self._on_connection, "127.0.0.1", 0, limit=MAX_LINE_BYTES
        )
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _on_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        if task is None or len(self._connections) >= MAX_CONNECTIONS:
            writer.close()
            return
        self._connections[task] = writer
        try:
            # A line that is too long raises ValueError. The connection then ends, as after any
            # other malformed line.
            while line := await reader.readline():
                answer, go_on = await self._answer(line)
                writer.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
                await writer.drain()
                if not go_on:
                    return
        except (OSError, ValueError):
            pass
        finally:
            writer.close()
            del self._connections[task]

    async def _answer(self, line: bytes) -> tuple[Answer, bool]:
        """Return the answer to one line, and whether to read further lines from this connection."""
        try:
            request = json.loads(line)
            token, action = request["token"], request["action"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return {
                "ok": False,
                "error": 'a request is a line {"token": "…", "id": 1, "action": "…"}',
            }, False
        number = request.get("id")
        if not isinstance(token, str) or not hmac.compare_digest(
            token.encode(), self.token.encode()
        ):
            return {
                "id": number,
                "ok": False,
                "error": "wrong token: the right one is in the supervisor's file",
            }, False
        try:
            return {"id": number, "ok": True, **await self._act(str(action), request)}, True
        except ActionRefused as error:
            return {"id": number, "ok": False, "error": str(error)}, True
        # Only this action fails: the other actions and the connection go on.
        except Exception as error:
            log.exception("the action '%s' failed", action)
            words = f"the supervisor failed at '{action}': {type(error).__name__}: {error}"
            return {"id": number, "ok": False, "error": words}, True

    async def close(self) -> None:
        """Stop listening. Answers that are ready are sent before the connections are closed."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._connections.values()):
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    await writer.drain()
            writer.close()
