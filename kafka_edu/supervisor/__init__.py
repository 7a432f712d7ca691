"""The process that `cluster up` leaves running: it starts the brokers and ZooKeeper of one cluster,
acts on them when its action socket is asked, and emits what came of it.
"""
