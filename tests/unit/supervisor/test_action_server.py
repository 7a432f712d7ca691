"""The action socket: what it answers to the right token, to a wrong one, and to nonsense."""

import asyncio
import json
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kafka_edu.common.user_files import write_private_json
from kafka_edu.supervisor.action_client import (
    ActionAddress,
    ActionClient,
    ActionRefusedError,
    NoSupervisorError,
    ask_once,
)
from kafka_edu.supervisor.action_server import (
    MAX_LINE_BYTES,
    ActionRefused,
    ActionServer,
    Answer,
    Request,
)


async def act(action: str, request: Request) -> Answer:
    if action == "no":
        raise ActionRefused("not today")
    if action == "bug":
        raise KeyError("a bug")
    return {"message": f"{action} {request.get('broker')}"}


@contextmanager
def serving() -> Iterator[ActionAddress]:
    """An ActionServer on a loop in a thread of its own."""
    loop = asyncio.new_event_loop()
    server = ActionServer("secret", act)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        port = asyncio.run_coroutine_threadsafe(server.listen(), loop).result(5)
        yield ActionAddress("127.0.0.1", port, "secret", 1)
    finally:
        asyncio.run_coroutine_threadsafe(server.close(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_ask_and_answer() -> None:
    with serving() as address, ActionClient(address) as client:
        assert client.ask("kill", broker=0)["message"] == "kill 0"
        assert client.ask("start", broker=1) == {"id": 2, "ok": True, "message": "start 1"}


def test_one_question_on_a_connection_of_its_own(tmp_path: Path) -> None:
    with serving() as address:
        file = tmp_path / "supervisor.json"
        file.write_text(json.dumps(address._asdict()))
        assert ask_once(file, "kill", {"broker": 0}) == {"id": 1, "ok": True, "message": "kill 0"}
        with pytest.raises(ActionRefusedError, match="not today"):
            ask_once(file, "no")
    with pytest.raises(NoSupervisorError, match="does not answer"):
        ask_once(file, "kill", {"broker": 0})
    with pytest.raises(NoSupervisorError, match="not up"):
        ask_once(tmp_path / "none.json", "kill")


def test_refusal_leaves_the_connection_open() -> None:
    with serving() as address, ActionClient(address) as client:
        with pytest.raises(ActionRefusedError, match="not today"):
            client.ask("no")
        assert client.ask("yes")["ok"] is True


def test_wrong_token_is_refused_and_disconnected() -> None:
    with serving() as address, ActionClient(address._replace(token="wrong")) as client:
        with pytest.raises(ActionRefusedError, match="wrong token"):
            client.ask("kill", broker=0)
        with pytest.raises(NoSupervisorError):
            client.ask("kill", broker=0)


@pytest.mark.parametrize(
    "line",
    [
        b"hello\n",
        b"[]\n",
        b"{}\n",
        b'"x"\n',
        b'{"token": 7, "action": "kill"}\n',
        b"\xff\xfe\n",
        b"null\n",
    ],
)
def test_nonsense_ends_that_connection_alone(line: bytes) -> None:
    with serving() as address:
        with socket.create_connection((address.host, address.port), 5) as wire:
            wire.sendall(line)
            answer = wire.makefile("rb").read()
        assert json.loads(answer)["ok"] is False
        with ActionClient(address) as client:
            assert client.ask("yes")["ok"] is True


def test_endless_line_ends_that_connection_alone() -> None:
    with serving() as address:
        with socket.create_connection((address.host, address.port), 5) as wire:
            wire.sendall(b"x" * (3 * MAX_LINE_BYTES))
            with suppress(ConnectionResetError):
                assert wire.recv(1) == b""
        with ActionClient(address) as client:
            assert client.ask("yes")["ok"] is True


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(NoSupervisorError, match="not up"):
        ActionAddress.read(tmp_path / "missing.json")
    (tmp_path / "bad.json").write_text('{"host": 1}')
    with pytest.raises(NoSupervisorError, match=r"bad\.json"):
        ActionAddress.read(tmp_path / "bad.json")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(NoSupervisorError, match="does not answer"):
        ActionClient(ActionAddress("127.0.0.1", port, "", 1))


def test_secret_is_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "supervisor.json"
    path.write_text("old")
    path.chmod(0o644)
    write_private_json(path, {"host": "127.0.0.1", "port": 5, "token": "t", "pid": 1})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ActionAddress.read(path) == ActionAddress("127.0.0.1", 5, "t", 1)


def test_a_bug_in_one_action_is_an_answer_and_the_connection_goes_on() -> None:
    with serving() as address, ActionClient(address) as client:
        with pytest.raises(ActionRefusedError, match="the supervisor failed at 'bug': KeyError"):
            client.ask("bug")
        assert client.ask("kill", broker=0)["message"] == "kill 0"
