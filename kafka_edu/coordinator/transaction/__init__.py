"""The transaction coordinator (spec X2; Kafka: kafka.coordinator.transaction; KIP-98).

It records which partitions a transaction has written to, and whether it commits or aborts.
"""
