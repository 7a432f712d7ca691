"""Exercise 16-3, wrong: every line is kept, and all are sorted for each one."""

Session = tuple[int, int, int]  # first_s, last_s, lines


class Sessions:
    """The open sessions of every client."""

    def __init__(self, gap_s: int) -> None:
        self.gap_s = gap_s
        self.open: dict[str, list[Session]] = {}
        self.times: dict[str, list[int]] = {}

    def touch(self, one: Session, other: Session) -> bool:
        """Return whether no long pause is between two sessions."""
        return one[0] - self.gap_s <= other[1] and other[0] - self.gap_s <= one[1]

    def add(self, client: str, time_s: int) -> Session:
        """Count a line, and return the session that it is in now."""
        times = self.times.setdefault(client, [])
        times.append(time_s)
        found: list[Session] = []
        for time in sorted(times):
            if found and time - found[-1][1] <= self.gap_s:
                found[-1] = (found[-1][0], time, found[-1][2] + 1)
            else:
                found.append((time, time, 1))
        self.open[client] = found
        return next(one for one in found if one[0] <= time_s <= one[1])

    def close(self, watermark_s: int) -> list[tuple[str, int, int, int]]:
        """Return the sessions that are over, and forget them."""
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
