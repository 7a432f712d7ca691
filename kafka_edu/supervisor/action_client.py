"""The client's side of the action socket: send requests to a cluster's supervisor. The command
line, the dashboard and tests use it.

The client connects over loopback. A request and its answer are one line of JSON each:

    → {"token": "…", "id": 1, "action": "kill", "broker": 0}
    ← {"id": 1, "ok": true, "message": "broker 0 killed with SIGKILL"}
    or {"id": 1, "ok": false, "error": "…"}

The token is in a file that only the owner can read. The supervisor also emits an event with the
result of an act. These are the actions and their parameters:

    status                            the answer also has `status`
    stop, start, kill, pause, resume  with `broker` or `zookeeper`: the id of the process
    wait-ready                        with `timeout_s`; with `broker` it waits for this broker only
    release                           none; afterwards the cluster outlives its starter
    down                              with `delete`
    an act of `act_table`             with the parameters of the act
"""

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

Answer = dict[str, object]

#: The default time limit of `wait-ready`, in seconds.
READY_TIMEOUT_S: Final = 60.0

#: How long `down` waits for one broker before it also stops the next one, in seconds.
NEXT_BROKER_AFTER_S: Final = 10.0

#: The time limit for one action, in seconds. Stopping one process takes at most about 30 s
#: (BROKER_PATIENCE_S), because a broker makes a controlled shutdown and flushes its logs.
ACTION_TIMEOUT_S: Final = 90.0

#: The time limit in seconds for actions that may take longer on a busy machine. In these actions
#: the supervisor does not count the time in which its processes wait for a core.
PATIENT_ACTION_TIMEOUT_S: Final = 900.0
PATIENT_ACTIONS: Final = frozenset({"wait-ready", "stop", "restart", "sim-reach"})


class NoSupervisorError(Exception):
    """No supervisor answers, because the cluster is down."""


class ActionRefusedError(Exception):
    """The supervisor answered that it could not carry out the action. The text is its reason."""


class ActionAddress(NamedTuple):
    """The address of a supervisor's action socket, and the token that it requires."""

    host: str
    port: int
    token: str
    pid: int

    @staticmethod
    def read(path: Path) -> "ActionAddress":
        """Read the address from the supervisor's file. Raises NoSupervisorError if the file is
        missing or cannot be read.
        """
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            return ActionAddress(
                str(fields["host"]), int(fields["port"]), str(fields["token"]), int(fields["pid"])
            )
        except FileNotFoundError:
            raise NoSupervisorError("the cluster is not up") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NoSupervisorError(
                f"{path} does not hold the address of a supervisor: {error}"
            ) from error


class ActionClient:
    """A connection to one supervisor. Its calls block."""

    def __init__(self, address: ActionAddress, timeout_s: float = ACTION_TIMEOUT_S) -> None:
        """Connect to the supervisor. Raises NoSupervisorError if nothing listens at the address."""
        self.address = address
        self._timeout_s = timeout_s
        self._last_id = 0
        try:
            self._socket = socket.create_connection((address.host, address.port), timeout_s)
        except OSError as error:
            raise NoSupervisorError(f"the supervisor does not answer: {error}") from error
        self._answers = self._socket.makefile("rb")

    def ask(self, action: str, **arguments: int | str | bool) -> Answer:
        """Send one action and wait for its result. Raises ActionRefusedError if the action failed,
        and NoSupervisorError if the supervisor has ended.
        """
        self._last_id += 1
        request = {"token": self.address.token, "id": self._last_id, "action": action, **arguments}
        patient = action in PATIENT_ACTIONS
        try:
            self._socket.settimeout(PATIENT_ACTION_TIMEOUT_S if patient else self._timeout_s)
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            line = self._answers.readline()
        except TimeoutError as error:
            raise ActionRefusedError(f"the supervisor did not finish '{action}' in time") from error
        except OSError as error:
            raise NoSupervisorError(f"the supervisor went away: {error}") from error
        if not line:
            raise NoSupervisorError("the supervisor went away")
        answer: Answer = json.loads(line)
        if not answer.get("ok"):
            raise ActionRefusedError(str(answer.get("error", "refused")))
        return answer

    def close(self) -> None:
        self._answers.close()
        self._socket.close()

    def __enter__(self) -> "ActionClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ask_once(
    address: Path,
    action: str,
    values: Mapping[str, int | str | bool] = MappingProxyType({}),
    *,
    timeout_s: float = ACTION_TIMEOUT_S,
) -> Answer:
    """Send one action to the supervisor whose address is in this file. Return its answer.

    The call blocks. It raises NoSupervisorError and ActionRefusedError.
    """
    with ActionClient(ActionAddress.read(address), timeout_s) as client:
        return client.ask(action, **values)
