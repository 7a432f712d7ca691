"""Exercise 15-3: the reference solution (Kafka: TransactionCoordinator, TransactionMetadata)."""

AGAIN = "CONCURRENT_TRANSACTIONS"
NEVER = "INVALID_TXN_STATE"
REQUESTS = ("init", "add", "commit", "abort")
NOTHING_OPEN = ("Empty", "CompleteCommit", "CompleteAbort")

TABLE = {
    ("Ongoing", "init"): "PrepareEpochFence",
    ("Ongoing", "add"): "Ongoing",
    ("Ongoing", "commit"): "PrepareCommit",
    ("Ongoing", "abort"): "PrepareAbort",
    ("Ongoing", "timeout"): "PrepareEpochFence",
    ("PrepareEpochFence", "fenced"): "PrepareAbort",
    ("PrepareCommit", "written"): "CompleteCommit",
    ("PrepareAbort", "written"): "CompleteAbort",
    ("PrepareCommit", "abort"): NEVER,
    ("PrepareAbort", "commit"): NEVER,
    ("CompleteCommit", "commit"): "CompleteCommit",
    ("CompleteAbort", "abort"): "CompleteAbort",
}
WITHOUT_TRANSACTION = {
    "init": "Empty",
    "add": "Ongoing",
    "commit": NEVER,
    "abort": NEVER,
    "unused": "Dead",
}


class TransactionTable:
    """The decisions of a transaction coordinator."""

    def next(self, state: str, event: str) -> str | None:
        """Look up the pair in the table. Handle pairs that are not in the table."""
        if (state, event) in TABLE:
            return TABLE[state, event]
        if state in NOTHING_OPEN:
            return WITHOUT_TRANSACTION.get(event)
        return AGAIN if event in REQUESTS else None
