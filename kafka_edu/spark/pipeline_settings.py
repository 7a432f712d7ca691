"""The settings of one run of the pipeline (module `pipeline`)."""

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_edu.spark.connectors import Connector

if TYPE_CHECKING:
    pass


class PipelineSettings(NamedTuple):
    """The folders, topics and numbers of one run of the pipeline. Times in seconds are in the log's
    own time.
    """

    bootstrap_servers: str
    topic: str
    out: str
    """The folder for the results."""
    checkpoint: str
    """The folder in which a stream stores its offsets and its state."""
    connector: Connector = Connector.PYTHON
    window_s: int = 60
    gap_s: int = 300
    """A pause of more than this many seconds between two lines of a client ends a session."""
    watermark_s: int = 120
    """A line that is written more than this many seconds after its own time is too late."""
    apart_s: int = 600
    """How many seconds one partition may be ahead of another while they are read."""
    batch_lines: int = 20_000
    """The largest number of lines in a micro-batch."""
    also_append: bool = False
    """Whether the lines are written a second time, at least once, to show the difference."""
    result_topic: str = ""
    """The topic for the windows as records. Empty if there is none."""
    lines_topic: str = ""
    """The topic that gets a record for each readable line. Empty if there is none."""
    doubles_topic: str = ""
    """The topic that gets the same records at least once, to show the difference. Empty if there is
    none.
    """

    @property
    def delay_s(self) -> int:
        """Return the delay of Spark's watermark in seconds: how long a window stays in the state
        after its end.
        """
        return self.watermark_s + self.apart_s

    def to_json(self) -> str:
        """Return the settings as a JSON text, for another process."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> "PipelineSettings":
        """Return the settings from a JSON text that `to_json` has made."""
        fields: dict[str, Any] = json.loads(text)
        return cls(**{**fields, "connector": Connector(fields["connector"])})
