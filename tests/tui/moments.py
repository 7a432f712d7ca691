"""For each screen, the recording and the moment in it at which the screen answers its question.

The snapshot tests and the pictures of docs/dashboard.md show these moments. Draw both again with

    PYTHONPATH=. python -m tests.tui.snapshots
    PYTHONPATH=. python -m tests.tui.pictures
"""

from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.instruments.recording import cluster_of, read_recordings
from kafka_edu.instruments.replay import Replay
from kafka_edu.instruments.wire.capture import read_capture
from tui.app import DashboardApp
from tui.view_model.wire_view import WireView

RECORDINGS: Final = Path(__file__).parent / "recordings"


class Moment(NamedTuple):
    """A recording and a time in it. A capture of frames has no time."""

    recording: str
    at_ms: int = 0


MOMENTS: Final[dict[str, Moment]] = {
    "cluster": Moment("leader-killed.jsonl.gz", 17_000),
    "wheels": Moment("leader-killed.jsonl.gz", 14_500),
    "purgatory": Moment("follower-paused.jsonl.gz", 13_000),
    "replication": Moment("replica-truncated.jsonl.gz", 15_500),
    "controller": Moment("controller-killed.jsonl.gz", 9_200),
    "zookeeper": Moment("controller-paused.jsonl.gz", 7_000),
    "groups": Moment("third-consumer.jsonl.gz", 16_000),
    "requests": Moment("few-io-threads.jsonl.gz", 7_000),
    "timeline": Moment("leader-killed.jsonl.gz", 17_000),
    "wire": Moment("wire-session.capture.gz"),
    "log": Moment("log-compacted.jsonl.gz", 30_520),
    "moves": Moment("replicas-move.jsonl.gz", 11_400),
    "transactions": Moment("transactions-held.jsonl.gz", 16_800),
    "client": Moment("clients-hold.jsonl.gz", 13_000),
}


def captured(path: Path) -> WireView:
    """Return the frames of a capture. The last frame, which is broken, is selected."""
    view = WireView()
    view.add(read_capture(path))
    view.choose(view.listed[-1])
    return view


def app_at(moment: Moment) -> tuple[DashboardApp, Replay | None]:
    """Return the dashboard for a moment, and the replay that `settle` moves to this moment."""
    path = RECORDINGS / moment.recording
    if ".capture" in path.name:
        return DashboardApp("capture", wire=captured(path)), None
    replay = Replay(read_recordings([path]))
    return DashboardApp(cluster_of(path), replay=replay), replay


def settle(app: DashboardApp, replay: Replay | None, moment: Moment) -> None:
    """Go to the moment, and stay there."""
    if replay is not None:
        app.model.reset()
        app.model.apply(replay.wind_to(moment.at_ms))
        replay.playing = False
        app.model.advance(replay.clock_us)
