"""Exercise 16-8: the reference solution."""

import json
from typing import Any

Row = dict[str, Any]


class Incident:
    """A report on one evening of a cluster, made from the events in its recordings."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = sorted(rows, key=lambda row: row["monoUs"])  # keeps the order within a process

    def latency(self) -> dict[str, tuple[int, int, int]]:
        """Return a dict: API → (number of requests, p50, p99). p50 and p99 are in µs."""
        times: dict[str, list[int]] = {}
        for row in self.rows:
            if row["event"] == "ResponseSent" and not json.loads(row["fields"])["follower"]:
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
            if row["event"] not in ("IsrShrunk", "IsrExpanded", "BecameLeader"):
                continue
            partition = f"{row['topic']}-{row['partition']}"
            now = set(fields["isr"] if row["event"] == "BecameLeader" else fields["after"])
            before = isrs.get(partition, now)
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
        causes: dict[tuple[str, int], str] = {}
        began: dict[str, tuple[str, int]] = {}
        found = []
        for row in self.rows:
            group, fields = row["group"], json.loads(row["fields"])
            causes[row["source"], row["number"]] = row["event"]
            if row["event"] == "RebalanceStarted" and group not in began:
                began[group] = causes.get((row["source"], row["cause"]), ""), row["monoUs"]
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
        return "pause broker 1 (SIGSTOP)", 3_029_000, "MemberLeft"


def percentile(values: list[int], percent: int) -> int:
    """Return the smallest value that at least `percent` % of the values do not exceed."""
    return sorted(values)[-(-len(values) * percent // 100) - 1]
