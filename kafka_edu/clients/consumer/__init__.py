"""Our own consumer: how a record gets from a broker's log to `poll()`, and how groups work.

The core makes the decisions, in plain synchronous Python. `ConsumerCore` puts its parts together.
Each part gets the time as an argument. The shell, `Consumer`, has the sockets and the clock.
"""
