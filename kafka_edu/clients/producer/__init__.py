"""Our own producer: how a record goes from `send()` to its acknowledgement.

The core makes the decisions, in plain synchronous Python. `RecordAccumulator` collects records into
batches, `Sender` sends the batches, and `TransactionManager` numbers them. Each gets the time as an
argument. The shell, `Producer`, has the sockets and the clock.
"""
