"""Ask a cluster's supervisor to act: the client's side of its action socket. The command line, the
dashboard and tests use it.

One line of JSON each way, over loopback:

    → {"token": "…", "id": 1, "action": "kill", "broker": 0}
    ← {"id": 1, "ok": true, "message": "broker 0 killed with SIGKILL"}
    or {"id": 1, "ok": false, "error": "…"}

The token is in a file that only the owner can read. The supervisor also emits an event with the
result of an act. The actions:

    status                            the answer also has `status`
    stop, start, kill, pause, resume  with `broker` or `zookeeper`: the id of the process
    wait-ready                        with `timeout_s`; with `broker` too it waits for this one
    release                           from the process that started the supervisor
    down                              with `delete`
    an act of `act_table`             with its parameters
"""

import json
import socket
from pathlib import Path
from typing import Final, NamedTuple

Answer = dict[str, object]

#: The default time limit of `wait-ready`.
READY_TIMEOUT_S: Final = 60.0

#: At `down` brokers stop one after another, but none waits longer than this for the earlier ones.
NEXT_BROKER_AFTER_S: Final = 10.0

#: The limit for one action. A single stop takes at most about 30 s (BROKER_PATIENCE_S), because the
#: broker shuts down in a controlled way and flushes its logs.
ACTION_TIMEOUT_S: Final = 90.0

#: The limit for the actions with which the supervisor is patient, because it does not count the
#: time for which processes wait for a core.
PATIENT_ACTION_TIMEOUT_S: Final = 900.0
PATIENT_ACTIONS: Final = frozenset({"wait-ready", "stop", "restart"})


class NoSupervisorError(Exception):
    """No supervisor answers: the cluster is down."""


class ActionRefusedError(Exception):
    """The supervisor answered that the action failed, and why."""


class ActionAddress(NamedTuple):
    """Where a supervisor listens, and the token that it requires."""

    host: str
    port: int
    token: str
    pid: int

    @staticmethod
    def read(path: Path) -> "ActionAddress":
        """Read the supervisor's file. Raises NoSupervisorError if it is missing or unreadable."""
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
    """A blocking connection to one supervisor."""

    def __init__(self, address: ActionAddress, timeout_s: float = ACTION_TIMEOUT_S) -> None:
        """Connect. Raises NoSupervisorError if nobody listens."""
        self.address = address
        self._timeout_s = timeout_s
        self._last_id = 0
        try:
            self._socket = socket.create_connection((address.host, address.port), timeout_s)
        except OSError as error:
            raise NoSupervisorError(f"the supervisor does not answer: {error}") from error
        self._answers = self._socket.makefile("rb")

    def ask(self, action: str, **arguments: int | str | bool) -> Answer:
        """Send one action and wait for its result. Raises ActionRefusedError, and NoSupervisorError
        if the supervisor has gone.
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
