"""Exercise 16-8: fix this report, which is wrong in six places. README.md has the task.
`kafka-edu lab check 16-8` tests your code, and `kafka-edu lab hint 16-8` gives you a hint.
"""

import json
from typing import Any

Row = dict[str, Any]


class Incident:
    """A report on one evening of a cluster, made from the events in its recordings."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.causes = {row["number"]: row["event"] for row in rows}

    def latency(self) -> dict[str, tuple[int, int, int]]:
        """Return a dict: API → (number of requests, p50, p99). p50 and p99 are in µs."""
        times: dict[str, list[int]] = {}
        for row in self.rows:
            if row["event"] == "ResponseSent":
                times.setdefault(row["api"], []).append(row["totalUs"])
        return {
            api: (len(all_us), percentile(all_us, 50), percentile(all_us, 99))
            for api, all_us in times.items()
        }

    def flaps(self) -> list[tuple[str, int, int, int | None, str]]:
        """Return (partition, broker, began, lasted, act) for each broker that left an ISR."""
        act = ""
        isrs: dict[str, set[int]] = {}
        out: dict[tuple[str, int], tuple[int, str]] = {}
        found = []
        for row in self.rows:
            fields = json.loads(row["fields"])
            if row["event"] == "ActionAsked":
                act = fields["title"]
            if row["event"] not in ("IsrShrunk", "IsrExpanded"):
                continue
            partition, now = f"{row['topic']}-{row['partition']}", set(fields["after"])
            before = isrs.get(partition, set(fields["before"]))
            isrs[partition] = now
            for broker in before - now:
                out[partition, broker] = row["monoUs"], act
            for broker in now - before:
                if (partition, broker) in out:
                    began, cause = out.pop((partition, broker))
                    found.append((partition, broker, began, row["monoUs"] - began, cause))
        found += [(*key, began, None, cause) for key, (began, cause) in out.items()]
        return sorted(found, key=lambda flap: (flap[2], flap[0], flap[1]))

    def rebalances(self) -> list[tuple[str, int | None, str, int, int | None]]:
        """Return (group, generation, cause, began, lasted) for each rebalance of a group."""
        began: dict[str, tuple[str, int]] = {}
        found = []
        for row in self.rows:
            group, fields = row["group"], json.loads(row["fields"])
            if row["event"] == "RebalanceStarted":
                began[group] = self.causes.get(row["cause"], ""), row["monoUs"]
            ends = row["event"] == "GroupAssigned" or (
                row["event"] == "RebalanceCompleted" and not fields["members"]
            )
            if ends and group in began:
                cause, at = began.pop(group)
                found.append((group, fields["generation"], cause, at, row["monoUs"] - at))
        found += [(group, None, cause, at, None) for group, (cause, at) in began.items()]
        return sorted(found, key=lambda one: (one[3], one[0]))

    def diagnosis(self) -> tuple[str, int, str]:
        """Return what you found in your own recording.jsonl: the act before the longest flap, the
        length of that flap in µs, and the event that caused the longest rebalance.
        """
        raise NotImplementedError(
            "Incident.diagnosis is not written yet: it returns (act, µs, name of an event)"
        )


def percentile(values: list[int], percent: int) -> int:
    """Return the value that `percent` % of the values do not exceed."""
    return sorted(values)[len(values) * percent // 100]
