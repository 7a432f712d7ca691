"""The simulator runs whole clusters in one process, in virtual time, from a random seed.

It uses the same classes as a real cluster, and gives them a simulated clock, network, disk and
ZooKeeper.
"""
