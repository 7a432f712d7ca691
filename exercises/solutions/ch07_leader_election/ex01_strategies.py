"""Exercise 07-1: the reference solution."""

from collections.abc import Sequence


class LeaderElection:
    """The rule by which the controller elects leaders."""

    def elect(
        self,
        strategy: str,
        replicas: Sequence[int],
        isr: Sequence[int],
        live: Sequence[int],
        going: Sequence[int],
        unclean: bool,
    ) -> tuple[int, list[int]] | None:
        """Return the new leader and the new ISR, or None if nobody may lead."""
        able = [one for one in replicas if one in live and one in isr]
        if strategy == "PreferredReplica":
            preferred = replicas[0]
            return (preferred, list(isr)) if preferred in able else None
        if strategy == "ReassignPartition":
            return (able[0], list(isr)) if able else None
        if strategy == "ControlledShutdown":
            staying = [one for one in able if one not in going]
            kept = [one for one in isr if one not in going]
            return (staying[0], kept) if staying else None
        if able:
            return able[0], [one for one in isr if one in live]
        alive = [one for one in replicas if one in live]
        return (alive[0], [alive[0]]) if unclean and alive else None
