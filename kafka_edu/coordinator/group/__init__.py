"""The group coordinator: who is in a group, what it reads, and how far it has come (spec O1, O2;
Kafka: kafka.coordinator.group).
"""
