"""Exercise 04-1: the reference solution."""

from collections.abc import Mapping, Sequence

Named = list[tuple[str, str]]  # (name, the state that it had)
GONE = "NonExistent"

#: state → the states from which it may be entered
TABLES: Mapping[str, Mapping[str, frozenset[str]]] = {
    "partition": {
        "New": frozenset({GONE}),
        "Online": frozenset({"New", "Online", "Offline"}),
        "Offline": frozenset({"New", "Online", "Offline"}),
        GONE: frozenset({"Offline"}),
    },
    "replica": {
        "New": frozenset({GONE}),
        "Online": frozenset({"New", "Online", "Offline", "DeletionIneligible"}),
        "Offline": frozenset({"New", "Online", "Offline", "DeletionIneligible"}),
        "DeletionStarted": frozenset({"Offline"}),
        "DeletionSuccessful": frozenset({"DeletionStarted"}),
        "DeletionIneligible": frozenset({"Offline", "DeletionStarted"}),
        GONE: frozenset({"DeletionSuccessful"}),
    },
}


class StateMachine:
    """Keeps the states of all partitions or of all replicas, and checks each change."""

    def __init__(self, machine: str) -> None:
        """`machine` is "partition" or "replica". It says whose states are kept."""
        self.table = TABLES[machine]
        self.known: dict[str, str] = {}

    def handle(self, names: Sequence[str], wanted: str) -> tuple[Named, Named]:
        """Bring each name into the state `wanted`. Return (name, state before) of those that
        changed, and of those for which the table does not allow the change.
        """
        changed: Named = []
        refused: Named = []
        for name in names:
            before = self.known.get(name, GONE)
            if before not in self.table.get(wanted, ()):
                refused.append((name, before))
                continue
            changed.append((name, before))
            if wanted == GONE:
                del self.known[name]
            else:
                self.known[name] = wanted
        return changed, refused

    def states(self) -> Named:
        """Return (name, state) of each partition or replica that exists, sorted by name."""
        return sorted(self.known.items())
