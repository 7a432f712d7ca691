"""Our own producer: how a record goes from `send()` to its acknowledgement.

The core decides in plain synchronous Python: `RecordAccumulator` collects records into batches,
`Sender` sends them, `TransactionManager` numbers them. Each gets the time as an argument. The
shell, `Producer`, has the sockets and the clock.
"""
