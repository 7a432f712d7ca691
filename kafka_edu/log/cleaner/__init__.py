"""Compaction: of each key the last value stays (Kafka: LogCleaner.scala)."""
