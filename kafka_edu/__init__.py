"""kafka-edu: a Kafka of the ZooKeeper era, written in Python for learning.

A learner can watch, pause and break every moving part, and write some of the parts again.
"""
