"""kafka-edu: a Kafka of the ZooKeeper era. Every moving part can be watched, paused and broken, and
a learner writes some of them again.
"""
