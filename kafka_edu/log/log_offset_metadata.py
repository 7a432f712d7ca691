"""An offset together with its place in the log's segments (Kafka: LogOffsetMetadata.scala)."""

from typing import Final, NamedTuple

UNKNOWN_SEGMENT: Final = -1
UNKNOWN_POSITION: Final = -1


class LogOffsetMetadata(NamedTuple):
    """An offset, the base offset of its segment, and its position in that segment in bytes.

    The base offset and the position are -1 as long as they have not been looked up. If two offsets
    in one segment have their positions, the number of bytes between them can be computed. So
    DelayedFetch can count bytes without reading the log.
    """

    message_offset: int
    segment_base_offset: int = UNKNOWN_SEGMENT
    relative_position_in_segment: int = UNKNOWN_POSITION

    @property
    def message_offset_only(self) -> bool:
        return self.segment_base_offset < 0

    def on_older_segment(self, that: "LogOffsetMetadata") -> bool:
        """Return whether this offset is in an older segment than `that`. Both places must be
        known.
        """
        self._check(that)
        return self.segment_base_offset < that.segment_base_offset

    def on_same_segment(self, that: "LogOffsetMetadata") -> bool:
        self._check(that)
        return self.segment_base_offset == that.segment_base_offset

    def position_diff(self, that: "LogOffsetMetadata") -> int:
        """Return the number of bytes from `that` to this offset. Both offsets must be in the same
        segment.
        """
        if not self.on_same_segment(that):
            raise ValueError(f"{self} and {that} lie on different segments")
        return self.relative_position_in_segment - that.relative_position_in_segment

    def _check(self, that: "LogOffsetMetadata") -> None:
        if self.segment_base_offset < 0 or that.segment_base_offset < 0:
            raise ValueError(
                f"the place of {self if self.segment_base_offset < 0 else that} is not known"
            )
