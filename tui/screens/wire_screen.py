"""The screen Wire (0): what clients and brokers send to each other, byte by byte."""

from pathlib import Path
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from kafka_edu.instruments.replay import Replay
from kafka_edu.instruments.wire.capture import CaptureError, CaptureFollower
from kafka_edu.supervisor.cluster_folder import ClusterFolder

from ..model import Model
from ..subjects import WIRE_BYTES, WIRE_FRAMES, WIRE_TREE
from ..widgets.drawn import Lines
from ..widgets.status_line import StatusLine
from ..widgets.wire_board import FieldDetail, FrameLines, HexLines, TreeLines, WireAnswer
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration

_MIDDLE, _WIDE = 110, 150
_FEW_ROWS: Final = 30
#: The clients to capture: all but brokers. Followers fetch all the time, and the file's size is
#: limited. Their requests would leave no room for those of the clients.
_ALL_BUT_BROKERS: Final = "*,-broker-*"


class WireScreen(DashboardScreen):
    """Shows the frames above, and the chosen frame below: its tree left, its bytes right."""

    declaration = ScreenDeclaration(
        name="wire",
        key="0",
        title="Wire",
        question="What is sent, byte by byte?",
        subjects=(WIRE_FRAMES, WIRE_TREE, WIRE_BYTES),
        acts=("capture",),
        break_="an old client, or a broken frame",
    )
    default_subject = WIRE_TREE
    has_strip = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "capture", "capture on/off"),
        Binding("w", "partner", "request/response"),
        Binding("i", "client", "client"),
        Binding("a", "api", "API"),
    ]

    def __init__(self, model: Model, replay: Replay | None, folder: ClusterFolder | None) -> None:
        super().__init__(model, replay, folder)
        self._followers: dict[str, CaptureFollower] = {}

    def body(self) -> ComposeResult:
        """Yield the widgets, and keep references to them.

        While the screen closes, a tick may still come. Then only these references find the widgets.
        """
        model = self.model
        self._answer, self._frames = WireAnswer(model), FrameLines(model)
        self._tree, self._bytes, self._detail = (
            TreeLines(model),
            HexLines(model),
            FieldDetail(model),
        )
        yield from (self._answer, self._frames)
        yield Horizontal(self._tree, self._bytes, id="wire-body")
        yield self._detail

    def on_mount(self) -> None:
        if self.replay is None and self.folder is None:  # only a file of frames, without a cluster
            for line in self.query(StatusLine):
                line.display = False
        self._frames.focus()
        self.tick()

    def on_resize(self) -> None:
        """Show 8 or 16 bytes in a row, and their text if there is room."""
        width = self.size.width
        self._bytes.set_class(_MIDDLE <= width < _WIDE, "middle")
        self._bytes.set_class(width >= _WIDE, "wide")
        self._detail.styles.height = 3 if self.size.height < _FEW_ROWS else 4

    def tick(self) -> None:
        self._read()
        super().tick()
        self._tree.tick()
        self._bytes.tick()

    def _read(self) -> None:
        """Read the frames that the brokers of a live cluster have captured since the last call."""
        if self.folder is None:
            return
        files = {one.file for one in self.model.wire.captures.values()}
        files |= {str(path) for path in self.folder.captures()}
        for file in sorted(files):
            follower = self._followers.setdefault(file, CaptureFollower(Path(file)))
            try:
                self.model.wire.add(follower.poll())
            except CaptureError as error:
                self.notify(str(error), severity="error")

    def action_broker(self, by: int) -> None:
        self.action_partner()

    def action_partner(self) -> None:
        """Go from a request to its response, or back."""
        if self.model.wire.choose_partner():
            self._redraw_frame()
        else:
            self.notify("the other half of this pair is not captured", timeout=4)

    def action_client(self) -> None:
        self.model.wire.next_client()
        self._frames.redraw()

    def action_api(self) -> None:
        self.model.wire.next_api()
        self._frames.redraw()

    def on_frame_lines_moved(self, _: FrameLines.Moved) -> None:
        self._redraw_frame()

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        if message.lines is self._frames and self._frames.cursor < len(self.model.wire.listed):
            self.model.wire.choose(self.model.wire.listed[self._frames.cursor])
            self._redraw_frame()

    def _redraw_frame(self) -> None:
        for lines in (self._frames, self._tree, self._bytes):
            lines.redraw()
        self.tick()

    def action_capture(self) -> None:
        """Start or stop capturing frames on all brokers, of all clients but the followers."""
        if self.folder is None:
            self.acts.refuse("a recording has no frames; --capture FILE shows a file of frames")
            return
        clients = "off" if self.model.wire.running else _ALL_BUT_BROKERS
        self.acts.ask("capture", {"clients": clients})
