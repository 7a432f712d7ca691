"""A quiz over HTTP: a browser joins and answers, and the server refuses wrong requests."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

aiohttp = pytest.importorskip("aiohttp", reason="the packages of 'quiz' are not installed")

from kafka_edu.instruments.quiz.game import Ask, Game, Phase  # noqa: E402
from kafka_edu.instruments.quiz.server import (  # noqa: E402
    LARGEST_BODY,
    MOST_A_SECOND,
    MOST_WRONG_CODES,
    QuizServer,
)

ASK = Ask(1, "Who leads?", ("broker 0", "broker 1"))


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


Body = Callable[["Page"], Awaitable[None]]


class Page:
    """A browser without a window."""

    def __init__(self, session: Any, server: QuizServer, clock: Clock, url: str) -> None:
        self.session, self.server, self.clock, self.url = session, server, clock, url

    async def post(self, path: str, **fields: object) -> tuple[int, dict[str, Any]]:
        return await self.send(path, json.dumps(fields).encode())

    async def send(self, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        async with self.session.post(self.url + path, data=body) as answer:
            return answer.status, await answer.json()

    async def join(self, name: str) -> str:
        status, found = await self.post("/join", name=name, code=self.server.code)
        assert status == 200, found
        return str(found["token"])

    async def state(self, token: str = "") -> dict[str, Any]:
        async with self.session.get(self.url + "/state", params={"token": token}) as answer:
            return dict(await answer.json())


def play(body: Body) -> None:
    """Serve a game on a free port, and let a browser do this."""

    async def run() -> None:
        clock = Clock()
        server = QuizServer(Game("A chapter"), clock)
        async with server.serving("127.0.0.1", 0) as port, aiohttp.ClientSession() as session:
            await body(Page(session, server, clock, f"http://127.0.0.1:{port}"))

    asyncio.run(run())


def test_three_teams_play() -> None:
    async def body(page: Page) -> None:
        tokens = [await page.join(name) for name in ("red", "blue", "green")]
        page.server.game.open(ASK)
        for token, value in zip(tokens, (2, 1, 2), strict=True):
            assert (await page.post("/answer", token=token, value=value))[0] == 200
        assert (await page.state(tokens[0]))["answered"] == 3
        page.server.game.reveal(lambda said: said == 2, "2  broker 1")
        state = await page.state(tokens[1])
        assert (state["phase"], state["was_right"]) == (Phase.REVEALED.value, False)
        assert [one["name"] for one in state["ranking"]] == ["green", "red", "blue"]

    play(body)


def test_the_page_fetches_nothing_else() -> None:
    async def body(page: Page) -> None:
        async with page.session.get(page.url) as answer:
            text = await answer.text()
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "<form" in text
        assert "http://" not in text
        assert "https://" not in text

    play(body)


def test_what_is_wrong_is_said() -> None:
    async def body(page: Page) -> None:
        assert await page.post("/join", name="red", code="x") == (
            400,
            {"error": "that is not the code on the screen"},
        )
        await page.join("red")
        status, found = await page.post("/join", name="RED", code=page.server.code)
        assert (status, "choose another name" in found["error"]) == (400, True)
        for body_ in (b"{", b"[]", b"\xff"):
            assert (await page.send("/join", body_))[0] == 400
        assert (await page.send("/join", b"x" * (LARGEST_BODY + 1)))[0] == 413
        assert (await page.post("/answer", token="", value="2"))[1] == {
            "error": "the answer is a whole number"
        }
        assert (await page.post("/nothing"))[0] == 404

    play(body)


def test_codes_cannot_be_tried_one_by_one() -> None:
    async def body(page: Page) -> None:
        for _ in range(MOST_WRONG_CODES):
            await page.post("/join", name="red", code="x")
        status, found = await page.post("/join", name="red", code=page.server.code)
        assert (status, "too many wrong codes" in found["error"]) == (400, True)
        page.clock.now += 61
        await page.join("red")

    play(body)


def test_a_flood_is_refused_and_the_others_play_on() -> None:
    async def body(page: Page) -> None:
        token = await page.join("red")
        statuses = [(await page.post("/answer"))[0] for _ in range(MOST_A_SECOND)]
        assert statuses[-1] == 429
        page.clock.now += 2
        assert (await page.state(token))["name"] == "red"

    play(body)
