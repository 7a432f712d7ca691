"""Exercise 09-2: the reference solution (Kafka: LogSegment.shouldRoll, Log.deleteOldSegments)."""

from typing import Any


class SegmentRules:
    """The rules by which new segments begin and old segments are deleted."""

    def roll(
        self, limits: dict[str, int], segment: dict[str, Any], batch: dict[str, int], now_ms: int
    ) -> str | None:
        """Return the reason why the segment cannot take the batch; None if it can."""
        if segment["size"] + batch["size"] > limits["segment_bytes"]:
            return "size"
        if segment["first_ms"] == -1:
            waited_ms = now_ms - segment["created_ms"]
        else:
            waited_ms = batch["latest_ms"] - segment["first_ms"]
        if segment["size"] and waited_ms > limits["segment_ms"]:
            return "time"
        entries, most = segment["offset_index"]
        timed, most_timed = segment["time_index"]
        if entries == most or timed >= most_timed - 1:
            return "index full"
        relative = batch["last_offset"] - segment["base"]
        return None if 0 <= relative <= 2_147_483_647 else "offset range"

    def take(self, limits: dict[str, int], log: dict[str, Any], now_ms: int) -> list[str]:
        """Return the reasons why the oldest segments are deleted, one reason for each segment."""
        segments = log["segments"]
        reasons: list[str] = []
        by_time = limits["delete"] and limits["retention_ms"] != -1
        by_size = limits["delete"] and limits["retention_bytes"] != -1
        for reason in ("time", "size", "start"):
            left = sum(size for _, size, _ in segments[len(reasons) :])
            for number, (_, size, latest_ms) in list(enumerate(segments, 1))[len(reasons) :]:
                last = number == len(segments)
                end = log["end"] if last else segments[number][0]
                left -= size
                goes = {
                    "time": by_time and now_ms - latest_ms > limits["retention_ms"],
                    "size": by_size and left >= limits["retention_bytes"],
                    "start": not last and end <= log["start"],
                }[reason]
                if end > log["hw"] or (last and not size) or not goes:
                    break
                reasons.append(reason)
        return reasons
