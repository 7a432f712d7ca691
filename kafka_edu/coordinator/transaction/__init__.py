"""The transaction coordinator: which partitions a transaction has written, and how it ends (spec
X2; Kafka: kafka.coordinator.transaction; KIP-98).
"""
