"""The group coordinator (spec O1, O2; Kafka: kafka.coordinator.group).

It keeps each group's members, their assignment, and the committed offsets.
"""
