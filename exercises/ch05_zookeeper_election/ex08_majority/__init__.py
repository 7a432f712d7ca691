"""Exercise 05-8: a real cluster whose ZooKeeper has lost its majority."""
