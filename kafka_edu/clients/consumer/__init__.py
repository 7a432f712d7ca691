"""Our own consumer: how a record goes from a broker's log to `poll()`, and the group around it.

The core decides in plain synchronous Python: `ConsumerCore` puts its parts together. Each gets the
time as an argument. The shell, `Consumer`, has the sockets and the clock.
"""
