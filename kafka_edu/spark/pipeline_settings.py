"""The settings of a pipeline (`pipeline`)."""

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_edu.spark.connectors import Connector

if TYPE_CHECKING:
    pass


class PipelineSettings(NamedTuple):
    """The places and the numbers of one pipeline. Seconds are those of the log's own time."""

    bootstrap_servers: str
    topic: str
    out: str
    """The folder of the results."""
    checkpoint: str
    """The folder in which a stream keeps its offsets and its state."""
    connector: Connector = Connector.PYTHON
    window_s: int = 60
    gap_s: int = 300
    """A longer pause ends a session."""
    watermark_s: int = 120
    """A line that was written later than that after its time is too late."""
    apart_s: int = 600
    """The farthest that one partition may be ahead of another while they are read."""
    batch_lines: int = 20_000
    """At most so many lines in a micro-batch."""
    also_append: bool = False
    """Write the lines a second time, at least once, to show the difference."""
    result_topic: str = ""
    """The topic of the windows' records. Empty: none."""
    lines_topic: str = ""
    """The topic of a record for each line that could be read. Empty: none."""
    doubles_topic: str = ""
    """The topic of the same records, at least once, to show the difference. Empty: none."""

    @property
    def delay_s(self) -> int:
        """Return how long after its end a window stays in the state: Spark's watermark delay."""
        return self.watermark_s + self.apart_s

    def to_json(self) -> str:
        """Return the settings for a process of its own."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> "PipelineSettings":
        """Return the settings that `to_json` wrote."""
        fields: dict[str, Any] = json.loads(text)
        return cls(**{**fields, "connector": Connector(fields["connector"])})
