"""Exercises of chapter 05: ZooKeeper elects."""
