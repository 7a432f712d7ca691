"""The state of the Wire screen: the captured frames, the chosen frame as a tree, and the cursor.

Events report which brokers capture, and into which file. The frames themselves come from these
files: the program that reads the files calls `add`.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeVar

from kafka_edu.instruments.wire.capture import Frames, decode_captured, key_of
from kafka_edu.instruments.wire.gist import gist
from kafka_edu.instruments.wire.render import Row, node_rows
from kafka_edu.instruments.wire.tree import Decoded, Node
from kafka_edu.instruments.wire.words import api_name
from kafka_edu.protocol.capture_format import CapturedFrame
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.network import (
    FrameCaptureSnapshot,
    FrameCaptureStarted,
    FrameCaptureStopped,
)

T = TypeVar("T")

_MOST_GLANCES: Final = 500

WIRE_EVENTS: Final = (FrameCaptureStarted, FrameCaptureSnapshot, FrameCaptureStopped)


class Capture(NamedTuple):
    """The capture of frames on one broker."""

    clients: tuple[str, ...]
    file: str
    ended: str
    """Why the capture has ended; empty while it runs."""


class WireView:
    """The state of the Wire screen. Only the chosen frame is decoded into a tree."""

    READS: Final = frozenset({FrameCaptureSnapshot, FrameCaptureStarted, FrameCaptureStopped})
    """The types of events that change this view."""

    def __init__(self) -> None:
        self.captures: dict[int, Capture] = {}
        """Broker → its latest capture."""
        self.frames = Frames()
        self.client: str | None = None
        """The list shows only the frames of this client. If it is None, it shows those of all
        clients.
        """
        self.api: int | None = None
        """The list shows only the frames of this API. If it is None, it shows those of all APIs."""
        self.listed: list[CapturedFrame] = []
        self.chosen: CapturedFrame | None = None
        self.decoded: Decoded | None = None
        self.rows: list[Row] = []
        """The open part of the chosen frame's tree, as rows."""
        self.row = 0
        self.byte = 0
        self.wanted: tuple[str, int] | None = None
        """The connection and correlation id of a request to choose as soon as its frame is read."""
        self._glances: dict[int, tuple[CapturedFrame, bool, str]] = {}
        self._open: set[int] = set()
        self._shut: set[int] = set()

    # The captures of the brokers

    def forget_captures(self) -> None:
        """Forget the reported captures, because a recording is rewound."""
        self.captures = {}

    def apply(self, envelope: Envelope) -> None:
        broker = envelope.broker
        if broker is None:
            return
        match envelope.event:
            case FrameCaptureStarted() | FrameCaptureSnapshot() as e:
                self.captures[broker] = Capture(e.clients, e.file, "")
            case FrameCaptureStopped() as e:
                before = self.captures.get(broker)
                clients = before.clients if before is not None else ()
                self.captures[broker] = Capture(clients, e.file, e.reason)

    @property
    def running(self) -> dict[int, Capture]:
        """Broker → its capture, for the captures that are running."""
        return {broker: one for broker, one in self.captures.items() if not one.ended}

    # The list of frames

    def glance(self, frame: CapturedFrame) -> tuple[bool, str]:
        """Return whether a frame is correct, and a summary of it.

        Each frame is decoded once for this.
        """
        known = self._glances.get(id(frame))
        if known is not None and known[0] is frame:
            return known[1], known[2]
        decoded = self.decoded if frame is self.chosen else decode_captured(frame)
        if decoded is None:
            return True, ""
        is_right = frame.is_cut or not decoded.problems
        self._glances[id(frame)] = frame, is_right, gist(decoded)
        if len(self._glances) > _MOST_GLANCES:
            self._glances.pop(next(iter(self._glances)))
        return is_right, gist(decoded)

    def add(self, frames: Iterable[CapturedFrame]) -> None:
        """Add frames that were read from files. If no frame is chosen, choose the first one."""
        new = list(frames)
        if not new:
            return
        self.frames.add(new)
        self._list()
        if self.wanted is not None:
            self.want(*self.wanted)
        if self.chosen is None and self.listed:
            self.choose(self.listed[0])

    def _list(self) -> None:
        self.listed = [
            frame
            for frame in self.frames
            if (self.client is None or frame.client_id == self.client)
            and (self.api is None or frame.api_key == self.api)
        ]

    def next_client(self) -> None:
        """Show only the frames of the next client. After the last client, show all frames."""
        clients = sorted({frame.client_id for frame in self.frames})
        self.client = _next(clients, self.client)
        self._list()

    def next_api(self) -> None:
        """Show only the frames of the next API. After the last API, show all frames."""
        self.api = _next(sorted({frame.api_key for frame in self.frames}), self.api)
        self._list()

    @property
    def filter_words(self) -> str:
        """The filter of the list as a text: client and API."""
        of = [f"client {self.client or '(none)'}"] if self.client is not None else []
        if self.api is not None:
            of.append(api_name(self.api) or "unreadable")
        return " · ".join(of)

    # The chosen frame

    def choose(self, frame: CapturedFrame) -> None:
        """Decode this frame. The cursor goes to its first wrong byte, or to its first field."""
        self.wanted = None
        if frame is self.chosen:
            return
        self.chosen = frame
        self.decoded = decode_captured(frame)
        self._open, self._shut = set(), set()
        self._make_rows()
        first = self.decoded.first_problem
        self.row = 0
        self.byte = 0
        if first is not None and frame.data:
            self.select_byte(min(first.at, len(frame.data) - 1))

    def want(self, connection_id: str, correlation_id: int) -> None:
        """Choose a request by connection and correlation id, now or when its frame is read."""
        here = self.find(connection_id, correlation_id)
        self.wanted = None if here else (connection_id, correlation_id)

    def find(self, connection_id: str, correlation_id: int) -> bool:
        """Choose a request by connection and correlation id. Return whether its frame was read."""
        frame = self.frames.find(connection_id, correlation_id)
        if frame is None:
            return False
        self.client = self.api = None
        self._list()
        self.choose(frame)
        return True

    @property
    def partner(self) -> CapturedFrame | None:
        """The response to the chosen request, or the request of the chosen response, or None."""
        return self.frames.partner(self.chosen) if self.chosen is not None else None

    def choose_partner(self) -> bool:
        """Choose the partner of the chosen frame. Return whether the partner was captured."""
        partner = self.partner
        if partner is None:
            return False
        self.choose(partner)
        return True

    @property
    def listed_at(self) -> int | None:
        """The index of the chosen frame in the list. None if the filter hides it."""
        return next((i for i, frame in enumerate(self.listed) if frame is self.chosen), None)

    def is_pair(self, frame: CapturedFrame) -> bool:
        """Return whether this frame belongs to the same request as the chosen frame."""
        return self.chosen is not None and key_of(frame) == key_of(self.chosen)

    # The cursor in the chosen frame

    def _make_rows(self) -> None:
        if self.decoded is None:
            self.rows = []
            return
        found: list[Row] = []

        def add(node: Node, depth: int, is_inner: bool) -> None:
            (row, *_) = node_rows(node, unfold=False, is_inner=is_inner, depth=depth)
            here = id(node)
            is_open = (row.is_open or here in self._open) and here not in self._shut
            found.append(row._replace(is_open=is_open and bool(node.children)))
            if is_open:
                for child in node.children:
                    add(child, depth + 1, is_inner)
            if here not in self._shut:
                for inner in node.inner:
                    add(inner, depth + 1, True)

        for node in self.decoded.root.children:
            add(node, 0, False)
        self.rows = found

    @property
    def node(self) -> Node | None:
        """The field under the cursor, or None."""
        return self.rows[self.row].node if self.row < len(self.rows) else None

    @property
    def span(self) -> tuple[int, int]:
        """The range of bytes of the field under the cursor.

        If the field is compressed, it is the range of the compressed bytes that contain it.
        """
        for row in reversed(self.rows[: self.row + 1]):
            if not row.is_inner:
                return row.node.start, row.node.end
        return 0, 0

    def select_row(self, row: int) -> None:
        """Put the cursor on a field. The byte cursor goes to the field's first byte."""
        self.row = min(max(row, 0), max(len(self.rows) - 1, 0))
        self.byte = self.span[0]

    def select_byte(self, at: int) -> None:
        """Put the cursor on a byte, and on the smallest visible field that contains it."""
        if self.decoded is None or not self.decoded.data:
            return
        self.byte = min(max(at, 0), len(self.decoded.data) - 1)
        best = self.row
        size = len(self.decoded.data) + 1
        for index, row in enumerate(self.rows):
            node = row.node
            if not row.is_inner and node.start <= self.byte < node.end and node.size < size:
                best, size = index, node.size
        self.row = best

    def toggle(self) -> None:
        """Open or close the field under the cursor."""
        node = self.node
        if node is None or not (node.children or node.inner):
            return
        here, is_open = id(node), self.rows[self.row].is_open
        (self._open if is_open else self._shut).discard(here)
        (self._shut if is_open else self._open).add(here)
        self._make_rows()

    @property
    def path(self) -> str:
        """The names on the path from the frame to the field under the cursor, joined by dots."""
        if self.row >= len(self.rows):
            return ""
        names: list[str] = []
        depth = self.rows[self.row].depth + 1
        for row in reversed(self.rows[: self.row + 1]):
            if row.depth < depth:
                names.append(row.node.name)
                depth = row.depth
        return ".".join(reversed(names)).replace(".[", "[")


def _next(values: list[T], present: T | None) -> T | None:
    """Return the value after `present`. After the last value comes None, and after None the first
    value.
    """
    if present is None:
        return values[0] if values else None
    later = values[values.index(present) + 1 :] if present in values else []
    return later[0] if later else None
