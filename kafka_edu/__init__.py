"""kafka-edu: a Kafka of the ZooKeeper era whose every moving part can be watched, paused, broken
and re-written.
"""
