"""The simulator: the same classes in one process, in virtual time, from a seed.

It hands in the clock, the wires, the disk and ZooKeeper.
"""
