"""The second clock: the same classes in one process, in virtual time, from a seed. Hands in the
clock, the wires, the disk and ZooKeeper.
"""
