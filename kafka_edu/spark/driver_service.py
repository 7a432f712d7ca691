"""Keep a warm JVM for the Spark labs: `python -m kafka_edu.spark.driver_service FOLDER IDLE_S`.

`driver_client` starts this process, and `driver_keeper` decides what it does. A user connects to
the service's port on the loopback interface, and sends one line of JSON:

    {"token": …, "ask": "lend", "idle_s": 600, "pid": 77}    the JVM's address, or why there is none
    {"token": …, "ask": "status"}                            the JVM's state
    {"token": …, "ask": "end"}                   the service ends now, or when its user leaves

The answer to "lend" also has the path of the service's log, and the log's size at that moment. The
notices of the JVM's workers are written to this log. Each answer is a line of JSON. The user has
the JVM until the connection closes, even if the user's process is killed. The port, the token and
the user's process id are in FOLDER/state.json, which only its owner can read.

The service and its JVM end after IDLE_S without a user. If the service is killed, its JVM ends too,
because it reads a pipe of the service.
"""

import asyncio
import itertools
import json
import logging
import math
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from kafka_edu.common.busy_machine import began_at
from kafka_edu.common.user_files import write_private_json
from kafka_edu.spark.driver_keeper import (
    Clean,
    DriverKeeper,
    Effect,
    End,
    Kill,
    Lend,
    Refuse,
    Start,
    State,
)

STATE: Final = "state.json"
LOG: Final = "log"
LOG_FORMAT: Final = "%(asctime)s %(name)s: %(message)s"
JVM_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for the JVM. With the fast compiler only, short jobs such as those of the labs need a
third less processor time.
"""
TICK_S: Final = 1.0
LOOK_EVERY_S: Final = 0.25
_log = logging.getLogger(__name__)


class Limit(Protocol):
    """Decides whether a cleaning has taken too long."""

    def is_over(self) -> bool: ...


class Jvm(Protocol):
    """The JVM, as this service needs it (`warm_jvm.WarmJvm`)."""

    @property
    def pid(self) -> int: ...

    def clean(self) -> None: ...

    def limit(self) -> Limit: ...

    def kill(self) -> None: ...

    def wait(self) -> int: ...

    def lent(self) -> Mapping[str, object]: ...


class DriverService:
    """Performs the effects of a DriverKeeper, and answers the users."""

    def __init__(
        self, keeper: DriverKeeper, start_jvm: Callable[[], Jvm], token: str, log: Path
    ) -> None:
        """`log` is the file to which this process logs."""
        self._keeper = keeper
        self._start_jvm = start_jvm
        self._token = token
        self._log = log
        self._note: Callable[[int], None] = lambda _: None
        self._noted: int | None = None
        """The number of the user whose process id is in the state file."""
        self._jvm: Jvm | None = None
        self._numbers = itertools.count()
        self._answers: dict[int, asyncio.Future[Mapping[str, object]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._dead: Jvm | None = None
        self.over = asyncio.Event()

    async def run(self, note: Callable[[int, int], None]) -> None:
        """Serve users until the service ends. `note` is called with the port and the user's process
        id, at the beginning and at each change. The process id is 0 if there is no user.
        """
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._note = partial(note, server.sockets[0].getsockname()[1])
        self._note(0)
        while not self.over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.over.wait(), TICK_S)
            self._perform(self._keeper.tick(time.monotonic()))
        server.close()
        if self._jvm is not None:
            await asyncio.to_thread(self._jvm.kill)

    def end(self) -> None:
        """End the service at once, even if it has a user."""
        self.over.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection."""
        try:
            question = json.loads(await reader.readline())
            if not secrets.compare_digest(str(question["token"]), self._token):
                return
            match question["ask"]:
                case "lend":
                    await self._lend(
                        reader, writer, int(question.get("pid", 0)), idle_s_in(question)
                    )
                case "status":
                    await _say(writer, self._status())
                case "end":
                    await _say(writer, {"in_use": self._keeper.in_use})
                    self._perform(self._keeper.end())
        except (ConnectionError, ValueError, LookupError, TypeError) as error:
            _log.warning("the request of a user is malformed, or the user has left: %r", error)
        finally:
            writer.close()

    async def _lend(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        pid: int,
        idle_s: float | None,
    ) -> None:
        user = next(self._numbers)
        answer = self._answers[user] = asyncio.get_running_loop().create_future()
        gone = asyncio.ensure_future(reader.read())  # ends when the user leaves
        try:
            self._perform(self._keeper.ask(user, time.monotonic(), idle_s))
            if self._keeper.is_user(user):
                self._noted = user
                self._note_user(pid)
            await asyncio.wait([answer, gone], return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                await _say(writer, answer.result())
                if "error" not in answer.result():
                    await gone
        finally:
            gone.cancel()
            del self._answers[user]
            if self._noted == user:
                self._noted = None
                self._note_user(0)
            self._perform(self._keeper.leave(user, time.monotonic()))

    def _note_user(self, pid: int) -> None:
        with suppress(OSError):  # only a measurement needs it
            self._note(pid)

    def _status(self) -> Mapping[str, object]:
        keeper = self._keeper
        return {
            "state": keeper.state,
            "in_use": keeper.in_use,
            "loans": keeper.loans,
            "jvms": keeper.jvms,
            "jvm": None if self._jvm is None else self._jvm.pid,
            "idle_s": keeper.idle_s,
        }

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            _log.info("%s", effect)
            match effect:
                case Start():
                    self._spawn(self._start())
                case Clean():
                    self._spawn(self._clean())
                case Kill():
                    jvm, self._jvm = self._jvm, None
                    if jvm is not None:
                        self._spawn(asyncio.to_thread(jvm.kill))
                case Lend(user):
                    assert self._jvm is not None
                    size = self._log.stat().st_size if self._log.exists() else 0
                    place = {"log": str(self._log), "log_size": size}
                    self._answer(user, {**self._jvm.lent(), **place})
                case Refuse(user, why):
                    self._answer(user, {"error": why})
                case End():
                    self.over.set()

    def _answer(self, user: int, answer: Mapping[str, object]) -> None:
        waiting = self._answers.get(user)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("the service has failed", exc_info=error)
            self.over.set()  # the next user starts another service

    async def _start(self) -> None:
        from kafka_edu.spark.java_gateway import SparkStartError

        try:
            jvm = await asyncio.to_thread(self._start_jvm)
        except (SparkStartError, OSError) as error:
            self._perform(self._keeper.failed(str(error)))
            return
        self._jvm = jvm
        self._spawn(self._watch(jvm))
        self._perform(self._keeper.started())

    async def _watch(self, jvm: Jvm) -> None:
        """Wait until the JVM ends."""
        code = await asyncio.to_thread(jvm.wait)
        _log.info("the JVM has ended with %s", code)
        self._dead = jvm
        await asyncio.to_thread(jvm.kill)
        if jvm is self._jvm:
            self._jvm = None if self._keeper.state is not State.CLEANING else jvm
            self._perform(self._keeper.ended())

    async def _clean(self) -> None:
        """Clean the JVM. If that takes too long, kill it."""
        jvm = self._jvm
        assert jvm is not None
        limit = jvm.limit()
        cleaning = asyncio.create_task(asyncio.to_thread(jvm.clean))
        while not (await asyncio.wait([cleaning], timeout=LOOK_EVERY_S))[0]:
            if limit.is_over():
                _log.warning("the JVM could not be cleaned in time")
                await asyncio.to_thread(jvm.kill)  # this ends the cleaning, with an error
        error = cleaning.exception()
        if error is not None:
            _log.warning("the JVM is not clean: %s", str(error).partition("\n")[0])
        # The JVM may have ended just after it was cleaned. `_watch` leaves this case to this
        # method.
        done = error is None and jvm is not self._dead
        self._perform(self._keeper.cleaned(done, time.monotonic()))


def idle_s_in(question: Mapping[str, Any]) -> float | None:
    """Return the idle time in a request, or None if there is none. Raises ValueError or TypeError
    if it is not a number.
    """
    if question.get("idle_s") is None:
        return None
    idle_s = float(question["idle_s"])
    if not math.isfinite(idle_s):
        raise ValueError(f"an idle time of {idle_s} s")
    return idle_s


async def _say(writer: asyncio.StreamWriter, answer: Mapping[str, object]) -> None:
    writer.write(json.dumps(answer).encode() + b"\n")
    await writer.drain()


async def serve(folder: Path, idle_s: float, fingerprint: str) -> None:
    """Run the service until it ends. Its state file exists as long as the service can be
    reached.
    """
    from kafka_edu.spark.warm_jvm import start_warm_jvm

    token = secrets.token_hex(16)
    keeper = DriverKeeper(time.monotonic(), idle_s)
    service = DriverService(keeper, lambda: start_warm_jvm(folder), token, folder / LOG)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, service.end)
    state = folder / STATE

    def note(port: int, user: int) -> None:
        write_private_json(
            state,
            {
                "pid": os.getpid(),
                "began": began_at(os.getpid()),
                "port": port,
                "token": token,
                "fingerprint": fingerprint,
                "user": user,
            },
        )

    try:
        await service.run(note)
    finally:
        with suppress(OSError, ValueError, LookupError):
            if json.loads(state.read_bytes())["pid"] == os.getpid():
                state.unlink()


async def serve_and_exit(folder: Path, idle_s: float, fingerprint: str) -> None:
    """Run the service, and then end this process without waiting for a thread that may be starting
    a JVM. asyncio would wait for that thread. The JVM ends with this process.
    """
    await serve(folder, idle_s, fingerprint)
    logging.shutdown()
    os._exit(0)


def main() -> None:
    """Set the environment that the JVM and its Python workers need, and serve."""
    from kafka_edu.spark.connectors import set_environment

    folder, idle_s, fingerprint = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.setdefault("SPARK_SUBMIT_OPTS", JVM_OPTIONS)
    set_environment(on_loopback=True)
    asyncio.run(serve_and_exit(folder, idle_s, fingerprint))


if __name__ == "__main__":
    main()
