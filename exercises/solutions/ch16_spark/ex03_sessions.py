"""Exercise 16-3: the reference solution."""

Session = tuple[int, int, int]  # first_s, last_s, lines


class Sessions:
    """Keeps the open sessions of every client."""

    def __init__(self, gap_s: int) -> None:
        self.gap_s = gap_s
        self.open: dict[str, list[Session]] = {}

    def touch(self, one: Session, other: Session) -> bool:
        """Return whether the pause between two sessions is not longer than `gap_s`."""
        return one[0] - self.gap_s <= other[1] and other[0] - self.gap_s <= one[1]

    def add(self, client: str, time_s: int) -> Session:
        """Count a line of a client, and return the session to which this line belongs now."""
        merged = (time_s, time_s, 1)
        kept = []
        for session in self.open.get(client, []):
            if self.touch(merged, session):
                merged = (
                    min(merged[0], session[0]),
                    max(merged[1], session[1]),
                    merged[2] + session[2],
                )
            else:
                kept.append(session)
        self.open[client] = sorted([*kept, merged])
        return merged

    def close(self, watermark_s: int) -> list[tuple[str, int, int, int]]:
        """Remove and return the sessions that are over at this watermark."""
        closed = []
        for client, found in list(self.open.items()):
            left = []
            for session in found:
                if watermark_s - session[1] > self.gap_s:
                    closed.append((client, *session))
                else:
                    left.append(session)
            if left:
                self.open[client] = left
            else:
                del self.open[client]
        return sorted(closed, key=lambda one: (one[1], one[0]))
