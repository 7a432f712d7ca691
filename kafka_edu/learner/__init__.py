"""Run a learner's code inside a broker, a ZooKeeper server or a proxy.

The package has the table of seams: the places where a learner's code can replace the shipped code.
It also has the process in which the learner's code runs, an adapter for each seam, and the events
about the code.
"""
