"""The group coordinator (spec O1, O2; Kafka: kafka.coordinator.group).

It keeps the members of each group, their assignment, and their committed offsets.
"""
