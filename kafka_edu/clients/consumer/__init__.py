"""Our own consumer: the way of a record from a broker's log to `poll()`, and the group around it.

The core decides in plain synchronous Python. Each part gets the time as an argument.
"""
