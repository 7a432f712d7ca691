"""Send requests to a broker and record its answers; send the recorded requests again and compare.

A recording is a list of steps. Each step is a JSON object:

    step      name of the case, type and version of the request; repetitions are counted (#2, #3 …)
    on        name of the connection; it is opened when first used, and again after it was closed
    request   the whole frame with its size, as hex; absent where only a late answer is read
    answer    `normalised`; "closed" for the end of the connection; absent where an answer
              is read later, or where there is none
    of        API key and version of the request that is answered
    decoded   `answer` holds the records themselves, not only their size
    words     `answer` holds the texts for people word by word, not only their presence
    own       values that the broker made for itself in this answer (member ids, fetch sessions …),
              as hex; later requests may repeat them
    until     the request was repeated until this answer came, because a broker needs some time (to
              find a coordinator, say)
    raw       the frame is not a request; only the first six bytes of the answer count, and the
              connection is closed after it

A replay sends the recorded bytes. Where these contain a value that the recorded broker made for
itself, the replay puts in the value that the replayed broker made.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct
from typing import Any, Final, NamedTuple

from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.schema import Message
from tests.conformance.brokers import (
    CLOSED,
    Broker,
    Line,
    decoded_records,
    normalised,
    own_bytes,
    size_of_records,
)

Step = dict[str, Any]
#: Size, key, version, correlation id, and the length of a null client id.
HEADER_WITHOUT_CLIENT_ID: Final = Struct(">ihhih")
RETRIES: Final = 600
RETRY_MS: Final = 100


class Asker:
    """Sends requests to a broker and keeps each of them, with its answer, as a step."""

    def __init__(self, broker: Broker) -> None:
        self.steps: list[Step] = []
        self._broker = broker
        self._lines: dict[str, Line] = {}
        self._waiting: dict[str, deque[tuple[int, int, str]]] = {}
        self._correlation_id = 0
        self._asked: dict[str, int] = {}
        self.words = False
        """From the next request on, compare the texts for people word by word."""

    def ask(
        self,
        name: str,
        request: Message,
        version: int,
        *,
        on: str = "",
        until: Callable[[Any], bool] | None = None,
        decoded: bool = False,
    ) -> Any:  # the caller knows the type of the answer
        """Send a request and return the answer, or None when the broker closed the connection
        instead. With `decoded`, the records are compared, not only their size.

        With `until`, repeat the request until this condition holds, and keep only the last answer.
        Raises AssertionError when the condition never holds.
        """
        for _ in range(RETRIES):
            step = self._step(name, request, version, on)
            if decoded:
                step["decoded"] = True
            if self.words:
                step["words"] = True
            line = self._line(on)
            line.send(bytes.fromhex(step["request"]))
            response = self._receive(step, line, on)
            if until is None or (response is not None and until(response)):
                break
            self._broker.pause(RETRY_MS)
        else:
            raise AssertionError(
                f"{name}: the answer was still {step['answer']} after {RETRIES} tries"
            )
        if until is not None:
            step["until"] = True
        self._keep(step)
        return response

    def send(self, name: str, request: Message, version: int, *, on: str = "") -> None:
        """Send a request without waiting for the answer. If there will be an answer, call `receive`
        later.
        """
        step = self._step(name, request, version, on)
        key, version = step.pop("of")
        self._keep(step)
        self._waiting.setdefault(on, deque()).append((key, version, step["step"]))
        self._line(on).send(bytes.fromhex(step["request"]))

    def receive(self, *, on: str = "") -> Any:
        """Return the answer to the oldest `send` on this connection that was not received yet."""
        key, version, label = self._waiting[on].popleft()
        step: Step = {"step": f"{label}, answered", "on": on, "of": [key, version]}
        response = self._receive(step, self._line(on), on)
        self._keep(step)
        return response

    def ask_raw(self, name: str, frame: bytes) -> None:
        """Send bytes that are not a request, on a connection of their own."""
        step: Step = {"step": name, "request": frame.hex(), "raw": True}
        step["answer"] = raw_answer(self._broker, frame)
        self._keep(step)

    def ask_body(
        self, name: str, request: type[Message], version: int, body: bytes
    ) -> Any:  # the caller knows the type of the answer
        """Send a body that no encoder writes. `request` is the type of request whose header is sent
        before the body. The other parameters and the result are as in `ask`.
        """
        if request.KEY is None:
            raise ValueError(f"{request.__name__} is not a request")
        self._correlation_id += 1
        tags = b"\0" if request.KEY.is_flexible(version) else b""
        size = HEADER_WITHOUT_CLIENT_ID.size - 4 + len(tags) + len(body)
        frame = (
            HEADER_WITHOUT_CLIENT_ID.pack(size, request.KEY, version, self._correlation_id, -1)
            + tags
            + body
        )
        step: Step = {
            "step": f"{name}, {request.__name__} v{version}",
            "on": "",
            "request": frame.hex(),
            "of": [int(request.KEY), version],
        }
        line = self._line("")
        line.send(frame)
        response = self._receive(step, line, "")
        self._keep(step)
        return response

    def close(self, *, on: str = "") -> None:
        """Close the connection. The next request on it opens another one."""
        self._close(on)
        self._keep({"step": f"close {on}".strip(), "on": on, "close": True})

    def pause(self, ms: int) -> None:
        """Let `ms` pass, where the case needs it: until a session expires, say."""
        self._broker.pause(ms)
        self._keep({"step": f"{ms} ms pass", "pause": ms})

    def _keep(self, step: Step) -> None:
        label = step["step"]
        count = self._asked[label] = self._asked.get(label, 0) + 1
        if count > 1:
            step["step"] = f"{label} #{count}"
        self.steps.append(step)

    def _step(self, name: str, request: Message, version: int, on: str) -> Step:
        if request.KEY is None:
            raise ValueError(f"{type(request).__name__} is not a request")
        self._correlation_id += 1
        frame = b"".join(
            bytes(part_bytes(part))
            for part in encode_request(request, version, self._correlation_id, "answers")
        )
        return {
            "step": f"{name}, {type(request).__name__} v{version}",
            "on": on,
            "request": frame.hex(),
            "of": [int(request.KEY), version],
        }

    def _line(self, on: str) -> Line:
        if on not in self._lines:
            self._lines[on] = self._broker.connect()
        return self._lines[on]

    def _close(self, on: str) -> None:
        self._waiting.pop(on, None)
        line = self._lines.pop(on, None)
        if line is not None:
            line.close()

    def _receive(self, step: Step, line: Line, on: str) -> Message | None:
        frame = line.receive()
        if frame is None:
            self._close(on)
            step["answer"] = CLOSED
            return None
        key, version = step["of"]
        response = decode_response(key, version, frame)[1]
        step["answer"] = _as_recorded(step, response)
        if own := [each.hex() for each in own_bytes(response)]:
            step["own"] = own
        return response


def _as_recorded(step: Step, response: Message) -> object:
    """Return the answer in the form that this step keeps."""
    return normalised(
        response,
        records=decoded_records if step.get("decoded") else size_of_records,
        words=step.get("words", False),
    )


def raw_answer(broker: Broker, frame: bytes) -> str:
    line = broker.connect()
    line.send(frame)
    answer = line.receive()
    line.close()
    return CLOSED if answer is None else answer[:6].hex()


class Difference(NamedTuple):
    """A step whose answer differs from the recorded one."""

    step: str
    recorded: object
    answered: object

    def __str__(self) -> str:
        return f"{self.step}\n    recorded: {self.recorded}\n    answered: {self.answered}"


class Replay:
    """Sends the recorded requests to another broker and compares the answers."""

    def __init__(self, broker: Broker, retries: int = RETRIES) -> None:
        """A request with `until` is sent again until its answer is the recorded one, at most
        `retries` times.
        """
        self._broker = broker
        self._retries = retries
        self._lines: dict[str, Line] = {}
        self._ours: dict[bytes, bytes] = {}
        """Value that the recorded broker made for itself → the value that this broker made."""

    def differences(self, steps: list[Step]) -> Iterator[Difference]:
        for step in steps:
            if "pause" in step:
                self._broker.pause(step["pause"])
            elif "close" in step:
                self._close(step["on"])
            else:
                answered = self._answer(step)
                if answered != step.get("answer"):
                    yield Difference(step["step"], step.get("answer"), answered)

    def _answer(self, step: Step) -> object:
        frame = self._translated(bytes.fromhex(step["request"])) if "request" in step else None
        if step.get("raw"):
            assert frame is not None
            return raw_answer(self._broker, frame)
        for attempt in range(self._retries):
            if attempt:
                self._broker.pause(RETRY_MS)
            answered = self._once(step, frame)
            if answered == step.get("answer") or not step.get("until"):
                break
        return answered

    def _once(self, step: Step, frame: bytes | None) -> object:
        on = step["on"]
        if on not in self._lines:
            self._lines[on] = self._broker.connect()
        line = self._lines[on]
        if frame is not None:
            line.send(frame)
        if "of" not in step:
            return None
        answer = line.receive()
        if answer is None:
            self._close(on)
            return CLOSED
        response = decode_response(*step["of"], answer)[1]
        made = list(own_bytes(response))
        if len(made) == len(step.get("own", ())):
            for recorded, ours in zip(map(bytes.fromhex, step.get("own", ())), made, strict=True):
                self._ours.setdefault(recorded, ours)
        return _as_recorded(step, response)

    def _translated(self, frame: bytes) -> bytes:
        for recorded, ours in self._ours.items():
            if recorded != ours and recorded in frame:
                if len(recorded) != len(ours):
                    raise ValueError(
                        f"{recorded!r} cannot be replaced by {ours!r}: their lengths differ,"
                        " and the frame contains the length"
                    )
                frame = frame.replace(recorded, ours)
        return frame

    def _close(self, on: str) -> None:
        line = self._lines.pop(on, None)
        if line is not None:
            line.close()


RECORDINGS: Final = Path(__file__).parent / "recordings"


def golden_path(name: str) -> Path:
    return RECORDINGS / f"{name}.jsonl"


def write_steps(name: str, steps: list[Step]) -> None:
    golden_path(name).write_text(
        "".join(f"{json.dumps(step, ensure_ascii=False)}\n" for step in steps), encoding="utf-8"
    )


def read_steps(name: str) -> list[Step]:
    return [json.loads(line) for line in golden_path(name).read_text(encoding="utf-8").splitlines()]
