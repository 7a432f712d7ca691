"""The process that `cluster up` leaves running.

It starts the brokers and the ZooKeeper of one cluster, acts on them when its action socket is
asked, and emits the results as events.
"""
