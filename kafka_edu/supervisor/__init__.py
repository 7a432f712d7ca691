"""The supervisor: the process that `cluster up` leaves running.

It starts the brokers and the ZooKeeper of one cluster. Clients send it requests over its action
socket, for example to kill a broker. The supervisor carries out the requests and emits the results
as events.
"""
