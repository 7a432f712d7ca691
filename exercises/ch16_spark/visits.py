"""The right answers of exercise 16-3: sessions, and a picture of them on a time line."""

from typing import Final, NamedTuple

COLUMNS: Final = 56


class Session(NamedTuple):
    """Lines of one client. No pause between two of them is longer than the gap."""

    first_s: int
    last_s: int
    lines: int


class RightSessions:
    """Finds sessions by their definition: it keeps all times, and looks for long pauses in them.

    That is slow, but it is obviously right. The learner's class keeps only sessions.
    """

    def __init__(self, gap_s: int) -> None:
        self.gap_s = gap_s
        self.times_s: dict[str, list[int]] = {}

    def of(self, client: str) -> list[Session]:
        """Return the open sessions of a client, the earliest first."""
        found: list[Session] = []
        for time_s in sorted(self.times_s.get(client, [])):
            if found and time_s - found[-1].last_s <= self.gap_s:
                first_s, _, lines = found.pop()
                found.append(Session(first_s, time_s, lines + 1))
            else:
                found.append(Session(time_s, time_s, 1))
        return found

    def add(self, client: str, time_s: int) -> Session:
        """Count a line of a client, and return the session to which this line belongs now."""
        self.times_s.setdefault(client, []).append(time_s)
        return next(one for one in self.of(client) if one.first_s <= time_s <= one.last_s)

    def close(self, watermark_s: int) -> list[tuple[str, int, int, int]]:
        """Remove the sessions that no line can join any more, and return them."""
        closed = []
        for client in sorted(self.times_s):
            for session in self.of(client):
                if session.last_s + self.gap_s < watermark_s:
                    closed.append((client, *session))
                    self.times_s[client] = [
                        one for one in self.times_s[client] if one > session.last_s
                    ]
        return sorted(closed, key=lambda one: (one[1], one[0]))

    def drawn(self, client: str, time_s: int | None = None) -> tuple[str, ...]:
        """Draw a client's open sessions: `=` is a session, `|` a line, `v` the line at `time_s`."""
        found = self.of(client)
        if not found:
            return (f"    {client}: no open session",)
        begin, end = found[0].first_s, max(found[-1].last_s, found[0].first_s + 1)

        def column(moment_s: int) -> int:
            return (moment_s - begin) * (COLUMNS - 1) // (end - begin)

        row, above = [" "] * COLUMNS, [" "] * COLUMNS
        for session in found:
            for at in range(column(session.first_s), column(session.last_s) + 1):
                row[at] = "="
        for one in self.times_s[client]:
            row[column(one)] = "|"
        rows = [f"    {client}, gap {self.gap_s}: from {begin} to {found[-1].last_s}"]
        if time_s is not None and begin <= time_s <= end:
            above[column(time_s)] = "v"
            rows.append("    " + "".join(above).rstrip() + f" {time_s}")
        rows.append("    " + "".join(row).rstrip())
        rows += [
            f"    session {one.first_s} to {one.last_s}, lines: {one.lines}" for one in found[:5]
        ]
        return tuple(rows)
